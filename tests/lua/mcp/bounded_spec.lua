-- Whatever a tool has answered, its message has no more bytes than were asked for; what is not in it is a resource, whose
-- parts, one after the other, are the whole. HOSTILE_CASES: how many answers are made (25).

local answer = require "runner.mcp.answer"
local attempt = require "runner.core.attempt"
local attachments = require "runner.mcp.attachments"
local bounded = require "runner.mcp.bounded"
local budget = require "runner.core.budget"
local json = require "runner.json"
local rpc = require "runner.mcp.rpc"
local visible = require "runner.core.visible"

local MOST = bounded.DEFAULT
local launch

-- --- answers that are made -------------------------------------------------------------------

local PIECES = { "x", "é", "€", "😀", '"', "\\", "\n", "\1", "</b>", " ", "\u{200b}" } -- the last is spelled out
local most_pieces = #PIECES

local function text(n)
	local out, only = {}, math.random(2) == 1 and math.random(most_pieces)
	for i = 1, n do
		out[i] = PIECES[only or math.random(most_pieces)]
	end
	return table.concat(out)
end

local function length()
	return math.random(25) == 1 and math.random(30000) or math.random(6) == 1 and math.random(900) or math.random(0, 20)
end

local nodes

local function value(depth)
	nodes = nodes - 1
	local kind = math.random((depth > 5 or nodes < 0) and 3 or 6)
	local n = math.random(10) == 1 and math.random(150) or math.random(0, 6)
	if kind == 1 then
		return math.random(-1000000, 1000000)
	elseif kind == 2 then
		return math.random(2) == 1 and json.null or 1.5
	elseif kind == 3 then
		return text(length())
	end
	local out = kind < 6 and json.array {} or {}
	for i = 1, n do
		out[kind < 6 and i or ("k%d%s"):format(i, math.random(60) == 1 and ("k"):rep(2000) or "")] = value(depth + 1)
	end
	return out
end

local function object()
	local out = { a = value(0) }
	out.b = math.random(3) == 1 and value(1) or text(length())
	return out
end

local function envelope()
	nodes, most_pieces = 300, #PIECES - (math.random(12) == 1 and 0 or 1)
	local warnings, ok = json.array {}, math.random(3) > 1
	for i = 1, math.random(4) == 1 and math.random(40) or 0 do
		warnings[i] = { code = "SLOW", message = text(math.random(900)) }
	end
	return { ok = ok, data = object(), warnings = warnings, meta = { exit_code = ok and 0 or 5, effects = value(3) },
		error = not ok and { code = "NOT_FOUND", message = text(length()), retryable = false, side_effects = "none",
			suggestion = text(length()), context = object() } or json.null }
end

-- --- reading ---------------------------------------------------------------------------------

local function message_bytes(result)
	return #visible.encode { jsonrpc = "2.0", id = 1, result = result }
end

-- All parts of a resource; each is a message that has room, too.
local function whole_of(uri, kind)
	local stored, parts, from = assert(attachments.read(uri)), {}, 0
	repeat
		local part = bounded.part(uri, stored, kind, from)
		assert.is_true(message_bytes(part) <= MOST)
		local one = part.contents[1]
		parts[#parts + 1] = one.text
		assert.is_true(#one.text > 0)
		local next_uri = one._meta and one._meta["runner/next"]
		from = next_uri and math.tointeger(tonumber(next_uri:match "%?from=(%d+)$"))
	until not from
	assert.equal(stored, table.concat(parts))
	return stored
end

describe("a message to a client", function()
	setup(function()
		launch = attempt.launch
		attempt.launch = { request_id = ("req_%026d"):format(math.random(1 << 40)) }
		math.randomseed(7)
	end)
	teardown(function() attempt.launch = launch end)

	it("has at most 32 KiB, and its parts make the whole, whatever the answer is", function()
		local cut, refused, plain = 0, 0, 0
		for i = 1, tonumber(os.getenv "HOSTILE_CASES" or 25) do
			local e = envelope()
			local schema = i % 3 == 0 and { ["then"] = { properties = { data = i % 2 == 0 and { pattern = "x" } or {} } } } or nil
			local row = { danger_level = "safe", tool = { outputSchema = schema } }
			local whole = answer.of(e)
			local result = bounded.result(nil, { row = row }, whole)
			assert.is_true(message_bytes(result) <= MOST, i)
			local content = json.decode(result.content[1].text)
			assert.equal(schema ~= nil or result == whole, result.structuredContent ~= nil)
			assert.is_true(e.ok == content.ok or content.error.code == "OUTPUT_TOO_LARGE")
			assert.equal(not content.ok, result.isError)
			local rest = content.meta.rest
			if rest then
				assert.same(json.decode(whole.content[1].text), json.decode(whole_of(rest.uri, rest.kind)))
				cut, refused = cut + (content.ok and 1 or 0), refused + (content.ok and 0 or 1)
			else
				assert.same(json.decode(whole.content[1].text), content)
				plain = plain + 1
			end
		end
		assert.is_true(cut > 2 and refused > 2 and plain > 2, ("%d cut, %d refused, %d whole"):format(cut, refused, plain))
	end)

	it("has its structure once where no schema asks for it", function()
		local result = answer.of { ok = true, data = { text = ("x"):rep(20000) }, meta = {} }
		local plain = bounded.result(nil, { row = { tool = {} } }, result)
		assert.is_nil(plain.structuredContent)
		assert.equal(20000, #json.decode(plain.content[1].text).data.text)
		local small = answer.of { ok = true, data = { text = "x" }, meta = {} }
		assert.equal(small, bounded.result(nil, { row = { tool = {} } }, small))
	end)

	it("has the bytes that whoever serves asks for", function()
		budget.most = 4096
		local result = bounded.result(nil, {}, answer.of { ok = true, data = { text = ("x"):rep(20000) }, meta = {} })
		budget.most = nil
		assert.is_true(message_bytes(result) <= 4096)
		assert.is_true(#json.decode(result.content[1].text).data.text > 2000)
	end)

	it("says once how much of a text is left, and of how much there was before the call cut it itself", function()
		local told = { code = "FIELD_TRUNCATED", message = "data.text was cut", context = { field = "data.text", original_bytes = 900000 } }
		local warned = { ok = true, data = { text = ("é"):rep(50000) }, meta = {}, warnings = { told } }
		local content = json.decode(bounded.result(nil, {}, answer.of(warned)).content[1].text)
		assert.equal(1, #content.warnings)
		local context, left = content.warnings[1].context, content.data.text:gsub("…%[truncated%]$", "")
		assert.same({ field = "data.text", original_bytes = 900000, returned_bytes = #left }, context)
		told.context.original_bytes = "many"
		content = json.decode(bounded.result(nil, {}, answer.of(warned)).content[1].text)
		assert.equal(100000, content.warnings[2].context.original_bytes)
	end)

	it("doesn't send back what a client has sent", function()
		local fault = rpc.error(1, { code = 1, message = ("é"):rep(100000), data = { uri = ("u"):rep(100000) } }).error
		assert.is_true(#fault.message < 1100 and #fault.data.uri < 1100)
		assert.truthy(utf8.len(fault.message))
	end)
end)

describe("what an answer had no room for", function()
	it("is read by its name alone", function()
		for _, name in ipairs { "../jobs", "req_1/../../x", "", "req_none.json", "lock" } do
			assert.is_nil(attachments.read("runner://answers/" .. name))
		end
	end)
end)
