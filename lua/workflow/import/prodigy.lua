-- prodigy: a workflow file of prodigy → one of ours, as text, and what could not be said in it, with its line. The table of keys
-- (keys.lua) says by which function each key is read; one of their steps may become several.

local command_line = require "runner.core.command_line"
local json = require "runner.json"
local keys = require "runner.workflow.import.keys"
local reader = require "runner.workflow.file.reader"
local references = require "runner.workflow.import.references"
local variables = require "runner.workflow.expr.variables"
local writer = require "runner.workflow.import.writer"
local yaml = require "runner.core.yaml.parser"

local M = {}

-- --- the state of an import --------------------------------------------------------------------

---@class runner.workflow.Import
---@field root table what is made
---@field steps table[] of it
---@field vars table<string, any> of it
---@field env table<string, string> literal values of `env`, by name
---@field captured table<string, runner.workflow.ImportStep> the step that captures a name, by name
---@field declared table<string, string> an output of prodigy's, as id.name → our variable
---@field ids table<string, true>
---@field order table<string, integer> where the source has a key first
---@field comments table<table, string[]> of the steps and of the root
---@field pending string[] comments of the next step
---@field current? table the step that comments belong to
---@field changes? boolean a step changes files
---@field loop? runner.workflow.ImportStep of `map`
---@field needs_start? boolean a step asks what the run has changed
local State = {}
State.__index = State

---@class runner.workflow.ImportStep a step on its way
---@field out table
---@field around {attempts: integer, timeout: any, rename: (fun(name: string): string?), is_inner: boolean?} where it stands
---@field kind? string ours
---@field capture? string
---@field before table[] steps that it needs before it
---@field after table[]
---@field goes_on? boolean its failure is passed over

---Say, in the answer and beside the step, what is not as it was.
---@param at {line: integer, column: integer}
---@param what string
---@param why string
---@param comments? string[]
function State:note(at, what, why, comments)
	table.insert(self.notes, { line = at.line, column = at.column, key = what, reason = why })
	table.insert(comments or self.comments[self.current] or self.pending, ("%s: %s"):format(what, why))
end

function State:left(at, what, why)
	self:note(at, what .. " is left out", why)
end

local function append(list, more)
	return table.move(more, 1, #more, #list + 1, list)
end

-- The comments in the lines above a step or a key of the source, each once.
function State:comments_above(at)
	local first, comments = at.line, self.comments[self.current] or self.pending
	while first > 1 and #(self.lines[first - 1]:match "^(%s*)#" or (" "):rep(at.column)) < at.column do
		first = first - 1
	end
	for line = first, at.line - 1 do
		comments[#comments + 1], self.lines[line] = self.lines[line]:match "^%s*#%s?(.*)$", ""
	end
end

-- Every id that the file has, so that a new one is another; and the order of its keys.
local function scan(s, node)
	for _, entry in ipairs(node.entries or {}) do
		s.seen = s.seen + 1
		s.order[entry.key] = s.order[entry.key] or s.seen
		s.ids[entry.key == "id" and entry.node.text or ""] = true
		scan(s, entry.node)
	end
	for _, item in ipairs(node.items or {}) do
		scan(s, item)
	end
end

-- --- keys and values -----------------------------------------------------------------------------

-- What a row of the table calls. `c`: what the map of the key becomes, as `out`.
---@type table<string, fun(s: runner.workflow.Import, c: table, node: runner.yaml.Node, entry: runner.yaml.Entry, row: table)>
local READ = {}

-- Import the entries of a map in the order of the table; say what is left.
local function fields(s, section, node, c, read)
	local named = keys.named[section]
	for _, entry in ipairs(node.entries or {}) do
		local row = named[entry.key]
		if not (row and row[2]) and not (read and read[entry.key]) then
			s:left(entry, entry.key, row and row[3] or "prodigy has no such key")
		elseif row and row.once and entry.node.value ~= false and not s.told[row] then
			s.told[row] = true
			s:note(entry, row[1]:match "%S+", row.once, s.comments[s.root])
		end
	end
	for _, row in ipairs(node.keys and keys.rows[section] or {}) do
		for key in row[1]:gmatch "%S+" do
			local entry = node.keys[key]
			if row.by and entry and named[key] == row and not (read and read[key]) then
				READ[row.by](s, c, entry.node, entry, row)
			end
		end
	end
end

-- The node of a key; an empty one where there is none.
local NONE = {}
local function of(node, key)
	return node.keys and node.keys[key] and node.keys[key].node or NONE
end

-- A text of theirs as one of ours.
local function said(s, step, node, in_shell)
	return references.text(s, node.text or "", { node = node, in_shell = in_shell, rename = step.around.rename, before = step.before })
end

-- A number that is written, or that a variable of `env` has; a duration may be a text.
local function number(s, node)
	local text = s.env[(node.text or ""):match "^%$%{?([%a_][%w_]*)%}?$" or ""] or node.text or ""
	return math.tointeger(tonumber(text)) or tonumber(text) or text:match "^%d+%.?%d*m?[smh]$"
end

-- A whole number of it.
local function whole(s, node)
	local n = number(s, node)
	return math.type(n) and math.tointeger(n // 1)
end

function READ.same(_, c, node, entry)
	c.out[entry.key] = node.kind ~= "null" and yaml.value(node) or nil
end

function READ.text(s, c, node, _, row)
	c.out[row[2]] = said(s, c, node)
end

function READ.number(s, c, node, _, row)
	c.out[row[2]] = number(s, node) or node.kind ~= "null" and yaml.value(node) or nil
end

-- --- env, secrets, retry ---------------------------------------------------------------------------

function READ.secrets(s, _, node)
	for _, entry in ipairs(node.entries or {}) do
		local value = entry.node.text or of(entry.node, "value").text or ""
		local from = value:gsub("env[:.]", ""):match "^%${?([%a_][%w_]*)}?$"
		s.root.secrets[entry.key] = from and { env = from }
		if not from then
			s:left(entry, "secrets." .. entry.key, "take it from the environment, or from a file")
		end
	end
end

function READ.file_env(s, _, node)
	for _, entry in ipairs(node.entries or {}) do
		local name, value = entry.key, entry.node
		if value.text and value.kind ~= "null" then
			s.env[name] = value.text:gsub("%${env:", "${env."):gsub("%${([%u_][%u%d_]*)}", "${env.%1}")
			s.root.env[name] = s.env[name]
		elseif of(value, "command").text then -- what it prints is captured by a first step
			s.captured[name] = { out = { shell = of(value, "command").text, capture_output = name } }
			append(s.steps, { s.captured[name].out })
		elseif of(value, "value").text then
			READ.secrets(s, nil, { entries = { entry } })
		else
			s:left(entry, "env." .. name, "a value that depends on a condition: --var gives it")
			s.vars[name] = json.null
		end
	end
end

local TYPES = { string = "string", number = "number", boolean = "boolean", array = "json", object = "json", any = "json" }

function READ.parameters(s, _, node)
	for _, entry in ipairs(node.entries or {}) do
		for i, item in ipairs(entry.node.items or {}) do
			local name, default, text = item.text or of(item, "name").text or "", of(item, "default"), of(item, "description").text
			local type = TYPES[(of(item, "type").text or "string"):lower()]
			if not type or references.new_id(s, name) ~= name then
				s:left(item, "parameters", ("'%s' can't be a variable here"):format(name))
			else
				s.order[name] = s.order[name] or s.order[entry.key] + i / 1000
				s.vars[name] = { type = type, description = text }
				if default ~= NONE then
					s.vars[name].default = yaml.value(default)
				elseif entry.key == "optional" then
					s:note(item, name, "it has no default, so a run needs it here")
				end
				if of(item, "validation") ~= NONE then
					s:left(of(item, "validation"), "validation", "write pattern, min or max")
				end
			end
		end
	end
end

function READ.env(s, step, node)
	step.out.env = {}
	for _, entry in ipairs(node.entries or {}) do
		step.out.env[entry.key] = entry.node.text and said(s, step, entry.node) or yaml.value(entry.node)
	end
end

function READ.retry(s, step, node)
	local retry, attempts = yaml.value(node), whole(s, of(node, "attempts")) or whole(s, of(node, "max_attempts"))
	fields(s, "retry", node)
	if node.keys then
		retry.on_failure, retry.attempts = nil, nil
		retry.max_attempts = attempts and math.max(attempts - 1, 0) or nil -- all of them there, and retries here
		retry.backoff = retry.backoff == "fixed" and "constant" or retry.backoff
	end
	step.out.retry = retry
end

-- --- what a step does --------------------------------------------------------------------------------

function READ.comment(s, step, node)
	append(s.comments[step.out], { node.text })
end

function READ.claude(s, step, node)
	step.kind, step.out.claude, s.changes = "claude", said(s, step, node), true
	s.root.claude = { output = "stream-json" }
end

function READ.shell(s, step, node)
	local script = said(s, step, node, true)
	step.kind, step.out.shell = "shell", script
	s.changes = s.changes or script:find "%f[%w]git%s"
	if script:find "[;\n]." then
		s.root.errexit = false
	end
end

function READ.write_file(s, step, node)
	local target, mode = '"' .. said(s, step, of(node, "path"), true) .. '"', of(node, "mode").text
	step.kind = "shell"
	step.out.shell = (of(node, "create_dirs").value and ('mkdir -p "$(dirname %s)"\n'):format(target) or "")
		.. ("printf '%%s\\n' %s >%s"):format(command_line.quoted(said(s, step, of(node, "content"), true)), target)
		.. (mode and ("\nchmod %s %s"):format(mode, target) or "")
end

function READ.capture(s, step, node)
	if node.kind == "text" and node.text ~= "shell.output" and node.text ~= "claude.output" then
		step.capture, step.out.capture_output, s.captured[node.text] = node.text, node.text, step
	end
end

function READ.outputs(s, step, node)
	for _, output in ipairs(node.entries or {}) do
		local id, pattern = step.out.id, of(output.node, "file_pattern").text
		if id and pattern then
			local name = references.new_id(s, id .. "_" .. output.key)
			s.declared[id .. "." .. output.key] = name
			append(step.after, { { shell = "git log -1 --format= --name-only --diff-filter=AM -- " .. command_line.quoted(pattern),
				capture_output = name } })
		else
			s:left(output, "outputs." .. output.key, "it needs file_pattern, and the step an id")
		end
	end
end

function READ.goes_on(_, step, node, _, row)
	step.goes_on = step.goes_on or node.value == row.when
end

function READ.metadata(s, step, node)
	fields(s, "step", node, step)
end

-- --- loops ------------------------------------------------------------------------------------------------

local list -- the steps of a list

local function new_step(around)
	return { out = {}, before = {}, after = {}, around = around }
end

-- The step before that prints the items.
local function printer(s, step, node)
	local source = new_step(step.around)
	READ.shell(s, source, node)
	append(step.before, { source.out })
	return references.id_of(s, source, "items")
end

function READ.items(s, step, node)
	step.out.foreach = node.items and yaml.value(node) or ("${steps.%s.output}"):format(printer(s, step, node))
end

function READ.foreach(s, step, node)
	step.kind = "foreach"
	fields(s, "foreach", node, step)
end

-- What a loop captures is no variable after it.
function READ.body(s, step, node)
	local captured = s.captured
	s.captured, s.changes = setmetatable({}, { __index = captured }), step ~= s.loop and s.changes
	step.out["do"] = list(s, node.keys and node.keys.commands and node.keys.commands.node or node, step.around)
	s.captured = captured
end

-- --- checks, repairs and hooks --------------------------------------------------------------------------------

local function has_kind(node)
	for _, entry in ipairs(node.entries or {}) do
		if (keys.named.step[entry.key] or NONE).kind then
			return true
		end
	end
	return false
end

-- The steps of a handler or a validation: a step that has its keys, too, or its list of commands.
local function inner_steps(s, step, node, section, rename)
	local around, commands = setmetatable({ rename = rename, is_inner = true }, { __index = step.around }), of(node, "commands")
	if node.kind == "text" then
		s:left(node, section, "write its command as `shell` or `claude`")
	elseif node.items or has_kind(node) and commands == NONE then
		return list(s, node, around, not node.items and section or nil)
	end
	for _, entry in ipairs(node.entries or {}) do
		local row = rawget(keys.named[section], entry.key)
		if not row or not row[2] then
			s:left(entry, entry.key, row and row[3] or "put it on a command of `commands`")
		end
	end
	return commands ~= NONE and list(s, commands, around) or {}
end

function READ.commit(s, step, node)
	if node.value == true then
		s.changes, step.out.check = true, append({ { commit = true } }, step.out.check or {})
	end
end

-- Their names in a repair: of the step that failed, and of its check.
local function of_failed(step, is_checked)
	return function(name)
		local member = is_checked and name:match "^validation%.(.*)$"
		if member then
			return member == "attempt_number" and "attempt.repair" or "check.data." .. member:gsub("^completion$", "completion_percentage")
		elseif name == (step.kind or "") .. ".output" or name == step.capture then
			return "attempt.output"
		end
		return name == "shell.stderr" and "attempt.error" or nil
	end
end

local function most(s, node)
	return whole(s, of(node, "max_attempts")) or whole(s, of(node, "max_retries"))
end

local function repair(s, step, node, max, is_checked)
	local steps = inner_steps(s, step, node, "handler", of_failed(step, is_checked))
	if not steps[1] or step.out.repair then
		return s:left(node, "handler", steps[1] and "the step is repaired by its on_incomplete already" or "it has no command")
	end
	step.out.repair = { steps = steps, max = math.max(max, 1), again = not is_checked and step.out.check and "step" or nil }
	return true
end

function READ.validate(s, step, node, entry)
	local steps, file = inner_steps(s, step, node, "validate"), said(s, step, of(node, "result_file"), true)
	append(steps, file ~= "" and { { shell = file:find "[%s$]" and ('cat "%s"'):format(file) or "cat " .. file } } or {})
	local last, threshold = steps[#steps], number(s, of(node, "threshold"))
	if not last then
		return s:left(entry, "validate", "it has neither a command nor a result_file")
	elseif node.keys and (file ~= "" or last.claude or threshold) then -- the last step of the check has the number
		last.answer = last.claude and "json"
		last.threshold = { completion_percentage = threshold or 100 }
	end
	step.out.check = append(step.out.check or {}, steps)
	if of(node, "on_incomplete") ~= NONE then
		repair(s, step, of(node, "on_incomplete"), most(s, of(node, "on_incomplete")) or 2, true)
		step.goes_on = step.goes_on or of(of(node, "on_incomplete"), "fail_workflow").value == false
	end
end

local function hook(s, step, name, node)
	local steps = inner_steps(s, step, node, "handler")
	if steps[1] then
		step.out[name] = append(step.out[name] or {}, steps)
	else
		s:left(node, name, "it has no command")
	end
	return steps
end

function READ.on_failure(s, step, node)
	local fails, most_attempts = of(node, "fail_workflow").value, most(s, node)
	if not node.items and of(node, "commands") == NONE and not has_kind(node) then
		step.goes_on = step.goes_on or node.value == true or fails == false
		return inner_steps(s, step, node, "handler")
	end
	local has_hooks = of(node, "on_success") ~= NONE or of(node, "on_failure") ~= NONE
	most_attempts = most_attempts or of(node, "claude") ~= NONE and not has_hooks and step.around.attempts or 0
	local is_kept
	if most_attempts > 0 then
		is_kept = repair(s, step, node, most_attempts)
	else
		is_kept = hook(s, step, "on_failure", node)[1]
	end
	step.goes_on = step.goes_on or is_kept and not fails
end

function READ.on_success(s, step, node)
	hook(s, step, "on_success", node)
end

function READ.on_exit_code(s, step, node)
	for _, entry in ipairs(node.entries or {}) do
		local id = references.id_of(s, step, step.capture or (step.kind or "") .. "_step")
		for _, below in ipairs(hook(s, step, entry.key == "0" and "on_success" or "on_failure", entry.node)) do
			below.when = entry.key ~= "0" and ("${steps.%s.status} == %s"):format(id, entry.key) or below.when
		end
	end
end

-- --- a step ------------------------------------------------------------------------------------------------

local NAMED = { name = true, args = true, options = true }

-- A command of Claude Code, by its name alone.
local function named_command(s, step, node)
	local words, args = { "/" .. (node.text or of(node, "name").text):gsub("^/", "") }, of(node, "args")
	for _, arg in ipairs(args.items or { args }) do
		words[#words + 1] = arg.text
	end
	for _, option in ipairs(of(node, "options").entries or {}) do
		words[#words + 1] = ("--%s %s"):format(option.key, option.node.text or "")
	end
	READ.claude(s, step, { text = table.concat(words, " "), line = node.line, column = node.column })
	fields(s, "step", node, step, NAMED)
end

-- The steps after one that is left out are not to run as if it had done its work: one that fails is in its place.
local function not_said(s, step, node)
	local first = node.entries and node.entries[1]
	local row, what = first and keys.named.step[first.key], first and first.key or "a step"
	local why = row and not row[2] and row[3] or "it has none of prodigy's commands"
	if what == "analyze" then
		return s:left(first, what, why)
	end
	step.kind, step.out.shell = "shell", ("echo %s >&2; exit 1"):format(command_line.quoted(("%s was not imported: %s"):format(what, why)))
	s:left(first or node, what, why .. "; a step that fails is in its place")
end

local function read_step(s, step, node, section)
	if node.kind == "text" and not step.around.is_inner or not has_kind(node) and of(node, "name").text then
		named_command(s, step, node)
	elseif has_kind(node) then
		fields(s, section or "step", node, step)
	elseif of(node, "validate") ~= NONE then -- is the step
		step.kind = "steps"
		fields(s, "step", node, step)
		step.out.steps, step.out.check = step.out.check, nil
	else
		not_said(s, step, node)
	end
	local out = step.out
	out.on_failure = step.goes_on and (out.on_failure and { steps = out.on_failure, ["then"] = "continue" } or "continue") or out.on_failure
	out.timeout = out.timeout or (out.claude or out.shell) and step.around.timeout or nil
end

-- One step, with those that it needs before and after it.
local function steps_of(s, node, around, section)
	local step, current = new_step(around), s.current
	s.comments[step.out], s.current, s.pending = s.pending, step.out, {}
	s:comments_above(node)
	read_step(s, step, node, section)
	s.current = current
	if not step.kind then
		s.pending, s.comments[step.out] = s.comments[step.out], nil
		return {}
	end
	return append(append(step.before, { step.out }), step.after)
end

function list(s, node, around, section)
	local out = {}
	for _, item in ipairs(node.items or { node }) do
		append(out, steps_of(s, item, around, section))
	end
	return out
end

function READ.steps(s, c, node)
	append(s.steps, list(s, node, c.around))
end

-- --- mapreduce -----------------------------------------------------------------------------------------------

function READ.each_timeout(s, c, node)
	c.around.timeout = number(s, node)
end

function READ.timeout_config(s, loop, node)
	READ.each_timeout(s, loop, of(node, "agent_timeout_secs"))
end

-- The lines of JSON of a file as one list.
local JSON_LINES = [[awk 'BEGIN { printf "[" } NF { printf "%%s", (n++ ? "," : "") $0 } END { print "]" }' "%s"]]

function READ.input(s, loop, node)
	local input = node.text or ""
	if input:find "%.jsonl$" and not input:find "%s" then
		local script = { text = JSON_LINES:format(input), line = node.line, column = node.column }
		loop.source, loop.is_json = printer(s, loop, script), true
	elseif input:find "%.jsonl?$" and not input:find "^%a+%s" or not input:find "%s" and input:find "[/.]" then
		loop.file = said(s, loop, node)
	else
		loop.source = printer(s, loop, node)
	end
end

-- In place of a condition that can't be said: a variable that nothing sets, so that no run begins before it is written.
local function unsaid(s, entry, what, why)
	local name = references.new_id(s, what .. "_to_write")
	s.vars[name] = json.null
	s:left(entry, what, ("%s: write it as where, in place of the variable %s, without which no run begins"):format(why, name))
	return name
end

function READ.path(s, loop, node, entry)
	local path, filter = (node.text or ""):match "^(.-)%[%?%((.*)%)%]$"
	loop.path, loop.out.where = path and path .. "[*]" or node.text or "", filter and references.filter(filter)
	if filter and not loop.out.where or not variables.json_path(loop.path) then
		loop.path, loop.out.where = "$[*]", unsaid(s, entry, "json_path", "a path has names, [0] and [*] here")
	end
end

function READ.filter(s, loop, node, entry)
	local where = references.filter(node.text or "") or unsaid(s, entry, "filter", ("'%s' can't be said here"):format(node.text or ""))
	loop.out.where = loop.out.where and ("(%s) and (%s)"):format(loop.out.where, where) or where
end

function READ.sort(s, loop, node, entry)
	loop.out.sort = references.order(node.text or "")
	if (node.text or ""):upper():find "NULLS FIRST" then
		s:left(entry, "sort_by", "what isn't there comes last here: NULLS FIRST")
	end
end

function READ.map(s, _, node, entry)
	local loop = new_step { attempts = 1 } -- prodigy's default for handlers of this mode
	local out = loop.out
	s:comments_above(entry)
	s.comments[out], s.current, s.pending, s.loop, out.id = s.pending, out, {}, loop, "map"
	fields(s, "map", node, loop)
	if loop.file then
		out.foreach = { file = loop.file, path = loop.path or loop.file:find "%.json$" and "$[*]" or nil }
	elseif loop.source then
		local is_json = loop.is_json or out.where or out.sort -- which are about members
		local path = (loop.path or is_json) and ".data" .. (loop.path or ""):gsub("^%$", ""):gsub("%[%*%]$", "")
		out.foreach = ("${steps.%s%s}"):format(loop.source, path or ".output")
	end
	out.continue_on_error = true -- its items go on by default
	s.current = nil
	if out.foreach and out["do"] then
		if s.changes then
			out.worktree = { merge = true }
			s:note(entry, "agent_template", "what an item leaves uncommitted fails it here: name that in .gitignore", s.comments[s.root])
		end
		append(append(s.steps, loop.before), { out })
	else
		s:left(entry, "map", "it needs input and agent_template")
	end
end

function READ.phase(s, _, node, entry)
	local phase = { around = { attempts = 1 } }
	s:comments_above(entry)
	fields(s, "phase", node, phase)
	if node.items then
		READ.steps(s, phase, node)
	end
end

-- What its steps leave unmerged is merged by the worktree.
function READ.merge(s, c, node, entry)
	for name, row in pairs(keys.named_variables) do
		s.declared[name] = name:find "^merge%." and row[2] or s.declared[name]
	end
	s.root.worktree = { merge = true }
	READ.phase(s, c, node, entry)
end

function READ.policy(s, _, node)
	local out = s.loop and s.loop.out or {}
	local policy = of(node, "on_item_failure")
	local stops = policy.text == "stop" or of(node, "continue_on_failure").value == false
	if policy ~= NONE and policy.text ~= "dlq" and policy.text ~= "skip" and policy.text ~= "stop" then
		s:left(policy, "on_item_failure", "only dlq, skip and stop can be said: put retry on the steps of the items")
	end
	fields(s, "policy", node)
	local most_failures, rate = of(node, "max_failures"), number(s, of(node, "failure_threshold"))
	out.max_failures = whole(s, most_failures) and math.max(whole(s, most_failures) - 1, 0) -- it stops at this many, and we above it
		or math.type(rate) and rate >= 0 and rate <= 1 and ("%d%%"):format((rate * 100 + 0.5) // 1) or nil
	for _, key in ipairs { "max_failures", "failure_threshold" } do
		if of(node, key) ~= NONE and not out.max_failures then
			s:left(of(node, key), key, "it is no number that could be said")
		end
	end
	out.continue_on_error = not (out.max_failures or stops) or nil
end

-- --- the whole ----------------------------------------------------------------------------------------

-- The order in which people write them; others follow as they were in the source.
local ORDER = {}
for i, key in ipairs { "name", "description", "id", "claude", "shell", "steps", "commit", "foreach", "file", "interpreter", "when",
	"where", "sort", "limit", "parallel", "worktree", "merge", "type", "continue_on_error", "max_failures", "errexit", "vars", "env_files",
	"secrets", "env", "working_dir", "timeout", "retry", "capture_output", "output_file", "answer", "schema", "threshold",
	"commands", "do", "max", "again", "check", "repair", "on_failure", "on_success" } do
	ORDER[key] = i - 1000
end

local function assemble(s, name)
	local root = s.root
	if s.needs_start then
		table.insert(s.steps, 1, { shell = "git rev-parse HEAD", capture_output = "start_commit" })
	end
	for _, key in ipairs { "vars", "env", "secrets" } do
		root[key] = next(root[key]) and root[key] or nil
	end
	root.name, root.commands = root.name or name, s.steps
	append(s.comments[root], s.pending)
	return writer.document(root, function(key) return ORDER[key] or s.order[key] or s.seen + 1 end, s.comments)
end

---Read a file of prodigy's.
---@param source string
---@param path string for its name
---@return {text: string, notes: table[], steps: integer, problems: table[]}? problems: what `check` says of the result
---@return table[]? problems of the source, by place
function M.read(source, path)
	local root, problems = yaml.parse(source)
	if problems[1] or not root then
		return nil, problems
	end
	local s = setmetatable({ notes = {}, pending = {}, told = {}, lines = yaml.lines(source), order = {}, seen = 0, env = {},
		captured = {}, declared = {}, ids = { map = true }, steps = {}, root = { vars = {}, env = {}, secrets = {} } }, State)
	s.vars, s.comments = s.root.vars, { [s.root] = {} }
	scan(s, root)
	local c = { out = s.root, around = { attempts = 3 } } -- prodigy's default for handlers of `commands`
	if root.kind == "map" then
		s:comments_above(root.entries[1] or root)
		fields(s, "file", root, c)
	elseif root.kind == "list" then
		READ.steps(s, c, root)
	end
	if s.root.claude and not s.root.worktree then
		s:note(root, "worktree", "prodigy works in one, and asks before it merges that; worktree: { merge: true } at the top does without asking",
			s.comments[s.root])
	end
	if not s.steps[1] then
		return nil, { { line = root.line, column = root.column, message = "it has no steps that could be imported" } }
	end
	local text = assemble(s, (path:match "[^/]*$":gsub("%.ya?ml$", "")))
	local _, wrong = reader.parse(text, path)
	table.sort(s.notes, function(a, b) return a.line < b.line or a.line == b.line and a.key < b.key end)
	return { text = text, notes = s.notes, steps = #s.steps, problems = wrong or {} }
end

return M
