-- phases: where the time of a call went: start, load, run, programs, waits, output. The times of all
-- its attempts, from the moment that it was started to the moment that it had ended. Pure.

local M = {}

---In this order they are shown.
M.names = { "start", "load", "run", "programs", "waits", "output", "cleanup", "retries" }

---@param pages runner.profile.Page[] of one call: its attempts, in their order
---@param started integer ns
---@param ended integer ns
---@return table<string, integer> ns, by name
function M.of(pages, started, ended)
	local ns = {}
	for _, name in ipairs(M.names) do
		ns[name] = 0
	end
	local function add(name, from, to)
		ns[name] = ns[name] + math.max(to - from, 0)
	end
	add("start", started, pages[1] and pages[1].born or ended)
	for i, page in ipairs(pages) do
		local is_last = not pages[i + 1]
		local over = page.over > 0 and page.over or page.last
		local run_to = page.run_to > 0 and page.run_to or over
		local output_to = page.cleanup_from > 0 and page.cleanup_from or over
		add("load", page.born, page.run_from > 0 and page.run_from or output_to)
		if page.run_from > 0 then
			add("run", page.run_from, run_to)
			add("output", run_to, output_to)
		end
		add("cleanup", output_to, over)
		add(is_last and "output" or "retries", over, is_last and ended or pages[i + 1].born)
		ns.programs, ns.waits = ns.programs + page.children, ns.waits + page.waits
	end
	ns.run = math.max(ns.run - ns.programs - ns.waits, 0)
	return ns
end

return M
