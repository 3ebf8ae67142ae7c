-- What a start that fails leaves of its job: nothing, unless the job runs.

local errors = require "runner.core.errors"
local folder = require "runner.jobs.folder"
local fs = require "runner.fs"
local help = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/workflow_help.lua")
local process = require "runner.process"
local start = require "runner.jobs.start"

local ID = "job_01M826XAR52QS9AERDYHCJPTRH"

describe("the start of a job", function()
	local dir, real_root, real_start, real_write, real_lock

	help.in_a_place(before_each, after_each, function(d)
		dir = d
	end)
	before_each(function()
		real_root, real_start, real_write, real_lock = folder.root, process.start, fs.write, fs.lock
		folder.root = function() return dir end
	end)
	after_each(function()
		folder.root, process.start, fs.write, fs.lock = real_root, real_start, real_write, real_lock
	end)

	local function job(tell)
		local a = { launch = { request_id = "req_" .. ID:sub(5) }, call = { argv = { "deploy" } }, place = {}, input = {}, command = {} }
		return pcall(start.job, a, { command = "deploy", started_ms = 1, timeout_ms = 0 }, tell or function() end)
	end

	it("that is refused leaves nothing, and says what it was", function()
		process.start = function() return nil, "no process", nil, { limit = 1 } end
		local ok, e = job()
		assert.is_false(ok)
		assert.same({ "RESOURCE_EXHAUSTED", "Can't start the job: no process", "none", { limit = 1 } },
			{ e.code, e.message, e.side_effects, e.context })
		assert.same({}, fs.list(dir))
	end)

	it("that can't write a file of the job leaves nothing", function()
		for n = 1, 5 do
			local calls = 0
			fs.write = function(...)
				calls = calls + 1
				if calls == n then
					return nil, "No space left on device", "ENOSPC"
				end
				return real_write(...)
			end
			process.start = function() error "it was started" end
			local ok, e = job()
			assert.is_false(ok)
			assert.is_true(errors.is(e), tostring(e))
			assert.equal("RESOURCE_EXHAUSTED", e.code)
			assert.same({}, fs.list(dir))
		end
	end)

	it("that gets no lock starts none", function()
		fs.lock = function() return nil, "No locks available", "ENOLCK" end
		process.start = function() error "it was started" end
		local ok, e = job()
		assert.same({ false, "PRECONDITION", "No locks available" }, { ok, e.code, e.message })
		assert.is_nil(folder.open(ID))
	end)

	it("that is ended when the job runs leaves the job its folder", function()
		local job_process
		process.start = function(spec)
			job_process = assert(real_start { argv = { "sleep", "60" }, lock = spec.lock, shepherd = true }) -- it holds the lock from here on
			return job_process
		end
		local told
		local ok, raised = job(function(id)
			told = id
			error("ended", 0)
		end)
		local left = fs.list(dir .. "/" .. ID)
		local running = fs.locked(dir .. "/" .. ID .. "/lock") ~= nil
		job_process:close()
		assert.same({ false, "ended", ID, true }, { ok, raised, told, running })
		table.sort(left)
		assert.same({ "answer.part", "lock", "log", "progress", "record.json" }, left) -- but not what it reads
		assert.is_nil(fs.locked(dir .. "/" .. ID .. "/lock"))
	end)

	it("that succeeds gives its lock to the job, and keeps none", function()
		process.start = function() return {} end
		local ok, id = job()
		assert.same({ true, ID }, { ok, id })
		assert.is_nil(fs.locked(dir .. "/" .. ID .. "/lock"))
		assert.equal(ID, folder.open(ID).record.id)
	end)
end)
