-- gather: the results of a loop's items, or of parallel steps, as one result: a line of
-- output for each, and a list of data. However many there are, it holds little of them in
-- memory: what is long goes to files of the run.

local codec = require "runner.workflow.store.codec"
local held = require "runner.workflow.expr.held"
local outputs = require "runner.workflow.run.outputs"
local results = require "runner.workflow.run.results"
local spool = require "runner.workflow.run.spool"

local M = {}

-- The results as they end → in the order of their start, each at once when it is its turn.
local function sorter(take)
	local waiting, following = {}, 1
	return function(i, result)
		waiting[i] = result
		while waiting[following] do
			take(waiting[following])
			waiting[following] = nil
			following = following + 1
		end
	end
end

local function add_output(all, output)
	if output == nil then
		return
	end
	all.lines:add(all.some and "\n" or "")
	all.some = true
	if held.is(output) then
		all.lines:add_file(held.file(output))
	else
		all.lines:add(output)
	end
end

-- An output that was cut leaves no output of them all, but the data of the others.
local function add(all, result)
	local given = result.ok and result.value or {}
	local output = given.output
	if held.is(output) and output.cut then
		all.cut = all.cut or { cut = output.cut, bytes = output.bytes, step = output.step, why = output.why }
	elseif not all.cut then
		add_output(all, output)
	end
	all.rows:add(all.count == 0 and "[" or ",")
	all.count = all.count + 1
	all.rows:add(codec.encode("data", results.row(result.ok, given)))
end

-- What is long stays in its file.
local function settle(text, collected, outcome, name)
	if text then
		outcome[name] = text
		return
	end
	outcome.held = outcome.held or {}
	outcome.held[name] = outputs.stored(collected.path, collected.bytes)
end

local function finish(all)
	all.rows:add(all.count == 0 and "[]" or "]")
	local outcome = { held = all.cut and { output = all.cut } }
	if all.cut then
		all.lines:drop()
	else
		settle(all.lines:finish(), all.lines, outcome, "output")
	end
	settle(all.rows:finish(), all.rows, outcome, "data")
	outcome.output = outcome.output or all.lines:head()
	outcome.data = outcome.data and codec.encoded(outcome.data)
	return outcome
end

---@class runner.workflow.Gathered
---@field in_order fun(also: fun(result: runner.TaskResult)): fun(i: integer, result: runner.TaskResult) for scheduler.each
---@field finish fun(): {output: string, data: runner.workflow.Encoded?, held: table?} once all have ended

---@param run_id string
---@param key string of the loop, or of the parallel step
---@return runner.workflow.Gathered
function M.new(run_id, key)
	local all = { count = 0, lines = spool.new(outputs.path(run_id, key)),
		rows = spool.new(outputs.path(run_id, key, "~data")) }
	return {
		in_order = function(also)
			return sorter(function(result)
				also(result)
				add(all, result)
			end)
		end,
		finish = function()
			return finish(all)
		end,
	}
end

return M
