-- The steps of a workflow as a picture.

local graph = require "runner.workflow.report.graph"

local function drawn(format, ...)
	return graph.draw({ workflow = "w", file = "w.yaml", steps = { ... } }, format)
end

local function step(key, fields)
	local row = { key = key, kind = "shell", label = "do " .. key }
	for name, value in pairs(fields or {}) do
		row[name] = value
	end
	return row
end

local HOSTILE = "a\"b'c\\d<script>]}|;%%#`\27[31m\n]-->x[\"y\" & é\0"

describe("a graph", function()
	it("has an edge from each step to the next", function()
		assert.equal('flowchart TD\n  start(["w"])\n  n1["a<br/>shell: do a"]\n  n2["b<br/>shell: do b"]\n  finish(["end"])\n'
			.. "  start --> n1\n  n1 --> n2\n  n2 --> finish\n", drawn("mermaid", step "a", step "b"))
		assert.equal('digraph "w" {\n  compound=true\n  node [shape=box]\n  start [shape=oval, label="w"]\n'
			.. '  n1 [label="a\\nshell: do a"]\n  finish [shape=oval, label="end"]\n  start -> n1\n  n1 -> finish\n}\n',
			drawn("dot", step "a"))
		assert.equal("w\n├─ a  shell: do a\n└─ b  shell: do b\n", drawn("text", step "a", step "b"))
	end)

	it("puts steps inside of what holds them: side by side, or one after the other", function()
		local both = { kind = "parallel", label = "2 steps", limit = 2, steps = { step "l", step "r" } }
		local loop = { kind = "foreach", label = "foreach x", limit = 1, steps = { step "one", step("both", both) } }
		local text = drawn("mermaid", step("loop", loop), step "next")
		assert.truthy(text:find('  subgraph n1["loop<br/>foreach: foreach x"]\n    n2["one', 1, true), text)
		assert.truthy(text:find('    subgraph n3["both<br/>parallel: 2 steps<br/>2 at a time"]\n      n4["l', 1, true), text)
		assert.truthy(text:find("  n2 --> n3\n  start --> n1\n  n1 --> n6\n", 1, true), text)
		assert.falsy(text:find("n4 --> n5", 1, true))
		text = drawn("dot", step("loop", loop), step "next")
		assert.truthy(text:find("  n2 -> n4 [lhead=cluster_n3]\n  start -> n2 [lhead=cluster_n1]\n  n5 -> n6 [ltail=cluster_n1]\n", 1, true),
			text)
		assert.equal("w\n└─ loop  foreach: foreach x\n   ├─ one  shell: do one\n   └─ both  parallel: 2 steps, 2 at a time\n"
			.. "      ╟─ l  shell: do l\n      ╙─ r  shell: do r\n", drawn("text", step("loop", loop)))
	end)

	it("shows conditions, retries, and what follows a step", function()
		local row = step("a", { when = 'x == "y"', retry = { attempts = 3 }, on_success = { step "s" },
			on_failure = { go = "continue", steps = { step "f" } } })
		local text = drawn("mermaid", row, step "b")
		assert.truthy(text:find('n1["a<br/>shell: do a<br/>up to 3 attempts<br/>when x == #34;y#34;"]', 1, true), text)
		assert.truthy(text:find('  n1 -->|"on success"| n2\n  n1 -.->|"on failure"| n3\n  n2 --> n4\n  n3 -.->|"continue"| n4\n', 1, true), text)
		assert.equal('w\n├─ a  shell: do a, up to 3 attempts, when x == "y"\n│  ├─ on success\n│  │  └─ s  shell: do s\n'
			.. "│  └─ on failure, then continue\n│     └─ f  shell: do f\n└─ b  shell: do b\n", drawn("text", row, step "b"))
		text = drawn("dot", step("a", { on_failure = { go = "continue", steps = {} } }), step "b")
		assert.truthy(text:find('  n1 -> n2\n  n1 -> n2 [label="on failure: continue", style=dashed]\n', 1, true), text)
	end)

	it("lets no label end its quotes, begin markup, or move the cursor", function()
		for _, format in ipairs(graph.FORMATS) do
			local text = drawn(format, step(HOSTILE, { label = HOSTILE, when = HOSTILE }))
			assert.falsy(text:find "[%z\1-\9\11-\31]", format)
		end
		for line in drawn("mermaid", step(HOSTILE, { label = HOSTILE })):gmatch "[^\n]+" do
			local inside = line:match '^  n1%["(.*)"%]$'
			assert.falsy(inside and inside:gsub("<br/>", ""):find '["<>`\\]')
		end
		local label = drawn("dot", step(HOSTILE, { label = HOSTILE })):match 'n1 %[label="(.-[^\\])"%]\n'
		assert.truthy(label:find('a\\"b\'c\\\\d<script>]}|;', 1, true), label)
	end)

	it("draws thousands of steps", function()
		local steps = {}
		for i = 1, 10000 do
			steps[i] = step("s" .. i)
		end
		for _, format in ipairs(graph.FORMATS) do
			assert.truthy(drawn(format, table.unpack(steps, 1, 5000)):find("s5000", 1, true))
		end
	end)
end)
