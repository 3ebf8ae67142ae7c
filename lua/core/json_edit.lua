-- json_edit: set one member in the text of a JSON object, or add an item to a list in it, and leave
-- every other byte as it is: the file is a person's, with their order, their indentation and, where
-- the program that reads it allows them, their comments. Pure.

local json = require "runner.json"
local json_text = require "runner.core.json_text"

local M = {}

-- What begins at `at`, and what it is: a text, a comment, or neither.
local function piece_at(source, at)
	if source:byte(at) == 34 then
		return source:sub(at, json_text.end_of_string(source, at) or #source), "text"
	end
	local comment = source:match("^//[^\n]*", at) or source:match("^/%*.-%*/", at)
	return comment or source:match('^[^"/]+', at) or source:sub(at, at), comment and "comment"
end

-- The text with what `blank` makes of each piece.
local function pieces(source, blank)
	local out, at = {}, 1
	while at <= #source do
		local piece, kind = piece_at(source, at)
		out[#out + 1] = blank(piece, kind)
		at = at + #piece
	end
	return table.concat(out)
end

-- The text with blanks for its comments: every byte keeps its place.
local function without_comments(source)
	return pieces(source, function(piece, kind)
		return kind == "comment" and (piece:gsub("[^\n]", " ")) or piece
	end)
end

-- And for commas that nothing follows.
local function without_last_commas(source)
	return pieces(source, function(piece, kind)
		return (kind or piece:find "[%[{]%s*,") and piece or (piece:gsub(",(%s*[%]}])", " %1"))
	end)
end

---@class runner.json.Member where a member of an object stands in its text
---@field name string
---@field first integer of its value
---@field last integer

---The members of the object that begins at `at`, and where its brace closes.
---@param source string valid JSON
---@param at integer
---@return runner.json.Member[] members
---@return integer close
local function members_of(source, at)
	local members, i = {}, assert(source:find('["}]', at + 1))
	while source:sub(i, i) == '"' do
		local last = json_text.end_of_string(source, i)
		local first = assert(source:match("^%s*:%s*()", last + 1))
		members[#members + 1] = { name = json.decode(source:sub(i, last)), first = first, last = json_text.end_of_value(source, first) }
		i = assert(source:find('["}]', members[#members].last + 1))
	end
	return members, i
end

local function splice(source, first, last, text)
	return source:sub(1, first - 1) .. text .. source:sub(last + 1)
end

-- The indentation of the line that `at` stands in.
local function indent_at(source, at)
	local line = source:sub(1, at):match "[^\n]*$"
	return line:match "^[ \t]*"
end

-- The unit of indentation, as far as the file shows one.
local function unit_of(source)
	return source:match "\n(\t)" or source:match "\n( +)" or "  "
end

local function indented(text, indent)
	return (text:gsub("\n", "\n" .. indent))
end

-- Put a line after the last of what stands between `at` and `close`, or into what is empty. A comment after the last
-- one stays on its line; a comma that is there is not written again.
local function add(source, last, at, close, line)
	local outer = indent_at(source, close)
	local inner = outer .. unit_of(source)
	line = "\n" .. inner .. indented(line, inner)
	if not last then
		local kept = source:sub(at + 1, close - 1):gsub("%s+$", "")
		return splice(source, at + 1, close - 1, kept .. line .. "\n" .. outer)
	end
	local comma = without_comments(source):sub(1, close - 1):find(",", last + 1, true)
	local from = (comma or last) + 1
	local tail = source:sub(1, close - 1):match("^([^\n]*)\n", from) or ""
	if tail:gsub("/%*.-%*/", ""):find("/*", 1, true) then -- a comment that goes on
		tail = ""
	end
	return splice(source, from, from + #tail - 1, (comma and "" or ",") .. tail .. line)
end

local function read(source, opts)
	source = source:find "%S" and source or "{\n}\n"
	local plain = opts and opts.comments and without_last_commas(without_comments(source)) or source
	local value, why = json.decode(plain, { unique = true })
	if why or type(value) ~= "table" or json.is_array(value) then
		return nil, why or "it is no JSON object"
	end
	return source, plain, value
end

---The value of a text.
---@param source string "" for an empty object
---@param opts? {comments?: boolean} comments and commas after the last item are allowed
---@return table? value nil: it is no JSON object
---@return string? why
function M.value(source, opts)
	local found, why, value = read(source, opts)
	return found and value, not found and why or nil
end

local function member_of(plain, at, name)
	local members, close = members_of(plain, at)
	for i = #members, 1, -1 do
		if members[i].name == name then
			return members[i], members, close
		end
	end
	return nil, members, close
end

-- A value below the names of a path that aren't there yet.
local function below(source, path, from, text)
	for k = #path, from, -1 do
		local unit = unit_of(source)
		text = ("{\n%s%s: %s\n}"):format(unit, json.encode(path[k]), indented(text, unit))
	end
	return text
end

---Set the member that a path of names leads to.
---@param source string a JSON object; "" for a new one
---@param path string[]
---@param text string the value as JSON, perhaps over several lines
---@param opts? {comments?: boolean} comments, and commas after the last item, are allowed
---@return string? source nil: it is no JSON object, or something on the path is none
---@return string? why
function M.set(source, path, text, opts)
	local given, plain = read(source, opts)
	if not given then
		return nil, plain
	end
	local at = assert(plain:find "{")
	for i, name in ipairs(path) do
		local found, members, close = member_of(plain, at, name)
		if found and i == #path then
			return splice(given, found.first, found.last, indented(text, indent_at(given, found.first)))
		elseif not found then
			local last = members[#members] and members[#members].last
			return add(given, last, at, close, json.encode(name) .. ": " .. below(given, path, i + 1, text))
		elseif plain:sub(found.first, found.first) ~= "{" then
			return nil, ("%s is no object"):format(name)
		end
		at = found.first
	end
end

-- The end of the last item of the list that begins at `at`, nil: it is empty; and where its bracket closes.
local function last_item(plain, at)
	local last, i = nil, assert(plain:find("[^%s,]", at + 1))
	while plain:sub(i, i) ~= "]" do
		last = json_text.end_of_value(plain, i)
		i = assert(plain:find("[^%s,]", last + 1))
	end
	return last, i
end

---Add an item to the list that a path of names leads to, after the others.
---@param source string a JSON object with that list in it
---@param path string[]
---@param text string the item as JSON
---@param opts? {comments?: boolean} comments, and commas after the last item, are allowed
---@return string? source nil: there is no such list
---@return string? why
function M.append(source, path, text, opts)
	local given, plain = read(source, opts)
	if not given then
		return nil, plain
	end
	local at = assert(plain:find "{")
	for _, name in ipairs(path) do
		local found = plain:sub(at, at) == "{" and member_of(plain, at, name)
		if not found then
			return nil, ("there is no %s"):format(name)
		end
		at = found.first
	end
	if plain:sub(at, at) ~= "[" then
		return nil, "it is no list"
	end
	local last, close = last_item(plain, at)
	if given:sub(at, close):find "\n" then
		return add(given, last, at, close, text)
	end
	return splice(given, last and last + 1 or at + 1, (last or at), last and ", " .. text or text)
end

return M
