-- loop: steps that hold steps, foreach and parallel: the items of a loop, one after the other, as they
-- are needed; the tasks that run at the same time, made when there is room for them; and their results
-- as one: a line of output for each, and a list of data. However many there are, it holds little of them
-- in memory: what is long goes to files of the run. It decides nothing about failures.

local codec = require "runner.workflow.store.codec"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local large_value = require "runner.workflow.expr.large_value"
local outputs = require "runner.workflow.run.outputs"
local paths = require "runner.core.paths"
local scopes = require "runner.workflow.run.scope"
local secrets = require "runner.workflow.run.secrets"
local spool = require "runner.workflow.run.spool"
local variables = require "runner.workflow.expr.variables"

local M = {}

local CHUNK = 65536
local LINE_MAX = 1 << 20

---@class runner.workflow.Items
---@field next fun(): any the next item; nil: there are no more. Raises if the file has changed
---@field begun table<integer, any> items that have begun, until they are told of
---@field total? integer how many there are, where that is known
---@field none_of? integer of how many its `where` holds for none
---@field stored any what `resume` needs to loop over the same ones

-- --- a list ---------------------------------------------------------------------------

local function of_list(list, most)
	local at, last = 0, math.min(#list, most or #list)
	local stored = list.none_of and list or json.array(last < #list and table.move(list, 1, last, 1, {}) or list)
	return { stored = stored, none_of = list.none_of, begun = {}, total = last, next = function()
		at = at + 1
		return stored[at]
	end }
end

local function lines_of(text)
	local items = {}
	for line in text:gmatch("[^\r\n]+") do
		items[#items + 1] = line
	end
	return items
end

local function expanded(items, scope)
	local out = {}
	for i, item in ipairs(items) do
		out[i] = type(item) == "string" and variables.value(item, scope) or item
	end
	return out
end

-- --- the lines of a file ----------------------------------------------------------------

local function raise_unreadable(path, why)
	errors.raise("PRECONDITION", ("foreach can't read %s: %s"):format(path, why),
		{ suggestion = "Create the file before the loop starts, or fix its path" })
end

local function raise_changed(path)
	errors.raise("CONFLICT", ("The file of a foreach, %s, has changed since the loop started"):format(path),
		{ suggestion = "Restore what the file contained, then resume the run" })
end

-- The first `bytes` of a file in chunks, and the digest of what came so far.
local function chunks(path, bytes)
	local file, why = io.open(path, "rb")
	if not file then
		raise_unreadable(path, why)
	end
	local left, digest = bytes, ""
	return function()
		local text = left > 0 and file:read(math.min(CHUNK, left))
		if not text then
			left = 0
			return nil, digest
		end
		left, digest = left - #text, host.digest(digest .. text)
		return text, digest
	end
end

local function digest_of(path, bytes)
	local digest
	for _, so_far in chunks(path, bytes) do
		digest = so_far
	end
	return digest or ""
end

-- Its items are the lines it has now; what is appended later is none of them.
local function describe(path)
	local stat, why = fs.stat(path)
	if not stat or stat.type ~= "file" then
		raise_unreadable(path, why or "it is not a regular file")
	end
	return { file = path, bytes = stat.size, digest = digest_of(path, stat.size) }
end

local function check_length(path, line)
	if #line > LINE_MAX then
		errors.raise("PRECONDITION", ("foreach: a line of %s is longer than 1 MiB"):format(path),
			{ suggestion = "Write one item per line" })
	end
	return line
end

-- The lines that are not empty, without what ends them.
local function line_reader(described)
	local read, text, at = chunks(described.file, described.bytes), "", 1
	local function more()
		local piece, digest = read()
		if piece then
			text, at = check_length(described.file, text:sub(at)) .. piece, 1
		elseif digest ~= described.digest then
			raise_changed(described.file)
		end
		return piece
	end
	return function()
		while true do
			local from, to = text:find("[^\r\n]+", at)
			if from and (to < #text or not more()) then
				at = to + 1
				return check_length(described.file, text:sub(from, to))
			elseif not from then
				at = #text + 1
				if not more() then
					return nil
				end
			end
		end
	end
end

local function of_file(described, most)
	local read, count = line_reader(described), 0
	return { stored = described, begun = {}, next = function()
		count = count + 1
		if count <= (most or math.huge) then
			return read()
		end
	end }
end

-- Those of an earlier process, if the file is still what it was.
local function again(stored, most)
	if stored.file == nil then
		return of_list(stored)
	elseif digest_of(stored.file, stored.bytes) ~= stored.digest then
		raise_changed(stored.file)
	end
	return of_file(stored, most)
end

-- --- what the step says --------------------------------------------------------------------

local function file_of(step, scope, cwd)
	if step.items_file then
		return paths.absolute(variables.expand(step.items_file, scope), cwd)
	end
	return type(step.items) == "string" and variables.file(step.items, scope)
end

local function list_of(step, scope)
	local items = step.items
	if type(items) == "string" then
		items = variables.value(items, scope)
	else
		items = expanded(items, scope)
	end
	if type(items) == "string" then
		return lines_of(items)
	elseif type(items) ~= "table" or items[1] == nil and next(items) ~= nil then
		errors.raise("PRECONDITION", ("foreach needs a list, not %s"):format(variables.text(items)))
	end
	return items
end

-- Those of a file, all at once: its lines, or what a path finds in its JSON.
local function items_in(step, path, selection)
	local text, why = fs.read(path)
	local items = text and (step.items_path and selection.of_json(text, step.items_path, path) or not step.items_path and lines_of(text))
	return items or raise_unreadable(path, why or "it isn't JSON")
end

---What to loop over. Raises PRECONDITION where it isn't a list, CONFLICT where its file has
---changed since an earlier process began the loop.
---@param step runner.workflow.Step
---@param scope runner.workflow.Scope
---@param from {cwd: string, stored: any} stored: `stored` of the earlier process
---@return runner.workflow.Items
function M.items(step, scope, from)
	if type(from.stored) == "table" then
		return again(from.stored, step.max_items)
	end
	local path = file_of(step, scope, from.cwd)
	local selection = (step.items_path or step.where or step.sort) and require "runner.workflow.run.selection" -- few loops choose
	if path and not selection then
		return of_file(describe(path), step.max_items)
	end
	local items = path and items_in(step, path, selection) or list_of(step, scope)
	return of_list(selection and selection.chosen(step, items, scope) or items, step.max_items)
end

-- --- the tasks of a loop, and of parallel steps ----------------------------------------------------

---@alias runner.workflow.Sequence fun(steps: runner.workflow.Step[], place: runner.workflow.Place): table?

---Raise PRECONDITION where one of the stored items had a secret, which is not stored.
---@param run table
---@param key string of the loop
---@param items any
---@return any items
function M.whole(run, key, items)
	for i, item in ipairs(run.secrets[1] and type(items) == "table" and items or {}) do
		if json.encode(item):find("***", 1, true) then
			errors.raise("PRECONDITION", ("Item %d of step %s was not stored, since it contains a secret"):format(i, key), { retryable = false,
				side_effects = "none", fix_required = "Find out what its steps have done; only a new run can be given the item",
				suggestion = "runner workflow show " .. run.id, context = { run = run.id } })
		end
	end
	return items
end

-- Decided once: a resumed run loops over the same ones.
local function stored_items(run, step, place, row)
	local _ = row and row.kind == "foreach" and M.whole(run, place.prefix .. step.key .. place.suffix, row.data)
	return M.items(step, place.scope, { cwd = place.scope.cwd or run.settings.cwd, stored = row and row.kind == "foreach" and row.data })
end

local function item_tasks(step, key, place, items, sequence)
	local i = 0
	return function()
		local item = items.next()
		if item == nil then
			return nil
		end
		i = i + 1
		local scope = scopes.inner_scope(place.scope, { item = item, item_index = i }, true)
		local prefix = ("%s[%d]."):format(key, i)
		items.begun[i] = item
		return function()
			return sequence(step.steps, { prefix = prefix, suffix = place.suffix, scope = scope })
		end
	end
end

local function item_of(_, _, items)
	return function(i)
		local item = items.begun[i]
		items.begun[i] = nil
		return { item = item }
	end
end

local function side_tasks(step, _, place, _, sequence)
	local i = 0
	return function()
		i = i + 1
		local below = step.steps[i]
		return below and function()
			local scope = scopes.side_scope(place.scope)
			return sequence({ below }, { prefix = place.prefix, suffix = place.suffix, scope = scope })
		end
	end
end

local function side_of(step, place)
	return function(i)
		return { step = place.prefix .. step.steps[i].key .. place.suffix }
	end
end

local function no_items()
	return {}
end

---@class runner.workflow.InnerSteps
---@field items fun(run: table, step: runner.workflow.Step, place: runner.workflow.Place, row: table?): table
---@field tasks fun(step: runner.workflow.Step, key: string, place: runner.workflow.Place, items: table,
---  sequence: runner.workflow.Sequence): fun(): function?
---@field what fun(step: runner.workflow.Step, place: runner.workflow.Place, items: table): fun(i: integer): {item: any, step: string?}
---@field limit fun(step: runner.workflow.Step): integer how many run at once
---@field run? fun(run: table, step: runner.workflow.Step, key: string, place: runner.workflow.Place, items: table, sequence: function):
---  any, table? all of them, in its own way; the fields above but `items` are missing then

---@type table<string, runner.workflow.InnerSteps>
M.kinds = {
	foreach = { items = stored_items, tasks = item_tasks, what = item_of, limit = function(step) return step.parallel or 1 end },
	parallel = { items = no_items, tasks = side_tasks, what = side_of, limit = function(step) return step.limit or 16 end },
	steps = { items = function(...) return require("runner.workflow.run.block").items(...) end, -- few workflows have one
		run = function(...) return require("runner.workflow.run.block").run(...) end },
}

-- --- their results as one ------------------------------------------------------------------------

-- The results as they end → in the order of their start, each at once when it is its turn.
local function sorter(take)
	local waiting, following = {}, 1
	return function(i, result)
		waiting[i] = result
		while waiting[following] do
			take(waiting[following], following)
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
	if large_value.is(output) then
		all.lines:add_file(large_value.file(output))
	else
		all.lines:add(output)
	end
end

-- A failure's row; the first one is told of.
local function failed_row(all, result, i, of)
	local e = secrets.hide_in_error(result.error, all.mask)
	all.failed = all.failed + 1
	all.first = all.first or { i = i, error = e, of = of }
	return outputs.failed_row(e, of)
end

-- An output that was cut leaves no output of them all, but the data of the others.
local function add(all, result, i)
	local given = result.ok and result.value or {}
	local output = given.output
	if large_value.is(output) and output.cut then
		all.cut = all.cut or { cut = output.cut, bytes = output.bytes, step = output.step, why = output.why }
	elseif not all.cut then
		add_output(all, output)
	end
	all.rows:add(all.count == 0 and "[" or ",")
	all.count = all.count + 1
	local of = all.mask(all.what(i))
	all.rows:add(codec.encode("data", result.ok and outputs.row(true, given, of) or failed_row(all, result, i, of)))
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
	outcome.passed_over = all.failed > 0 and { failed = all.failed, total = all.count, first = all.first } or nil
	return outcome
end

---@class runner.workflow.Gathered
---@field in_order fun(also: fun(result: runner.TaskResult)): fun(i: integer, result: runner.TaskResult) for scheduler.each
---@field finish fun(): {output: string, data: runner.workflow.Encoded?, held: table?, passed_over: runner.workflow.PassedOver?}
---  once all have ended
---@field tally fun(): runner.workflow.PassedOver so far

---@param run table
---@param key string of the loop, or of the parallel step
---@param what fun(i: integer): {item: any, step: string?} what the one with this number is
---@return runner.workflow.Gathered
function M.gather(run, key, what)
	local run_id = run.id
	local all = { count = 0, failed = 0, mask = run.mask, what = what, lines = spool.new(outputs.path(run_id, key)),
		rows = spool.new(outputs.path(run_id, key, "~data")) }
	return {
		in_order = function(also)
			return sorter(function(result, i)
				add(all, result, i)
				also(result)
			end)
		end,
		finish = function()
			return finish(all)
		end,
		tally = function()
			return { failed = all.failed, total = all.count, first = all.first }
		end,
	}
end

return M
