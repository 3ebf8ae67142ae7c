-- profile: pages that a worker leaves, and what is made of them.

local flame_graph = require "runner.profile.flame_graph"

local HEAD, SLOT = "=c16 i8i8i8i8i8i8i8 i8i8i8i8 i4i4i4i4 I4I4 c256", "=i8I4I4I4I4"

-- A page as src/worker/profile.c writes it: slots are { text, ns }.
local function page(fields, slots)
	local text, rows = "", {}
	for _, slot in ipairs(slots or {}) do
		rows[#rows + 1] = SLOT:pack(slot[2], 1, 0, slot.at or #text, slot.length or #slot[1])
		text = text .. slot[1]
	end
	local f = setmetatable(fields or {}, { __index = function() return 0 end })
	return HEAD:pack("runner flame 1", f.launched, f.born, f.run_from, f.run_to, f.cleanup_from, f.over, f.last, f.children, f.waits,
		f.lost, f.wait_since, f.wait_slot, f.wait_for_children, f.supervisor, 1, 7, #text, "db.migrate")
		.. table.concat(rows) .. ("\0"):rep((2048 - #rows) * 24) .. text .. ("\0"):rep(1000)
end

describe("a page", function()
	it("has its times, its command as it is typed and its stacks", function()
		local p = flame_graph.read(page({ born = 5, last = 90, children = 3 }, { { "load;a", 40 }, { "run;b;c", 50 } }))
		assert.same({ ["load;a"] = 40, ["run;b;c"] = 50 }, p.stacks)
		assert.same({ "db migrate", 5, 90, 3, 7 }, { p.command, p.born, p.last, p.children, p.samples })
	end)

	it("is none when its file is empty, short or something else", function()
		for _, bytes in ipairs { "", "runner flame 1\0", page():sub(1, 40000), ("x"):rep(60000) } do
			assert.is_nil(flame_graph.read(bytes))
		end
	end)

	it("is believed as far as it makes sense", function()
		local p = flame_graph.read(page({ wait_since = 9, wait_slot = 77 }, { { "run;a", -1 }, { "run;b", 5, at = 1 << 31 }, { "run;c", 6 },
			{ "run;d", 7, length = 1 << 31 } }))
		assert.same({ ["run;c"] = 6 }, p.stacks)
		assert.is_nil(p.waiting)
	end)

	it("whose process was killed while it waited has the wait up to then", function()
		local p = flame_graph.read(page({ born = 1, run_from = 10, last = 50, wait_since = 50, wait_slot = 1, wait_for_children = 1 },
			{ { "run;a", 40 }, { "run;a;(programs)", 5 } }))
		flame_graph.close(p, 150)
		assert.same({ 105, 100, 150 }, { p.stacks["run;a;(programs)"], p.children, p.last })
		flame_graph.close(p, 100)
		assert.equal(150, p.last)
	end)

	it("whose process was killed while it ran says that nobody knows more", function()
		local p = flame_graph.read(page({ born = 1, last = 50 }, { { "load;a", 40 } }))
		flame_graph.close(p, 150)
		assert.same({ ["load;a"] = 40, ["load;(until its end)"] = 100 }, p.stacks)
	end)

	it("says how much had no room", function()
		assert.equal(8, flame_graph.read(page { lost = 8 }).stacks["(more stacks than there is room for)"])
	end)
end)

describe("phases", function()
	local function attempt(fields)
		return flame_graph.read(page(fields))
	end
	local function sum(ns)
		local n = 0
		for _, v in next, ns do
			n = n + v
		end
		return n
	end

	it("share the whole time, with the time between attempts", function()
		local first = attempt { born = 20, run_from = 30, run_to = 60, cleanup_from = 65, over = 70, last = 70, waits = 10, children = 5 }
		local second = attempt { born = 100, run_from = 110, run_to = 120, cleanup_from = 121, over = 125, last = 125 }
		local ns = flame_graph.time_of_phases({ first, second }, 0, 130)
		assert.same({ start = 20, load = 20, run = 25, programs = 5, waits = 10, output = 11, cleanup = 9, retries = 30 }, ns)
		assert.equal(130, sum(ns))
	end)

	it("of a call that never ran, or of which nothing was noted, are its start and its load", function()
		assert.equal(50, flame_graph.time_of_phases({}, 0, 50).start)
		local ns = flame_graph.time_of_phases({ attempt { born = 20, over = 40, last = 40 } }, 0, 50)
		assert.same({ 20, 20, 0, 10 }, { ns.start, ns.load, ns.run, ns.output })
	end)
end)

describe("stacks", function()
	local all = flame_graph.merge({ { name = "a;b",
		pages = { { stacks = { ["run;f (/p/commands/x.lua:1);f (/p/commands/x.lua:1)"] = 4000 } } },
		around = { start = 1000, retries = 0 } } }, "/p")

	it("are named by their command, with files of the project", function()
		assert.same({ ["a?b;run;f (commands/x.lua:1);f (commands/x.lua:1)"] = 4000, ["a?b;start"] = 1000 }, all)
	end)

	it("collapse to a line each, in µs", function()
		assert.equal("a?b;run;f (commands/x.lua:1);f (commands/x.lua:1) 4\na?b;start 1\n", flame_graph.collapsed(all))
	end)

	it("count a function that calls itself once", function()
		assert.same({ { name = "f (commands/x.lua:1)", self_ns = 4000, ns = 4000 } }, flame_graph.functions(all, 5))
	end)
end)

describe("the graph", function()
	it("has names as text, whatever they hold", function()
		local text = flame_graph.draw("</title><script>", flame_graph.tree { ["<a href='x'>&;\27[31mred;\0"] = 5 })
		assert.is_nil(text:find("<script", 1, true) or text:find("<a ", 1, true) or text:find "[%z\27]")
		assert.truthy(text:find("&lt;a href=&#39;x&#39;&gt;&amp;", 1, true))
	end)

	it("of nothing, and of stacks that are very deep or very many, is a picture of a bounded size", function()
		local many = {}
		for i = 1, 20000 do
			many["run;f" .. i] = 1
		end
		assert.truthy(flame_graph.draw("x", flame_graph.tree {}):find "</svg>\n$")
		assert.is_true(#flame_graph.draw("x", flame_graph.tree(many)) < 2000)
		local _, frames = flame_graph.draw("x", flame_graph.tree { [("f;"):rep(5000)] = 1 }):gsub("<g>", "")
		assert.equal(300, frames)
	end)
end)
