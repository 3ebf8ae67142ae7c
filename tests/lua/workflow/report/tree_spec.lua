-- The steps of a run as lines for a terminal.

local tree_of = require "runner.workflow.report.tree"

local now

local function new(steps, mask)
	now = 1000
	return tree_of.new(steps, mask or function(text) return text end, function() return now end)
end

local STEPS = {
	{ key = "build", kind = "shell", label = "make" },
	{ key = "checks", kind = "parallel", label = "2 steps in parallel", steps = {
		{ key = "checks.lint", kind = "shell", label = "make lint" },
		{ key = "checks.test", kind = "shell", label = "make test" },
	} },
	{ key = "each", kind = "foreach", label = "foreach ${items}", steps = { { key = "1", kind = "shell", label = "x" } } },
}

-- Lines as people write them: mark, name, clock, text, divided by |.
local function shown(tree, ...)
	local lines = {}
	for i, line in ipairs(tree:lines(...)) do
		lines[i] = line:sub(2):gsub("\x1f", "|")
	end
	return lines
end

describe("the tree of a run", function()
	it("shows every step, with those to come", function()
		assert.same({ "·|build||make", "·|checks||2 steps in parallel", "  ·|lint||make lint", "  ·|test||make test",
			"·|each||foreach ${items}" }, shown(new(STEPS)))
	end)

	it("shows how long a step has run, its attempt, and what it printed last", function()
		local tree = new(STEPS)
		tree:runs("build", { label = "make" })
		now = 3500
		assert.equal("▸|build|+2500|make", shown(tree)[1])
		tree:prints("build", "one")
		tree:prints("build", "two")
		assert.equal("▸|build|+2500|two", shown(tree)[1])
		tree:waits("build", 4000, { attempt = 2, retries = 5, text = "503" })
		now = 4000
		assert.equal("↻|build|-3500|retry 1/5 · 503", shown(tree)[1])
		tree:waits("build", 3000, { attempt = 2, retries = 5 })
		assert.equal("↻|build|-3000|retry 1/5 · 503", shown(tree)[1])
		tree:runs("build", { attempt = 2, retries = 5 })
		assert.equal("▸|build|+3000|retry 1/5 · make", shown(tree)[1])
		tree:ends("build", "completed")
		assert.equal("✓|build|=3000|2 attempts", shown(tree)[1])
		assert.equal("✗|build|=3000|too late", (function()
			tree:ends("build", "failed", "too late")
			return shown(tree)[1]
		end)())
	end)

	it("makes one line of steps inside of one that ended well", function()
		local tree = new(STEPS)
		tree:ends("checks", "completed")
		assert.equal(3, #shown(tree))
	end)

	it("counts the items of a loop, and shows those of its steps that run or have failed", function()
		local tree = new(STEPS)
		tree:runs("each", { total = 10000 })
		for i = 1, 9000 do
			tree:runs(("each[%d].1"):format(i), { label = "x" })
			tree:ends(("each[%d].1"):format(i), i % 1000 == 0 and "failed" or "completed", "bad")
			tree:item("each", i % 1000 ~= 0)
		end
		tree:runs("each[9001].1", { label = "y" })
		local lines = shown(tree)
		assert.equal("▸|each|+0|9000 of 10000, 9 failed · foreach ${items}", lines[5])
		assert.equal("  ✗|[5000].1|=0|bad", lines[6])
		assert.equal("  ▸|[9001].1|+0|y", lines[11])
		assert.equal(11, #lines)
		local count = 0
		for _ in pairs(tree.nodes) do
			count = count + 1
		end
		assert.is_true(count < 20)
	end)

	it("has room for twenty lines: what runs comes first, then what failed, what is next, and what was last", function()
		local steps = {}
		for i = 1, 100 do
			steps[i] = { key = tostring(i), kind = "shell", label = "x" }
		end
		local tree = new(steps)
		for i = 1, 50 do
			tree:runs(tostring(i), {})
			tree:ends(tostring(i), i == 7 and "failed" or "completed", "bad")
		end
		tree:runs("51", {})
		local lines = shown(tree)
		assert.equal(20, #lines)
		assert.equal("…|||49 steps are over", lines[1])
		assert.equal("✗|7|=0|bad", lines[2])
		assert.equal("▸|51|+0|x", lines[3])
		assert.equal("…|||33 pending more", lines[20])
	end)

	it("says of one that is left out that it is over", function()
		local steps = {}
		for i = 1, 30 do
			steps[i] = { key = tostring(i), kind = "shell", label = "x" }
		end
		local tree = new(steps)
		tree:runs("1", {})
		tree:ends("1", "completed")
		for i = 2, 30 do
			tree:runs(tostring(i), {})
		end
		assert.equal("…|||1 step is over", shown(tree)[1])
	end)

	it("keeps a hundred parallel steps to as many", function()
		local steps = {}
		for i = 1, 100 do
			steps[i] = { key = "p." .. i, kind = "shell", label = "x" }
		end
		local tree = new { { key = "p", kind = "parallel", label = "100 steps", steps = steps } }
		tree:runs("p", {})
		for i = 1, 100 do
			tree:runs("p." .. i, {})
		end
		local lines = shown(tree)
		assert.equal(19, #lines)
		assert.equal("…|||83 running more", lines[19])
	end)

	it("puts hooks below their step, in any round", function()
		local tree = new(STEPS)
		tree:runs("build.on_failure.1@2", { label = "mend" })
		assert.equal("  ▸|on_failure.1|+0|mend", shown(tree)[2])
		tree:runs("nowhere.at.all", { label = "?" })
		assert.equal("▸|nowhere.at.all|+0|?", shown(tree)[7])
	end)

	it("shows what an earlier process left", function()
		local tree = new(STEPS)
		tree:resumes { build = { state = "completed", started_ms = 5, ended_ms = 1505 }, ["checks.lint"] = { state = "failed" },
			["checks.test"] = { state = "running" }, each = { state = "waiting" }, gone = { state = "completed" } }
		assert.same({ "✓|build|=1500|", "·|checks||2 steps in parallel", "  ✗|lint||", "  ·|test||make test" },
			table.move(shown(tree), 1, 4, 1, {}))
	end)

	it("is made of what the store has, too", function()
		now = 1000
		local rows = { { key = "a", kind = "shell", label = "x", state = "completed", started_ms = 0, ended_ms = 700, attempts = 1 },
			{ key = "p", kind = "parallel", label = "2 steps", state = "running", started_ms = 5000, attempts = 0 },
			{ key = "p.one", kind = "shell", label = "y", state = "waiting", message = "503", started_ms = 5000, wake_ms = 9000, attempts = 2 },
			{ key = "l", kind = "foreach", label = "items", state = "running", started_ms = 6000, attempts = 0 } }
		for i = 1, 9 do
			rows[#rows + 1] = { key = ("l[%d].1"):format(i), kind = "shell", label = "z", attempts = 1, started_ms = 6000,
				state = i < 7 and "failed" or i < 9 and "completed" or "running" }
		end
		local lines = shown(tree_of.of_rows(rows, function(text) return text end, 8000, function() return now end))
		assert.same({ "✓|a|=700|", "▸|p|+3000|2 steps", "  ↻|one|-1000|attempt 2 · 503", "▸|l|+2000|8 done, 6 failed · items" },
			table.move(lines, 1, 4, 1, {}))
		assert.equal("  ▸|[9].1|+2000|z", lines[10])
		assert.equal(10, #lines)
	end)

	it("names what is in a loop by its item, also in a loop that is in a loop", function()
		local tree = new(STEPS)
		tree:runs("each[7].inner", { item = "linux" })
		tree:runs("each[7].inner[2].test", { item = "a/very/long/way/to/the/file.c" })
		tree:runs("each[8].1", {})
		assert.same({ "  ▸|[linux].inner|+0|", "  ▸|[linux].inner[…y/long/way/to/the/file.c].test|+0|", "  ▸|[8].1|+0|" },
			table.move(shown(tree), 6, 8, 1, {}))
		local rows = { { key = "l", kind = "foreach", label = "", state = "running", started_ms = 8000 },
			{ key = "l[3].ask", item = "src/a.c", kind = "claude", label = "", state = "failed", message = "no", started_ms = 8000,
				ended_ms = 8000 } }
		assert.equal("  ✗|[src/a.c].ask|=0|no", shown(tree_of.of_rows(rows, function(text) return text end, 8000, function() return now end))[2])
	end)

	it("has the cost of each step beside its time, that of a loop with all its items, and a line for the whole", function()
		local tree = new(STEPS)
		local function total()
			return (tree:total():sub(2):gsub("\x1f", "|"))
		end
		assert.equal("=|total|+0|0 of 3 steps", total())
		tree:costs({ build = 20000, ["each[1].1"] = 1000000, gone = 5 }, 3000000)
		tree:runs("build", {})
		tree:ends("build", "completed")
		tree:runs("each", { total = 9 })
		tree:runs("each[2].1", { item = "b" })
		tree:cost("each[2].1", 530000)
		tree:cost("each[2].1@2", 10000)
		tree:cost("each[3].1", 20000)
		now = 3000
		assert.same({ "✓|build|=0|$0.02", "▸|each|+2000|$1.56 · 0 of 9 · foreach ${items}", "  ▸|[b].1|+2000|$0.54" },
			{ shown(tree)[1], shown(tree)[5], shown(tree)[6] })
		assert.equal("=|total|+2000|$1.58 of $3.00, 1 of 3 steps", total())
	end)

	it("keeps what failed when the run is over", function()
		local tree = new(STEPS)
		tree:runs("checks", {})
		tree:runs("checks.lint", {})
		tree:runs("checks.test", {})
		tree:ends("checks.lint", "completed")
		tree:ends("checks.test", "failed", "no")
		tree:ends("checks", "failed", "no")
		assert.same({ "·|build||make", "✗|checks|=0|no", "  ✗|test|=0|no", "·|each||foreach ${items}" }, shown(tree, nil, true))
	end)

	it("keeps the last lines of a step, to be asked for once", function()
		local tree = new(STEPS)
		for i = 1, 9 do
			tree:prints("build", "line " .. i)
		end
		assert.same({ "line 7", "line 8", "line 9" }, tree:tail "build")
		assert.same({}, tree:tail "build")
		assert.same({}, tree:tail "unknown")
	end)

	it("masks whole lines, before they are cut, and lets none begin a field or move the cursor", function()
		local tree = new(STEPS, function(text) return (text:gsub("hunter2", "***")) end)
		tree:runs("build", {})
		tree:prints("build", ("x"):rep(395) .. "hunter2 and more")
		assert.equal(("x"):rep(395) .. "*** a", shown(tree)[1]:match "[^|]*$")
		tree:prints("build", "10%\r20%\r30%\r")
		assert.equal("30%", shown(tree)[1]:match "[^|]*$")
		tree:prints("build", "a\x1fb\27[2Jc\0d\xff")
		assert.equal(4, select(2, shown(tree)[1]:gsub("|", "")) + 1)
		assert.falsy(shown(tree)[1]:find "%c")
	end)
end)
