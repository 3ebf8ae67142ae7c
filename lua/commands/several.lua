-- runner + NAME … + NAME …: several commands in one call, one after the other or side by side; runner several is the same.

local attempt = require "runner.core.attempt"
local calls = require "runner.calls.several"
local catalog = require "runner.project.catalog"
local command_args = require "runner.project.args"
local command_line = require "runner.core.command_line"
local fs = require "runner.fs"
local host = require "runner.host"
local locate = require "runner.project.locate"

local MOST = 100
local CLOSE_MS = 200 -- a call ends that much before the limit of all

-- --- the parts ----------------------------------------------------------------------------------

-- The marker is the first word; as many plus signs as it has stand between the parts.
local function marker()
	local word = attempt.call.names[1]
	return word:find "^%++$" and word or "+"
end

local function parts_of(words)
	local parts, mark = { { words = {} } }, marker()
	for _, word in ipairs(words) do
		if word == mark then
			parts[#parts + 1] = { words = {} }
		else
			table.insert(parts[#parts].words, word)
		end
	end
	return parts
end

local function on_terminal()
	return attempt.launch.person and attempt.launch.stderr_is_tty and attempt.format == "text" and not attempt.framework.non_interactive
end

local function problem(message, fix)
	return { field = "calls", code = "INVALID_ARGUMENT", message = message, suggestion = fix, fix_required = fix }
end

-- A typo in the last one is no reason to run the first. An alias, or a dot path, is what it stands for from here on.
local function known(part, project)
	local names, places = command_args.command_words(part.words)
	local found = names[1] and locate.find(names, project)
	if found or not names[1] then
		return found, names, places
	end
	local words, ambiguous = require("runner.project.aliases").find(names[1], project)
	if not words then
		return nil, names, places, ambiguous or require("runner.project.unknown_command").problem(names, project)
	end
	part.words = require("runner.project.aliases").replace({ argv = part.words, places = places }, words).argv
	names, places = command_args.command_words(part.words)
	found = names[1] and locate.find(names, project)
	return found, names, places, not found and require("runner.project.unknown_command").problem(names, project) or nil
end

-- Its arguments, as the call itself will read them.
local function parse(part, places)
	local tokens = require("runner.project.place").without_words(part.words, places, math.min(part.found.words, #places))
	return command_args.parse(part.command.args or {}, tokens, { config = attempt.project.config, command = part.command,
		in_front = places[1] - 1 })
end

-- Of a stdin that the caller fills, a call would get nothing, and take that for all.
local function reads_stdin(part, parsed)
	if not part.command.stdin or on_terminal() or parsed.framework.input_file then
		return false
	end
	host.take_stdin()
	local stat = fs.stat "/dev/fd/0"
	return stat and stat.type ~= "char"
end

local function problems_of(part, places)
	local command, name = part.command, part.name
	if command.raw then -- the reader of our answer would take its bytes for it
		return { problem(("'%s' has stdout to itself"):format(name), "Run it by itself") }
	elseif not (command.stdin or command.secrets or attempt.framework.validate_only) then
		return {}
	end
	local parsed = parse(part, places)
	if reads_stdin(part, parsed) then
		return { problem(("'%s' reads stdin, and none of several calls is given it"):format(name),
			"Run it by itself, or give it --input-file") }
	end
	if command.secrets then -- what one of them is told, none of the others shows
		attempt.secrets = require("runner.project.secret_args").hide(command, parsed, attempt.project.config).secrets or nil
	end
	for _, wrong in ipairs(attempt.framework.validate_only and parsed.problems or {}) do
		wrong.message = ("%s: %s"):format(name, wrong.message)
	end
	return attempt.framework.validate_only and parsed.problems or {}
end

local function settle(part, i, project)
	local found, names, places, unknown = known(part, project)
	if unknown then
		return { problem(unknown.message, unknown.suggestion or unknown.fix_required or "Run 'runner' to list the commands") }
	elseif not found then
		return { problem(("Call %d names no command"):format(i), "Write runner + build + test --filter x") }
	elseif found.name == "several" and not found.path and not names[1]:find "^%++$" then
		return { problem("several can't call itself", "Write its calls here") }
	end
	local command = catalog.load(found, project)
	part.found, part.command, part.name = found, command, command_line.typed(found.name)
	part.needs = command and (command.needs or command.parallel) and true or false
	part.plain = #part.words == found.words and places[1] == 1
	return command and problems_of(part, places) or {}
end

local function number_names(parts)
	local times = {}
	for _, part in ipairs(parts) do
		times[part.name] = (times[part.name] or 0) + 1
		part.shown = times[part.name] == 1 and part.name or ("%s#%d"):format(part.name, times[part.name])
	end
end

local parts

-- What the policies refuse of any is refused of all, before one has run; each asks for itself once more.
local function ask_policies()
	local policy = attempt.policy
	if policy and policy.checks then -- it asks about each
		policy.calls, policy.plain = {}, {}
		for i, part in ipairs(parts) do
			policy.calls[i], policy.plain[i] = part.words, part.plain and part.name or false
		end
		return
	end
	for _, part in ipairs(attempt.policy and parts or {}) do
		local refused = part.found and require("runner.project.caller_policy").problem(part.found.name, part.found.path,
			part.command and part.command.danger_level)
		if refused then
			error(refused, 0)
		end
	end
end

local function validate(args)
	local problems = {}
	parts = not attempt.framework.choose and parts_of(args.calls or {}) or {}
	if attempt.framework.detach then
		return { problem("Several calls are no job", "Leave out --detach, or give it to one of them") }
	elseif attempt.framework.input_file or attempt.framework.raw_payload then
		return { problem("Several calls have no input of their own", "Give it to one of them") }
	elseif #parts > MOST then
		return { problem(("At most %d calls at once"):format(MOST), "Make them in several calls") }
	end
	for i, part in ipairs(parts) do
		local wrong = settle(part, i, attempt.project)
		table.move(wrong, 1, #wrong, #problems + 1, problems)
	end
	ask_policies()
	return problems
end

-- --- one that is chosen -------------------------------------------------------------------------

local FZF = 'command -v fzf >/dev/null || exit 127; exec fzf "$@" 2>/dev/tty'

local function raise(code, message, fix)
	require("runner.core.errors").raise(code, message, { side_effects = "none", retryable = false, fix_required = fix })
end

-- The project's own, tasks in the order of their file.
local function choices()
	local rows = catalog.own_rows(attempt.project)
	table.sort(rows, function(a, b)
		return (a.order or 0) < (b.order or 0) or (a.order or 0) == (b.order or 0) and a.name < b.name
	end)
	local lines, by_line = {}, {}
	for i, row in ipairs(rows) do
		lines[i] = ("%s\t%s"):format(row.name, (row.description or ""):gsub("%c", " "))
		by_line[lines[i]] = row.name
	end
	return lines, by_line
end

-- The same in columns, for a person without fzf.
local function aligned(lines, by_line)
	local out, width = {}, 0
	for _, line in ipairs(lines) do
		width = math.max(width, #by_line[line])
	end
	for i, line in ipairs(lines) do
		local name, description = line:match "^([^\t]*)\t(.*)$"
		out[i] = (("%%-%ds  %%s"):format(width):format(name, description):gsub(" +$", ""))
		by_line[out[i]] = by_line[line]
	end
	return out
end

local function choose(ctx)
	local lines, by_line = choices()
	if not (attempt.launch.person and attempt.launch.stderr_is_tty and attempt.format == "text") then
		raise("INPUT_REQUIRED", "--choose needs a person at a terminal", "Name the command: run 'runner' to list them")
	elseif not lines[1] then
		raise("PRECONDITION", "There is no command to choose", "Create one with 'runner new hello'")
	end
	local result = ctx:run { "sh", "-c", FZF, "fzf", "--prompt=runner ", stdin = table.concat(lines, "\n") .. "\n", foreground = true,
		check = false }
	local line = result.stdout:match "^[^\n]*"
	if result.status == 127 then
		local ok, chosen = pcall(ctx.select, ctx, "Which command?", aligned(lines, by_line))
		line = ok and chosen or nil
		if not ok and not (type(chosen) == "table" and chosen.code == "INPUT_REQUIRED") then
			error(chosen, 0)
		end
	end
	local name = by_line[line] or raise("INPUT_REQUIRED", "No command was chosen", "Name the command: run 'runner' to list them")
	local part = { words = command_line.name_words((name:gsub(" ", "."))) }
	settle(part, 1, attempt.project)
	parts = { part }
end

-- --- the answer ---------------------------------------------------------------------------------

local function left_out(rows)
	local names = {}
	for _, row in ipairs(rows) do
		names[#names + 1] = row.state == "not_run" and row.command or nil
	end
	return names[1] and ("; not run: %s"):format(table.concat(names, ", ")) or ""
end

local function has_run(rows, failed)
	for _, row in ipairs(rows) do
		if row ~= failed.row and row.state ~= "not_run" then
			return true
		end
	end
	return false
end

local function fail(rows, failed)
	local e = failed.error
	local left = host.remaining()
	if e.code == "TIMEOUT" and attempt.settled.timeout_ms > 0 and left and left <= CLOSE_MS then -- the limit was that of all
		e.message, e.suggestion = ("Command exceeded timeout of %dms"):format(attempt.settled.timeout_ms), "Give a longer --timeout"
	end
	e.message = ("%s: %s%s"):format(failed.part.name, e.message, left_out(rows))
	e.fix_command = nil -- it would be that of the one alone
	e.exit_code = failed.row.exit_code
	e.data = { calls = rows }
	e.side_effects = has_run(rows, failed) and "partial" or e.side_effects
	e.retryable, e.retry_after_ms, e.retry_strategy = false, nil, nil -- each has made its own
	error(e, 0)
end

local function run(args, ctx)
	if attempt.framework.choose then
		choose(ctx)
		ask_policies()
	end
	number_names(parts)
	local at_once = args.jobs or args.parallel and #parts or 1
	local directory = ctx.tempdir .. "/needs"
	ctx.fs.mkdir(directory)
	local rows, failed = calls.run { parts = parts, at_once = at_once, keep_going = args.keep_going,
		dry_run = args.dry_run, on_terminal = at_once == 1 and on_terminal(),
		side_by_side = at_once > 1, directory = directory }
	if failed then
		fail(rows, failed)
	elseif attempt.format == "text" then
		require("runner.core.display").set { text = "" }
	end
	return { calls = rows }
end

return {
	timeout = "none",
	interactive = true,
	option_placement = "strict",
	args = {
		{ "calls", "array", items = "string", variadic = true, description = "Commands with their arguments, with + between them" },
		{ "keep_going", "boolean", short = "k", description = "Go on after one that has failed" },
		{ "parallel", "boolean", description = "Run them side by side, each line with the name of its command" },
		{ "dry_run", "boolean", short = "n", description = "Change nothing; say what each would do" },
		{ "jobs", "integer", short = "j", min = 1, max = 64, description = "Run so many at once; default with --parallel: all" },
	},
	exit_codes = {
		CALLS_FAILED = { side_effects = "partial", description = "A call failed that had the terminal, and has said how" },
		CANCELLED = { retryable = false, side_effects = "partial" },
		OUTPUT_TOO_LARGE = { retryable = false, side_effects = "partial" },
		TIMEOUT = { retryable = false, side_effects = "partial" },
	},
	examples = {
		{ description = "Build, test, and deploy what has passed", command = "runner + build + test --filter x + deploy --target prod" },
		{ description = "Run all that can fail, and say what has", command = "runner + --parallel --keep-going lint + test + docs" },
	},
	validate = validate,
	run = run,
}
