-- globs: patterns of paths: * and ? inside a name, [a-z], {one,two}, and ** for any directories.
-- Pure; fs.glob, .gitignore files (lua/watch/scope.lua) and `runner watch` match by them.

local M = {}

---"a/{b,c}" → "a/b", "a/c", the last innermost braces first.
---@param pattern string
---@param out? string[] to be appended to
---@return string[] out
function M.expand(pattern, out)
	out = out or {}
	local before, list, after = pattern:match "^(.*){([^{}]*)}(.*)$"
	if not before then
		out[#out + 1] = pattern
		return out
	end
	for choice in (list .. ","):gmatch "([^,]*)," do
		M.expand(before .. choice .. after, out)
	end
	return out
end

local function literal(c)
	return (c:gsub("%p", "%%%0"))
end

---One part of a path as a Lua pattern; nil where it stands for itself.
---@param part string
---@param escapes? boolean a backslash takes the meaning of what follows it, as in .gitignore
---@return string?
function M.name_pattern(part, escapes)
	if not part:find(escapes and "[*?%[\\]" or "[*?%[]") then
		return nil
	end
	local at, out = 1, { "^" }
	while at <= #part do
		local c = part:sub(at, at)
		local negated, set, after = part:match("^%[([!^]?)(%]?[^%]]*)%]()", at)
		if c == "[" and after then
			out[#out + 1] = "[" .. (negated ~= "" and "^" or "") .. set:gsub("[%%%]%^]", "%%%0") .. "]"
			at = after
		elseif c == "\\" and escapes and at < #part then
			out[#out + 1], at = literal(part:sub(at + 1, at + 1)), at + 2
		else
			out[#out + 1] = c == "*" and ".*" or c == "?" and utf8.charpattern or literal(c)
			at = at + 1
		end
	end
	return table.concat(out) .. "$"
end

---@class runner.GlobPart
---@field any? true it stands for any directories, and none
---@field name? string the name
---@field pattern? string of names
---@field dotted? boolean the pattern begins with a dot itself

---The parts of a pattern between its slashes, to be handed to M.matches; "." is left out.
---@param pattern string without braces
---@param escapes? boolean as for M.name_pattern
---@return runner.GlobPart[]
function M.parts(pattern, escapes)
	local parts = {}
	for text in pattern:gmatch "[^/]+" do
		local shaped = text ~= "**" and M.name_pattern(text, escapes) or nil
		if text ~= "." and not (text == "**" and parts[#parts] and parts[#parts].any) then -- a second ** adds nothing but work
			parts[#parts + 1] = text == "**" and { any = true } or { name = not shaped and text or nil, pattern = shaped,
				dotted = text:sub(1, 1) == "." }
		end
	end
	return parts
end

---Does a name match one part of a pattern?
---@param part runner.GlobPart
---@param name string
---@param dots? boolean * and ? stand for a dot in front, too
---@return boolean
function M.part_matches(part, name, dots)
	if part.name then
		return part.name == name
	end
	return name:find(part.pattern) ~= nil and (dots or part.dotted or name:sub(1, 1) ~= ".")
end

---Do the names of a path match the parts of a pattern, all of them?
---@param parts runner.GlobPart[] of M.parts
---@param names string[] of the path
---@param dots? boolean as for M.part_matches
---@param p? integer the first part, 1
---@param n? integer the first name, 1
---@return boolean
function M.matches(parts, names, dots, p, n)
	p, n = p or 1, n or 1
	while parts[p] and not parts[p].any do
		if not names[n] or not M.part_matches(parts[p], names[n], dots) then
			return false
		end
		p, n = p + 1, n + 1
	end
	if not parts[p] then
		return names[n] == nil
	end
	for from = n, #names + 1 do
		if M.matches(parts, names, dots, p + 1, from) then
			return true
		elseif names[from] and not dots and names[from]:sub(1, 1) == "." then
			return false -- ** enters no directory with a dot in front
		end
	end
	return false
end

---May something below the directory with these names match?
---@param parts runner.GlobPart[]
---@param names string[] of a directory
---@param dots? boolean
---@return boolean
function M.leads(parts, names, dots)
	for i, name in ipairs(names) do
		local part = parts[i]
		if not part then
			return false
		elseif part.any then
			return true
		elseif not M.part_matches(part, name, dots) then
			return false
		end
	end
	return #names < #parts
end

---The names of a path.
---@param path string
---@return string[]
function M.names(path)
	local names = {}
	for name in path:gmatch "[^/]+" do
		names[#names + 1] = name
	end
	return names
end

return M
