-- runner flame NAME …: where the time of a command goes, as a flame graph and as a table.

local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local invoke = require "runner.invoke"
local json = require "runner.json"
local paths = require "runner.core.paths"
local flame_graph = require "runner.profile.flame_graph"

local ANSWER_MAX = 18 << 20 -- bytes
local FUNCTIONS = 20
local SHOWN = 10

-- --- the files ----------------------------------------------------------------------------------

-- A pipe or a terminal is not opened: that waits for another process.
local function is_ours(path)
	local file <close> = (fs.stat(path) or {}).type == "file" and io.open(path, "rb") or nil
	return file ~= nil and file:read(#flame_graph.MARK) == flame_graph.MARK
end

local function in_the_way(path)
	return fs.stat(path) ~= nil and not is_ours(path)
end

local function wrong(field, path, message, fix, suggestion)
	return { field = field, code = "INVALID_ARGUMENT", value = path, message = message:format(path), fix_required = fix,
		suggestion = suggestion }
end

local function place_problem(field, path)
	local parent = path:match "^(.*)/[^/]*$"
	if parent and parent ~= "" and (fs.stat(parent) or {}).type ~= "directory" then
		return wrong(field, parent, "There is no directory %s", "Give a path in a directory that exists", "Make it, or give another path")
	elseif path == "" or (fs.stat(path) or {}).type == "directory" then
		return wrong(field, path, "'%s' is no file", "Give the path of a file", "flame writes a file")
	end
end

local function is_one(a, b)
	return a ~= nil and b ~= nil and a.ino == b.ino and a.dev == b.dev
end

-- However the two are spelt; a link is what it leads to.
local function is_same_file(a, b)
	local first, second = fs.stat(a), fs.stat(b)
	if first or second then
		return is_one(first, second)
	end
	local dir, name = paths.absolute(a, paths.here()):match "^(.*/)([^/]*)$"
	local other_dir, other_name = paths.absolute(b, paths.here()):match "^(.*/)([^/]*)$"
	return name == other_name and is_one(fs.stat(dir), fs.stat(other_dir))
end

-- Before the command runs: it is not run twice because a file was in the way.
local function validate(args)
	local problems = { place_problem("svg", args.svg) }
	problems[#problems + 1] = args.collapsed and place_problem("collapsed", args.collapsed)
	if not problems[1] and in_the_way(args.svg) then
		problems[1] = wrong("svg", args.svg, "%s is not a graph that flame has written", "Give another name with --svg",
			"Give another name with --svg, or remove the file")
	end
	if args.collapsed and is_same_file(args.collapsed, args.svg) then
		problems[#problems + 1] = wrong("collapsed", args.collapsed, "%s is the file of the graph", "Give two names", "Give two names")
	end
	return problems[1] and problems or nil
end

local function write(path, text, flag)
	local ok, why, errno = fs.write(path, text, nil, false)
	if not ok then
		errors.raise(errno == "EACCES" and "PERMISSION_DENIED" or "OUTPUT_FAILED", ("Can't write %s: %s"):format(path, why),
			{ side_effects = "partial", fix_required = ("The command has run. Give a file that can be written with --%s next time"):format(flag) })
	end
end

local function write_files(args, all, title)
	if in_the_way(args.svg) then -- the command has made it
		errors.raise("OUTPUT_FAILED", ("%s is not a graph that flame has written"):format(args.svg),
			{ side_effects = "partial", fix_required = "Give another name with --svg: the command writes this one" })
	end
	write(args.svg, flame_graph.draw(title, flame_graph.tree(all)), "svg")
	if args.collapsed then
		write(args.collapsed, flame_graph.collapsed(all), "collapsed")
	end
end

-- --- what was noted ------------------------------------------------------------------------------

-- The attempts of each call: the one that began first is the one that was asked for.
local function towers_of(list)
	local towers, by_supervisor = {}, {}
	for _, page in ipairs(list) do
		local tower = by_supervisor[page.supervisor]
		if not tower then
			tower = { name = page.command, pages = {} }
			by_supervisor[page.supervisor], towers[#towers + 1] = tower, tower
		end
		tower.pages[#tower.pages + 1] = page
		tower.name = tower.name ~= "" and tower.name or page.command
	end
	return towers
end

local function ms(ns)
	return math.floor(ns / 1e4 + 0.5) / 100
end

local function phase_rows(ns, total)
	local rows = {}
	for _, name in ipairs(flame_graph.phases) do
		if ns[name] > 0 or name ~= "cleanup" and name ~= "retries" then
			rows[#rows + 1] = { phase = name, ms = ms(ns[name]), percent = math.floor(1000 * ns[name] / total + 0.5) / 10 }
		end
	end
	return rows
end

local function call_rows(towers)
	local rows = json.array {}
	for i, tower in ipairs(towers) do
		local first, last = tower.pages[1], tower.pages[#tower.pages]
		local row = { command = tower.name, attempts = #tower.pages, ms = ms(last.last - first.launched), programs_ms = 0, waits_ms = 0 }
		for _, page in ipairs(tower.pages) do
			row.programs_ms, row.waits_ms = row.programs_ms + ms(page.children), row.waits_ms + ms(page.waits)
		end
		rows[i] = row
	end
	return rows
end

local function function_rows(all)
	local rows = json.array {}
	for i, row in ipairs(flame_graph.functions(all, FUNCTIONS)) do
		rows[i] = { name = row.name, self_ms = ms(row.self_ns), ms = ms(row.ns) }
	end
	return rows
end

local function samples_of(list)
	local n = 0
	for _, page in ipairs(list) do
		n = n + page.samples
	end
	return n
end

-- The files, and the same as data; and why a file could not be written.
local function profile(args, folder, started, ended)
	local list = flame_graph.all(folder)
	local towers = towers_of(list)
	local main = towers[1] or { name = table.concat(args.words, " "), pages = {} }
	towers[1] = main
	main.name = main.name ~= "" and main.name or "runner"
	if main.pages[1] then
		flame_graph.close(main.pages[#main.pages], ended)
	end
	local ns = flame_graph.time_of_phases(main.pages, started, ended)
	local last = main.pages[#main.pages]
	main.around = { start = ns.start, retries = ns.retries, output = last and ended - last.last or 0 }
	local all = flame_graph.merge(towers, attempt.project.root)
	local existed = fs.stat(args.svg) ~= nil
	local title = ("runner %s: %.2f ms"):format(main.name, ms(ended - started))
	local written, problem = pcall(write_files, args, all, title)
	if not written and not errors.is(problem) then
		error(problem, 0)
	end
	return { effect = not written and "noop" or existed and "updated" or "created", svg = args.svg, collapsed = args.collapsed,
		command = main.name, ms = ms(ended - started), samples = samples_of(list), phases = phase_rows(ns, math.max(ended - started, 1)),
		calls = call_rows(main.pages[1] and towers or {}), functions = function_rows(all) }, not written and problem or nil
end

-- --- as text -----------------------------------------------------------------------------------

local function text_of(data)
	local out = { ("%s: %.2f ms\n"):format(data.command, data.ms) }
	for _, row in ipairs(data.phases) do
		out[#out + 1] = ("  %-9s %10.2f ms %5.1f %%\n"):format(row.phase, row.ms, row.percent)
	end
	if data.calls[2] then
		out[#out + 1] = "calls:\n"
		for _, row in ipairs(data.calls) do
			out[#out + 1] = ("  %10.2f ms  %s%s\n"):format(row.ms, row.command, row.attempts > 1 and (" (%d attempts)"):format(row.attempts) or "")
		end
	end
	out[#out + 1] = data.functions[1] and "functions, by their own time:\n" or nil
	for i = 1, math.min(SHOWN, #data.functions) do
		local row = data.functions[i]
		out[#out + 1] = ("  %10.2f ms  %s\n"):format(row.self_ms, row.name)
	end
	out[#out + 1] = ("graph: %s\n"):format(data.svg)
	return table.concat(out)
end

-- --- the call ---------------------------------------------------------------------------------

local function pass_on(line, stream)
	if stream == "stderr" then
		io.stderr:write(line, "\n")
	end
end

local function start(args, ctx, folder)
	local spec = { invoke.program(), env = { RUNNER_FLAME = folder }, stdin = io.stdin, check = false, cap = ANSWER_MAX,
		on_line = pass_on }
	if attempt.framework.verbose or attempt.launch.stderr_is_tty then
		spec.env.RUNNER_LOG_KEPT = "1" -- its lines are ours, as those of ctx:call
	end
	table.move(args.words, 1, #args.words, 2, spec)
	return ctx:run(spec)
end

-- The error that the command ended with. One whose answer is no envelope may have succeeded.
local function failure_of(args, result)
	local envelope = invoke.envelope(result)
	if envelope then
		return not envelope.ok and invoke.failure(envelope) or nil, envelope
	elseif result.status ~= 0 then
		return invoke.lost(args.words[1], result)
	end
end

local function ns_now()
	return math.floor(host.now() * 1e6)
end

local function run(args, ctx)
	local folder = ctx.tempdir .. "/flame"
	assert(fs.mkdir(folder))
	local started, ended = ns_now(), false
	ctx:defer(function() -- Ctrl+C, or a limit of ours: what there is by then
		local problem = not ended and select(2, profile(args, folder, started, ns_now()))
		if problem then
			error(problem, 0)
		end
	end)
	local result = start(args, ctx, folder)
	local data, problem = profile(args, folder, started, ns_now())
	ended = true
	local failed, envelope = failure_of(args, result)
	for _, warning in ipairs(envelope and envelope.warnings or {}) do
		ctx:warn(warning.code, warning.message, invoke.value(warning.context))
	end
	if failed then
		io.stderr:write(attempt.format ~= "json" and not attempt.framework.quiet and host.clean(text_of(data)) or "")
		failed.data, failed.exit_code = data, result.status ~= 0 and result.status or nil
		local _ = problem and ctx:warn("FLAME_LOST", problem.message)
		error(failed, 0)
	end
	data.answer = envelope and envelope.data or nil
	if problem then
		problem.data = data
		error(problem, 0)
	end
	display.set { text = text_of(data) }
	return data
end

return {
	timeout = "none",
	stdin = true,
	option_placement = "strict",
	args = {
		{ "words", "array", items = "string", variadic = true, required = true,
			description = "The command and its arguments; what is behind the first word is the command's" },
		{ "svg", "path", default = "flame.svg", description = "Write the graph to this file" },
		{ "collapsed", "path", description = "Write the stacks to this file, for other tools: 'a;b;c 1250', in µs" },
	},
	examples = {
		{ description = "Where does a deploy spend its time?", command = "runner flame deploy --target prod" },
		{ description = "For another tool", command = "runner flame --collapsed stacks.txt deploy --target prod" },
	},
	validate = validate,
	run = run,
}
