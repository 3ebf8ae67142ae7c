-- screen: the tree of a run's steps on the terminal, while it runs. What happens is told to the
-- tree at once; the supervisor gets its lines at most ten times a second, and draws them.

local host = require "runner.host"
local scheduler = require "runner.task.scheduler"
local tree_of = require "runner.workflow.report.tree"
local watch = require "runner.workflow.report.watch"

local M = {}

local EVERY_MS = 100

---What shows a run; nil where nobody watches: not on a terminal, without colours, with --quiet.
---@param run table
---@return (fun(happens: string, ...): any)? call it with the name of a method of runner.workflow.Tree and what
---  that takes; with "is_over" for the lines that stay behind
function M.of(run)
	if not watch.is_seen() then
		return nil
	end
	local tree, due, sent_at = tree_of.new(run.workflow.steps, run.mask), false, -math.huge
	tree:resumes(run.rows)
	local function send()
		due, sent_at = false, host.now()
		host.send("PROGRESS", { steps = tree:lines() })
	end
	return function(happens, ...)
		if happens == "is_over" then
			return host.send("PROGRESS", { steps = tree:lines(nil, true), state = "over" })
		end
		local told = tree[happens](tree, ...)
		if sent_at < 0 then
			send()
		elseif not due then
			due = true
			scheduler.after(math.max(sent_at + EVERY_MS - host.now(), 0), send)
		end
		return told
	end
end

return M
