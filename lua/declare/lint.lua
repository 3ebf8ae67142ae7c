-- lint: what is legal in a command file but probably a mistake: lint's warnings.
-- Loaded by lint alone. It scans the source without parsing it (words outside of comments
-- and quotes, lines that begin in column 1), so it can be wrong; it never rejects a file.

local M = {}

-- --- the source text without comments and quotes -----------------------------------

local function blank(s)
	return (s:gsub("[^\n]", " "))
end

-- Where the long bracket that begins at `at` ends; nil when none begins there.
local function long_end(text, at)
	local level = text:match("^%[(=*)%[", at)
	if level then
		local _, stop = text:find("]" .. level .. "]", at, true)
		return stop or #text
	end
end

local function short_end(text, at)
	local quote, i = text:sub(at, at), at + 1
	while i <= #text do
		local c = text:sub(i, i)
		if c == quote or c == "\n" then
			return i
		end
		i = c == "\\" and i + 2 or i + 1
	end
	return #text
end

---The text with comments and quoted strings blanked: what remains is code, on its own lines.
---@param text string
---@return string
function M.code_of(text)
	local out, at = {}, 1
	while true do
		local start = text:find("[-\"'%[]", at)
		if not start then
			break
		end
		local c, stop = text:sub(start, start), nil
		if text:find("^%-%-", start) then
			stop = long_end(text, start + 2) or (text:find("\n", start, true) or #text + 1) - 1
		elseif c == "[" then
			stop = long_end(text, start)
		elseif c ~= "-" then
			stop = short_end(text, start)
		end
		out[#out + 1] = text:sub(at, start - 1)
		out[#out + 1] = stop and blank(text:sub(start, stop)) or c
		at = (stop or start) + 1
	end
	return table.concat(out) .. text:sub(at)
end

-- --- the rules ----------------------------------------------------------------------

local NO_SHELL = 'Use ctx:run{ "git", "status" }: it takes a list of arguments, keeps to limits and captures the output'

local ESCAPES = {
	{ "os.execute", "starts a shell", NO_SHELL },
	{ "io.popen", "starts a shell", NO_SHELL },
	{ "os.exit", "ends the run as COMMAND_CRASHED", "Return a value, or call ctx:fail(code, message)" },
}

-- Calls that have an effect when they stand at the top level of a file.
local EFFECTS = {
	"print", "dofile", "io%.write", "io%.read", "io%.lines", "io%.open", "io%.output", "io%.input", "os%.remove",
	"os%.rename", "os%.tmpname", "os%.setlocale",
}
local PRINTS = { print = true, ["io%.write"] = true }

local function each_line(code, visit)
	local n = 0
	for line in (code .. "\n"):gmatch("([^\n]*)\n") do
		n = n + 1
		visit(line, n)
	end
end

local function check_escapes(code, add)
	each_line(code, function(line, n)
		for _, row in ipairs(ESCAPES) do
			if line:find("%f[%w_.]" .. row[1]:gsub("%.", "%%s*%%.%%s*") .. "%f[^%w_]") then
				add(row[1], n, row[2], row[3])
			end
		end
	end)
end

-- At the top level: the line begins in column 1 and neither returns nor defines.
local function check_effects(code, add)
	each_line(code, function(line, n)
		if not line:find("^%a") or line:find("^return%f[%W]") or line:find("%f[%w]function%f[%W]") then
			return
		end
		for _, call in ipairs(EFFECTS) do
			if line:find("%f[%w_.]" .. call .. "%s*[({%s]") and not line:find(call .. "%s*=") then
				add((call:gsub("%%", "")), n, "at the top level also runs for help, completion and lint",
					PRINTS[call] and "Return the value from run, or use ctx:log" or "Move it into run")
			end
		end
	end)
end

-- Retryable codes that leave half of the work behind, sorted by name.
local function check_codes(declaration, add)
	local names = {}
	for name, row in next, type(declaration.exit_codes) == "table" and declaration.exit_codes or {} do
		if type(name) == "string" and type(row) == "table" and row.retryable == true and row.side_effects == "partial" then
			names[#names + 1] = name
		end
	end
	table.sort(names)
	for _, name in ipairs(names) do
		add("exit_codes." .. name, nil, 'is retryable = true with side_effects = "partial": a retry meets what the '
			.. "failed attempt left behind", 'Let run undo it and write side_effects = "none", or write retryable = false')
	end
end

-- Is a code retryable, by the file or the registry? "true", "false" or "maybe".
local function retryable(declaration, code)
	local own = type(declaration.exit_codes) == "table" and declaration.exit_codes[code]
	local known = require("runner.host").registry_code(code)
	local declared = nil
	if type(own) == "table" then
		declared = own.retryable
	end
	return declared == nil and known and known.retryable or tostring(declared)
end

local function check_retry(declaration, add)
	local retry = declaration.retry
	for _, code in ipairs(type(retry) == "table" and type(retry.on) == "table" and retry.on or {}) do
		local value = type(code) == "string" and retryable(declaration, code)
		if value == "false" or value == "maybe" and not retry.maybe then
			add("retry.on", nil, ("lists %s, which is never retried: it is retryable = %s"):format(code, value),
				value == "maybe" and "Add maybe = true to retry" or ("Write %s = { retryable = true } in exit_codes, or "
				.. "remove it unless ctx:fail sets retryable = true"):format(code))
		end
	end
end

local function is_secret_name(name)
	return type(name) == "string" and require("runner.host").secret_name(name)
end

local NEVER_TEXT = { boolean = true, integer = true, number = true, duration = true, path = true, enum = true }

local function check_secret(row, key, add)
	if row.secret and row.default ~= nil then
		add(key, nil, "is secret but has a default, which everyone who reads the file sees", "Use env instead")
	elseif row.secret == nil and not NEVER_TEXT[row.type or row[2]] and is_secret_name(row.name or row[1]) then
		add(key, nil, "has a name like a secret", "Add secret = true to show *** instead of its value everywhere, or secret = false")
	end
end

local IDS = { ["^id$"] = true, ["[_-]id$"] = true, ["^uuid$"] = true, ["[_-]uuid$"] = true }

-- What a model invents for an identifier is refused where a pattern says what one is (REQ-C-020).
local function check_identifier(row, key, add)
	local name, kind = row.name or row[1], row.items or row.type or row[2]
	for pattern in next, type(name) == "string" and kind == "string" and row.pattern == nil and not row.secret and IDS or {} do
		if name:find(pattern) then
			return add(key, nil, "has a name like an identifier, but no pattern", 'Add pattern = "alphanumeric_id", "uuid", or a regular expression')
		end
	end
end

-- DEBUG or TOKEN may be set for any program, so one with the tool's prefix comes first (REQ-F-073).
local function check_variable(row, key, add)
	local name = row.env or type(row.env_fallbacks) == "table" and row.env_fallbacks[1]
	if type(name) == "string" and not name:find("_", 2, true) then
		add(key, nil, ("reads %s, which may be set for other programs"):format(name),
			('Put one with the tool\'s prefix first: env = "MYTOOL_%s", env_fallbacks = { "%s" }'):format(name, name))
	end
end

local function check_args(declaration, add)
	for i, row in ipairs(type(declaration.args) == "table" and declaration.args or {}) do
		if type(row) == "table" then
			local key = "args." .. tostring(row.name or row[1] or i)
			if not (row.description or declaration.task) then
				add(key, nil, "has no description", 'Add description = "…": help shows it')
			end
			check_secret(row, key, add)
			check_identifier(row, key, add)
			check_variable(row, key, add)
			if row.required and row.default ~= nil then
				add(key, nil, "is required but has a default, so it is never missing", "Remove one of them")
			end
		end
	end
end

local VOLATILE = { timestamp = true, fetched_at = true, generated_at = true, now = true, queried_at = true, retrieved_at = true }

-- Times belong into meta, so that the same state gives the same data (REQ-F-021).
local function check_output(schema, path, add)
	for name, below in next, type(schema) == "table" and type(schema.properties) == "table" and schema.properties or {} do
		local place = path .. "." .. tostring(name)
		if type(below) == "table" and below.format == "date-time" and VOLATILE[name] then
			add(place, nil, "changes with every call, so that equal results differ", "Remove it: meta.timestamp says when the answer was made")
		end
	end
end

-- --- calls whose failure would go unnoticed ---------------------------------------------

---@alias runner.LintAdd fun(key: string, line: integer?, found: string, fix: string)

-- Functions of `require "fs"` that change something; on failure they give nil and why.
local CHANGES = {
	mkdir = true, mkdirs = true, rename = true, symlink = true, unlink = true, rmdir = true, remove_tree = true,
	touch = true, write = true, create = true, fsync = true, fsync_tree = true, swap_symlink = true, copy_tree = true,
	copy = true, replace = true, chmod = true, check_way = true,
}

-- An expression follows these words; after any other, a statement begins.
local BEFORE_EXPRESSION = {
	["return"] = true, ["and"] = true, ["or"] = true, ["not"] = true, ["in"] = true, ["if"] = true, ["elseif"] = true,
	["while"] = true, ["until"] = true,
}

local function line_of(code, at)
	return 1 + select(2, code:sub(1, at - 1):gsub("\n", ""))
end

-- Does a statement begin at `at`, so that the value of the call there is dropped?
local function is_statement(code, at)
	local before = code:sub(1, at - 1):match "^(.-)%s*$"
	local word = before:match "[%w_]+$"
	if word then
		return not BEFORE_EXPRESSION[word]
	end
	return before == "" or before:find "[%)%]};]$" ~= nil
end

-- Where a call is: `at` is its first letter; `list` its arguments with their brackets,
-- nil for a lone quoted one.
local function each_call(code, pattern, visit)
	local at = 1
	while true do
		local first, last, name = code:find(pattern, at)
		if not first then
			return
		end
		local list = code:match("^%s*(%b())", last + 1) or code:match("^%s*(%b{})", last + 1)
		local after = list and code:sub(select(2, code:find("^%s*", last + 1)) + #list + 1) or ""
		visit(first, name, list or "", after)
		at = last + 1
	end
end

-- dropped results

local function look_at_fs(code, text, add)
	for library in text:gmatch "([%a_][%w_]*)%s*=%s*require%s*%(?%s*[\"']fs[\"']" do
		each_call(code, "%f[%w_.:]" .. library .. "%s*%.%s*([%a_]+)", function(at, name)
			if CHANGES[name] and is_statement(code, at) then
				add(("%s.%s"):format(library, name), line_of(code, at), "ignores the result, so a failure goes unnoticed",
					("use ctx.fs.%s, which raises"):format(name))
			end
		end)
	end
end

local function look_at_pcall(code, add)
	each_call(code, "%f[%w_.:](x?pcall)%f[^%w_]", function(at, name)
		if is_statement(code, at) then
			add(name, line_of(code, at), "ignores the result, so the error goes unnoticed",
				("Write local ok, why = %s(…) and check both"):format(name))
		end
	end)
end

-- ctx:run, ctx:pipeline and ctx:http

local ASKED = { "ok", "status", "signal", "timed_out", "error", "errno" }

local function asks_after(code, prefix)
	for _, field in ipairs(ASKED) do
		if code:find(prefix .. "%s*%.%s*" .. field .. "%f[^%w_]") then
			return field
		end
	end
end

-- A field by which the script asks whether the program has failed: of the call itself,
-- or, up to the next function, of the local that takes its result.
local function asked_field(code, at, after)
	local direct = asks_after(after:match "^[^\n]*" or "", "^%s*%)?")
	local name = code:sub(1, at - 1):match "([%a_][%w_]*)%s*=%s*$"
	return direct or name and asks_after(after:match "^(.-)%f[%w_]function%f[^%w_]" or after, "%f[%w_.]" .. name)
end

local function look_at_programs(code, add)
	each_call(code, "%f[%w_.:][%a_][%w_.]*%s*:%s*(%a+)%f[%W]", function(at, name, list, after)
		local key = "ctx:" .. name
		if (name == "run" or name == "pipeline" or name == "http") and list:find "check%s*=%s*false" then
			if is_statement(code, at) then
				add(key, line_of(code, at), "has check = false and ignores the result, so a failure goes unnoticed",
					"Remove check, so that a failure raises an error")
			end
		elseif (name == "run" or name == "pipeline") and list ~= "" and not list:find "%f[%w]check%s*=" then
			local field = asked_field(code, at, after)
			if field and not (field == "status" and list:find "ok_statuses") then
				add(key, line_of(code, at), ("raises if the program fails, so testing .%s is useless"):format(field),
					"Add check = false to inspect the result, or ok_statuses = { 0, 1 } if 1 is not a failure")
			end
		end
	end)
end

-- Only the last of several expressions gives all of its values.
local function look_at_unpack(code, text, add)
	each_call(code, "%f[%w_.:](table%s*%.%s*unpack)%f[^%w_]", function(at, _, list)
		local stop = list:sub(1, 1) == "(" and select(2, code:find("^table%s*%.%s*unpack%s*%b()", at))
		if stop and text:find("^%s*,%s*[^%s})]", stop + 1) then
			add("table.unpack", line_of(code, at), "gives its first value alone where something follows it",
				"Put it last, or build the list first with table.move")
		end
	end)
end

---Look for all of them.
---@param code string the source without comments and quotes, on its own lines
---@param text string the source
---@param add runner.LintAdd
function M.look_at_calls(code, text, add)
	look_at_fs(code, text, add)
	look_at_pcall(code, add)
	look_at_programs(code, add)
	look_at_unpack(code, text, add)
end

local OPEN = { string = true, path = true, json = true }

-- make expands $(…) in what it has from the environment, wherever a Makefile says $(NAME).
local function check_make(declaration, add)
	local script = declaration.shell or type(declaration.program) == "table" and declaration.program[1]
	local calls = type(script) == "string" and script:find "%f[%w_.-]g?make%f[^%w_./-]"
	for _, row in ipairs(calls and type(declaration.args) == "table" and declaration.args or {}) do
		if type(row) == "table" and OPEN[row.items or row.type or row[2]] and row.pattern == nil and row.values == nil then
			return add("args." .. tostring(row.name or row[1]), nil, "goes to make, which expands $(…) in the value where a Makefile says $(NAME)",
				"Write $$NAME there, which the shell expands, or give the argument a pattern")
		end
	end
end

-- A script is none of ctx, and an argument of that name is the author's own way.
local function has_own_dry_run(declaration)
	for _, row in ipairs(type(declaration.args) == "table" and declaration.args or {}) do
		if type(row) == "table" and (row.name or row[1]) == "dry_run" then
			return true
		end
	end
	return declaration.task or declaration.shell or declaration.program
end

local function check_declaration(declaration, add)
	check_make(declaration, add)
	if not (declaration.hidden or declaration.task) and (type(declaration.examples) ~= "table" or #declaration.examples == 0) then
		add("examples", nil, "is missing", 'Add examples = { { description = "…", command = "runner …" } }')
	end
	if type(declaration.retry) == "table" and type(declaration.retry.on) ~= "table"
		and declaration.danger_level == "destructive" then
		add("retry.on", nil, "is missing, so every retryable failure repeats a destructive command",
			'List the codes to retry: on = {"UNAVAILABLE"}')
	end
	if declaration.danger_level == "destructive" and declaration.dry_run ~= true and not has_own_dry_run(declaration) then
		add("dry_run", nil, "is missing, so a dry run of it says how it was called, and not what it would destroy",
			"Add dry_run = true: run is then called with ctx.dry_run, and ctx notes changes in the place of making them")
	end
	check_codes(declaration, add)
	if not declaration.task then -- whose author says by retry that it may be run again
		check_retry(declaration, add)
	end
	check_args(declaration, add)
	check_output(declaration.output_schema, "output_schema.properties", add)
end

-- A plain copy, read raw: the author's metatables must not run here.
local function plain(v, depth)
	if type(v) ~= "table" or depth == 0 then
		return v
	end
	local out = {}
	for key, item in next, v do
		out[key] = plain(item, depth - 1)
	end
	return out
end

-- Does its code name an effect, or leave that to another file or command? What a comment says is none of it.
local function may_name_effect(text)
	local code = M.code_of(text)
	return code:find "%f[%w_]effect%f[^%w_]" or code:find "%f[%w_]require%f[^%w_]" or code:find "[:.]call%f[^%w_]"
		or text:find "%[%s*([\"'])effect%1%s*%]"
end

---lint's problems with a command file that loads and runs. A change must say what it was.
---@param declaration any what the file returned
---@param where {path: string, text?: string}
---@return runner.DeclarationProblem[]
function M.problems(declaration, where)
	local level = type(declaration) == "table" and rawget(declaration, "danger_level")
	if level ~= "mutating" and level ~= "destructive" or declaration.task or not where.text or may_name_effect(where.text) then
		return {}
	end
	local fix = 'Return effect = "created", "updated", "deleted" or "noop" from run'
	return { { key = "run", fix = fix, message = ("%s: run of a %s command never names an effect. %s"):format(where.path, level, fix) } }
end

---lint's warnings about a command file.
---@param declaration any what the file returned
---@param where {path: string, text?: string}
---@return runner.DeclarationProblem[]
function M.find(declaration, where)
	local out = {}
	local function add(key, line, found, fix)
		local place = line and where.path .. ":" .. line or where.path
		out[#out + 1] = { key = key, line = line, fix = fix, message = ("%s: %s %s. %s"):format(place, key, found, fix) }
	end
	if where.text then
		local code = M.code_of(where.text)
		check_escapes(code, add)
		check_effects(code, add)
		M.look_at_calls(code, where.text, add)
	end
	if type(declaration) == "table" then
		check_declaration(plain(declaration, 4), add)
	end
	return out
end

return M
