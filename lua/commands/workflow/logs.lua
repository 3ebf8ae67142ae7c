-- runner workflow logs ID [STEP]: the output of a run's steps, attempt by attempt.

local answer = require "runner.workflow.report.answer"
local run_rows = require "runner.workflow.report.run_rows"
local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local errors = require "runner.core.errors"
local host = require "runner.host"
local json = require "runner.json"
local output_lines = require "runner.workflow.run.output_lines"
local report = require "runner.workflow.report.report"
local store = require "runner.workflow.store.store"
local suggest = require "runner.core.suggest"

local KEPT = 8 << 20 -- bytes of rows that an answer holds, if they do not go out at once
local SHOWN = 5 -- candidates

-- "… 200 of 5000 attempts; to see more: …"
local function left_out(id, page)
	local command = ("runner workflow logs %s"):format(id)
	return ("… %d of %d attempts; to see others: %s --steps all, %s --cursor %s"):format(page.returned, page.total, command,
		command, page.next_cursor)
end

-- Of a claude program what its events say, unless --raw asks for them.
local function text_of_stream(text, stream)
	return stream == "stdout" and not attempt.parsed.values.raw and output_lines.of_claude(text) or (text:gsub("\n$", ""))
end

-- What an attempt prints while it runs; of several steps, each line says whose it is.
local function piece_text(r)
	local whose = attempt.parsed.values.step and "" or r.step .. ": "
	return host.clean((text_of_stream(r.text, r.stream):gsub("[^\n]*", function(line)
		return whose .. line
	end)))
end

local function row_text(r)
	if r.stream then
		return piece_text(r)
	end
	local out = { ("== %s, attempt %d: %s"):format(r.step, r.attempt, r.code and r.code .. ": " .. (r.message or "")
		or r.missing and "no log" or r.partial and "not over" or "ok") }
	for _, stream in ipairs { "stdout", "stderr" } do
		if r[stream] and r[stream] ~= "" then
			out[#out + 1] = "-- " .. stream
			out[#out + 1] = text_of_stream(r[stream], stream)
		end
	end
	return host.clean(table.concat(out, "\n"))
end

local function text_of(id, rows, page)
	local out = {}
	for i, row in ipairs(rows) do
		out[i] = row_text(row)
	end
	out[#out + 1] = page.has_more and left_out(id, page) or nil
	return table.concat(out, "\n") .. "\n"
end

-- --- which step ----------------------------------------------------------------------------

local function raise_several(id, text, found)
	local shown = table.move(found, 1, math.min(#found, SHOWN), 1, {})
	shown[#shown + 1] = found[SHOWN + 1] and "…"
	errors.raise("CONFLICT", ("Ambiguous step '%s' of run %s: %s"):format(text, id, table.concat(shown, ", ")),
		{ suggestion = "Give the whole key of the step", context = { run = id, steps = json.array(shown) } })
end

-- The key of the step with this name: the whole key, or the end of one after a dot.
local function step_of(db, id, text)
	local keys, found = db:attempted_steps(id), {}
	for _, key in ipairs(keys) do
		if key == text then
			return key
		end
		found[#found + 1] = key:sub(-#text - 1) == "." .. text and key or nil
	end
	if #found > 1 then
		raise_several(id, text, found)
	end
	return found[1] or text, keys
end

-- Unless --steps leaves it out, the step exists and the attempt doesn't, or the step is misspelt.
local function find_step(db, id, args)
	local key, keys = step_of(db, id, args.step)
	local attempts = db:attempts(id, key)
	if attempts[args.attempt or 1] then
		return key
	end
	local near = not attempts[1] and suggest.nearest(args.step, keys, 1)[1]
	errors.raise("NOT_FOUND", attempts[1] and ("Run %s has no attempt %d of step '%s'"):format(id, args.attempt, key)
		or ("Run %s has no attempts of a step '%s'"):format(id, key),
		{ suggestion = near and ("Did you mean '%s'?"):format(near) or "runner workflow show " .. id })
end

-- --- following -------------------------------------------------------------------------------

-- An answer that comes at the end has room for so much: of later attempts it has no output.
local function bounded(emit)
	local left = attempt.rows.written and math.huge or KEPT
	return function(row, seen)
		if seen and attempt.format == "text" then
			row.stdout, row.stderr = nil, nil
		end
		left = left - #(row.stdout or "") - #(row.stderr or "")
		if left < 0 then
			row.stdout, row.stderr, row.stdout_bytes, row.stderr_bytes = nil, nil, #(row.stdout or ""), #(row.stderr or "")
		end
		emit(row)
	end
end

-- A step that has not started yet may be followed, by its whole key.
local function step_to_follow(db, id, args)
	local run = report.settled(db, db:list { id = id }[1])
	return run.state == "running" and (step_of(db, id, args.step)) or find_step(db, id, args)
end

local function follow(ctx, db, id, args)
	local rows, choice = {}, args.steps or "all"
	require("runner.workflow.report.live").attempts(db, id, { choice = choice, attempt = args.attempt,
		partial = attempt.rows.written and choice == "all",
		step = args.step and step_to_follow(db, id, args) }, bounded(function(row)
		rows[#rows + 1] = attempt.format == "text" and not attempt.rows.written and row or nil
		ctx:emit(row)
	end))
	display.set { text = rows[1] and text_of(id, rows, {}) or nil }
	return { run = id, state = report.settled(db, db:list { id = id }[1]).state }
end

return {
	timeout = "none",
	streams = "follow",
	args = {
		answer.run,
		{ "step", "string", positional = true, description = "Only this step: its key, or the last part of it" },
		{ "follow", "boolean", short = "f", description = "Follow the run until it ends: lines as they are printed, and each attempt" },
		{ "raw", "boolean", description = "In text, the events of claude programs as they are, and not what they say" },
		{ "attempt", "integer", min = 1, description = "Only this attempt of the step" },
		answer.steps,
		{ "limit", "integer", min = 0, max = 1000000, description = "At most this many attempts; default 200, 0: as many as an answer holds" },
		answer.cursor,
	},
	columns = { "step", "attempt", "code", "log" },
	exit_codes = answer.id_codes,
	rows = true,
	examples = {
		{ description = "Output of one step", command = "runner workflow logs run_01J build" },
		{ description = "Watch the newest run", command = "runner workflow logs @last --follow" },
	},
	validate = function(args)
		display.set { row = row_text }
		if args.follow and (args.cursor or args.limit) then
			return { { field = "follow", code = "CONFLICTING_VALUES", message = "--follow has no pages: leave --cursor and --limit out",
				suggestion = "Leave --follow out to see pages" } }
		end
		return answer.problems(args, true)
	end,
	run = function(args, ctx)
		local db <close> = store.open { readonly = true }
		local id = db:resolve(args.id)
		if args.follow then
			return follow(ctx, db, id, args)
		end
		args.step = args.step and find_step(db, id, args)
		local rows, page = db:snapshot(run_rows.attempts, db, id, args)
		answer.send(page, args)
		display.set { text = attempt.format == "text" and text_of(id, rows, page) or nil }
		return rows
	end,
}
