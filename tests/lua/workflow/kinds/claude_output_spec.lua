-- What is shown of a claude program's stream-json, and what of it is text.

local claude_output = require "runner.workflow.kinds.claude_output"
local fs = require "runner.fs"
local json = require "runner.json"
local kinds = require "runner.workflow.kinds.kinds"

local FOLDER = debug.getinfo(1, "S").source:match "^@(.*)tests/lua/" .. "tests/claude/records"

local function lines(text)
	return claude_output.event_lines(assert(json.decode(text)))
end

local function tool(name, input)
	return lines(('{"type":"assistant","message":{"content":[{"type":"tool_use","name":"%s","input":%s}]}}'):format(name, input))
end

describe("an event", function()
	it("of the assistant has a line for each text and each call of a tool", function()
		assert.same({ "First I look.", "> Read src/main.c" }, lines [[{"type":"assistant","message":{"content":[
			{"type":"thinking","thinking":"hm"},{"type":"text","text":" First\n\tI look. "},{"type":"text","text":" \n"},
			{"type":"tool_use","name":"Read","input":{"limit":3,"file_path":"src/main.c"}}]}}]])
	end)

	it("of a tool shows the input that says most", function()
		assert.same({ "> Bash git diff && make" }, tool("Bash", [[{"description":"d","command":"git diff &&\n make"}]]))
		assert.same({ '> mcp__x {"n":3}' }, tool("mcp__x", '{"n":3}'))
		assert.same({ "> TodoWrite" }, tool("TodoWrite", "{}"))
		assert.same({ "> Odd" }, tool("Odd", '"text"'))
	end)

	it("of a failed request says when the program tries again", function()
		assert.same({ "request failed (1/2), again in 0.6s: overloaded" },
			lines '{"type":"system","subtype":"api_retry","attempt":1,"max_retries":2,"retry_delay_ms":613.5,"error":"overloaded"}')
		assert.same({ "request failed (?/?): unknown error" }, lines '{"type":"system","subtype":"api_retry"}')
	end)

	it("of any other kind, or of no form that is known, has none", function()
		for _, text in ipairs { '{"type":"system","subtype":"init"}', '{"type":"result"}', '{"type":"user","message":{}}',
			'{"type":"assistant"}', '{"type":"assistant","message":{"content":[1,{"type":"text"},{"type":"tool_use","name":1}]}}',
			'{"type":7}' } do
			for _, line in ipairs(lines(text)) do
				assert.equal("> tool", line)
			end
		end
	end)
end)

describe("stdout", function()
	it("without its events is what the program printed as text", function()
		assert.equal("a\n\nb {", claude_output.without_events 'a\n{"type":"system"}\n\n  {"type": "x"\nb {\n')
		assert.equal("", claude_output.without_events "")
	end)

	it("that isn't JSON is the answer of a step that asked for stream-json", function()
		local settings = { claude = { output = "stream-json" } }
		local function outcome(stdout, ok)
			return kinds.claude.interpret({ kind = "claude", text = "x" }, { ok = ok ~= false, stdout = stdout, stderr = "", status = ok == false
				and 1 or 0, stdout_dropped = 0, duration_ms = 1 }, settings)
		end
		assert.same({ true, "done" }, { outcome("done\n").ok, outcome("done\n").output })
		assert.equal("a result", outcome('noise\n{"type":"result","is_error":false,"result":"first"}\n'
			.. '{"type":"result","is_error":false,"result":"a result"}\nmore noise\n').output)
		assert.equal("noise", outcome('{"type":"system","subtype":"init"}\nnoise\n', false).output)
	end)

	-- What the program was seen to print.
	it("of the real program has events that are understood", function()
		local shown = {}
		for _, name in ipairs(assert(fs.list(FOLDER))) do
			local record = assert(json.decode(assert(fs.read(FOLDER .. "/" .. name))))
			local output = record.outputs["stream-json"]
			for line in (output and output.stdout or ""):gmatch "[^\n]+" do
				local event = claude_output.is_event(line) and json.decode(line)
				for _, text in ipairs(type(event) == "table" and claude_output.event_lines(event) or {}) do
					shown[text:match "^> %a+" or text:match "^request failed" or "text"] = true
				end
			end
		end
		assert.is_true(shown.text and shown["request failed"])
	end)
end)
