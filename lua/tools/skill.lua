-- skill: the commands of a project as a skill of coding agents (agentskills.io): an index of at most M.INDEX_MAX bytes, which an agent
-- reads first, and a page for each group of commands, with two calls of each to copy.

local arg_words = require "runner.declare.arg_words"
local args = require "runner.project.args"
local argv_parser = require "runner.project.argv_parser"
local command_line = require "runner.core.command_line"
local compact_help = require "runner.tools.compact_help"
local computed = require "runner.declare.computed"
local json = require "runner.json"
local locate = require "runner.project.locate"
local rare_arguments = require "runner.declare.rare_arguments"
local tables = require "runner.core.tables"
local tool = require "runner.core.tool"

local M = {}

-- Two calls of a command that can be copied: the examples of its declaration, else calls made of its arguments. Each has
-- been parsed as it would be, without the caller's environment; nothing is run. One that destroys something is never without
-- its dry run, and none confirms anything. Where a declaration doesn't say what a value looks like, the argument's name in capitals
-- stands for it.

local MOST, ROUNDS, BESIDE = 2, 8, 2 -- calls; tries to complete one; optional arguments of the second
local LONG = 64 -- no call is worth copying that needs more characters of a value, or more values
local DRY_RUN = "--dry-run" -- of runner, or an argument of that name, which does the same
local CONFIRMS = tables.set "--yes --confirm-destructive --live"

-- --- a value of an argument ------------------------------------------------------------------

-- By the last word of its name.
local BY_NAME = { date = "2026-01-31", url = "https://example.org", uri = "https://example.org", email = "ada@example.org",
	mail = "ada@example.org", version = "1.2.3", tag = "v1.2.3", branch = "main", host = "web-1", id = "42", number = "42", user = "ada",
	owner = "ada", since = "1h", duration = "2h", ttl = "1h", interval = "5m", reason = "planned work", note = "planned work",
	message = "planned work", comment = "planned work", title = "Planned work", subject = "Planned work", port = "8080", lines = "100",
	limit = "10", count = "3" }
local TEXTS = { "web-1", "web1", "42", "a", "A", "main", "1.2.3", "v1.2.3", "2026-01-31", "2026-01-31T10:00:00Z", "10:00", "ABC-123",
	"ada@example.org", "example.org", "ada/web", "127.0.0.1", "https://example.org/path", "site/index.html", "sha256:0a1b2c", "0a1b2c3d" }
local OF_TYPE = { integer = { "10", "1", "0" }, number = { "1.5", "1", "0.5", "0" }, duration = { "10m", "30s", "1h", "1s" },
	path = { "notes.txt", "." }, json = { "{}", "[]", "1", "true", '"text"' } }

-- A value of a JSON Schema, with what it must have and no more.
local function sample(schema, depth)
	local kind = type(schema.type) == "table" and schema.type[1] or schema.type
	local known = schema.const or schema.default or type(schema.enum) == "table" and schema.enum[1]
		or type(schema.examples) == "table" and schema.examples[1] or nil
	if known ~= nil or kind == "array" or depth == 0 then
		return known or json.array {}
	elseif kind ~= "object" and not schema.properties then
		return kind == "string" and "TEXT" or kind == "boolean" or schema.minimum or 1
	end
	local out = {}
	for _, name in ipairs(schema.required or {}) do
		out[name] = sample((schema.properties or {})[name] or {}, depth - 1)
	end
	return out
end

-- Does the declaration say nothing of what its values look like?
local function is_free(row, list)
	local kind = row.items or row.type
	return (kind == "string" or kind == "path") and not (row.pattern or row.schema or list) and (row.min_length or 0) <= LONG
end

-- Of a length that the row takes.
local function placeholder(row, number)
	local name = row.name:upper():gsub("%W", "_") .. (number > 1 and "_" .. number or "")
	local least, most = not row.items and row.min_length or 1, not row.items and row.max_length or #name
	return name:rep(least // #name + 1, "_"):sub(1, math.max(least, math.min(#name, most)))
end

local function candidates(row, list)
	local out, kind = {}, row.items or row.type
	table.move(list or {}, 1, #(list or {}), 1, out)
	local function add(text)
		out[#out + 1] = text
	end
	if is_free(row, list) then
		add(type(row.default) == "string" and row.default ~= "" and row.default or nil)
		for i = 1, row.items and row.min_length or 1 do
			add(placeholder(row, i))
		end
	end
	add(BY_NAME[row.name:match "%a+$"])
	local preset = row.pattern and rare_arguments.presets[row.pattern]
	add(preset and preset[2])
	for _, text in ipairs(OF_TYPE[kind] or TEXTS) do
		add(text)
	end
	add(row.schema and json.encode(sample(row.schema, 8)))
	for _, bound in ipairs { row.min or false, row.max or false } do
		add(bound and ("%s%s"):format(bound, kind == "duration" and "s" or ""))
	end
	return out
end

-- The texts that the row takes, those first that are no default; an array needs several.
local function texts_of(row, config)
	local ok, list = pcall(computed.listed, row, config)
	list = ok and list or nil
	local out, last = {}, {}
	for _, text in ipairs(candidates(row, list)) do
		text = tostring(text)
		local value, why = argv_parser.read(row, text, list)
		if value ~= nil and not why and not text:find "^%-" and not text:find "%c" then
			local into = value == row.default and not is_free(row, list) and last or out
			into[#into + 1] = text
		end
	end
	return table.move(last, 1, #last, #out + 1, out)
end

-- The words that give an argument; nil: no value of it is known.
local function words_of(row, config)
	if row.type == "boolean" then
		return { (row.default == true and "--no-" or "--") .. row.flag }
	elseif row.secret then
		return { ("--%s-from-env"):format(row.flag), (row.name:upper():gsub("%-", "_")) }
	end
	local texts, out = (row.min_length or 0) <= LONG and texts_of(row, config) or {}, {}
	for i = 1, texts[1] and (row.type == "array" and math.max(row.min_length or 1, 1) or 1) or 0 do
		out[#out + 1] = not row.positional and "--" .. row.flag or nil
		out[#out + 1] = texts[i] or texts[1]
	end
	return out[1] and out or nil
end

-- --- a call ----------------------------------------------------------------------------------

-- Is the problem that a secret has no value yet? Its variable is set where it is called.
local function is_of_secret(command, field)
	for _, row in ipairs(command.args) do
		if row.name == field then
			return row.secret
		end
	end
end

local function no_environment() end

-- The fields that are wrong; and whether nothing would be destroyed.
local function parse(command, words, config)
	if command.raw then
		return {}, true
	end
	local ok, parsed = pcall(args.parse, command.args, words, { config = config, command = command, getenv = no_environment })
	if not ok then -- a function of the declaration failed
		return { "" }, false
	end
	local wrong, framework = {}, parsed.framework
	for _, problem in ipairs(parsed.problems) do
		wrong[#wrong + 1] = not is_of_secret(command, problem.field) and problem.field or nil
	end
	return wrong, command.danger_level ~= "destructive"
		or (framework.dry_run or parsed.values.dry_run == true) and not (framework.confirm_destructive or framework.live)
end

-- In the order of the declaration, places first: one is never left out in front of another.
local function joined(command, wanted, config, more)
	local places, options, gap = {}, {}, false
	for _, row in ipairs(command.args) do
		local words = wanted[row.name] and words_of(row, config)
		gap = gap or row.positional and not words
		if words and not (row.positional and gap) then
			local into = row.positional and places or options
			table.move(words, 1, #words, #into + 1, into)
		end
	end
	table.move(options, 1, #options, #places + 1, places)
	return table.move(more, 1, #more, #places + 1, places)
end

-- What says what is changed, and not only how.
local function is_object(row)
	return not (row.type == "boolean" or row.secret or row.flag == "dry-run")
end

local function changes(command)
	return command.danger_level ~= "safe"
end

local function has_object(command)
	for _, row in ipairs(command.args) do
		if is_object(row) then
			return true
		end
	end
	return false
end

-- With these arguments, and with those that it then turns out to need; nil: that can't be found out, or it would change something
-- and not say what.
local function complete(command, wanted, config, more)
	for _ = 1, ROUNDS do
		local words = joined(command, wanted, config, more)
		local wrong, harmless = parse(command, words, config)
		if not wrong[1] then
			local says = #words > #more or not (changes(command) and has_object(command))
			return harmless and says and words or nil
		end
		local grown = false
		for _, name in ipairs(wrong) do
			grown = grown or not wanted[name]
			wanted[name] = true
		end
		if not grown then
			return nil
		end
	end
end

-- Its words behind the name; nil: it is a call of something else, or needs a shell, or is no call of today's declaration.
local function declared(command, example, project)
	local words = command_line.split(example.command)
	local found = words and words[1] == "runner" and locate.find(table.move(words, 2, #words, 1, {}), project)
	if not found or found.name ~= command.name then
		return nil
	end
	local rest, destroys = {}, command.danger_level == "destructive"
	for i = found.words + 2, #words do
		rest[#rest + 1] = not (destroys and CONFIRMS[words[i]]) and words[i] or nil
	end
	local shows = not destroys
	for _, word in ipairs(rest) do
		shows = shows or word == DRY_RUN or word == "-n"
	end
	rest[#rest + 1] = not shows and DRY_RUN or nil
	local wrong, harmless = parse(command, rest, project.config)
	return not wrong[1] and harmless and rest or nil
end

local function required(command)
	local out = {}
	for _, row in ipairs(command.args) do
		out[row.name] = row.required or nil
	end
	return out
end

-- And so many others, those first that say what.
local function beside(command, config, left)
	local out = required(command)
	for _, wanted in ipairs { true, false } do
		for _, row in ipairs(command.args) do
			if left > 0 and is_object(row) == wanted and not (out[row.name] or row.secret or row.flag == "dry-run") and words_of(row, config) then
				out[row.name], left = true, left - 1
			end
		end
	end
	return out
end

-- What may be added to any call of it, to make another one.
local function additions(command, shown)
	if command.danger_level == "mutating" and not shown then
		return { DRY_RUN }
	elseif command.list then
		return { "--limit", "5" }
	end
	return { "--timeout", "30s" }
end

local function longer(command, words, extra, config)
	local all = table.move(extra, 1, #extra, #words + 1, table.move(words, 1, #words, 1, {}))
	return not parse(command, all, config)[1] and all or nil
end

---A value of what has a form, a duration or a text that must match a pattern.
---@param row table normal form
---@param config table of the project
---@return string?
function M.form(row, config)
	local kind = row.items or row.type
	return (kind == "duration" or row.pattern) and not row.secret and texts_of(row, config)[1] or nil
end

---Two calls at most, as they are typed.
---@param command table normal form
---@param project table
---@return {line: string, description?: string}[]
function M.of(command, project)
	local out, seen, name = {}, {}, command_line.typed(command.name)
	local function add(words, description)
		local line = words and ("runner %s %s"):format(name, command_line.line(words)):gsub("%s+$", "")
		if line and not seen[line] and #out < MOST then
			out[#out + 1], seen[line] = { line = line, description = description }, true
		end
	end
	local first
	for _, example in ipairs(command.examples or {}) do
		local words = declared(command, example, project)
		first = first or words
		add(words, example.description)
	end
	if command.raw then
		out[1] = out[1] or { line = "runner help " .. name }
		return out
	end
	-- All that may be said is how: it is shown, and nothing is changed.
	local shown = command.danger_level == "destructive"
		or changes(command) and command.args[1] and not (has_object(command) or next(required(command)))
	local extra, config = additions(command, shown), project.config
	if first and command.danger_level == "mutating" then
		add(longer(command, first, extra, config))
	end
	local more = type(command.stdin) == "table" and command.stdin.required and { "--input-file", "INPUT_FILE" } or {}
	more[#more + 1] = shown and DRY_RUN or nil
	local least = complete(command, required(command), config, more) or complete(command, beside(command, config, 1), config, more)
	add(least)
	add(complete(command, beside(command, config, BESIDE), config, more))
	add(least and longer(command, least, extra, config))
	add(first and longer(command, first, extra, config))
	out[1] = out[1] or { line = "runner help " .. name }
	return out
end

M.INDEX_MAX = 1500
M.MARK = "runner generate-skills" -- in each file; one without it belongs to another author

local PAGE_MOST = 30 -- commands of a page
local REST = "_commands" -- the page of commands in no group; no group can have this name

-- What a caller types in front of a command's name.
local function program()
	return (tool.own() or {}).name or "runner"
end

-- --- pages ---------------------------------------------------------------------------------

---@class runner.SkillPage
---@field file string
---@field group? string the first word of its commands
---@field rows runner.CommandRow[] with `command`

-- Each group of several commands, by its first word; all others together, last.
local function groups_of(rows)
	local counts, groups, order = {}, {}, {}
	for _, row in ipairs(rows) do
		local word = row.name:match "^%S+"
		counts[word] = (counts[word] or 0) + 1
	end
	for _, row in ipairs(rows) do
		local word = row.name:match "^%S+"
		local key = counts[word] > 1 and word or REST
		if not groups[key] then
			groups[key], order[#order + 1] = {}, key
		end
		table.insert(groups[key], row)
	end
	table.sort(order, function(a, b)
		return (a == REST) ~= (b == REST) and b == REST or (a == REST) == (b == REST) and a < b
	end)
	return groups, order
end

---@param rows runner.CommandRow[] with `command`, sorted
---@return runner.SkillPage[]
function M.pages(rows)
	local out, groups, order = {}, groups_of(rows)
	for _, key in ipairs(order) do
		for first = 1, #groups[key], PAGE_MOST do
			local part = first > 1 and ".%d" or ""
			local name = key:lower() == "skill" and "_" .. key or key -- SKILL.md is the index, also where case is ignored
			out[#out + 1] = { file = name .. part:format(first // PAGE_MOST + 1) .. ".md", group = key ~= REST and key or nil,
				rows = table.move(groups[key], first, math.min(first + PAGE_MOST - 1, #groups[key]), 1, {}) }
		end
	end
	return out
end

-- --- a page ----------------------------------------------------------------------------------

-- What is said of a command, and how it is meant, once on its page.
local KINDS = {
	{ "person", " *Only a person.*", "*Only a person*: nothing else can call it, at a terminal; ask for that." },
	{ "live", " *Destroys, with `--live`.*", "*Destroys, with `--live`*: without it it says what it would do. Show that to a person first." },
	{ "destructive", " *Destroys.*",
		"*Destroys*: show a person what `--dry-run` says; once they agree, `--confirm-destructive` takes its place." },
	{ "mutating", " *Changes something.*",
		"*Changes something*: a dry run isn't needed first; where you are unsure of the arguments, `--dry-run` says what it would do." },
}

local function kind_of(command)
	local name = command.requires_person and "person" or command.safe_default and "live" or command.danger_level
	for _, kind in ipairs(KINDS) do
		if kind[1] == name then
			return kind
		end
	end
end

local function one_line(text)
	return (text:gsub("%s+", " "))
end

-- At the end of a word, where there is one.
local function cut(text, most)
	local stop = #text > most and utf8.offset(text, 0, most)
	return stop and text:sub(1, stop - 1):gsub("%s+%S*$", ""):gsub(",$", "") .. " …" or text
end

local function sentence(text)
	return text:find "[.!?:]$" and text or text .. "."
end

local NOUNS = { string = "text", boolean = "yes or no: the flag alone", integer = "whole number", array = "text" }

-- What is given for it, how often, and what holds without it.
local function argument_line(row, own, config)
	local kind, default = own.items or own.type, row.default
	local about = { row.required and "**required**" or nil }
	about[#about + 1] = row.values and one_line("one of " .. table.concat(row.values, ", "))
		or kind == "boolean" and default == true and ("yes unless `--no-%s`"):format(own.flag) or NOUNS[kind] or kind
	local form = M.form(own, config)
	about[#about] = about[#about] .. (form and ", as " .. arg_words.shown(form) or "")
	about[#about + 1] = row.type == "array" and (own.positional and "several" or "repeated for several") or nil
	if default ~= nil and kind ~= "boolean" and default ~= "" then
		local text = type(default) == "table" and json.encode(default) or tostring(default)
		about[#about + 1] = text and text ~= "[]" and text ~= "{}" and "default " .. arg_words.shown(text) or nil
	end
	local meaning = row.description ~= arg_words.expected(own) and one_line(row.description)
	return ("- `%s` (%s)%s"):format(row.name, table.concat(about, "; "), meaning and ": " .. meaning or "")
end

local function command_text(row, project)
	local command, lines = row.command, {}
	local about, kind = sentence(cut(one_line(command.description), 300)), kind_of(command) or {}
	lines[1] = ("## %s %s\n\n%s%s\n"):format(program(), row.name, about, kind[2] or "")
	for i, argument in ipairs(compact_help.arguments(command, project.config)) do
		lines[#lines + 1] = argument_line(argument, command.args[i], project.config)
	end
	lines[#lines + 1] = lines[2] and "" or nil
	for _, call in ipairs(M.of(command, project)) do
		lines[#lines + 1] = "    " .. tool.says(call.line) .. (call.description and "  # " .. one_line(call.description) or "")
	end
	return table.concat(lines, "\n") .. "\n"
end

---@param page runner.SkillPage
---@param project table
---@return string Markdown
function M.page(page, project)
	local texts, there, notes = {}, {}, ""
	for i, row in ipairs(page.rows) do
		texts[i] = command_text(row, project)
		there[kind_of(row.command) or 0] = true
	end
	for _, kind in ipairs(KINDS) do
		notes = notes .. (there[kind] and kind[3] .. "\n" or "")
	end
	return ("<!-- %s -->\n# %s %s\n\n%sExit codes and limits: `%s help COMMAND --format json`.\n\n%s"):format(tool.says(M.MARK), program(),
		page.group or "COMMAND", notes, program(), table.concat(texts, "\n"))
end

-- --- the index -------------------------------------------------------------------------------

local function marked(name, row)
	return name .. (row.command.danger_level == "destructive" and " (destroys)" or "")
end

-- The words of its commands behind the group's, as many as `most`.
local function names_of(page, most)
	local out = {}
	for i, row in ipairs(page.rows) do
		if i > most then
			out[i] = ("+%d"):format(#page.rows - most)
			break
		end
		local name = page.group and row.name ~= page.group and row.name:sub(#page.group + 2) or row.name
		out[i] = marked(name, row)
	end
	return table.concat(out, ", ")
end

local function described(page)
	local out = {}
	for i, row in ipairs(page.rows) do
		out[i] = ("  - %s: %s"):format(marked(row.name, row), cut(one_line(row.description), 60))
	end
	return "\n" .. table.concat(out, "\n")
end

-- How much is said of each page, and what stands between two: the first that fits is taken.
local DETAILS = {
	{ described },
	{ function(page) return " " .. names_of(page, math.huge) end },
	{ function(page) return " " .. names_of(page, 12) end },
	{ function(page) return " " .. names_of(page, 6) end },
	{ function(page) return " " .. names_of(page, 3) end },
	{ function(page) return " " .. #page.rows end, "; ", 120 },
}

local HOW = [[
Before the first call of a command read the page of its group, a file beside this one: arguments, and calls to copy, with a value of
yours for each word in CAPITALS.
Call `P GROUP COMMAND ARGUMENTS`. stdout is one line of JSON: `ok`, `data`, `error`. Where a call was wrong, `error.fix_command` is
the right one. Repeat a call only where `error.retryable` is true. `(destroys)` means: never without a person.
Not found here: `P help --search 'WORDS'`.
]]

-- What decides whether an agent reads the rest: what the project is for, and the groups.
local function summary(project, pages, most)
	local groups = {}
	for _, page in ipairs(pages) do
		if page.group then
			groups[#groups + 1] = not page.file:find("%.%d+%.md$") and page.group or nil
		else
			for _, row in ipairs(page.rows) do
				groups[#groups + 1] = row.name
			end
		end
	end
	local own = project.description and cut(one_line(project.description), most // 2):gsub("%.?$", ". ") or ""
	return ("%sCommands of this project, called with `%s`: %s. Use them before any other way to do such a task."):format(own, program(),
		cut(table.concat(groups, ", "), most))
end

-- With the pages that have room; what has none is counted.
local function index(head, pages, detail, between)
	local lines, size = {}, #head + 40
	for i, page in ipairs(pages) do
		local line = ("%s%s:%s"):format(between and "" or "- ", page.file, detail(page))
		size = size + #line + #(between or "\n")
		if size > M.INDEX_MAX then
			lines[i] = ("- %d more pages are here"):format(#pages - i + 1)
			break
		end
		lines[i] = line
	end
	return head .. table.concat(lines, between or "\n") .. "\n", size <= M.INDEX_MAX
end

---SKILL.md.
---@param name string of the skill
---@param project table
---@param pages runner.SkillPage[]
---@param version string
---@return string Markdown with YAML front matter, whose values are JSON
function M.index(name, project, pages, version)
	local count, own, text = 0, program(), nil
	for _, page in ipairs(pages) do
		count = count + #page.rows
	end
	local metadata = json.encode { ["generated-by"] = tool.says(M.MARK), version = version }
	local how = HOW:gsub("%f[%w]P%f[%W]", function() return own end)
	for _, detail in ipairs(DETAILS) do
		local head = ("---\nname: %s\ndescription: %s\nmetadata: %s\n---\n\n# %s: %d commands\n\n%s\n"):format(name,
			json.encode(summary(project, pages, detail[3] or 400)), metadata, name, count, how)
		local whole
		text, whole = index(head, pages, detail[1], detail[2])
		if whole then
			break
		end
	end
	return text
end

---The name of the skill and of its folder: small letters, digits and single dashes, 64 at most.
---@param project table
---@return string
function M.name(project)
	local own = project.name or (project.root or ""):match "[^/]+$" or ""
	local name = own:lower():gsub("[^%w]+", "-"):sub(1, 64):gsub("^%-+", ""):gsub("%-+$", "")
	return name ~= "" and name or "commands"
end

return M
