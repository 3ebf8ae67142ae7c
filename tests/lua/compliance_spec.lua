-- .ci/docs/compliance.lua: the table of requirements beside their criteria and the tests that are named after them.

local compliance = dofile ".ci/docs/compliance.lua"

local function entry(fields)
	local out = { id = "REQ-F-001", level = 1, priority = 0, title = "x", status = "done", section = "s" }
	for key, value in pairs(fields) do
		out[key] = value
	end
	return out
end

local HELD = { { id = "REQ-F-001", says = "it is so", calls = { "runner x" }, holds = 1, tests = {} } }

local TEST = { file = "tests/cli/x.bats", name = "REQ-F-001 it works", says = "it works" }

-- What is wrong with one entry and its tests.
local function problem(fields, tests)
	local found = compliance.problems({ entry(fields) }, { [fields.id or "REQ-F-001"] = tests }, HELD)
	assert.is_true(#found <= 1)
	return found[1]
end

describe("the entries", function()
	local entries = compliance.entries()

	it("are the 168 of the catalogue, with 12 of level 1 and 51 of priority P0", function()
		local seen, of_level, of_priority = {}, {}, {}
		for _, row in ipairs(entries) do
			assert.truthy(row.id:find "^REQ%-[FCO]%-%d%d%d$")
			assert.is_nil(seen[row.id], row.id)
			seen[row.id] = true
			of_level[row.level] = (of_level[row.level] or 0) + 1
			of_priority[row.priority] = (of_priority[row.priority] or 0) + 1
			assert.equal(row.level < 3, row.priority == 0, row.id)
		end
		assert.equal(168, #entries)
		assert.same({ 12, 39, 117 }, of_level)
		assert.equal(51, of_priority[0])
	end)

	it("of levels 1 and 2 are all done, or depart on purpose, as the page claims", function()
		for _, row in ipairs(entries) do
			assert.is_true(row.level == 3 or row.status == "done" or row.status == "departs", row.id)
		end
	end)

	it("agree with the tests and the criteria", function()
		assert.same({}, compliance.problems(entries, compliance.proofs(), compliance.criteria()))
	end)

	it("have criteria that are tried: nine in ten by a call", function()
		local probed, criteria = 0, compliance.criteria()
		for _, criterion in ipairs(criteria) do
			probed = probed + (compliance.probe(criterion) and 1 or 0)
		end
		assert.is_true(#criteria >= 320)
		assert.is_true(probed / #criteria > 0.9)
	end)
end)

describe("a table that is wrong is found out:", function()
	it("done without a test", function()
		assert.truthy(problem({}, nil):find("no test", 1, true))
		assert.is_nil(problem({}, { TEST }))
	end)

	it("a departure without a test or without a note", function()
		assert.truthy(problem({ status = "departs", note = "why" }, nil):find("no test", 1, true))
		assert.truthy(problem({ status = "departs" }, { TEST }):find("needs a note", 1, true))
		assert.is_nil(problem({ status = "departs", note = "why" }, { TEST }))
	end)

	it("missing with a test", function()
		assert.truthy(problem({ status = "missing" }, { TEST }):find("tests/cli/x.bats has a test of it", 1, true))
		assert.is_nil(problem({ status = "missing" }, nil))
	end)

	it("partial or not applicable without a note, and an unknown status", function()
		for _, status in ipairs { "partial", "n/a" } do
			assert.truthy(problem({ status = status }, nil):find("needs a note", 1, true))
			assert.is_nil(problem({ status = status, note = "why" }, nil))
		end
		assert.truthy(problem({ status = "finished" }, nil):find("finished", 1, true))
	end)

	it("an entry that stands there twice, and a test of one that doesn't exist", function()
		local twice = compliance.problems({ entry {}, entry {} }, { ["REQ-F-001"] = { TEST } }, HELD)
		assert.truthy(twice[1]:find("twice", 1, true))
		local unknown = compliance.problems({}, { ["REQ-X-999"] = { TEST } }, {})
		assert.truthy(unknown[1]:find("no entry is named REQ-X-999", 1, true))
	end)
end)

describe("criteria that are wrong are found out:", function()
	-- What is wrong with the one entry, with criteria of this text.
	local function of(text)
		return table.concat(compliance.problems({ entry {} }, { ["REQ-F-001"] = { TEST } }, compliance.criteria(text)), "\n")
	end

	it("an entry without one", function()
		assert.truthy(of(""):find("has no criterion", 1, true))
		assert.equal("", of "REQ-F-001\n- so\n  $ runner\n  ? True")
	end)

	it("one without a probe or a test, with a probe that asks nothing, and with a test that doesn't exist", function()
		assert.truthy(of("REQ-F-001\n- so"):find("has no probe and names no test", 1, true))
		assert.truthy(of("REQ-F-001\n- so\n  $ runner"):find("nothing must hold", 1, true))
		assert.truthy(of("REQ-F-001\n- so\n  = x: it breaks"):find("doesn't exist: x: it breaks", 1, true))
		assert.truthy(of("REQ-F-001\n- so\n  = y: it works"):find("doesn't exist", 1, true))
		assert.equal("", of "REQ-F-001\n- so\n  = x: it")
	end)

	it("the same one twice, and one of an unknown entry", function()
		local one = "- so\n  $ runner\n  ? True\n"
		assert.truthy(of("REQ-F-001\n" .. one .. one):find("so: stands there twice", 1, true))
		assert.truthy(of("REQ-F-001\n" .. one .. "REQ-F-999\n" .. one):find("no entry is named REQ-F-999", 1, true))
	end)
end)

describe("tests/proof", function()
	-- The lines of TAP for one test of the suite, whose log is `log`.
	local function proof(log)
		local dir = os.tmpname()
		assert(os.remove(dir))
		assert(os.execute(("mkdir -p '%s/cli/tests/cli'"):format(dir)))
		local file <close> = assert(io.open(dir .. "/cli/tests/cli/contract_rest.tap", "wb"))
		file:write("1..5\n" .. log)
		file:close()
		local pipe = assert(io.popen(("tests/proof '%s'; echo status $?; rm -r '%s'"):format(dir, dir)))
		local out = pipe:read "a"
		pipe:close()
		return out
	end

	local NAME
	for _, test in ipairs(compliance.proofs()["REQ-O-044"]) do
		NAME = test.file == "tests/cli/contract_rest.bats" and test.name or NAME
	end

	it("fails where a named test failed or is not in its log", function()
		local out = proof("not ok 5 " .. NAME .. "\n")
		assert.truthy(out:find("\nnot ok %d+ %- REQ%-O%-044\n"))
		assert.truthy(out:find("\nnot ok %d+ %- REQ%-C%-002\n"), "its test is absent")
		assert.truthy(out:find("status 1", 1, true))
	end)

	it("fails where a probe failed, or is not in its log", function()
		local CRITERION = "REQ-F-002: what fails once it runs is never exit 2"
		local dir = os.tmpname()
		assert(os.remove(dir) and os.execute(("mkdir '%s'"):format(dir)))
		for _, case in ipairs { { "not ok 1 " .. CRITERION, "not ok 1" }, { "ok 1 REQ-F-003: other", "absent: REQ%-F%-002" } } do
			local file <close> = assert(io.open(dir .. "/criteria.tap", "wb"))
			file:write(case[1] .. "\n")
			file:close()
			local pipe = assert(io.popen(("tests/proof '%s'"):format(dir)))
			local out = pipe:read "a"
			pipe:close()
			assert.truthy(out:find("\nnot ok %d+ %- REQ%-F%-002\n"), out)
		end
		os.execute(("rm -r '%s'"):format(dir))
	end)

	it("passes what passed, and skips what was skipped or has no log", function()
		local out = proof("ok 5 " .. NAME .. "\n")
		assert.truthy(out:find("\nok %d+ %- REQ%-O%-044\n"))
		assert.truthy(out:find("\nok %d+ %- REQ%-F%-004 # skip"))
		assert.truthy(proof("ok 5 " .. NAME .. " # skip no make\n"):find("\nok %d+ %- REQ%-O%-044 # skip"))
	end)
end)
