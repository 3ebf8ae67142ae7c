-- rows: what becomes of the rows that a command emits (ctx:emit): lines of jsonl and of a
-- terminal's table go out at once; for every other format, and for --output, they are kept
-- and become `items` of the result. Loaded for commands that stream, and for --heartbeat-ms.

local display = require "runner.core.display"
local emit = require "runner.emit"
local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"
local tables = require "runner.core.tables"

local M = {}

---@class runner.Rows
---@field add fun(row: table): string? what is wrong with the row
---@field finish fun(facts: table?): table? the result, out of what `run` returned
---@field lacking? integer rows of a change that name no effect
---@field as_they_are? boolean … and nothing is put into them: runner.emit may do it all
---@field written? true they are on stdout already

local HEARTBEAT_MS = 10000

-- What `run` returned beside the rows: facts about all of them.
local function facts_of(data)
	if data ~= nil and (type(data) ~= "table" or json.is_array(data) and next(data) ~= nil or data.items ~= nil) then
		error(errors.new("INVALID_RESULT", "run of a command that streams returns facts about the rows, as a table without `items`", {
			fix_required = "Pass rows to ctx:emit, and return nil or a table such as { skipped = 2 }",
		}), 0)
	end
	return data
end

local WOULD = { created = "would_create", updated = "would_update", deleted = "would_delete", noop = "would_noop" }

-- The effect of a row of a dry run is none yet.
local function of_dry_run(row)
	local copy = tables.add({ dry_run = true }, row)
	copy.effect = WOULD[row.effect] or row.effect
	return copy
end

local meant ---@type (fun(row: table): table)? what output_schema makes of a row
local notes = { nonfinite = 0, repaired = 0 } -- what the encoder had to change

local function note(nonfinite, repaired)
	notes.nonfinite, notes.repaired = notes.nonfinite + nonfinite, notes.repaired + repaired
end

local function with_attempt(a, row)
	row = a.dry_run and of_dry_run(row) or row
	row = a.mask and a.mask(row) or row
	row = meant and meant(row) or row
	row = a.framework.fields and require("runner.output.list").pick_row(row, a.framework.fields) or row
	return a.command.rows_may_repeat and tables.add({ attempt = a.launch.attempt }, row) or row
end

local function encoded(a, row)
	row = with_attempt(a, row)
	local text, why, changed = json.encode(row, { max = emit.MAX, envelope = true })
	if not text then
		return nil, why
	end
	note(changed.nonfinite, changed.repaired)
	local veiled = a.veil(row, text)
	if veiled then
		row, text = veiled, json.encode(veiled, { max = emit.MAX, envelope = true })
	end
	return text, nil, row
end

-- --- where a row goes: add(row) → problem?, finish(facts) → data --------------------------

local function lines(a)
	local changes = a.dry_run or a.framework.fields or a.command.rows_may_repeat or meant
	local unmask = a.framework.unmask
	local function add(row)
		row = (changes or a.mask) and with_attempt(a, row) or row
		local problem = emit.row(row, unmask)
		if problem == false then
			problem = emit.row(require("runner.core.mask").tokens(row), true)
		end
		return problem
	end
	return { add = add, written = true, as_they_are = not (changes or a.mask), finish = function(facts) return facts end }
end

local function growing_table(a)
	local line = a.format == "text" and display.get "row"
		or require("runner.output.tables").growing(a.command.columns, require("runner.output.layout").table_width())
	local function add(row)
		local text, why, shown = encoded(a, row)
		if not text then
			return why
		end
		return not host.send("EMIT", { text = line(shown) }) and "the row is too large" or nil
	end
	return { add = add, written = true, finish = function(facts) return facts end }
end

local function kept(a)
	local items = {}
	local function add(row)
		local text, why = encoded(a, row)
		if not text then
			return why
		end
		items[#items + 1] = assert(json.decode(text)) -- as it is now: the script may reuse the table
	end
	local function finish(facts)
		display.set { rows = "items" }
		return tables.add({ items = json.array(items) }, facts)
	end
	return { add = add, finish = finish }
end

local function place_of(a)
	if a.framework.output or a.window then
		return kept
	elseif a.format == "jsonl" then
		return lines
	end
	return a.launch.stdout_is_tty and (a.format == "text" or a.format == "table") and growing_table or kept
end

local function heartbeat(a, written)
	if a.format ~= "json" and a.format ~= "jsonl" or a.framework.output and a.format ~= "json" then
		return 0
	end
	return a.framework.heartbeat_ms or a.format == "jsonl" and written and HEARTBEAT_MS or 0
end

-- What each row of a change did, counted for meta.effects; `lacking` is how many don't say.
local function count_effects(a, rows)
	local add, finish, effects = rows.add, rows.finish, {}
	rows.lacking, rows.as_they_are = 0, nil
	function rows.add(row)
		local problem = add(row)
		local effect = type(row.effect) == "string" and (a.dry_run and WOULD[row.effect] or row.effect)
		if not problem and effect then
			effects[effect] = (effects[effect] or 0) + 1
		elseif not problem then
			rows.lacking = rows.lacking + 1
		end
		return problem
	end
	function rows.finish(facts)
		host.send("META", { name = "effects", data = assert(json.encode(effects, { envelope = true })) }, true)
		return finish(facts)
	end
end

local function warn_repairs()
	note(emit.changed())
	if notes.nonfinite + notes.repaired > 0 then
		require("runner.output.delivery").warn_repairs(notes)
	end
end

---Before `run`: tell the supervisor what will come on stdout, and take rows from now on.
---@param a runner.Attempt
---@return runner.Rows? nil: this call has none
function M.open(a)
	local command = a.command
	local streams = command.streams
	if type(streams) == "string" then -- an argument switches it on
		streams = a.parsed.values[streams]
	end
	local place = streams and place_of(a)
	meant = place and command.output_schema and require("runner.output.checked").of_rows(command.output_schema, place ~= kept)
	local rows = place and place(a) or nil
	if rows and command.danger_level ~= "safe" then
		count_effects(a, rows)
	end
	local written = rows and rows.written
	host.send("EMIT", { state = written and (command.rows_may_repeat and "rows_may_repeat" or "rows") or "",
		delay_ms = heartbeat(a, written) }, true)
	if not rows then
		return nil
	end
	a.at_end(function(answer)
		if written or answer.success then
			warn_repairs()
		end
	end)
	if written then
		display.set { output_schema = false } -- the declared one is that of the whole result
	end
	display.then_result(function(data)
		return rows.finish(facts_of(data))
	end)
	return rows
end

return M
