-- What the kinds of steps run, with which environment, and what comes out: with
-- real processes, a stand-in for claude, and runner itself.

local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local kinds = require "runner.workflow.kinds.kinds"
local scheduler = require "runner.task.scheduler"

local RUNNER = (os.getenv "RUNNER_HOST_SO" or ""):match "^(.*/)" .. "runner"

-- Prints its arguments, one a line between < and >; FAIL in the last one makes it fail.
local STAND_IN = [[#!/bin/sh
for a; do printf '<%s>\n' "$a"; last=$a; done
echo "stdin: $(cat)"; echo "automation: $RUNNER_AUTOMATION"; echo "dir: $PWD"
case $last in *FAIL*) echo '500 Internal Server Error' >&2; exit 1;; esac
]]

local COMMAND = [[
return {
	description = "Give back", danger_level = "safe",
	args = { { "word", "string", positional = true }, { "name", "string" }, { "tag", "array", items = "string" },
		{ "dry_run", "boolean" }, { "loud", "boolean", default = true }, { "code", "string" } },
	run = function(args, ctx)
		if args.code then
			ctx:fail(args.code, "as asked", { retryable = args.code == "UNAVAILABLE" })
		end
		return { word = args.word, name = args.name, tag = args.tag, dry_run = args.dry_run, loud = args.loud,
			automation = os.getenv "RUNNER_AUTOMATION" }
	end,
}
]]

local dir, settings, SCOPE

local function step(kind, text, more)
	local out = { kind = kind, key = "1", text = text, grace_ms = 1000 }
	for key, value in pairs(more or {}) do
		out[key] = value
	end
	return out
end

local function request(...)
	local made = step(...)
	return kinds[made.kind].request(made, SCOPE, settings), made
end

local function run(...)
	local options, made = request(...)
	local result
	scheduler.run(function()
		result = scheduler.process(options)
	end)
	return kinds[made.kind].interpret(made, result, settings), result
end

local function raised(...)
	local ok, e = pcall(...)
	assert.is_false(ok)
	assert.are.equal("PRECONDITION", e.code)
	return e
end

before_each(function()
	dir = os.tmpname()
	assert(os.remove(dir))
	assert(fs.mkdir(dir, 448))
	dir = assert(fs.realpath(dir))
	assert(fs.write(dir .. "/claude", STAND_IN, 448))
	assert(fs.mkdirs(dir .. "/commands"))
	assert(fs.write(dir .. "/commands/give.lua", COMMAND, 384))
	assert(fs.mkdir(dir .. "/sub", 448))
	settings = { cwd = dir, env = { A = "workflow", B = "workflow" }, self = RUNNER, claude = { program = dir .. "/claude" } }
	SCOPE = { vars = { v = "it's $(touch ran)", dash = "-x", n = 2, list = json.array { "a", "b" }, t = true }, steps = {} }
end)

after_each(function()
	fs.remove_tree(dir)
end)

describe("any step", function()
	it("gets the workflow's environment, its own above that, and the automation variable", function()
		local outcome = run("shell", "echo $A $B $RUNNER_AUTOMATION", { env = { B = "step ${n}" } })
		assert.is_true(outcome.ok)
		assert.are.equal("workflow step 2 true", outcome.output)
		assert.are.equal("true", run("shell", "echo $RUNNER_AUTOMATION", { env = { RUNNER_AUTOMATION = "no" } }).output)
	end)

	it("runs in its directory, relative to the workflow's", function()
		assert.are.equal(dir, run("shell", "pwd -P").output)
		assert.are.equal(dir .. "/sub", run("shell", "pwd -P", { working_dir = "sub" }).output)
		assert.are.equal("/", run("shell", "pwd -P", { working_dir = "/" }).output)
		local outcome = run("shell", "true", { working_dir = "missing" })
		assert.are.equal("SUBPROCESS_FAILED", outcome.code)
		assert.matches("missing", outcome.message)
	end)

	it("reads no stdin and keeps head and tail of what it prints", function()
		assert.are.equal("", run("shell", "cat").output)
		local outcome = run("shell", "yes | head -c 3000000; echo end")
		assert.is_true(outcome.truncated)
		assert.is_true(#outcome.output < 1100000)
		assert.matches("end$", outcome.output)
	end)

	it("that runs out of time fails as timed out", function()
		local outcome = run("shell", "echo a; sleep 20", { timeout_ms = 200, retry = { policy = {} } })
		assert.are.equal("TIMEOUT", outcome.code)
		assert.are.equal("Shell command timed out after 0.2s", outcome.message)
		assert.is_true(outcome.transient)
		assert.are.equal("a", outcome.output)
	end)

	it("is refused where the system could not pass its text", function()
		SCOPE.vars.long, SCOPE.vars.nul = ("x"):rep(200000), "a\0b"
		assert.matches("200000", raised(request, "runner", "give ${long}").message)
		assert.matches("NUL", raised(request, "claude", "${nul}").message)
		assert.matches("NUL", raised(request, "claude", "${nul}${long}").message)
		assert.matches("variable BIG", raised(request, "shell", "true", { env = { BIG = "${long}" } }).message)
		assert.matches("%${typo}", raised(request, "claude", "${typo}").message)
	end)
end)

describe("a claude step", function()
	it("runs the configured program with --print and the prompt, and nothing else", function()
		settings.claude.args = { "--model", "x" }
		local outcome = run("claude", "/process ${v}")
		assert.are.equal("<--model>\n<x>\n<--print>\n</process it's $(touch ran)>\nstdin: \nautomation: true\ndir: " .. dir,
			outcome.output)
		assert.is_nil(fs.stat(dir .. "/ran"))
	end)

	it("asks for JSON where the workflow does", function()
		settings.claude.output = "json"
		assert.matches("^<%-%-print>\n<%-%-output%-format>\n<json>\n<hi>\n", run("claude", "hi").output)
		settings.claude.output = "stream-json"
		assert.matches("\n<stream%-json>\n<%-%-verbose>\n<hi>\n", run("claude", "hi").output)
	end)

	it("never takes a prompt for a flag", function()
		assert.matches("< %-x>", run("claude", "${dash}").output)
	end)

	it("is given a prompt of any size: the longest that fits as an argument, others on stdin", function()
		assert(fs.write(dir .. "/claude", "#!/bin/sh\nfor last; do :; done; echo $# ${#last} $(wc -c)\n", 448))
		for size, seen in pairs { [131070] = "2 131070 0", [131071] = "1 7 131071", [8000000] = "1 7 8000000" } do
			SCOPE.vars.long = ("x"):rep(size)
			assert.are.equal(seen, run("claude", "${long}").output)
		end
		SCOPE.vars.long = "-" .. ("x"):rep(131069)
		assert.are.equal("2 131071 0", run("claude", "${long}").output)
	end)

	it("retries twice by itself, unless the user says something else", function()
		assert(fs.write(dir .. "/claude", '#!/bin/sh\necho "$CLAUDE_CODE_MAX_RETRIES"\n', 448))
		assert.are.equal("2", run("claude", "x").output)
		assert.are.equal("7", run("claude", "x", { env = { CLAUDE_CODE_MAX_RETRIES = "7" } }).output)
		settings.env.CLAUDE_CODE_MAX_RETRIES = "5"
		assert.are.equal("5", run("claude", "x").output)
		settings.env.CLAUDE_CODE_MAX_RETRIES = nil
		host.setenv("CLAUDE_CODE_MAX_RETRIES", "9")
		local outcome = run("claude", "x")
		host.setenv("CLAUDE_CODE_MAX_RETRIES", nil)
		assert.are.equal("9", outcome.output)
		assert.are.equal("", run("shell", 'echo "$CLAUDE_CODE_MAX_RETRIES"').output)
	end)

	it("gives the text of a JSON result, and the result as data", function()
		assert(fs.write(dir .. "/claude", [[#!/bin/sh
cat <<'E'
{"type":"system"}
{"type":"result","subtype":"success","is_error":false,"result":"done\n","total_cost_usd":0.5}
E
]], 448))
		local outcome = run("claude", "x")
		assert.is_true(outcome.ok)
		assert.are.equal("done", outcome.output)
		assert.are.equal(0.5, outcome.data.total_cost_usd)
	end)

	it("fails where the result says so, with exit status 0", function()
		assert(fs.write(dir .. "/claude", [[#!/bin/sh
echo '{"type":"result","subtype":"error_during_execution","is_error":true,"result":"API Error: 529 overloaded"}'
]], 448))
		local outcome = run("claude", "x")
		assert.is_false(outcome.ok)
		assert.are.equal("UNAVAILABLE", outcome.code)
		assert.are.equal("Service overloaded: 529 Overloaded", outcome.message)
		assert.is_true(outcome.transient)
	end)

	it("fails where its JSON is longer than what is kept: is_error may be in it", function()
		assert(fs.write(dir .. "/claude", [[#!/bin/sh
printf '{"type":"result","subtype":"success","is_error":true,"result":"'
head -c 1200000 /dev/zero | tr '\0' x
echo '"}'
]], 448))
		assert.is_true(run("claude", "x").ok)
		settings.claude.output = "json"
		local outcome = run("claude", "x")
		assert.are.same({ false, "OUTPUT_TOO_LARGE", false }, { outcome.ok, outcome.code, outcome.transient })
		assert.matches("longer than 1 MiB", outcome.message)
	end)

	it("reads JSON that quotes what no strict reader takes, and fails where it can't be read", function()
		settings.claude.output = "json"
		for text, expected in pairs {
			['"a\\u0000b 529 Overloaded"'] = "UNAVAILABLE", ['"\\ud800 \\ud83d\\ude00 529 Overloaded"'] = "UNAVAILABLE",
			['"\255 529 Overloaded"'] = "UNAVAILABLE", ['"x", "n": 12345678901234567890'] = "INVALID_RESULT",
			['"x"} {'] = "INVALID_RESULT",
		} do
			assert(fs.write(dir .. "/claude", "#!/bin/sh\ncat <<'E'\n\u{FEFF}{\"type\":\"result\",\"is_error\":true,\"result\":"
				.. text .. "}\nE\n", 448))
			assert.are.equal(expected, run("claude", "x").code, text)
		end
	end)

	it("succeeds without an answer, as its exit status says, and has a warning where nothing at all was printed", function()
		local function printing(script)
			assert(fs.write(dir .. "/claude", "#!/bin/sh\n" .. script .. "\n", 448))
			local outcome = run("claude", "x")
			return { outcome.ok, outcome.output, outcome.warning and outcome.warning.code or false }
		end
		assert.are.same({ true, "", "EMPTY_ANSWER" }, printing "exit 0")
		assert.are.same({ true, "", false }, printing "echo") -- an empty answer
		assert.are.same({ false, "", false }, printing "exit 1")
		settings.claude.output = "json"
		assert.are.same({ false, "", false }, printing "exit 0")
	end)

	it("fails with what stderr says", function()
		local outcome = run("claude", "FAIL")
		assert.are.equal("HTTP 500: Internal Server Error", outcome.message)
		assert.are.equal("500 Internal Server Error", outcome.reason)
		assert.are.equal(1, outcome.status)
		assert.matches("500 Internal", outcome.context.stderr)
	end)

	it("whose program is missing fails as a process, and says what to do", function()
		settings.claude.program = dir .. "/nothing"
		local outcome = run("claude", "x")
		assert.are.equal("SUBPROCESS_FAILED", outcome.code)
		assert.matches("^Process failed: .*nothing", outcome.message)
		assert.is_true(outcome.transient)
		assert.matches("^Fix the path ", outcome.suggestion)
	end)
end)

describe("a shell step", function()
	it("gets values as they are, never as text to run", function()
		local outcome = run("shell", "printf '%s|' ${v} \"${v}\" '${v}' ${list}")
		assert.are.equal("it's $(touch ran)|it's $(touch ran)|it's $(touch ran)|[\"a\",\"b\"]|", outcome.output)
		assert.is_nil(fs.stat(dir .. "/ran"))
	end)

	it("gives its JSON as data", function()
		assert.are.equal(7, run("shell", "echo '{\"a\":7}'").data.a)
		assert.is_nil(run("shell", "echo '{a}'").data)
		assert.is_nil(run("shell", "echo 7").data)
	end)

	it("succeeds with status 0 alone", function()
		for status = 1, 3 do
			local outcome = run("shell", "echo why >&2; exit " .. status)
			assert.is_false(outcome.ok)
			assert.are.equal("SUBPROCESS_FAILED", outcome.code)
			assert.are.equal(("Shell command exited with status %d: why"):format(status), outcome.message)
			assert.is_false(outcome.transient)
		end
		assert.are.equal("SIGKILL", run("shell", "kill -KILL $$").signal)
	end)

	it("is tried again by its own rules", function()
		local retry = { policy = {}, rules = { { exit = { [75] = true }, code = "UNAVAILABLE" } } }
		assert.is_true(run("shell", "exit 75", { retry = retry }).transient)
		assert.is_false(run("shell", "exit 1", { retry = retry }).transient)
		assert.is_true(run("shell", "exit 1", { retry = { policy = {} } }).transient)
		assert.is_false(run("shell", "exit 1", { retry = { policy = { on = { "TIMEOUT" } } } }).transient)
	end)

	it("is described by its text, without values", function()
		assert.are.equal("echo ${v}", request("shell", "echo ${v}").described)
	end)
end)

describe("a runner step", function()
	local function argv(...)
		return table.concat(request("runner", ...).argv, " ", 2)
	end

	it("passes its arguments as they are on a command line", function()
		assert.are.equal("--format=json --runner-unmask db migrate", argv "db migrate")
		assert.are.equal("--format=json --runner-unmask give --count=2 --dry-run --no-loud --name=it's $(touch ran) --tag=a --tag=b",
			argv("give", { args = { name = "${v}", count = "${n}", tag = "${list}", dry_run = true, loud = false } }))
		assert.are.equal("--format=json --runner-unmask give word --force", argv("give", { args = { "word", "--force" } }))
		assert.are.equal("runner give --name=x", request("runner", "give", { args = { name = "x" } }).described)
	end)

	it("never takes a value for a flag", function()
		assert.matches("flag", raised(request, "runner", "give", { args = { "${dash}" } }).message)
		assert.are.equal("--format=json --runner-unmask give --name=-x", argv("give", { args = { name = "${dash}" } }))
		assert.are.equal("--format=json --runner-unmask give -- -x", argv("give", { args = { "--", "${dash}" } }))
	end)

	it("leaves repeating to the step that repeats", function()
		local function outer(retry)
			return table.concat(request("runner", "give", { retry = retry }).env, " "):find("RUNNER_OUTER_RETRIES=1", 1, true)
		end
		assert.is_nil(outer(nil))
		assert.is_truthy(outer { policy = {} })
	end)

	it("gives the data of the command", function()
		if not fs.stat(RUNNER) then
			return pending "there is no runner beside RUNNER_HOST_SO"
		end
		local outcome = run("runner", "give", { args = { name = "${v}", tag = "${list}", dry_run = true } })
		assert.is_true(outcome.ok, outcome.message)
		assert.are.equal("it's $(touch ran)", outcome.data.name)
		assert.are.same({ "a", "b" }, { table.unpack(outcome.data.tag) })
		assert.is_true(outcome.data.dry_run)
		assert.are.equal("true", outcome.data.automation)
		assert.are.same(outcome.data, json.decode(outcome.output))
	end)

	it("fails as the command does", function()
		if not fs.stat(RUNNER) then
			return pending "there is no runner beside RUNNER_HOST_SO"
		end
		local outcome = run("runner", "give", { args = { code = "UNAVAILABLE" } })
		assert.are.equal("UNAVAILABLE", outcome.code)
		assert.are.equal("as asked", outcome.message)
		assert.are.equal("UNAVAILABLE: as asked", outcome.reason)
		assert.are.equal(12, outcome.status)
		assert.is_true(outcome.transient)
		assert.are.equal("none", outcome.side_effects)
		assert.is_false(run("runner", "give", { args = { code = "NOT_FOUND" } }).transient)
		assert.are.equal("COMMAND_NOT_FOUND", run("runner", "gove").code)
	end)

	it("without an envelope is a failed process", function()
		settings.self = "/bin/true"
		local outcome = run("runner", "give")
		assert.are.equal("SUBPROCESS_FAILED", outcome.code)
		assert.matches("no valid envelope", outcome.message)
	end)
end)

describe("the time limit in a message", function()
	local function limit_of(timeout_ms, duration_ms)
		local step_process = require "runner.workflow.kinds.step_process"
		return step_process.rules({ timeout_ms = timeout_ms }, { duration_ms = duration_ms }, {}).limit_ms
	end

	it("is the step's own only if that has passed", function()
		assert.are.equal(5000, limit_of(5000, 5000))
		assert.are.equal(5000, limit_of(5000, 5012))
		assert.is_nil(limit_of(5000, 4999)) -- the workflow's limit, or the run's
		assert.is_nil(limit_of(nil, 10))
	end)
end)

describe("the data of an output", function()
	it("is JSON in braces or brackets, up to a size", function()
		local success = require("runner.workflow.kinds.step_process").success
		assert.are.same({ 1 }, success({}, " [1]\n").data)
		assert.is_nil(success({}, "5").data)
		assert.is_nil(success({}, "[" .. (" "):rep(1 << 20) .. "]").data)
	end)
end)
