-- pages: what the workers of a call have noted of their time (src/worker/profile.h), as data, and where the time of the
-- call went by phase. A page may be of a process that was killed, or that still runs: it is believed as far as it makes sense.

local fs = require "runner.fs"
local host = require "runner.host"

local M = {}

local MAGIC = "runner flame 1\0"
local HEAD = "=c16 i8i8i8i8i8i8i8 i8i8i8i8 i4i4i4i4 I4I4 c256"
local MEMBERS = { "magic", "launched", "born", "run_from", "run_to", "cleanup_from", "over", "last", "children", "waits", "lost",
	"wait_since", "wait_slot", "wait_for_children", "supervisor", "attempt", "samples", "text_used", "command" }
local SLOT = "=i8I4I4I4I4"
local SLOTS = 2048 -- PROFILE_SLOTS
local TEXT_AT = string.packsize(HEAD) + SLOTS * string.packsize(SLOT)

---@class runner.profile.Page times are ns of the monotonic clock; 0: it has not come to that
---@field command string as it is called, "" before that is known
---@field launched integer its supervisor began
---@field born integer
---@field run_from integer
---@field run_to integer
---@field cleanup_from integer
---@field over integer
---@field last integer so far its time is in stacks
---@field children integer ns in waits for programs, during `run`
---@field waits integer ns in other waits, during `run`
---@field lost integer ns that had no room
---@field supervisor integer
---@field attempt integer
---@field samples integer
---@field waiting? string the stack that waits
---@field stacks table<string, integer> ns of each, "load;a;b"

local function stacks_of(bytes)
	local stacks, slots, at = {}, {}, string.packsize(HEAD) + 1
	for i = 0, SLOTS - 1 do
		local ns, _, _, from, length = SLOT:unpack(bytes, at + i * string.packsize(SLOT))
		if length > 0 and ns >= 0 and TEXT_AT + from + length <= #bytes then
			local text = host.clean(bytes:sub(TEXT_AT + from + 1, TEXT_AT + from + length)) -- a name has any bytes, and may be cut
			slots[i], stacks[text] = text, (stacks[text] or 0) + ns
		end
	end
	return stacks, slots
end

local PHASES = { "load", "run", "output", "cleanup" }

-- The phase that it was in, by the times.
local function phase_of(page)
	return PHASES[page.cleanup_from > 0 and 4 or page.run_to > 0 and 3 or page.run_from > 0 and 2 or 1]
end

local function add(stacks, text, ns)
	stacks[text] = (stacks[text] or 0) + ns
end

---What a killed process did until it ended: it waited, or it is not known.
---@param page runner.profile.Page
---@param ended integer ns
function M.close(page, ended)
	local rest = ended - page.last
	if page.over > 0 or rest <= 0 then
		return
	elseif page.waiting then
		add(page.stacks, page.waiting, rest)
		if phase_of(page) == "run" then
			local kind = page.wait_for_children ~= 0 and "children" or "waits"
			page[kind] = page[kind] + rest
		end
	else
		add(page.stacks, phase_of(page) .. ";(until its end)", rest)
	end
	page.last = ended
end

---@param bytes string of a page's file
---@return runner.profile.Page? nil: it is none
function M.read(bytes)
	if bytes:sub(1, #MAGIC) ~= MAGIC or #bytes < TEXT_AT then
		return nil
	end
	local page = {}
	for i, value in ipairs { HEAD:unpack(bytes) } do
		page[MEMBERS[i] or i] = value
	end
	page.command = host.clean(page.command:match "^[^\0]*"):gsub("%.", " ")
	local stacks, slots = stacks_of(bytes)
	page.stacks = stacks
	page.waiting = page.wait_since > 0 and slots[page.wait_slot] or nil
	if page.lost > 0 then
		add(page.stacks, "(more stacks than there is room for)", page.lost)
	end
	return page
end

---All pages of a folder, in the order in which they began.
---@param folder string
---@return runner.profile.Page[]
function M.all(folder)
	local list = {}
	for _, name in ipairs(fs.list(folder) or {}) do
		local bytes = fs.read(folder .. "/" .. name)
		list[#list + 1] = bytes and M.read(bytes) or nil
	end
	table.sort(list, function(a, b)
		return a.born < b.born or a.born == b.born and a.supervisor < b.supervisor
	end)
	return list
end

-- --- phases ----------------------------------------------------------------------------

---Start, load, run, programs, waits, output: in the order in which they are shown.
M.phases = { "start", "load", "run", "programs", "waits", "output", "cleanup", "retries" }

---The times of all attempts of a call, from the moment that it was started to the moment that it had ended.
---@param pages runner.profile.Page[] of one call: its attempts, in their order
---@param started integer ns
---@param ended integer ns
---@return table<string, integer> ns, by name
function M.time_of_phases(pages, started, ended)
	local ns = {}
	for _, name in ipairs(M.phases) do
		ns[name] = 0
	end
	local function count(name, from, to)
		ns[name] = ns[name] + math.max(to - from, 0)
	end
	count("start", started, pages[1] and pages[1].born or ended)
	for i, page in ipairs(pages) do
		local is_last = not pages[i + 1]
		local over = page.over > 0 and page.over or page.last
		local run_to = page.run_to > 0 and page.run_to or over
		local output_to = page.cleanup_from > 0 and page.cleanup_from or over
		count("load", page.born, page.run_from > 0 and page.run_from or output_to)
		if page.run_from > 0 then
			count("run", page.run_from, run_to)
			count("output", run_to, output_to)
		end
		count("cleanup", output_to, over)
		count(is_last and "output" or "retries", over, is_last and ended or pages[i + 1].born)
		ns.programs, ns.waits = ns.programs + page.children, ns.waits + page.waits
	end
	ns.run = math.max(ns.run - ns.programs - ns.waits, 0)
	return ns
end

return M
