local command = require "runner.workflow.executors.command"
local conclusions = require "runner.workflow.executors.conclusions"
local declared = require "runner.declare.executors"
local json = require "runner.json"
local scheduler = require "runner.task.scheduler"

local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")

-- A place whose three programs are these texts of sh.
local function place(scripts)
	local function argv(name)
		return { "/bin/sh", "-c", scripts[name] or "cat >/dev/null; echo '{}'" }
	end
	return command.open(assert(declared.settle("q", { kind = "command", directory = "/s", submit = argv "submit", states = argv "states",
		cancel = argv "cancel", cpus = 2 })))
end

local function submit(script)
	return scheduler.run(function()
		local one = place { submit = script }
		return one:submit { token = "rn-a.1", tasks = 3, dir = "/s/u", argv = { "runner", "x y" }, executor = one.executor, memory = "4G" }
	end)
end

local function states(script)
	return scheduler.run(function()
		return place { states = script }:states { "rn-a.1", "rn-b.1" }
	end)
end

describe("the program that submits", function()
	local dir
	help.in_a_place(before_each, after_each, function(path)
		dir = path
	end)

	it("gets all of a submission as JSON", function()
		local script = "cat >%s/in; printf '%%s' \"$RUNNER_EXECUTOR\" >%s/name; echo '{\"job\":\"77\"}'"
		assert.same({ job = "77" }, (submit(script:format(dir, dir))))
		local given = json.decode(assert(io.open(dir .. "/in")):read "a")
		assert.same({ "rn-a.1", 3, "/s/u", "4G", 1, "x y", 2 },
			{ given.token, given.tasks, given.directory, given.memory, given.version, given.argv[2], given.executor.cpus })
		assert.equal("q", assert(io.open(dir .. "/name")):read "a")
	end)

	for script, expected in pairs {
		["cat >/dev/null; echo '{\"error\":{\"kind\":\"busy\",\"message\":\"full\"}}'"] = { "busy", "UNAVAILABLE", "full" },
		["cat >/dev/null; echo '{\"error\":{\"kind\":\"refused\",\"message\":\"no queue\"}}'; exit 3"] = {
			"refused", "PRECONDITION", "no queue" },
		["cat >/dev/null; echo '{\"error\":{\"kind\":\"unknown\"}}'"] = { "unknown", "UNAVAILABLE", "the submission was unknown" },
		["cat >/dev/null; echo oops >&2; exit 1"] = { "unknown", "UNAVAILABLE", "/bin/sh: oops" },
		["cat >/dev/null; echo '{\"job\":\"1\"}'; exit 1"] = { "unknown", "UNAVAILABLE", "/bin/sh failed with status 1" },
		["cat >/dev/null; echo '{\"job\":5}'"] = { "unknown", "UNAVAILABLE", '/bin/sh printed no {"job": …}' },
		["cat >/dev/null; echo '{\"job\":\"a b\"}'"] = { "unknown", "UNAVAILABLE", '/bin/sh printed no {"job": …}' },
		["exec <&-; echo '[]'"] = { "unknown", "UNAVAILABLE", '/bin/sh printed no {"job": …}' },
		["cat >/dev/null"] = { "unknown", "UNAVAILABLE", '/bin/sh printed no {"job": …}' },
		["kill -9 $$"] = { "unknown", "UNAVAILABLE", "/bin/sh failed with signal" },
	} do
		it("that does this is understood: " .. script, function()
			local job, problem = submit(script)
			assert.is_nil(job)
			assert.same({ expected[1], expected[2] }, { problem.kind, problem.code })
			assert.equal(expected[3], problem.message:sub(1, #expected[3]))
		end)
	end

	it("that isn't there has submitted nothing", function()
		local _, problem = scheduler.run(function()
			local one = place {}
			one.executor.submit = { "/nowhere/at/all" }
			return one:submit { token = "t", tasks = 1, dir = "/s", argv = { "x" }, executor = one.executor }
		end)
		assert.same({ "refused", "PRECONDITION" }, { problem.kind, problem.code })
	end)
end)

describe("the program that tells states", function()
	it("is read token by token, and what it leaves out is known by nobody", function()
		local known = states [[cat >/dev/null; echo '{"placements":{"rn-a.1":{"job":"5","tasks":{"1":{"state":"pending","reason":"full"},
			"2":{"state":"ended","ended":"failed","node":"x"}}},"other":{"tasks":"?"}}}']]
		assert.same({ ["rn-a.1"] = { job = "5", tasks = { { state = "pending", reason = "full", why = "full" },
			{ state = "ended", ended = "failed", node = "x" } } } }, known)
		assert.same({}, states "cat >/dev/null; echo '{\"placements\":{}}'")
	end)

	for _, text in ipairs { "", "{}", "[]", "null", '{"placements":[1]' } do
		it("is not believed when it prints " .. text, function()
			local known, problem = states(("cat >/dev/null; printf '%%s' '%s'"):format(text))
			assert.is_nil(known)
			assert.equal("unknown", problem.kind)
		end)
	end

	-- Of one placement: what is made of its tasks 1 and 2, and nothing else of the other.
	for text, expected in pairs { ["{}"] = ". .", ["5"] = ". .", ['{"tasks":{"x":{"state":"running"}}}'] = "unknown unknown",
		['{"tasks":{"0":{"state":"running"},"1":{"state":"running"}}}'] = "unknown unknown",
		['{"tasks":{"1":{"state":"lost"}}}'] = "unknown nil", ['{"tasks":{"1":{"state":"ended"},"2":{"state":"running"}}}'] = "unknown running",
		['{"tasks":{"1":{"state":"ended","ended":"well"}}}'] = "unknown nil", ['{"tasks":[{"state":"running"},7]}'] = "running unknown" } do
		it("leaves open only what is strange in " .. text, function()
			local known, problem = states(("cat >/dev/null; printf '%%s' '{\"placements\":{\"rn-a.1\":%s,"
				.. "\"rn-b.1\":{\"tasks\":{\"1\":{\"state\":\"running\"}}}}}'"):format(text))
			assert.equal("unknown", problem.kind)
			assert.same({ true, { state = "running" } }, { conclusions.said(known, "rn-b.1", 1) })
			local found = {}
			for task = 1, 2 do
				local sure, of_task = conclusions.said(known, "rn-a.1", task)
				found[task] = sure == nil and "." or of_task and of_task.state or "nil"
			end
			assert.equal(expected, table.concat(found, " "))
		end)
	end

	it("is not believed when it fails", function()
		local known, problem = states "cat >/dev/null; echo '{\"placements\":{}}'; exit 1"
		assert.is_nil(known)
		assert.equal("UNAVAILABLE", problem.code)
	end)
end)

it("the program that cancels has done so if it exits with 0", function()
	scheduler.run(function()
		assert.is_true(place {}:cancel { "t" })
		local ok, problem = place { cancel = "cat >/dev/null; exit 1" }:cancel { "t" }
		assert.is_nil(ok)
		assert.equal("unknown", problem.kind)
	end)
end)
