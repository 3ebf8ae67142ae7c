-- registry: the place of an executor, one for all steps of a run: its queue is asked once for all
-- of them, and those that ask soon after get the same answer.

local host = require "runner.host"

local M = {}

local KINDS = { slurm = "runner.workflow.executors.slurm", command = "runner.workflow.executors.command",
	["local"] = "runner.workflow.executors.local" }

---Open the place of an executor.
---@param executor runner.Executor
---@param lock? userdata that its tasks hold, if they are our own processes
---@return table place
function M.open(executor, lock)
	return require(executor.via and "runner.workflow.executors.via" or KINDS[executor.kind]).open(executor,
		{ RUNNER_CALLED = "executor" }, lock)
end

---@class runner.workflow.SharedPlace: the functions of a place, for one step
---@field misses? integer
---@field changed? fun() called when the place knows that something has changed
local Shared = {}
Shared.__index = Shared

function Shared:limits()
	return self.common.place:limits()
end

function Shared:submit(request)
	return self.common.place:submit(request)
end

function Shared:cancel(tokens)
	self.hurried = true
	return self.common.place:cancel(tokens)
end

-- What any of the steps waits for.
local function union(common)
	local list, known = {}, {}
	for _, one in ipairs(common.all) do
		for _, token in ipairs(one.tokens) do
			list[#list + 1], known[token] = not known[token] and token or nil, true
		end
	end
	return list, known
end

-- An answer that is younger than half an interval, and was asked for all of these.
local function latest(self, tokens)
	local common = self.common
	if self.hurried or not common.answers or host.now() - common.at > self.poll_ms / 2 then
		return nil
	end
	for _, token in ipairs(tokens) do
		if not common.known[token] then
			return nil
		end
	end
	return common.answers
end

function Shared:states(tokens)
	self.tokens = tokens
	local common = self.common
	if not latest(self, tokens) then
		local list, known = union(common)
		common.answers, common.problem = common.place:states(list)
		common.known, common.at = known, host.now()
	end
	return common.answers, common.problem
end

---The place of an executor for one more step of a run.
---@param run table gets `places`
---@param executor runner.Executor
---@return runner.workflow.SharedPlace
function M.of(run, executor)
	run.places = run.places or {}
	local common = run.places[executor.name]
	if not common then
		common = { place = M.open(executor, run.lock and run.lock:handle()), all = {} }
		run.places[executor.name] = common
		common.place.run = run.id
		common.place.changed = function()
			for _, one in ipairs(common.all) do
				if one.changed then
					one.changed()
				end
			end
		end
	end
	local one = setmetatable({ common = common, tokens = {}, poll_ms = executor.poll_ms, misses = common.place.misses,
		hurried = executor.kind == "local" }, Shared)
	common.all[#common.all + 1] = one
	return one
end

---This step asks no more.
---@param one runner.workflow.SharedPlace
function M.close(one)
	for i, other in ipairs(one.common.all) do
		if other == one then
			table.remove(one.common.all, i)
			return
		end
	end
end

return M
