local fs = require "runner.fs"
local quotas = require "runner.state.quotas"

describe("quotas", function()
	local root, key, job, lock
	local quota = { kind = "total_time", most = 1000, asks = true, means = function() return true end }

	before_each(function()
		root = assert(io.popen("mktemp -d"):read "l")
		key, job = root .. "/counts", root .. "/job"
		assert(fs.mkdirs(job, 448, true))
		lock = assert(fs.lock(job .. "/lock"))
	end)

	after_each(function()
		lock:release()
		assert(fs.remove_tree(root))
	end)

	local function admit(unit, more)
		local call = { name = "deploy", unit = unit, keep_ms = 800, timed = true }
		for name, value in pairs(more or {}) do
			call[name] = value
		end
		return quotas.admit(key, { quota }, call, { quota })
	end

	it("hold a job's time until it begins, hand it over, and forget one that never does", function()
		assert.is_nil((admit("job:a", { job = "job:a", folder = job })))
		assert.equal(800, admit("other").used)
		local refused, time = quotas.look(key, { quota }, { unit = "inside", job = "job:a" })
		assert.is_nil(refused)
		assert.equal(800, time)
		lock:release()
		assert.same({ 0 }, quotas.used(key, { quota }))
		assert.is_nil((admit "other"))
	end)

	it("count a job that has begun whatever becomes of its folder", function()
		assert.is_nil((admit("job:a", { job = "job:a", folder = job })))
		local refused, ended = admit("inside", { job = "job:a" })
		assert.is_nil(refused)
		lock:release()
		assert.same({ 800 }, quotas.used(key, { quota }))
		ended()
		assert.is_true(quotas.used(key, { quota })[1] < 800)
		assert.is_nil((quotas.look(key, { quota }, { unit = "inside", job = "job:a" })))
	end)

	it("give a job without a known limit all that is left", function()
		admit("other", { keep_ms = 300 })
		assert.is_nil((admit("job:a", { job = "job:a", folder = job, takes_rest = true, keep_ms = 5000 })))
		assert.equal(700, select(2, quotas.look(key, { quota }, { unit = "inside", job = "job:a" })))
	end)

	it("let what is agreed to have as much as it wants, however little is left", function()
		admit("other", { keep_ms = 990 })
		assert.equal(990, admit("next").used)
		assert.is_nil((admit("next", { agreed = true })))
		local refused, time = quotas.look(key, { quota }, { unit = "third", agreed = true })
		assert.is_nil(refused)
		assert.is_nil(time)
		assert.equal(60, (quotas.reserve(key, {}, "run_1", 100, 60, "open")))
		assert.equal(40, (quotas.reserve(key, {}, nil, 100, nil, "open")))
		assert.equal(100, (quotas.reserve(key, {}, "run_2", 100, nil, "agreed")))
	end)

	it("reserve the cost of a job's run until it begins, and give back what never does", function()
		assert.equal(100, (quotas.reserve(key, {}, "run_1", 100, nil, "open", job)))
		assert.is_nil((quotas.reserve(key, {}, "run_2", 100, nil, "open")))
		lock:release()
		assert.equal(100, (quotas.reserve(key, {}, "run_2", 100, nil, "open")))
	end)

	it("keep the cost of a run that has begun", function()
		assert.equal(100, (quotas.reserve(key, {}, "run_1", 100, nil, "open", job)))
		assert.equal(100, (quotas.reserve(key, {}, "run_1", 100, nil, "open")))
		lock:release()
		assert.is_nil((quotas.reserve(key, {}, "run_2", 100, nil, "open")))
	end)
end)
