-- Places for calls: so many at a time, in the order in which they came.

local client_of = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/mcp_client.lua")
local queues = require "runner.mcp.queues"

-- Who has a place, in the order in which they got it; and how each gives it back.
local function room(most)
	local r = { slots = queues.slots(client_of.gate, most), got = {}, done = {}, ended = {} }
	function r.come(name, request)
		coroutine.wrap(function()
			do
				local place <close> = r.slots:take(request)
				if place then
					table.insert(r.got, name)
					r.done[name] = client_of.gate()
					r.done[name]:wait()
				end
			end
			table.insert(r.ended, name)
		end)()
		return request
	end
	return r
end

describe("places", function()
	it("are given to those who wait, in their order, and never more than there are", function()
		local r = room(2)
		for _, name in ipairs { "a", "b", "c", "d" } do
			r.come(name, {})
		end
		assert.same({ "a", "b" }, r.got)
		assert.equal(2, #r.slots.queue)
		r.done.b:open()
		assert.same({ "a", "b", "c" }, r.got)
		r.come("e", {}) -- behind d
		r.done.a:open()
		r.done.c:open()
		assert.same({ "a", "b", "c", "d", "e" }, r.got)
		r.done.d:open()
		r.done.e:open()
		assert.same({ 0, 0 }, { r.slots.taken, #r.slots.queue })
	end)

	it("aren't taken by who was cancelled while it waited, first, between or last", function()
		for _, gone in ipairs { "b", "c", "d" } do
			local r, requests = room(1), {}
			for _, name in ipairs { "a", "b", "c", "d" } do
				requests[name] = r.come(name, {})
			end
			requests[gone].cancelled = true
			requests[gone].waits:open()
			assert.same({ gone }, r.ended)
			assert.is_nil(requests[gone].waits)
			assert.equal(2, #r.slots.queue)
			local rest = {}
			for _, name in ipairs { "a", "b", "c", "d" } do
				rest[#rest + 1] = name ~= gone and name or nil
			end
			for i, name in ipairs(rest) do
				assert.same({ name, i }, { r.got[i], #r.got }) -- one at a time
				r.done[name]:open()
			end
			assert.same({ 0, 0 }, { r.slots.taken, #r.slots.queue })
		end
	end)

	it("aren't taken by who was cancelled before it came", function()
		local r = room(1)
		r.come("a", { cancelled = true })
		assert.same({ {}, { "a" }, 0 }, { r.got, r.ended, r.slots.taken })
	end)

	it("go on to the next where who gets one is cancelled just then", function()
		local r = room(1)
		r.come("a", {})
		local late = r.come("b", {})
		r.come("c", {})
		late.cancelled = true -- its gate is opened by a's end, and by nothing else
		r.done.a:open()
		assert.same({ "a", "b" }, r.got)
		r.done.b:open()
		r.done.c:open()
		assert.same({ 0, 0 }, { r.slots.taken, #r.slots.queue })
	end)
end)
