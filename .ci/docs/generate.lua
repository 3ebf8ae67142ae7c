-- generate: rewrites the generated parts of docs/architecture.md, docs/modules.md, docs/runner.1 and the pages in
-- docs/reference and docs/workflows: the rooms, flags, variables, exit and error codes,
-- declaration keys, the script API, the keys of workflow files, the table of transient
-- failures; and docs/compliance.md; and the two lists of names in lua/declare (.ci/docs/index.lua); and, printed by
-- RUNNER (build/runner), the schemas docs/schema/project.json and workflow.json. `make docs` runs it from the root of the checkout. A
-- test fails when a page is out of date.

-- The generator only reads tables, so bindings that exist in the binary alone can be empty,
-- but for the enumerations and numbers of src/common.
local function stand_in()
	return setmetatable({}, { __index = function() return stand_in end })
end

local function rows_of(path, pattern)
	local file <close> = assert(io.open(path, "rb"))
	return ("\n" .. file:read "a"):gmatch("\n" .. pattern)
end

local SETS = { strategy = "BACKOFF" } -- the others are called as their macro is

local host = stand_in()

function host.names(key)
	local list = {}
	for text in rows_of("src/common/names.def", (SETS[key] or key:upper()) .. '%([%u_]+,%s*"([%w_]+)"') do
		list[#list + 1] = text
	end
	return list
end

local function number_of(macro, key)
	return assert(math.tointeger(tonumber((rows_of("src/common/defaults.def", macro .. "%(" .. key .. ",%s*(%d+)%)")()))), key)
end

function host.default(key) return number_of("DEFAULT", key) end
function host.bound(key) return number_of("BOUND", key) end
function host.duration_text(ms) return ("%gs"):format(ms / 1000) end

package.path = "./lua/?.lua;" .. package.path
package.searchers[#package.searchers + 1] = function(name)
	local path = name:gsub("^runner%.", "lua/"):gsub("%.", "/") .. ".lua"
	if name == "runner.host" then
		return function() return host end
	elseif path:find "^lua/types/" then
		return function() return assert(io.open(path, "rb")):read "a" end
	end
	return loadfile(path) or stand_in
end

local annotations = require "runner.tools.annotations"
local contract = require "runner.declare.contract"
local environment = require "runner.declare.environment"
local flags = require "runner.declare.flags"
local key_descriptions = require "runner.workflow.file.key_descriptions"
local tables = require "runner.core.tables"

local M = {}

-- Every page that may have generated parts.
---@return string[]
local function pages()
	local list = assert(io.popen("ls docs/architecture.md docs/modules.md docs/packages.md docs/compliance.md"
		.. " docs/scale.md docs/reliability.md"
		.. " docs/security.md docs/reference/*.md docs/workflows/*.md"))
	local found = {}
	for path in list:lines() do
		found[#found + 1] = path
	end
	list:close()
	found[#found + 1] = "docs/runner.1"
	return found
end

-- The sources that have one: the pages are made of what these say.
M.sources = { "lua/declare/arguments.lua", "lua/declare/contract.lua" }

M.pages = pages()

local function read(path)
	local f = assert(io.open(path, "rb"))
	local text = f:read("a")
	f:close()
	return text
end

local function cell(text)
	return (tostring(text):gsub("|", "\\|"))
end

local function code(text)
	return text and text ~= "" and "`" .. cell(text) .. "`" or ""
end

-- A Markdown table. The cells of `rows` are Markdown already.
local function markdown(head, rows)
	local lines = { "| " .. table.concat(head, " | ") .. " |", ("|---"):rep(#head) .. "|" }
	for i, row in ipairs(rows) do
		lines[i + 2] = "| " .. table.concat(row, " | ") .. " |"
	end
	return table.concat(lines, "\n") .. "\n"
end

-- --- the rooms -----------------------------------------------------------------------------

local house = dofile ".ci/docs/layers.lua"
local borders = dofile "tests/lua/lib/borders.lua"

local SECTIONS = {}

local environments = dofile ".ci/docs/environments.lua"

function SECTIONS.environments()
	return markdown({ "environment", "what it is", "suites", "commit", "passed", "failed", "skipped", "seconds" }, environments.table_rows())
end

local packages = dofile ".ci/docs/packages.lua"

function SECTIONS.packages()
	return markdown(packages.head(), packages.table_rows())
end

function SECTIONS.skips()
	return markdown({ "kind", "why a test is skipped" }, environments.kinds())
end

-- One floor a line, the highest first.
function SECTIONS.floors()
	local floors, lines = borders.floors(house.rooms), {}
	for n = #floors, 1, -1 do
		lines[#lines + 1] = ("%2d │ %s"):format(n, table.concat(floors[n], "   "))
	end
	return "```\n" .. table.concat(lines, "\n") .. "\n```\n"
end

function SECTIONS.rooms()
	local rows = {}
	for i, room in ipairs(house.rooms) do
		rows[i] = { code(room.name), code(room.path), cell(room.owns), table.concat(room.uses, ", ") }
	end
	return markdown({ "room", "place", "owns", "may use" }, rows)
end

-- "-- name: what it owns. More." → what it owns
local function owned(path)
	local header = {}
	for line in read(path):gmatch "[^\n]*" do
		local text = line:match "^%-%- (.*)"
		if not text then
			break
		end
		header[#header + 1] = text
	end
	local text = table.concat(header, " "):gsub("^[%w_]+: ", "")
	return (text .. " "):match "^(.-)[.:]%s" or text
end

-- The modules of each room of lua/, as their files speak of themselves.
function SECTIONS.modules()
	local rows, files = {}, borders.files ""
	for _, room in ipairs(house.rooms) do
		for _, path in ipairs(files) do
			if path:find "%.lua$" and borders.room_of(house.rooms, path) == room and room.name ~= "types" then
				rows[#rows + 1] = { code((path:gsub("^lua/", ""):gsub("%.lua$", ""))), cell(owned(path)) }
			end
		end
	end
	return markdown({ "module", "owns" }, rows)
end

-- --- flags and variables -----------------------------------------------------------------

local function flag_row(row)
	local kind = row.values and table.concat(row.values, ", ") or row.type
	if row.max then
		kind = ("%s, %s to %s"):format(kind, row.min, row.max)
	end
	local spelt = (row.short and "-" .. row.short .. ", " or "") .. "--" .. row.flag
	return { code(spelt), cell(kind), code(flags.default(row)), code(row.env),
		cell(row.description) }
end

function SECTIONS.flags()
	local rows = {}
	for i, row in ipairs(contract.rows()) do
		rows[i] = flag_row(row)
	end
	return markdown({ "flag", "value", "default", "variable", "meaning" }, rows)
end

-- A condition is a key of a declaration, or a danger level.
local CONDITIONS = { mutating = '`danger_level = "mutating"` or `"destructive"`', destructive = '`danger_level = "destructive"`',
	["list truncates"] = "`list` or `truncates`" }

SECTIONS["conditional-flags"] = function()
	local rows = {}
	for _, row in ipairs(contract.rows(nil, true)) do
		if row.when then
			local cells = flag_row(row)
			rows[#rows + 1] = { cells[1], cells[2], CONDITIONS[row.when] or code(row.when), cells[5] }
		end
	end
	return markdown({ "flag", "value", "if the command declares", "meaning" }, rows)
end

function SECTIONS.environment()
	local rows = {}
	for i, row in ipairs(environment.rows) do
		rows[i] = { code(row.name), cell(row.description) }
	end
	return markdown({ "variable", "meaning" }, rows)
end

-- CHILD_ENV(when, name, value, meaning) of src/worker/child_env.def
local CHILD_ENV = { ALWAYS = "always", NO_COLOR = "`NO_COLOR`, `CI`, `TERM=dumb` or `--no-color`",
	UNSEEN = "stdout is no terminal, or `CI`", NO_PERSON = "stdin or stdout is no terminal, or `CI`",
	LOCALE = "unless `preserve_locale`" }

SECTIONS["child-environment"] = function()
	local rows = {}
	local pattern = 'CHILD_ENV%(([%u_]+),%s*"([%u_]+)",%s*"(.-)",%s*"(.-)"%)'
	for when, name, value, meaning in read("src/worker/child_env.def"):gmatch(pattern) do
		rows[#rows + 1] = { code(name), value == "" and "empty" or code(value), CHILD_ENV[when], cell(meaning) }
	end
	return markdown({ "variable", "value", "when", "so that" }, rows)
end

SECTIONS["conformance-checks"] = function()
	local rows = {}
	for i, check in ipairs(require("runner.conformance.kit").list) do
		rows[i] = { code(check.id), tostring(check.level), cell(check.title), table.concat(check.requirements, ", ") }
	end
	return markdown({ "check", "level", "passes when", "proves" }, rows)
end

-- --- the registry ---------------------------------------------------------------------------

SECTIONS["exit-codes"] = function()
	local rows = {}
	local pattern = '\nEXIT%(([%u_]+),%s*(%d+),%s*(%d+),%s*(%u+),%s*(%u+),%s*"(.-)"%)'
	for name, standard, classic, retryable, effects, description in read("src/common/codes.def"):gmatch(pattern) do
		rows[#rows + 1] = { standard, code(name), classic, retryable:lower(), effects:lower(), cell(description) }
	end
	return markdown({ "exit", "name", "classic", "retryable", "side effects", "meaning" }, rows)
end

SECTIONS["error-codes"] = function()
	local rows = {}
	local pattern = "\nCODE%(([%u_]+),%s*([%u_]+),%s*(%u+),%s*(%-?%d+),%s*([%u_]+),%s*(.-)%)\n"
	local text = read("src/common/codes.def"):gsub("\n", "\n\n")
	for name, entry, retryable, after, strategy, hint in text:gmatch(pattern) do
		rows[#rows + 1] = { code(name), code(entry), retryable == "INHERIT" and "" or retryable:lower(),
			tonumber(after) >= 0 and ("%s, %s"):format(after, strategy:lower()) or "",
			hint ~= "NULL" and cell(hint:sub(2, -2)) or "" }
	end
	return markdown({ "code", "exit entry", "retryable", "wait (ms)", "what to do" }, rows)
end

-- --- the script API ----------------------------------------------------------------------------

local function field_rows(class)
	local rows = {}
	for i, field in ipairs(assert(annotations.fields(annotations.files.runner, class), class)) do
		rows[i] = { code(field.name), code(field.type), cell(field.optional and field.meaning or "**required** " .. field.meaning) }
	end
	return rows
end

local function keys_of(class)
	return markdown({ "key", "type", "meaning" }, field_rows(class))
end

local TABLES = {
	command = "Command", argument = "Arg", retry = "Retry", ["exit-code"] = "ExitCode", limits = "Limits", stdin = "Stdin", rule = "Rule",
	example = "Example", project = "Project", run = "RunSpec", spawn = "SpawnSpec", pipeline = "PipelineSpec",
	["retry-on"] = "RetryOn", http = "HttpSpec", lock = "LockOptions", prompt = "PromptOptions", failure = "Failure",
}
for section, class in pairs(TABLES) do
	SECTIONS[section] = function()
		return keys_of("runner." .. class)
	end
end

-- Tables that runner passes to a script: no key of these is marked as required.
local GIVEN = { context = "Context", result = "Result", response = "HttpResult" }
for section, class in pairs(GIVEN) do
	SECTIONS[section] = function()
		return (keys_of("runner." .. class):gsub("%*%*required%*%* ", ""))
	end
end

-- The text of the comment above a function, and the types of what it returns.
local function read_comment(lines)
	local meaning, given = {}, {}
	for i, line in ipairs(lines) do
		local kind = line:match("^%-%-%-@return (.+)")
		given[#given + 1] = kind and (annotations.split_type(kind))
		meaning[i] = #meaning == i - 1 and line:match("^%-%-%-([^@].*)") or nil
	end
	return table.concat(meaning, " "), table.concat(given, ", ")
end

-- Every function of a class in an annotation file.
local function function_rows(text, class, spelt)
	local rows, comment = {}, {}
	for line in text:gmatch("[^\n]*") do
		local signature = line:match("^function " .. class .. "([%.:][%w_]+%b())")
		if signature then
			local meaning, given = read_comment(comment)
			rows[#rows + 1] = { code(spelt .. signature), code(given), cell(meaning) }
		end
		if line:find("^%-%-%-") then
			comment[#comment + 1] = line
		else
			comment = {}
		end
	end
	return rows
end

local API = { methods = { "runner", "Context", "ctx" }, process = { "runner", "Process", "process" },
	json = { "json", "json", "json" }, fs = { "fs", "fs", "fs" } }
for _, name in ipairs { "codec", "hash", "path", "text", "time", "toml", "yaml" } do
	API[name] = { "runner/" .. name, name, name }
end
for section, place in pairs(API) do
	SECTIONS[section] = function()
		return markdown({ "function", "returns", "meaning" }, function_rows(annotations.files[place[1]], place[2], place[3]))
	end
end

-- --- workflows ---------------------------------------------------------------------------------

-- Field → its spellings, shortest first.
local function spellings_of(rows)
	local by_field = {}
	for key, row in pairs(rows) do
		local field = row[2] or key
		by_field[field] = by_field[field] or {}
		table.insert(by_field[field], key)
	end
	for _, list in pairs(by_field) do
		table.sort(list, function(a, b)
			return #a < #b or #a == #b and a < b
		end)
	end
	return by_field
end

-- The spelling that key_descriptions.lua uses comes first, its aliases after it.
local function key_cell(main, spellings)
	local cells = { code(main) }
	for _, key in ipairs(spellings) do
		cells[#cells + 1] = key ~= main and code(key) or nil
	end
	return table.concat(cells, ", ")
end

-- Every key of `rows` in the order of key_descriptions.lua. Fails when either has a key
-- that the other lacks.
local function workflow_keys(section, rows)
	local by_field, out = spellings_of(rows), {}
	for i, word in ipairs(key_descriptions[section]) do
		local row = assert(rows[word[1]], ("lua/workflow/file/key_descriptions.lua describes %s, which is not a key"):format(word[1]))
		local field = row[2] or word[1]
		local spellings = assert(by_field[field], "lua/workflow/file/key_descriptions.lua describes " .. word[1] .. " twice")
		by_field[field] = nil
		out[i] = { key_cell(word[1], spellings), cell(word[2]), cell(word[3]), cell(word[4]) }
	end
	local left = next(by_field)
	assert(not left, ("lua/workflow/file/key_descriptions.lua does not describe the key %s"):format(left and by_field[left][1]))
	return markdown({ "key", "value", "default", "meaning" }, out)
end

-- The keys that only one kind of step has. Those of the kinds' own names fill the same field, but they are not spellings
-- of one key.
local function own_keys(keys)
	local out = {}
	for _, kind in ipairs(require("runner.workflow.expr.variables").kinds) do
		for key in pairs(keys.own[kind]) do
			out[key] = {}
		end
	end
	return out
end

-- Without those that become flags, which have a table of their own.
local function without_flags(rows)
	local out = {}
	for key, row in pairs(rows) do
		out[key] = row
	end
	for _, row in ipairs(require("runner.workflow.expr.claude_keys").rows) do
		out[row.key] = nil
	end
	return out
end

local KEYS = {
	workflow = function(keys) return keys.workflow end,
	executor = function(keys) return keys.executor end,
	concurrency = function(keys) return keys.concurrency end,
	resources = function(keys) return keys.resources end,
	claude = function(keys) return without_flags(keys.claude) end,
	any = function(keys) return keys.any end,
	process = function(keys) return keys.process end,
	kinds = function(keys) return without_flags(own_keys(keys)) end,
	foreach = function(keys) return keys.own.foreach end,
	parallel = function(keys) return keys.own.parallel end,
	approve = function(keys) return require("runner.core.tables").add({ approve = keys.own.approve.approve }, keys.approve) end,
	retry = function() return require("runner.workflow.file.retry").keys end,
	worktree = function(keys) return keys.worktree end,
}
for section, section_rows in pairs(KEYS) do
	SECTIONS["workflow-" .. section] = function()
		return workflow_keys(section, section_rows(require "runner.workflow.file.keys"))
	end
end

SECTIONS["workflow-flags"] = function()
	local rows = {}
	for i, row in ipairs(require("runner.workflow.expr.claude_keys").rows) do
		rows[i] = { code(row.key), cell(row.value), code(row.flag), cell(row.meaning) }
	end
	return markdown({ "key", "value", "flag", "meaning" }, rows)
end

-- What the importer does with each key and variable of prodigy. `template`: of a name of theirs or ours.
local function imported(rows, template, left)
	local out = {}
	for i, row in ipairs(rows) do
		local theirs = row[1]:gsub("%S+", function(name) return code(template:format(name)) end):gsub("` `", "`, `")
		local ours = row[2] == "" and "–" or row[2] or left
		out[i] = { theirs, row[2] and ours:find "^[%w_.*]+$" and code(template:format(ours)) or ours, cell(row[3] or "") }
	end
	return markdown({ "prodigy", "runner", "" }, out)
end

SECTIONS["from-prodigy"] = function()
	local import, parts = require "runner.workflow.import.keys", {}
	for _, section in ipairs(import.sections) do
		parts[#parts + 1] = ("### %s\n\n%s%s"):format(section.title, section.steps and "The keys of a step, and these:\n\n" or "",
			imported(section, "%s", "**left out**"))
	end
	parts[#parts + 1] = "### Variables\n\n" .. imported(import.variables, "${%s}", "a variable of `vars`")
	return table.concat(parts, "\n")
end

SECTIONS["workflow-failures"] = function()
	local rows = {}
	for i, row in ipairs(require("runner.workflow.kinds.classify").table()) do
		rows[i] = { row.name, cell(row.shows), code(row.code), row.transient and "transient" or "**permanent**",
			code(row.display) }
	end
	return markdown({ "failure", "recognised by", "code", "kind", "`error.message`" }, rows)
end

SECTIONS["workflow-commands"] = function()
	local rows = {}
	local builtins = require "runner.project.builtins"
	for _, name in ipairs(builtins.list()) do
		local command = name:find "^workflow%." and builtins.declaration(name) or { hidden = true }
		local usage = { (name:gsub("%.", " ")) }
		for _, row in ipairs(command.args or {}) do
			usage[#usage + 1] = row.positional and (row.required and row[1]:upper() or ("[%s]"):format(row[1]:upper())) or nil
		end
		for _, row in ipairs(command.args or {}) do
			local spelt = "--" .. row[1]:gsub("_", "-")
			usage[#usage + 1] = not row.positional and ("[%s]"):format(row[2] == "boolean" and spelt
				or spelt .. " " .. row[1]:upper()) or nil
		end
		rows[#rows + 1] = not command.hidden and { code(table.concat(usage, " ")), cell(command.description) } or nil
	end
	return markdown({ "command", "what it does" }, rows)
end

local index = dofile ".ci/docs/index.lua"
SECTIONS.spellings, SECTIONS.subjects = index.spellings, index.subjects

for name, section in pairs(dofile ".ci/docs/manual.lua") do
	SECTIONS["manual-" .. name:gsub("_", "-")] = function()
		return section(contract)
	end
end

local compliance = dofile ".ci/docs/compliance.lua"
SECTIONS.compliance = compliance.tables
SECTIONS["compliance-summary"] = compliance.summary
SECTIONS["compliance-count"] = compliance.count

-- The tests of a page's promises, by the stored mutants that they kill.
local function proofs_of(page)
	return function()
		local catalogue = dofile "tests/mutate/promises/catalogue.lua"
		local tests, rows = {}, {}
		for _, entry in ipairs((catalogue.entries())) do
			local list = tests[entry.id] or {}
			tests[entry.id] = entry.page == page and not entry.is_on_page and list or nil
			for _, test in ipairs(entry.tests) do
				list[test] = list[test] or (table.insert(list, test) or true)
			end
		end
		for _, promise in ipairs(catalogue.promises(page)) do
			for i, test in ipairs(tests[promise] or {}) do
				rows[#rows + 1] = { i == 1 and promise or "", (test:gsub("^[^:]+", "`%0`")) }
			end
		end
		return markdown({ "promise", "test" }, rows)
	end
end
SECTIONS["reliability-proofs"], SECTIONS["security-proofs"] = proofs_of "reliability", proofs_of "security"

-- How the two lines around a part are written, in each kind of file.
local FRAMES = {
	md = "(<!%-%- generated: ([%w-]+) %-%->\n)(.-)(<!%-%- end %-%->)",
	lua = "(%-%- generated: ([%w-]+)\n)(.-)(%-%- end\n)",
	["1"] = '(%.\\" generated: ([%w-]+)\n)(.-)(%.\\" end\n)',
}

---Renews each generated part of a file: the text between `<!-- generated: NAME -->` and
---`<!-- end -->`, or between comments of the same words.
---@param page string
---@param kind? string how the file's name ends: "md", "lua", "1"
---@return string
function M.render(page, kind)
	return (page:gsub(FRAMES[kind or "md"], function(head, name, text, tail)
		local section = assert(SECTIONS[name], "a page has a part named " .. name .. ", which .ci/docs/generate.lua can't generate")
		return head .. section(text) .. tail
	end))
end

---@return string[] names of the parts
function M.parts()
	return tables.sorted_keys(SECTIONS)
end

local function write(path, text)
	local f = assert(io.open(path, "wb"))
	assert(f:write(text))
	assert(f:close())
end

local function renew(path)
	write(path, M.render(read(path), path:match "%.(%w+)$"))
end

-- The JSON Schemas for editors, as the program prints them.
local function write_schemas(runner)
	for _, name in ipairs { "project", "workflow" } do
		local process = assert(io.popen(("%s types --print %s --format plain"):format(runner, name)))
		local text = process:read "a"
		assert(process:close(), "can't print the schema " .. name)
		write(("docs/schema/%s.json"):format(name), text)
	end
end

if arg and arg[0] and arg[0]:find("generate%.lua$") then
	for _, path in ipairs(M.sources) do
		renew(path)
	end
	package.loaded["runner.declare.contract"] = nil
	contract = require "runner.declare.contract"
	for _, path in ipairs(M.pages) do
		renew(path)
	end
	write_schemas(os.getenv "RUNNER" or "build/runner")
end

return M
