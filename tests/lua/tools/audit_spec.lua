-- The reader of the audit ledger: from its end on, and no further than is asked; and what verify finds in lines of any kind.

local attempt = require "runner.core.attempt"
local audit = require "runner.tools.audit"
local json = require "runner.json"
local ledger = require "runner.ledger"

local path

before_each(function()
	path = os.tmpname()
	attempt.project = { audit = { path = path } }
end)

after_each(function()
	os.remove(path)
	attempt.project = nil
end)

local function write(text)
	local file <close> = assert(io.open(path, "wb"))
	file:write(text)
end

-- --- the calls ------------------------------------------------------------------------------------

-- A ledger of so many calls that overlap, some with decisions and retries, some without an end, a job beside its front, some
-- whose rows don't say where the first one may be. Its text, and the calls by a plain way from its beginning on.
local function ledger_of(count, random)
	local rows, size, open, calls, by_key = {}, 0, {}, {}, {}
	local function put(call, row)
		row.request_id, row.job, row.command, row.time = call.id, call.job, call.command, "2026-11-29T01:44:34Z"
		row.from = not call.old and math.max(call.from - random(0, 2000), 0) or nil
		rows[#rows + 1] = json.encode(row) .. "\n"
		size = size + #rows[#rows]
		local key = call.id .. (call.job or "")
		if not by_key[key] then
			by_key[key] = { request_id = call.id, command = call.command, job = call.job }
			calls[#calls + 1] = by_key[key]
		end
		local about = by_key[key]
		about[row.event] = true
		about.last = row.n
	end
	for i = 1, count do
		local call = { id = "req_" .. (random(20) == 1 and i > 1 and i - 1 or i), command = random(50) == 1 and "rare" or "usual",
			old = random(30) == 1, from = size }
		call.job = call.id ~= "req_" .. i and "job_" .. i or nil
		if random(5) == 1 then
			put(call, { event = "decision", decision = "confirmed", n = i, pad = ("x"):rep(random(300)) })
		end
		open[#open + 1] = call
		for _ = 1, math.min(random(0, 2), #open) do
			local at = random(#open)
			local other = open[at]
			put(other, { event = random(3) == 1 and "end" or "begin", n = i, pad = ("y"):rep(random(600)) })
			if random(2) == 1 then
				table.remove(open, at)
			end
		end
		if random(200) == 1 then
			rows[#rows + 1] = "no row\n"
			size = size + 7
		end
	end
	return table.concat(rows), calls
end

local function newest(calls, command)
	local out = {}
	for i = #calls, 1, -1 do
		out[#out + 1] = (not command or calls[i].command == command) and calls[i] or nil
	end
	return out
end

local function shown(call)
	return ("%s %s %s %s"):format(call.request_id, call.job, call.command, (call.ended or call["end"]) and "ended" or "")
end

describe("the calls of a ledger", function()
	it("are from the end on those that there are from the beginning on, however many are asked for", function()
		for seed = 1, 12 do
			math.randomseed(seed)
			local text, calls = ledger_of(seed == 1 and 3 or 150 * seed, math.random)
			write(text)
			for _, command in ipairs { "any", "usual", "rare" } do
				local wanted = newest(calls, command ~= "any" and command or nil)
				for _, enough in ipairs { 1, 6, 40, math.huge } do
					local found = audit.calls(function(call) return command == "any" or call.command == command end, enough)
					assert.is_true(#found >= math.min(enough, #wanted) and #found <= #wanted, ("seed %d"):format(seed))
					for i = 1, math.min(enough, #wanted) do
						assert.equal(shown(wanted[i]), shown(found[i]), ("seed %d, %s, %s: %d"):format(seed, command, enough, i))
						assert.equal(wanted[i].begin, found[i].began and true or nil)
					end
				end
			end
		end
	end)

	it("count what is no row, and are none in an empty ledger or in none", function()
		write(("x"):rep(300000) .. "\n\n" .. '{"event":"end","request_id":"req_1","command":"c"}' .. "\n{")
		local found, damaged = audit.calls(function() return true end, math.huge)
		assert.equal(1, #found)
		assert.is_true(damaged >= 3)
		write ""
		assert.same({ {}, 0 }, { audit.calls(function() return true end, 5) })
		os.remove(path)
		assert.same({ {}, 0 }, { audit.calls(function() return true end, 5) })
	end)

	it("of a ledger that somebody has moved away meanwhile are searched for in all of it", function()
		write('{"event":"begin","request_id":"req_1","command":"c","time":"t","from":0}\n'
			.. '{"event":"end","request_id":"req_1","command":"c","time":"t","from":90000}\n')
		local found = audit.calls(function() return true end, 1)
		assert.equal("ended", found[1].state)
	end)
end)

-- --- verify ---------------------------------------------------------------------------------------

local function chain(bodies)
	local out, prev = {}, ("0"):rep(64)
	for i, body in ipairs(bodies) do
		local line = ('%s,"prev":"%s"'):format(body, prev)
		prev = ledger.digest(line)
		out[i] = ('%s,"hash":"%s"}\n'):format(line, prev)
	end
	return out, prev
end

describe("verify", function()
	local lines, head

	before_each(function()
		local bodies = {}
		for i = 1, 3000 do -- some lie across the pieces that are read
			bodies[i] = ('{"event":"end","n":%d,"text":"%s"'):format(i, ("é\0x"):rep(i % 97))
		end
		lines, head = chain(bodies)
	end)

	local function problems(text)
		write(text)
		local found = audit.verify()
		return found.problems, found
	end

	it("finds a whole ledger whole", function()
		local found, all = problems(table.concat(lines))
		assert.same({ 0, 3000, head }, { #found, all.rows, all.head })
	end)

	it("names the line of any byte that was changed, and the one behind any that is gone or was added", function()
		math.randomseed(7)
		for _ = 1, 40 do
			local at = math.random(#lines)
			local line, place = lines[at], math.random(#lines[at] - 1)
			lines[at] = line:sub(1, place - 1) .. string.char(line:byte(place) ~ 1) .. line:sub(place + 1)
			assert.equal(at, problems(table.concat(lines))[1].line)
			lines[at] = ""
			local found = problems(table.concat(lines))
			assert.equal(at < #lines and at or nil, (found[1] or {}).line)
			lines[at] = line .. line
			assert.equal(at + 1, problems(table.concat(lines))[1].line)
			lines[at] = line
		end
	end)

	it("takes lines of any length for what they are, and keeps 20 problems", function()
		lines[5] = ("x"):rep(1 << 20) .. "\n"
		assert.same({ line = 5, problem = "it is no whole row" }, problems(table.concat(lines))[1])
		lines[5] = "\n"
		assert.same({ line = 5, problem = "it is no whole row" }, problems(table.concat(lines))[1])
		for i = 1, 100 do
			lines[i] = "{}\n"
		end
		assert.equal(20, #problems(table.concat(lines)))
		local found, all = problems(("y"):rep(600000))
		assert.same({ 1, 1, "it is no whole row" }, { #found, all.rows, found[1].problem })
	end)
end)
