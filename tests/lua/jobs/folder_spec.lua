-- Jobs are read from their folders: what is there is believed as far as it is whole.

local folder = require "runner.jobs.folder"
local fs = require "runner.fs"
local json = require "runner.json"

local ID = "job_01M826XAR52QS9AERDYHCJPTRH"

describe("a job's folder", function()
	local root, path, real_root

	before_each(function()
		root = os.tmpname()
		os.remove(root)
		path = root .. "/" .. ID
		assert(fs.mkdirs(path))
		real_root = folder.root
		folder.root = function() return root end
	end)
	after_each(function()
		folder.root = real_root
		assert(fs.remove_tree(root))
	end)

	local function write(name, value)
		assert(fs.write(path .. "/" .. name, type(value) == "string" and value or json.encode(value)))
	end

	local function record(project)
		write("record.json", { command = "deploy", started_ms = 1, timeout_ms = 0, key = "k", project = project })
	end

	local function answer(fields)
		write("answer.json", fields)
	end

	it("is no job without a whole record", function()
		assert.is_nil(folder.open(ID))
		for _, text in ipairs { "", "{", "[]", "null", "{}", '{"command":1}', '{"command":"x","started_ms":"1","timeout_ms":0}' } do
			write("record.json", text)
			assert.is_nil(folder.open(ID))
		end
	end)

	it("is lost where nobody holds the lock and there is no whole answer", function()
		record()
		assert.equal("lost", folder.open(ID).status)
		for _, text in ipairs { "", "{", "[]", '{"ok":true}', '{"ok":true,"meta":{"exit_code":"0"}}',
			'{"ok":false,"meta":{"exit_code":1}}', '{"ok":false,"error":{},"meta":{"exit_code":1}}' } do
			answer(text)
			assert.equal("lost", folder.open(ID).status, text)
		end
	end)

	it("has ended as its answer says", function()
		record()
		answer { ok = true, data = {}, meta = { exit_code = 0 } }
		assert.equal("complete", folder.open(ID).status)
		answer { ok = false, error = { code = "TIMEOUT" }, meta = { exit_code = 10 } }
		assert.equal("failed", folder.open(ID).status)
		answer { ok = false, error = { code = "CANCELLED" }, meta = { exit_code = 143 } }
		assert.equal("cancelled", folder.open(ID).status)
	end)

	it("runs while its lock is held, until there is an answer", function()
		record()
		local lock <close> = assert(fs.lock(path .. "/lock"))
		assert.equal("running", folder.open(ID).status)
		assert.is_nil(folder.wait(folder.open(ID), 0))
		assert.equal("holds", folder.wait(folder.open(ID), 0, function() return true end))
		assert.equal(ID, folder.running_as "k")
		assert.is_nil(folder.running_as "other")
		answer { ok = true, meta = { exit_code = 0 } }
		assert.equal("complete", folder.open(ID).status)
		lock:release()
		assert.equal("ended", folder.wait(folder.open(ID), 0))
		assert.is_nil(folder.running_as "k")
	end)

	it("is found by its ID alone, where it is not known to be of this project", function()
		for _, project in ipairs { "/srv/other", false } do
			record(project or nil)
			assert.equal(ID, folder.find(ID).id)
			assert.same({ { ID }, {} }, { folder.names(), folder.names "" })
			for _, text in ipairs { "@last", "job_", ID:sub(-8) } do
				local ok, e = pcall(folder.find, text)
				assert.same({ false, "NOT_FOUND" }, { ok, e.code })
			end
		end
	end)

	it("is found by its ID and by a prefix of its own, and by nothing else", function()
		record ""
		assert.equal(ID, folder.find(ID).id)
		assert.equal(ID, folder.find("job_").id)
		assert.equal(ID, folder.find("01M826").id)
		for _, text in ipairs { "", "..", "../x", "job_2", ID .. "0", "a/b", "\255", ("j"):rep(100000), "job_%w" } do
			local ok, e = pcall(folder.find, text)
			assert.is_false(ok)
			assert.equal("NOT_FOUND", e.code)
		end
	end)

	it("has progress only where a line of it is whole", function()
		record()
		local job = folder.open(ID)
		assert.is_nil(folder.progress(job))
		for _, text in ipairs { "", '{"n":1,"completed_steps":[],"end":1}', '{"n":1,"completed_steps":[],"end":2}\n',
			'{"n":1,"completed_steps":1,"end":1}\n', "[]\n" } do
			write("progress", text)
			assert.is_nil(folder.progress(job), text)
		end
		write("progress", '{"n":3,"progress":{"done":7},"completed_steps":["a"],"end":3}\nrest of a longer line}\n')
		assert.equal(7, folder.progress(job).progress.done)
		assert.is_true(folder.condition "started" (job))
		assert.is_true(folder.condition "step:a" (job))
		assert.is_false(folder.condition "step:b" (job))
		assert.is_true(folder.condition "done:7" (job))
		assert.is_false(folder.condition "done:8" (job))
		assert.is_nil(folder.condition "ended")
	end)

	it("is removed a day after its end, but not while it runs", function()
		record()
		answer { ok = true, meta = { exit_code = 0 } }
		local now = os.time() * 1000
		folder.forget_old(now + 23 * 3600 * 1000)
		assert.truthy(fs.stat(path))
		do
			local lock <close> = assert(fs.lock(path .. "/lock")) -- luacheck: ignore lock
			folder.forget_old(now + 25 * 3600 * 1000)
			assert.truthy(fs.stat(path))
		end
		folder.forget_old(now + 25 * 3600 * 1000)
		assert.is_nil(fs.stat(path))
	end)
end)
