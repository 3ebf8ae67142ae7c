-- The run database: real files, real processes, real signals.

dofile "tests/lua/lib/needs.lua" (_ENV, "sqlite3")

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")
local host = require "runner.host"
local json = require "runner.json"
local schema = require "runner.state.schema"
local sqlite = require "runner.sqlite"
local store = require "runner.workflow.store.store"

local dir, path

local function open(opts)
	opts = opts or {}
	opts.path = path
	return store.open(opts)
end

local function failure(f, ...)
	local ok, e = pcall(f, ...)
	assert.is_false(ok)
	assert.is_true(errors.is(e), tostring(e))
	return e
end

-- Lua in a process of its own, with `store` and the `path`. `command` is the shell that
-- runs LUA.
local function elsewhere(code, command)
	local file = ("%s/code%d.lua"):format(dir, #fs.list(dir))
	assert(fs.write(file, ("dofile 'tests/lua/init.lua'; local store = require 'runner.workflow.store.store'; local path = '%s'\n%s")
		:format(path, code)))
	return assert(io.popen((command or "exec LUA"):gsub("LUA", "lua5.4 " .. file) .. " 2>&1"))
end

local function output_of(code, command)
	local pipe <close> = elsewhere(code, command)
	return pipe:read "a"
end

local DB = "local db = store.open { path = path }\n"
local REPORT = [[
	local function report(f, ...)
		local ok, e = pcall(f, ...)
		print(ok and "ok" or tostring(e.code) .. " " .. tostring(e.message) .. " " .. tostring(e.suggestion))
		io.stdout:flush()
		return ok and e
	end
]]

help.in_a_place(before_each, after_each, function(d, p)
	dir, path = d, p
end)

-- --- what is stored ------------------------------------------------------------------------

describe("a run in the store", function()
	local db

	before_each(function()
		db = open()
		db:create { id = "01A", workflow = "w", file = "/w.yaml", digest = "d", source = "name: w\n", cwd = "/tmp",
			variables = { a = "1", n = 5, list = json.array {} }, env_names = json.array { "X" }, seed = "s",
			request_id = "req_1", owner = 7 }
	end)

	after_each(function()
		db:close()
	end)

	local STEP = { key = "1", id = "build", kind = "shell", label = "make" }

	it("is found as it was created", function()
		local run = db:find "01A"
		assert.are.equal("running", run.state)
		assert.are.equal("name: w\n", run.source)
		assert.are.same({ a = "1", n = 5, list = {} }, run.variables)
		assert.is_true(json.is_array(run.variables.list))
		assert.are.same({ "X" }, run.env_names)
		assert.are.same({ "w", "/w.yaml", "d", "/tmp", "s", "req_1", 7, 0 },
			{ run.workflow, run.file, run.digest, run.cwd, run.seed, run.request_id, run.owner, run.resumes })
		assert.is_true(math.abs(run.created_ms - os.time() * 1000) < 10000)
		assert.are.equal(run.created_ms, run.updated_ms)
		assert.is_nil(run.ended_ms)
	end)

	it("is there once", function()
		assert.are.equal("CONFLICT", failure(db.create, db, { id = "01A", workflow = "w" }).code)
	end)

	it("is found by the beginning of its id, where no other one has it", function()
		db:create { id = "01AB", workflow = "w" }
		db:create { id = "02", workflow = "w" }
		assert.are.equal("02", db:find "02".id)
		assert.are.equal("01AB", db:find "01AB".id)
		assert.are.equal("01A", db:find "01A".id) -- exactly, though 01AB begins so too
		local e = failure(db.find, db, "01")
		assert.are.equal("CONFLICT", e.code)
		assert.are.same({ "01A", "01AB" }, e.context.runs)
		e = failure(db.find, db, "01abc")
		assert.are.same({ "NOT_FOUND", "Did you mean '01AB'?" }, { e.code, e.suggestion })
		for _, id in ipairs { "03", "", "ABCDE", "%", "' OR 1" } do
			e = failure(db.find, db, id)
			assert.are.equal("NOT_FOUND", e.code)
			assert.are.equal("runner workflow list", e.suggestion)
		end
	end)

	it("is found by its workflow, by @last and by the end of its id, in any case", function()
		db:create { id = "run_02XYZW", workflow = "deploy now", created_ms = 1 }
		db:create { id = "run_03xyzw", workflow = "deploy now", created_ms = 2 }
		db:create { id = "run_04AAAA", workflow = "run_02", created_ms = 3 }
		for text, id in pairs { ["deploy now"] = "run_03xyzw", ["@last"] = "01A", ["02xyzw"] = "run_02XYZW", AaAa = "run_04AAAA",
			["RUN_03"] = "run_03xyzw", run_02 = "run_04AAAA", ["04"] = "run_04AAAA" } do
			assert.are.equal(id, db:resolve(text), text)
			assert.are.equal(id, db:find(text).id)
		end
		local e = failure(db.resolve, db, "XYZW")
		assert.are.same({ "CONFLICT", { "run_02XYZW", "run_03xyzw" } }, { e.code, e.context.runs })
		assert.is_truthy(e.message:find("run_02XYZW (deploy now, running)", 1, true))
		for _, text in ipairs { "AAA", "4A", "%", "_", "deploy" } do
			assert.are.equal("NOT_FOUND", failure(db.resolve, db, text).code, text)
		end
		assert.are.equal("Did you mean 'deploy now'?", failure(db.resolve, db, "deploi now").suggestion)
	end)

	it("has a short id that resolve takes: 6 characters or as many as no other run's id ends with", function()
		local ids = { "run_0AABBBBBB", "run_0BABBBBBB", "run_0CCbbbbbb", "run_0DDDDDDDD", "short" }
		for _, id in ipairs(ids) do
			db:create { id = id, workflow = "w", created_ms = 1 }
		end
		local short = db:short_ids(ids)
		assert.are.same({ run_0AABBBBBB = "AABBBBBB", run_0BABBBBBB = "BABBBBBB", run_0CCbbbbbb = "Cbbbbbb",
			run_0DDDDDDDD = "DDDDDD", short = "short" }, short)
		for id, text in pairs(short) do
			assert.are.equal(id, db:resolve(text))
		end
		assert.are.same({}, db:short_ids {})
	end)

	it("has a start, attempts, waits and an end", function()
		local number, nth = db:start_attempt("01A", STEP, { round = 1, log = "/log/1" })
		assert.are.same({ 1, 1 }, { number, nth })
		local step = db:steps "01A"[1]
		assert.are.same({ "1", "build", "shell", "make", "running", 1, 1, 0, 1 },
			{ step.key, step.id, step.kind, step.label, step.state, step.round, step.attempts, step.spent_ms, step.position })
		db:end_attempt("01A", "1", 1, { status = 1, code = "UNAVAILABLE", message = "HTTP 500", delay_ms = 5200.2,
			wake_ms = 98.7 }, { state = "waiting", spent_ms = 30 })
		step = db:steps "01A"[1]
		assert.are.same({ "waiting", 99, 5200, "UNAVAILABLE", "HTTP 500", 1, 30 },
			{ step.state, step.wake_ms, step.wait_ms, step.code, step.message, step.status, step.spent_ms })
		assert.is_nil(step.ended_ms)

		assert.are.same({ 2, 2 }, { db:start_attempt("01A", STEP, { round = 1 }) })
		local again = db:steps "01A"[1]
		assert.are.same({ "running", 2, 30, step.started_ms },
			{ again.state, again.attempts, again.spent_ms, again.started_ms })
		for _, name in ipairs { "wake_ms", "wait_ms", "code", "message", "status" } do
			assert.is_nil(again[name], name)
		end
		db:end_attempt("01A", "1", 2, { status = 0 }, { state = "completed", output = "done", data = { x = 1 }, spent_ms = 60 })
		step = db:steps "01A"[1]
		assert.are.same({ "completed", "done", 0, 60 }, { step.state, step.output, step.status, step.spent_ms })
		assert.are.same({ x = 1 }, step.data)
		assert.is_number(step.ended_ms)
		local attempts = db:attempts("01A", "1")
		assert.are.same({ "UNAVAILABLE", "HTTP 500", 5200, "/log/1", 1 },
			{ attempts[1].code, attempts[1].message, attempts[1].delay_ms, attempts[1].log, attempts[1].status })
		assert.is_nil(attempts[2].code)
		assert.is_true(attempts[2].ended_ms >= attempts[2].started_ms)
	end)

	it("counts the attempts of a new round from one, and goes on numbering them", function()
		for _ = 1, 2 do
			local number = db:start_attempt("01A", STEP, { round = 1 })
			db:end_attempt("01A", "1", number, { code = "TIMEOUT" }, { state = "failed", spent_ms = 10 })
		end
		assert.are.same({ 3, 1 }, { db:start_attempt("01A", STEP, { round = 2 }) })
		local step = db:steps "01A"[1]
		assert.are.same({ 2, 1, 0 }, { step.round, step.attempts, step.spent_ms })
		db:end_attempt("01A", "1", 3, {}, { state = "failed" })
		assert.are.same({ 4, 2 }, { db:start_attempt("01A", STEP, {}) }) -- of the round that it is in
	end)

	it("lists its steps in the order of their first start, with the ones that were only marked", function()
		db:set_step("01A", { key = "9", kind = "foreach" }, "running")
		db:start_attempt("01A", STEP, { round = 1 })
		db:set_step("01A", { key = "2", kind = "shell" }, "skipped")
		db:set_step("01A", { key = "9" }, "completed", { output = "all", data = json.null })
		local steps = db:steps "01A"
		assert.are.same({ "9", "1", "2" }, { steps[1].key, steps[2].key, steps[3].key })
		assert.are.same({ "completed", "foreach", "all" }, { steps[1].state, steps[1].kind, steps[1].output })
		assert.are.equal(json.null, steps[1].data)
		assert.is_number(steps[1].ended_ms)
		assert.is_nil(steps[2].ended_ms)
		assert.are.equal("skipped", steps[3].state)
		assert.is_nil(db:steps("01A", { brief = true })[1].output)
	end)

	it("reads one of its steps, and the keys of those that didn't end well or are in doubt", function()
		db:start_attempt("01A", STEP, { round = 1 })
		db:set_step("01A", { key = "2" }, "completed", { output = "all", data = { 7 } })
		db:set_step("01A", { key = "3" }, "interrupted", { code = "STEP_IN_DOUBT" })
		db:set_step("01A", { key = "0" }, "interrupted", { code = "CANCELLED" })
		local step = db:step("01A", "2")
		assert.are.same({ "completed", "all", { 7 } }, { step.state, step.output, step.data })
		assert.is_nil(db:step("01A", "4"))
		assert.are.same({ "0", "1", "3" }, db:unfinished_steps "01A")
		assert.are.same({ "3" }, db:steps_in_doubt "01A")
	end)

	it("is interrupted with what was running, while what was waiting goes on waiting", function()
		db:start_attempt("01A", STEP, { round = 1 })
		db:start_attempt("01A", { key = "2" }, { round = 1 })
		db:end_attempt("01A", "2", 1, { code = "TIMEOUT", delay_ms = 1, wake_ms = 9 }, { state = "waiting" })
		db:interrupt("01A", { message = "Ctrl+C", retryable = true })
		local run, steps, attempts = db:find "01A", db:steps "01A", db:attempts "01A"
		assert.are.same({ "interrupted", "CANCELLED", "Ctrl+C", true }, { run.state, run.code, run.message, run.retryable })
		assert.is_number(run.ended_ms)
		assert.are.same({ "interrupted", "CANCELLED" }, { steps[1].state, steps[1].code })
		assert.are.same({ "waiting", "TIMEOUT", 9 }, { steps[2].state, steps[2].code, steps[2].wake_ms })
		assert.are.same({ "CANCELLED", "TIMEOUT" }, { attempts[1].code, attempts[2].code })
		assert.is_number(attempts[1].ended_ms)
	end)

	-- A loop with one step under way, one that waits and one that is over.
	local function half_way()
		db:set_step("01A", { key = "l" }, "running", { data = { 1, 2, 3 } })
		for i = 1, 3 do
			db:start_attempt("01A", { key = "l." .. i }, { round = 1 })
		end
		db:end_attempt("01A", "l.2", 1, { code = "TIMEOUT", delay_ms = 1, wake_ms = 9 }, { state = "waiting" })
		db:end_attempt("01A", "l.3", 1, {}, { state = "completed" })
	end

	local function states()
		local out = {}
		for i, step in ipairs(db:steps "01A") do
			out[i] = step.state .. (step.code and " " .. step.code or "")
		end
		return out
	end

	it("leaves no step running, however it ends: one whose end nobody recorded is in doubt", function()
		for _, state in ipairs { "completed", "failed", "interrupted", "cancelled", "running" } do
			half_way()
			db:set_run("01A", { state = state })
			assert.are.same({ "interrupted CANCELLED", "interrupted STEP_IN_DOUBT",
				state == "completed" and "skipped" or "waiting TIMEOUT", "completed" }, states())
			local attempt = db:attempts("01A", "l.1")[1]
			assert.are.same({ "STEP_IN_DOUBT", nil }, { attempt.code, attempt.ended_ms })
			assert.are.same({}, db:contradictions())
			db._database:exec "DELETE FROM attempts; DELETE FROM steps; UPDATE runs SET state = 'running'"
		end
	end)

	it("leaves out what is inside a step, and not over, and nothing else", function()
		half_way()
		db:interrupt "01A"
		for _, key in ipairs { "l[1].x", "l@2", "l2", "m" } do
			db:set_step("01A", { key = key }, "interrupted", { code = "STEP_IN_DOUBT" })
		end
		db:leave_inside("01A", "l@2", "why")
		assert.are.same({ "interrupted CANCELLED", "skipped", "skipped", "completed", "skipped", "skipped",
			"interrupted STEP_IN_DOUBT", "interrupted STEP_IN_DOUBT" }, states())
		local step = db:step("01A", "l.2")
		assert.are.same({ "why", nil, nil }, { step.message, step.code, step.wake_ms })
		assert.are.same({}, db:contradictions())
	end)

	it("whose runner died has its steps settled once: what is in doubt stays so, whatever follows", function()
		half_way()
		db:settle "01A"
		local settled = states()
		assert.are.same({ "interrupted CANCELLED", "interrupted STEP_IN_DOUBT", "waiting TIMEOUT", "completed" }, settled)
		db:settle "01A"
		db:interrupt "01A"
		db:set_run("01A", { state = "running" })
		assert.are.same(settled, states())
		assert.is_true(db:integrity "01A")
	end)

	it("is not resumed where its rows contradict each other", function()
		half_way()
		assert.are.same({}, db:contradictions())
		for problem, sql in pairs {
			["is running, but its run has ended"] = "UPDATE runs SET state = 'failed'",
			["isn't running, but its attempt 1 is"] = "UPDATE steps SET state = 'completed' WHERE key = 'l.1'",
			["is running, but none of its attempts is"] = "UPDATE attempts SET ended_ms = 1 WHERE key = 'l.1'",
		} do
			db._database:exec("BEGIN; " .. sql)
			local e = failure(db.integrity, db, "01A")
			db._database:exec "ROLLBACK"
			assert.are.equal("PRECONDITION", e.code)
			assert.is_truthy(e.message:find(problem, 1, true), e.message)
		end
	end)

	it("forgets how it ended when it goes on", function()
		db:set_run("01A", { state = "failed", code = "UNAVAILABLE", message = "m", failed_step = "1", retryable = true })
		assert.is_number(db:find "01A".ended_ms)
		assert.is_true(db:find "01A".retryable)
		db:set_run("01A", { state = "running", resumes = 1, owner = 8 })
		local run = db:find "01A"
		for _, name in ipairs { "ended_ms", "code", "message", "failed_step", "retryable" } do
			assert.is_nil(run[name], name)
		end
		assert.are.same({ 1, 8 }, { run.resumes, run.owner })
		db:set_run("01A", { state = "failed", retryable = false })
		assert.is_false(db:find "01A".retryable)
		db:set_run("01A", { owner = json.null })
		assert.is_nil(db:find "01A".owner)
	end)

	-- Which of the names have a value in a row, and whether it ended now.
	local function has(row, names)
		local out = {}
		for name in names:gmatch "%S+" do
			out[#out + 1] = row[name] ~= nil and name or nil
		end
		out[#out + 1] = row.ended_ms and (row.ended_ms > 8 and "now" or "then") or nil
		return table.concat(out, " ")
	end

	it("and its steps keep what their new state doesn't overrule", function()
		local WAITS, ERROR = { wake_ms = 5, wait_ms = 6, status = 7, code = "C", message = "m", ended_ms = 8 }, "code message status"
		for state, left in pairs { running = "", waiting = ERROR .. " wait_ms wake_ms", completed = "status now", skipped = "status now",
			failed = ERROR .. " now", interrupted = ERROR .. " now" } do
			db:set_step("01A", { key = state }, "waiting", WAITS)
			assert.are.equal(ERROR .. " wait_ms wake_ms then", has(db:step("01A", state), ERROR .. " wait_ms wake_ms"))
			db:set_step("01A", { key = state }, state)
			assert.are.equal(left, has(db:step("01A", state), ERROR .. " wait_ms wake_ms"), state)
		end
		local ENDED = "retryable code message failed_step"
		for state, left in pairs { running = "", completed = "now", failed = ENDED .. " now", interrupted = ENDED .. " now",
			cancelled = ENDED .. " now" } do
			db:set_run("01A", { state = "failed", code = "C", message = "m", failed_step = "1", retryable = true, ended_ms = 8 })
			assert.are.equal(ENDED .. " then", has(db:find "01A", ENDED))
			db:set_run("01A", { state = state })
			assert.are.equal(left, has(db:find "01A", ENDED), state)
		end
		for _, set in ipairs { db.set_run, db.set_step } do
			assert.is_false(pcall(set, db, "01A", set == db.set_run and { state = "done" } or { key = "1" }, "done"))
		end
	end)

	it("keeps every byte of what steps printed and of variables", function()
		local odd = "a\0b\xff\xfe\27[31m\r\n\t'\"" .. ("ü"):rep(500000)
		db:set_step("01A", STEP, "completed", { output = odd, message = odd, data = { odd, { deep = odd } } })
		db:create { id = "02", workflow = odd, variables = { a = odd, b = "plain" } }
		local step = db:steps "01A"[1]
		assert.is_true(step.output == odd and step.message == odd)
		assert.is_true(step.data[1] == odd and step.data[2].deep == odd)
		assert.is_true(db:find "02".variables.a == odd)
		assert.are.equal("plain", db:find "02".variables.b)
		assert.is_true(db:integrity "01A")
	end)

	it("must exist, as must the attempt that ends, and nothing else is touched", function()
		assert.are.equal("NOT_FOUND", failure(db.set_run, db, "zz", { state = "failed" }).code)
		assert.are.equal("NOT_FOUND", failure(db.start_attempt, db, "zz", STEP, {}).code)
		assert.are.equal("NOT_FOUND", failure(db.set_step, db, "zz", STEP, "running").code)
		assert.are.equal("NOT_FOUND", failure(db.interrupt, db, "zz").code)
		assert.are.equal("NOT_FOUND", failure(db.end_attempt, db, "01A", "1", 1, {}, { state = "failed" }).code)
		assert.are.same({}, db:steps "01A")
		assert.has_error(function() db:set_run("01A", { stat = "failed" }) end)
		assert.has_error(function() db:set_run("01A", { state = "done" }) end)
		assert.has_error(function() db:set_step("01A", STEP, "done") end)
		assert.are.equal("running", db:find "01A".state)
	end)

	it("shares the text of its file with other runs of the same text", function()
		db:create { id = "02", workflow = "w", digest = "d", source = "name: w\n" }
		db:create { id = "03", workflow = "w", digest = "d", source = "name: other, same digest\n" }
		assert.are.equal("name: w\n", db:find "02".source)
		assert.are.equal("name: other, same digest\n", db:find "03".source)
		assert.are.equal(2, db._database:row("SELECT count(*) AS n FROM sources").n)
		db:set_run("02", { digest = "e", source = "name: changed\n" })
		assert.are.same({ "e", "name: changed\n" }, { db:find "02".digest, db:find "02".source })
		assert.are.equal("name: w\n", db:find "01A".source)
	end)

	it("is listed with its counts, newest first", function()
		db:start_attempt("01A", STEP, { round = 1 })
		db:end_attempt("01A", "1", 1, {}, { state = "completed" })
		db:create { id = "02", workflow = "other", state = "running", created_ms = host.wall_ms() + 1 }
		db:set_run("02", { state = "failed" })
		local rows = db:list()
		assert.are.same({ "02", "01A" }, { rows[1].id, rows[2].id })
		assert.are.same({ 1, 1, 0, 1 }, { rows[2].steps, rows[2].steps_completed, rows[2].steps_failed, rows[2].attempts })
		assert.is_nil(rows[1].source)
		assert.are.equal("02", db:list { state = "failed" }[1].id)
		assert.are.equal("01A", db:list { workflow = "w" }[1].id)
		assert.are.same({}, db:list { workflow = "w", state = "failed" })
		assert.are.equal(1, #db:list { limit = 1 })
	end)

	it("is part of the statistics: the items of a loop, and the rounds of a step, are one row", function()
		for i, key in ipairs { "l[1].a", "l[2].a", "l[10].a", "l[2].m[4].b", "l[3].m[4].b", "w.check.1", "w.check.1@2", "w.do@2[1].x@2" } do
			db:start_attempt("01A", { key = key }, { round = 1, started_ms = 100 })
			db:end_attempt("01A", key, 1, { code = i == 2 and "TIMEOUT" or nil, ended_ms = 100 + i }, { state = "completed" })
		end
		local rows = {}
		for i, row in ipairs(db:stats().by_step) do
			rows[i] = { row.key, row.steps, row.attempts, row.failures, row.mean_ms, row.max_ms }
		end
		assert.are.same({ { "l[].a", 3, 3, 1, 2, 3 }, { "l[].m[].b", 2, 2, 0, 4, 5 }, { "w.check.1", 2, 2, 0, 6, 7 },
			{ "w.do@2[].x@2", nil, 1, 0, 8, 8 } }, rows)
	end)

	it("is part of the statistics", function()
		for i = 1, 3 do
			db:start_attempt("01A", STEP, { round = 1 })
			db:end_attempt("01A", "1", i, { code = i < 3 and "UNAVAILABLE" or nil, delay_ms = i < 3 and i * 100 or nil },
				{ state = i < 3 and "waiting" or "completed" })
		end
		db:start_attempt("01A", { key = "2" }, { round = 1 })
		db:end_attempt("01A", "2", 1, { code = "TIMEOUT" }, { state = "failed" })
		db:create { id = "02", workflow = "other", created_ms = 5 }
		local s = db:stats()
		assert.are.same({ 2, 4, 2, 300, { running = 2 } }, { s.runs, s.attempts, s.retries, s.total_wait_ms, s.by_state })
		assert.are.same({ code = "UNAVAILABLE", runs = 1, attempts = 2, retries = 1, wait_ms = 300 }, s.by_code[1])
		assert.are.same({ "w", "1", 3, 2, 2, 300 }, { s.by_step[1].workflow, s.by_step[1].key, s.by_step[1].attempts,
			s.by_step[1].retries, s.by_step[1].failures, s.by_step[1].wait_ms })
		assert.are.equal(0, db:stats { workflow = "other" }.attempts)
		assert.are.equal(1, db:stats { workflow = "other" }.runs)
		assert.are.equal(1, db:stats { since_ms = 6 }.runs)
	end)
end)

-- --- the file ------------------------------------------------------------------------------

describe("the file of the store", function()
	local real_getenv = os.getenv

	after_each(function()
		os.getenv = real_getenv -- luacheck: ignore
	end)

	it("is in the state directory, its owner's alone", function()
		local environment = { XDG_STATE_HOME = dir .. "/xdg", HOME = dir .. "/home" }
		os.getenv = function(name) -- luacheck: ignore
			return environment[name]
		end
		local db <close> = store.open()
		assert.are.equal(dir .. "/xdg/runner/runs.db", db.path)
		assert.are.equal(384, fs.stat(db.path).mode)
		assert.are.equal(448, fs.stat(dir .. "/xdg/runner").mode)
		environment.XDG_STATE_HOME = "relative"
		assert(fs.mkdir(dir .. "/home", 448))
		assert.are.equal(dir .. "/home/.local/state/runner/runs.db", store.open { readonly = true }.path)
		environment.HOME = nil
		assert.are.equal("PRECONDITION", failure(store.open).code)
	end)

	it("is written to the disk with every commit", function()
		local db <close> = open()
		assert.are.equal("wal", db._database:row "PRAGMA journal_mode".journal_mode)
		assert.are.equal(2, db._database:row "PRAGMA synchronous".synchronous)
		assert.are.equal(1, db._database:row "PRAGMA foreign_keys".foreign_keys)
	end)

	it("is not made for a reader, who sees a store without runs", function()
		local db <close> = open { readonly = true }
		assert.are.same({}, db:list())
		assert.are.equal(0, db:stats().runs)
		assert.are.equal("NOT_FOUND", failure(db.find, db, "x").code)
		assert.is_nil(db:owner "x")
		assert.is_nil((fs.stat(dir .. "/state")))
	end)

	it("is read beside a writer, and not changed by a reader", function()
		local db <close> = open()
		db:create { id = "a", workflow = "w" }
		local reader <close> = open { readonly = true }
		assert.are.equal("a", reader:find "a".id)
		db:set_run("a", { state = "failed" })
		assert.are.equal("failed", reader:find "a".state)
		assert.are.equal("PERMISSION_DENIED", failure(reader.set_run, reader, "a", { state = "running" }).code)
	end)

	it("can be made by many processes at once", function()
		local pipes = {}
		for i = 1, 8 do
			pipes[i] = elsewhere(DB .. ("db:create { id = 'p%d', workflow = 'w' } print 'made'"):format(i))
			pipes[i + 8] = assert(elsewhere "local db = store.open { path = path, readonly = true } print 'read'")
		end
		for i, pipe in ipairs(pipes) do
			assert.are.equal(i <= 8 and "made\n" or "read\n", pipe:read "a")
			pipe:close()
		end
		assert.are.equal(8, #open { readonly = true }:list())
	end)

	-- What another process does between two of our statements, for every two.
	for _, readonly in ipairs { false, true } do
		it(("can be made by another between any two steps of opening it%s"):format(readonly and " to read" or ""), function()
			local sqlite_open, lock = sqlite.open, fs.lock
			local locked, steps, at
			local function step()
				steps = steps + 1
				if steps == at and not locked then
					sqlite.open, fs.lock = sqlite_open, lock
					open():close()
				end
			end
			local function watched(...)
				local conn, message, name = sqlite_open(...)
				step()
				return conn and setmetatable({}, { __index = function(_, method)
					return function(_, ...)
						step()
						return conn[method](conn, ...)
					end
				end }), message, name
			end
			local function watched_lock(...)
				step()
				local held <const> = assert(lock(...))
				locked = true
				return setmetatable({}, { __close = function()
					locked = false
					held:release()
					step()
				end })
			end
			at = 0
			repeat
				at, steps, locked = at + 1, 0, false
				fs.remove_tree(dir .. "/state")
				if readonly then
					assert(fs.mkdirs(dir .. "/state/runner", 448))
					assert(fs.write(path, "")) -- as it is for an instant when it is made
				end
				sqlite.open, fs.lock = watched, watched_lock
				local ok, db = pcall(open, { readonly = readonly })
				sqlite.open, fs.lock = sqlite_open, lock
				assert(ok, ("another at step %d: %s"):format(at, ok or db.message))
				assert.same({}, db:list {})
				db:close()
			until steps < at
			assert.is_true(at > 6, "steps: " .. at)
		end)
	end

	it("is looked at again where it was replaced behind its making", function()
		local database <const> = require "runner.state.database"
		local writer <const> = database.writer
		assert(fs.mkdirs(dir .. "/state/runner", 448))
		assert(fs.write(path, ""))
		database.writer = function(...)
			database.writer = writer
			writer(...):close()
			assert(fs.write(path, ""))
			return { close = function() end }
		end
		assert.same({}, open { readonly = true }:list())
	end)

	it("refuses to be used when it is closed, and is closed as often as one likes", function()
		local db = open()
		db:close()
		db:close()
		assert.has_error(function() db:list() end)
	end)
end)

describe("a database with another schema", function()
	local real = table.pack(table.unpack(schema.MIGRATIONS))
	local version = schema.VERSION

	local function set_migrations(...)
		schema.MIGRATIONS = { table.unpack(real) }
		for _, sql in ipairs { ... } do
			table.insert(schema.MIGRATIONS, sql)
		end
		schema.VERSION = #schema.MIGRATIONS
	end

	before_each(function()
		local db <close> = open()
		db:create { id = "old", workflow = "w" }
	end)

	after_each(function()
		set_migrations()
		assert.are.equal(version, schema.VERSION)
	end)

	it("that is older is brought to ours, whoever opens it", function()
		for i, readonly in ipairs { false, true } do
			set_migrations(table.unpack({ "ALTER TABLE runs ADD COLUMN one DEFAULT 1",
				"ALTER TABLE runs ADD COLUMN two DEFAULT 2" }, 1, i))
			local db <close> = open { readonly = readonly }
			assert.are.equal("old", db:find "old".id)
			assert.are.equal(1, db:find "old".one)
			assert.are.equal(i == 2 and 2 or nil, db:find "old".two)
			assert.are.equal(schema.VERSION, db._database:row "PRAGMA user_version".user_version)
		end
	end)

	it("that is older is kept beside it as it was, readable for its owner only", function()
		local copy = ("%s.v%d"):format(path, version)
		set_migrations "DROP TABLE steps; ALTER TABLE runs ADD COLUMN one DEFAULT 1"
		open():close()
		local kept = assert(sqlite.open(copy, { readonly = true }))
		assert.are.equal(version, kept:rows "PRAGMA user_version"[1].user_version)
		assert.are.equal("old", kept:rows "SELECT id FROM runs"[1].id)
		assert.are.same({}, kept:rows "SELECT * FROM steps")
		kept:close()
		assert.are.equal(384, fs.stat(copy).mode & 511)
		assert.is_nil(fs.stat(copy .. ".part"))
		open():close()
		assert.is_nil(fs.stat(("%s.v%d"):format(path, version + 1)))
	end)

	it("that is newer names the runner that made it, unless that is no version", function()
		for runner, shown in pairs { ["9.8.7"] = " (9.8.7)", ["\27[2J"] = "" } do
			set_migrations("ALTER TABLE runs ADD COLUMN one")
			local db <close> = open()
			db._database:run("UPDATE about SET runner = ?", runner)
			set_migrations()
			local e = failure(open)
			assert.is_truthy(e.message:find(("by a newer runner%s: its schema"):format(shown), 1, true), e.message)
			assert.are.equal(shown ~= "" and "9.8.7" or nil, e.context.runner_version)
		end
	end)

	it("stays as it was when a migration fails", function()
		set_migrations("ALTER TABLE runs ADD COLUMN one; ALTER TABLE missing ADD COLUMN two")
		assert.are.equal("INTERNAL_ERROR", failure(open).code)
		set_migrations()
		local db <close> = open()
		assert.is_nil(db._database:row "SELECT 1 FROM pragma_table_info('runs') WHERE name = 'one'")
		assert.are.equal("old", db:find "old".id)
	end)

	it("that is newer is refused, and not touched", function()
		set_migrations("ALTER TABLE runs ADD COLUMN one")
		open():close()
		set_migrations()
		for _, readonly in ipairs { false, true } do
			local e = failure(open, { readonly = readonly })
			assert.are.equal("PRECONDITION", e.code)
			assert.matches(("newer runner.*version %d.*knows %d"):format(version + 1, version), e.message)
			assert.are.same({ database = path, schema_version = version + 1, known_version = version,
				runner_version = host.launch().version }, e.context)
		end
	end)

	it("that is not ours is refused, and not touched", function()
		assert(fs.unlink(path))
		local other = sqlite.open(path)
		other:exec "CREATE TABLE runs (x)"
		other:close()
		assert.matches("not runner's", failure(open).message)
		assert.matches("not runner's", failure(open, { readonly = true }).message)
	end)
end)

describe("a damaged database", function()
	before_each(function()
		local db <close> = open()
		for i = 1, 200 do
			db._database:run("INSERT INTO runs (id, workflow, state, created_ms, updated_ms) VALUES (?, ?, 'failed', 1, 1)",
				"r" .. i, ("w"):rep(100))
		end
	end)

	local function damage(change)
		assert(fs.write(path, change(fs.read(path))))
	end

	local function assert_damaged(f, ...)
		local e = failure(f, ...)
		assert.are.equal("PRECONDITION", e.code)
		assert.matches("damaged", e.message)
		assert.matches("Move it away.*can no longer be listed or resumed", e.suggestion)
		assert.are.equal(path, e.context.database)
	end

	it("is named where its header is", function()
		damage(function(text) return ("x"):rep(100) .. text:sub(101) end)
		assert_damaged(open)
		assert_damaged(open, { readonly = true })
	end)

	it("is named where a page is", function()
		damage(function(text) return text:sub(1, 8192) .. ("\x55"):rep(#text - 8192) end)
		assert_damaged(open)
	end)

	it("is named where it was cut off", function()
		damage(function(text) return text:sub(1, #text // 8192 * 4096) end)
		assert_damaged(open)
		damage(function(text) return text:sub(1, 60) end)
		assert_damaged(open)
	end)

	it("is found by the whole check where an index lacks a row", function()
		local conn = sqlite.open(path)
		conn:exec [[PRAGMA writable_schema = ON;
			UPDATE sqlite_master SET sql = 'CREATE INDEX runs_by_time ON runs (updated_ms, created_ms)' WHERE name = 'runs_by_time']]
		conn:close()
		local ok, e = pcall(function()
			local db <close> = open()
			db:integrity()
		end)
		assert.is_false(ok)
		assert.are.equal("PRECONDITION", e.code)
	end)
end)

-- --- what may happen to it ---------------------------------------------------------------------

describe("the store", function()
	it("says who may not write, and to whom", function()
		do
			local db <close> = open()
			db:create { id = "a", workflow = "w" }
		end
		-- a copy of the library, since the checkout may lie where nobody else may look
		assert(os.execute(([[
			copy=DIR/copy
			mkdir -p $copy/tests/lua $copy/src/bindings && cp -r lua $copy/ &&
			cp tests/lua/init.lua $copy/tests/lua/ && cp src/bindings/bindings.def $copy/src/bindings/ &&
			cp "$RUNNER_HOST_SO" $copy/host.so && chmod -R a+rX $copy &&
			chmod 755 DIR DIR/state DIR/state/runner && install -m 644 PATH PATH.readable]])
			:gsub("DIR", dir):gsub("PATH", path)))
		local as_nobody = ("cd %s/copy; RUNNER_HOST_SO=$PWD/host.so exec setpriv --reuid 65534 --regid 65534 --clear-groups "):format(dir)
		if not os.execute("(" .. as_nobody .. "test -r host.so)") then
			pending "another user can't be played here"
			return
		end
		local text = output_of(REPORT .. [[
			report(store.open, { path = path })
			report(store.open, { path = path:match "^(.*)/runner/" .. "/new/runs.db" })
			report(store.open, { path = path, readonly = true })
			print(#store.open { path = path .. ".readable", readonly = true }:list())]], as_nobody .. "LUA")
		local lines = {}
		for line in text:gmatch "[^\n]+" do
			lines[#lines + 1] = line
		end
		for i = 1, 3 do
			assert.matches("^PERMISSION_DENIED .* the run database .* XDG_STATE_HOME", lines[i])
		end
		assert.are.equal("1", lines[4]) -- where no file can be made beside it
	end)

	it("says that there is no space, loses nothing, and goes on when there is", function()
		if not os.execute "unshare -m true 2>/dev/null" then
			pending "nothing can be mounted here"
			return
		end
		path = dir .. "/full/runs.db"
		assert(fs.mkdir(dir .. "/full"))
		local text = output_of(REPORT .. [[
			local fs = require "runner.fs"
			local dir = path:match "^(.*)/"
			]] .. DB .. [[
			local made, code = 0, nil
			repeat
				local ok, e = pcall(db.create, db, { id = "r" .. made, workflow = "w", source = ("x"):rep(5000) .. made })
				made, code = made + (ok and 1 or 0), not ok and e.code
			until not ok or made > 2000
			print(code, made > 10 and made < 2000)
			print(#db:list { limit = 5000 } == made, db:integrity())
			report(db.create, db, { id = "x", workflow = "w", source = ("x"):rep(50000) })
			db:close()
			os.execute("cat /dev/zero >" .. dir .. "/more 2>/dev/null")
			print(#store.open { path = path, readonly = true }:list { limit = 5000 } == made)
			os.remove(dir .. "/ballast")
			db = store.open { path = path }
			print(#db:list { limit = 5000 } == made)
			report(db.create, db, { id = "x", workflow = "w", source = ("x"):rep(50000) })
			print(#db:list { limit = 5000 } - made)]],
			([[exec unshare -m sh -c 'mount -t tmpfs -o size=2m none "$0" && head -c 800000 /dev/zero >"$0/ballast" && exec LUA' ]]
				.. dir .. "/full"))
		local lines = {}
		for line in text:gmatch "[^\n]+" do
			lines[#lines + 1] = line
		end
		assert.are.equal("RESOURCE_EXHAUSTED\ttrue", lines[1], text)
		assert.are.equal("true\ttrue", lines[2])
		assert.matches("^RESOURCE_EXHAUSTED No space left .* Free space", lines[3])
		assert.are.equal("true", lines[4]) -- it can be read though nothing can be made beside it
		assert.are.equal("true", lines[5])
		assert.are.equal("ok", lines[6])
		assert.are.equal("1", lines[7])
	end)

	it("takes a limit on the size of files for a full disk", function()
		local text = output_of(DB .. [[
			local made = 0
			local ok, e
			repeat
				ok, e = pcall(db.create, db, { id = "r" .. made, workflow = "w", source = ("x"):rep(5000) .. made })
				made = made + 1
			until not ok or made > 2000
			print(e.code, made > 5, #db:list { limit = 5000 } == made - 1)]], "trap '' XFSZ; ulimit -f 1000; exec LUA")
		assert.are.equal("RESOURCE_EXHAUSTED\ttrue\ttrue\n", text)
	end)

	it("says that there is no space where it can't even be made", function()
		local text = output_of(REPORT .. "report(store.open, { path = path })", "trap '' XFSZ; ulimit -f 8; exec LUA")
		assert.matches("^RESOURCE_EXHAUSTED ", text)
	end)

	it("waits for another process that writes, then says that it is busy", function()
		local db <close> = open()
		db:create { id = "a", workflow = "w" }
		local function holder(seconds)
			local pipe = elsewhere(DB .. ([[
				db._database:write(function()
					print(io.open "/proc/self/stat":read "n") io.stdout:flush()
					os.execute "exec sleep %s >/dev/null 2>&1"
				end)]]):format(seconds))
			return pipe, pipe:read "n"
		end
		local short = holder "0.3"
		db:set_run("a", { state = "failed" })
		short:close()
		local long, pid = holder "60"
		local started = host.now()
		assert.are.equal("failed", db:find "a".state) -- readers don't wait
		assert.is_true(host.now() - started < 4900)
		started = host.now()
		local e = failure(db.set_run, db, "a", { state = "running" })
		local took = host.now() - started
		assert.are.equal("UNAVAILABLE", e.code)
		assert.is_true(took > 4900 and took < 30000, took .. " ms")
		os.execute("kill -9 " .. pid)
		long:close()
	end)

	it("notices that its database was moved away", function()
		local db <close> = open()
		db:create { id = "a", workflow = "w" }
		assert(fs.rename(path, path .. ".away"))
		local e = failure(db.set_run, db, "a", { state = "failed" })
		assert.are.equal("PRECONDITION", e.code)
		assert.matches("moved or deleted", e.message)
	end)

	it("names a directory that is none", function()
		assert(fs.write(dir .. "/state", ""))
		assert.are.equal("PRECONDITION", failure(open).code)
	end)

	it("loses nothing that was committed when its process is killed at any instant", function()
		local code = DB .. [[
			io.stdout:setvbuf "line"
			print(require "runner.host" and io.open "/proc/self/stat":read "n")
			local id = "r" .. #db:list { limit = 100000 }
			db:create { id = id, workflow = "w" }
			print("created", id)
			for i = 1, 100000 do
				local key = "k" .. i
				db:start_attempt(id, { key = key }, { round = 1 })
				print("started", key)
				db:end_attempt(id, key, 1, { status = 0 }, { state = "completed", output = ("x"):rep(3000) })
				print("completed", key)
			end]]
		math.randomseed(7)
		for round = 1, 12 do
			local pipe = elsewhere(code)
			local pid = pipe:read "n"
			host.sleep(math.random(20, 120))
			os.execute("kill -9 " .. pid)
			local said, id = {}, nil
			for word, what in pipe:read "a":gmatch "(%a+)\t(%w+)\n" do
				id = word == "created" and what or id
				said[what] = word
			end
			pipe:close()
			local db <close> = open()
			assert.is_true(db:integrity())
			local stored = {}
			for _, step in ipairs(id and db:steps(id) or {}) do
				stored[step.key] = step
			end
			for key, word in pairs(said) do
				if key == id then
					assert.are.equal("running", db:find(id).state)
				elseif word == "completed" then
					assert.are.equal("completed", stored[key].state)
					assert.are.equal(3000, #stored[key].output)
				else
					assert.is_truthy(stored[key], ("round %d: %s was %s"):format(round, key, word))
				end
			end
		end
	end)

	it("can be killed while its database is made", function()
		for round = 1, 12 do
			local pipe = elsewhere("print(io.open '/proc/self/stat':read 'n') io.stdout:flush() " .. DB)
			local pid = pipe:read "n"
			host.sleep(round * 3)
			os.execute("kill -9 " .. pid .. " 2>/dev/null")
			pipe:close()
			do
				local db <close> = open()
				db:create { id = "r", workflow = "w" }
				assert.is_true(db:integrity())
			end
			assert(fs.remove_tree(dir .. "/state"))
		end
	end)

	it("goes back to a commit when a power failure has cut its log anywhere", function()
		local db = open()
		db:create { id = "r", workflow = "w" }
		for i = 1, 20 do
			db:start_attempt("r", { key = "k" .. i }, {})
			db:end_attempt("r", "k" .. i, 1, {}, { state = "completed", output = ("x"):rep(i * 300) })
		end
		local base, log = fs.read(path), fs.read(path .. "-wal")
		db:close()
		path = dir .. "/cut.db"
		math.randomseed(11)
		local most = 0
		for _ = 1, 40 do
			assert(fs.write(path, base))
			assert(fs.write(path .. "-wal", log:sub(1, math.random(0, #log)) .. ("\x5a"):rep(math.random(0, 5000))))
			local cut = open()
			assert.is_true(cut:integrity())
			local steps, attempts = cut:steps "r", cut:attempts "r"
			assert.are.equal(#steps, #attempts)
			for i, step in ipairs(steps) do
				assert.are.equal(i < #steps and "completed" or step.state, step.state)
				assert.are.equal(step.state == "completed" and i * 300 or nil, step.output and #step.output)
			end
			most = math.max(most, #steps)
			cut:close()
			os.execute("rm -f " .. path .. "*")
		end
		assert.is_true(most > 5)
	end)
end)

-- --- who runs a run ---------------------------------------------------------------------------

describe("a run's owner", function()
	local HOLD = DB .. [[
		local lock = db:own "r"
		print(io.open "/proc/self/stat":read "n")
		io.stdout:flush()
		os.execute "exec sleep %s >/dev/null 2>&1"]]

	it("is one process, and is known by its pid to others", function()
		local db <close> = open()
		assert.is_nil(db:owner "r")
		local pipe = elsewhere(HOLD:format "60")
		local pid = pipe:read "n"
		assert.are.equal(pid, db:owner "r")
		local e = failure(db.own, db, "r")
		assert.are.equal("LOCK_HELD", e.code)
		assert.is_false(e.retryable)
		assert.are.equal(pid, e.context.owner_pid)
		assert.is_nil(db:owner "another")
		os.execute("kill -9 " .. pid)
		pipe:close()
		assert.is_nil(db:owner "r")
		db:own "r":release()
	end)

	it("is never taken for held where its lock can't be a file", function()
		local db <close> = open()
		assert(fs.mkdirs(dir .. "/state/runner/runs/r.lock"))
		local e = failure(db.own, db, "r")
		assert.are_not.equal("LOCK_HELD", e.code)
		assert.matches("r.lock: Is a directory", e.message, 1, true)
		assert(fs.rmdir(dir .. "/state/runner/runs/r.lock"))
		db:own "r":release()
	end)

	it("is nobody when the process was killed", function()
		local db <close> = open()
		local pipe = elsewhere((HOLD:gsub("os.execute.*", "while true do end")))
		local pid = pipe:read "n"
		assert.are.equal(pid, db:owner "r")
		os.execute("kill -9 " .. pid)
		pipe:close()
		assert.is_nil(db:owner "r")
		db:own "r":release()
	end)

	-- The lock comes before the name in its file; until then a dead one's stands there.
	it("is not waited for like a dead one whose name still stands in the lock", function()
		local file = dir .. "/state/runner/runs/r.lock"
		assert(fs.mkdirs(dir .. "/state/runner/runs", 448))
		assert(fs.write(file, "4194305 1.0\n")) -- no process has so high a number
		local pipe = assert(io.popen(("exec flock -F -x %s sh -c 'echo $$; sleep 0.4; echo $$ 1.0 >%s; exec sleep 60'"):format(file, file)))
		local pid = pipe:read "n"
		local db <close>, started = open(), host.now()
		local e = failure(db.own, db, "r")
		assert.are.equal("LOCK_HELD", e.code)
		assert.is_true(host.now() - started < 20000, host.now() - started .. " ms")
		assert.are_not.equal(4194305, e.context.owner_pid)
		os.execute("kill -9 " .. pid)
		pipe:close()
	end)

	-- What /proc says of a holder, and of how many looks at the lock it keeps it.
	local function taken_from(stat, status, looks)
		local read, lock, left = fs.read, fs.lock, 0
		fs.read = function(name)
			local what = name:match "^/proc/7/(%w+)$"
			return what == "stat" and stat or what == "status" and status or read(name)
		end
		fs.lock = function(...)
			left = left - 1
			if left >= 0 then
				return nil, "held", { pid = 7 }
			end
			return lock(...)
		end
		local db = open()
		left = looks
		local ok, e = pcall(db.own, db, "r")
		fs.read, fs.lock = read, lock
		db:close()
		return ok or e.code
	end

	it("is waited for while it is dying, and only then", function()
		local living = "7 (a) S (b) S 1 7 7 0 -1 4194560 0 0"
		local status = "Name:\ta\nSigPnd:\t0000000000000000\nShdPnd:\t%s\nSigBlk:\t0000000000000100\n"
		local calm = status:format "0000000000004000"
		assert.are.equal("LOCK_HELD", taken_from(living, calm, 5))
		assert.is_true(taken_from((living:gsub("%) S 1", ") Z 1")), calm, 5))
		assert.is_true(taken_from((living:gsub("4194560", "4194564")), calm, 5))
		assert.is_true(taken_from(living, status:format "0000000000000100", 5))
		assert.is_true(taken_from(living, (calm:gsub("SigPnd:\t0000000000000000", "SigPnd:\t0000000000004100")), 5))
		assert.are.equal("LOCK_HELD", taken_from("nonsense", calm, 5))
	end)

	it("is looked for without a trace", function()
		local db <close> = open()
		local file = dir .. "/state/runner/runs/r.lock"
		db:own "r":release()
		assert.is_nil(db:owner "r")
		assert.are.same({}, fs.list(dir .. "/state/runner/runs"))
		assert(fs.write(file, "1 1.0\n"))
		assert.is_nil(db:owner "r")
		assert.are.equal("1 1.0\n", fs.read(file))
	end)

	it("leaves no file behind when it gives the run back", function()
		local db = open()
		local lock = db:own "r/../x"
		assert.are.equal("r%2F..%2Fx.lock", fs.list(dir .. "/state/runner/runs")[1])
		lock:release()
		lock:release()
		assert.are.same({}, fs.list(dir .. "/state/runner/runs"))
		db:own "r"
		db:close()
		assert.are.same({}, fs.list(dir .. "/state/runner/runs"))
	end)

	it("is one even if many want the run at once", function()
		open():close()
		local pipes, won = {}, 0
		for i = 1, 8 do
			pipes[i] = elsewhere(DB .. [[
				local ok = pcall(db.own, db, "r")
				print(ok and "won" or "lost") io.stdout:flush()
				os.execute("for i in $(seq 3000); do [ -e " .. path .. ".over ] && break; sleep 0.02; done")]])
		end
		for _, pipe in ipairs(pipes) do
			won = won + (pipe:read "l" == "won" and 1 or 0)
		end
		assert(fs.write(path .. ".over", ""))
		for _, pipe in ipairs(pipes) do
			pipe:close()
		end
		assert.are.equal(1, won)
	end)
end)

-- --- many runs ---------------------------------------------------------------------------------

describe("ten thousand runs", function()
	local FILL = [[
		WITH RECURSIVE n (i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d)
		INSERT INTO runs (id, workflow, state, source_id, created_ms, updated_ms, variables)
		SELECT printf('run%%06d', i), 'w' || (i %% 7), CASE i %% 5 WHEN 0 THEN 'failed' ELSE 'completed' END, 1, i, i, '{}' FROM n;
		WITH RECURSIVE n (i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d), k (j) AS (VALUES (1), (2), (3), (4), (5), (6))
		INSERT INTO steps (run, key, position, state, kind, label, output)
		SELECT printf('run%%06d', i), j, j, 'completed', 'shell', 'make', printf('%%.200c', 'x') FROM n, k;
		WITH RECURSIVE n (i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d), k (j) AS (VALUES (1), (2), (3), (4), (5), (6))
		INSERT INTO attempts (run, key, number, round, nth, started_ms, ended_ms, code, delay_ms)
		SELECT printf('run%%06d', i), j, 1, 1, 1, i, i, CASE j WHEN 3 THEN 'TIMEOUT' END, CASE j WHEN 3 THEN 9 END FROM n, k;]]

	local function size(db)
		return db._database:row "PRAGMA page_count".page_count * 4096
	end

	local function fastest_ms(f, ...)
		local best = math.huge
		for _ = 1, 3 do
			local started = os.clock() -- of the processor: others may have it in between
			f(...)
			best = math.min(best, (os.clock() - started) * 1000)
		end
		return best
	end

	it("are listed and shown in under 50 ms, and grow linearly", function()
		local db <close> = open()
		local sizes = {}
		db._database:exec "INSERT INTO sources (id, digest, source) VALUES (1, '', 'text')"
		for i = 0, 3 do
			local from, to = i * 2500 + 1, (i + 1) * 2500
			db._database:write(function()
				db._database:exec(FILL:format(from, to, from, to, from, to))
			end)
			sizes[i] = size(db)
		end
		local first, last = sizes[1] - sizes[0], sizes[3] - sizes[2]
		assert.is_true(last < first * 1.1, ("%d bytes, then %d for as many runs"):format(first, last))

		assert.are.equal(10000, db:stats().runs)
		for name, f in pairs {
			list = function() assert.are.equal(50, #db:list()) end,
			failed = function() assert.are.equal(50, #db:list { state = "failed" }) end,
			workflow = function() assert.are.equal(50, #db:list { workflow = "w3", state = "failed" }) end,
			show = function()
				local run = db:find "run005000"
				assert.are.equal(6, #db:steps(run.id))
				assert.are.equal(6, #db:attempts(run.id))
			end,
			prefix = function() assert.is_false((pcall(db.find, db, "run"))) end,
			reader = function() open { readonly = true }:close() end,
		} do
			local took = fastest_ms(f)
			assert.is_true(took < 50, ("%s took %.1f ms"):format(name, took))
			if os.getenv "FIGURES" then
				print(("%-10s %6.2f ms"):format(name, took))
			end
		end
		if os.getenv "FIGURES" then
			print(("%d bytes a run"):format(sizes[3] // 10000))
			print(("%-10s %6.2f ms"):format("stats", fastest_ms(db.stats, db)))
			print(("%-10s %6.2f ms"):format("open", fastest_ms(function() open():close() end)))
			print(("%-10s %6.2f ms"):format("integrity", fastest_ms(db.integrity, db)))
			print(("%-10s %6.2f ms"):format("commit", fastest_ms(db.set_run, db, "run000001", { owner = 1 })))
		end
	end)
end)

describe("rows of another subject", function()
	-- What reads a table by its whole name sees those of all subjects: each such place is known here.
	it("are read by nothing but writes, the view that hides them, turns of a concurrency key, and what keeps files of others", function()
		local known = { ["lua/workflow/store/store.lua"] = 3, ["lua/workflow/store/writes.lua"] = 2, ["lua/workflow/store/queries.lua"] = 2,
			["lua/workflow/store/remove.lua"] = 3 }
		local files, found = assert(io.popen "find lua -name '*.lua'"), {}
		for name in files:lines() do
			local text, n = assert(io.open(name)):read "a", 0
			for word in text:gmatch "(%u+) main%.%l+" do
				n = n + ((word == "FROM" or word == "JOIN") and 1 or 0)
			end
			found[name] = n > 0 and n or nil
			assert.is_true(name:find "^lua/workflow/store/" ~= nil or name:find "^lua/state/" ~= nil
				or not text:find "FROM runs" and not text:find "JOIN runs", name .. " reads runs by itself")
		end
		files:close()
		assert.same(known, found)
	end)
end)
