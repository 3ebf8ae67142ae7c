-- parallel: ctx:parallel, several things at once in this process: functions as tasks of
-- lua/task/scheduler.lua, which wait for programs, requests and time together. Loaded on first use.

local attempt = require "runner.core.attempt"
local misuse = require "runner.ctx.misuse"
local scheduler = require "runner.task.scheduler"
local waiting = require "runner.core.waiting"

local M = {}

local AT_ONCE, MOST = 8, 256
local OPTIONS = { "collect", "limit" }

local function misused(...)
	misuse.raise("ctx:parallel", ...)
end

-- What an item does: a function, or one request of ctx:run or ctx:http.
local function work_of(ctx, key, item, lanes, i)
	if type(item) == "function" then
		return function() return item(ctx, key) end
	elseif type(item) == "table" and (item.run == nil) ~= (item.http == nil) then
		local method = item.run ~= nil and "run" or "http"
		return function() return ctx[method](ctx, lanes and method == "run" and lanes:listening(i, item.run) or item[method]) end
	end
	misused(("item %s is neither a function nor { run = … } or { http = … }"):format(tostring(key)),
		'Write { run = { "git", "fetch" } }, { http = { url = "…" } } or function(ctx) … end')
end

-- The keys in the order in which they start: a list's own, else sorted.
local function keys_of(items)
	local keys = {}
	for key in next, items do
		keys[#keys + 1] = key
	end
	if #keys == #items then
		table.sort(keys)
		return keys
	end
	table.sort(keys, function(a, b)
		return tostring(a) < tostring(b)
	end)
	return keys
end

local function checked_options(items, options)
	if type(items) ~= "table" or options ~= nil and type(options) ~= "table" then
		misused("it needs a table of functions", "Write ctx:parallel{ function() … end, … }")
	end
	for key in next, options or {} do
		if key ~= "collect" and key ~= "limit" then
			misuse.unknown("ctx:parallel", key, OPTIONS)
		end
	end
	local limit = options and options.limit or AT_ONCE
	if math.type(limit) ~= "integer" or limit < 1 or limit > MOST then
		misused(("limit must be a whole number from 1 to %d, not %s"):format(MOST, misuse.shown(limit)))
	end
	return limit, options and options.collect or false
end

local function row_of(result)
	if result.ok then
		return { ok = true, value = result.value }
	end
	local e = result.error
	return { ok = false, error = { code = e.code, message = e.message, context = e.context } }
end

-- Each of them as a task. The first failure ends the others, and is raised, unless all are to go on.
local function run(work, lanes, limit, collect, ended)
	local nested, at, failed = scheduler.inside(), 0, nil
	waiting.use_tasks(scheduler)
	scheduler.run(function()
		scheduler.each(function()
			at = at + 1
			if lanes and work[at] then
				lanes:begins(at)
			end
			return work[at]
		end, limit, function(i, result)
			if lanes then
				lanes:ends(i, result)
			end
			ended(i, result)
			failed = failed or not collect and result.error or nil
			if failed and not nested then
				scheduler.abort(failed)
			end
		end, { keep_going = collect })
	end)
	if failed then
		error(failed, 0)
	end
end

---Functions of ours, all at once; the first failure ends the others and is raised.
---@param work (fun(say: fun(text: string)))[] each with what shows a text beside its name
---@param names string[] as a person sees them
function M.all(work, names)
	local lanes <close> = attempt.launch.stderr_is_tty and require("runner.ctx.progress_display").lanes(names, work)
	local tasks = {}
	for i, f in ipairs(work) do
		tasks[i] = function()
			f(function(text)
				if lanes then
					lanes:says(i, text)
				end
			end)
		end
	end
	run(tasks, lanes, #work, false, function() end)
end

---Do several things at once, and wait for all. Each item is a function, { run = … } or { http = … };
---what they return comes back under the same keys. The first failure ends what still runs and is
---raised; with `collect` all go on, and each key has { ok, value } or { ok, error }. Only
---ctx:run, ctx:pipeline, ctx:http and ctx:sleep let others go on; one inside another waits
---for what runs before it raises.
---@param ctx runner.Context
---@param items table<any, function|table>
---@param options? {limit?: integer, collect?: boolean} limit: how many at once, default 8
---@return table<any, any>
function M.parallel(ctx, items, options)
	local limit, collect = checked_options(items, options)
	local keys, work, out = keys_of(items), {}, {}
	local lanes <close> = attempt.launch.stderr_is_tty and require("runner.ctx.progress_display").lanes(keys, items)
	for i, key in ipairs(keys) do
		work[i] = work_of(ctx, key, items[key], lanes, i)
	end
	run(work, lanes, limit, collect, function(i, result)
		out[keys[i]] = collect and row_of(result) or result.value
	end)
	return #keys == #items and require("runner.json").array(out) or out
end

return M
