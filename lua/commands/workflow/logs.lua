-- runner workflow logs ID [STEP]: the output of a run's steps, attempt by attempt.

local exit_codes = require "runner.workflow.report.exit_codes"
local host = require "runner.host"
local json = require "runner.json"
local logs = require "runner.workflow.report.logs"
local attempt = require "runner.core.attempt"
local run_id = require "runner.workflow.report.run_id"
local sorted = require "runner.core.sorted"
local store = require "runner.workflow.store.store"
local suggest = require "runner.core.suggest"

local function text_of(rows)
	local out = {}
	for _, r in ipairs(rows) do
		out[#out + 1] = ("== %s, attempt %d: %s"):format(r.step, r.attempt, r.code and r.code .. ": " .. (r.message or "")
			or r.missing and "no log" or "ok")
		for _, stream in ipairs { "stdout", "stderr" } do
			if r[stream] and r[stream] ~= "" then
				out[#out + 1] = "-- " .. stream
				out[#out + 1] = (r[stream]:gsub("\n$", ""))
			end
		end
	end
	return table.concat(out, "\n") .. "\n"
end

local function row_of(id, row)
	local record = logs.of(id, row)
	return {
		step = row.key, attempt = row.number, log = row.log, status = row.status, signal = row.signal,
		code = row.code, message = row.message, missing = not record or nil,
		stdout = record and record.stdout, stderr = record and record.stderr,
	}
end

-- The step exists and the attempt doesn't, or the step is misspelt.
local function raise_nothing(ctx, db, id, args)
	local keys = {}
	for _, row in ipairs(db:attempts(id)) do
		keys[row.key] = true
	end
	local near = not keys[args.step] and suggest.nearest(args.step, sorted.keys(keys), 1)[1]
	ctx:fail("NOT_FOUND", keys[args.step] and ("Run %s has no attempt %d of step '%s'"):format(id, args.attempt, args.step)
		or ("Run %s has no attempts of a step '%s'"):format(id, args.step),
		{ suggestion = near and ("Did you mean '%s'?"):format(near) or "runner workflow show " .. id })
end

return {
	description = "Show the output of the steps of a run",
	danger_level = "safe",
	args = {
		run_id.argument,
		{ "step", "string", positional = true, description = "Only this step" },
		{ "attempt", "integer", min = 1, description = "Only this attempt of the step" },
	},
	columns = { "step", "attempt", "code", "log" },
	exit_codes = exit_codes.of_id,
	examples = { { description = "Output of one step", command = "runner workflow logs run_01J build" } },
	run = function(args, ctx)
		local db <close> = store.open { readonly = true }
		local run = db:find(args.id)
		local rows = json.array {}
		for _, row in ipairs(db:attempts(run.id, args.step)) do
			if not args.attempt or row.number == args.attempt then
				rows[#rows + 1] = row_of(run.id, row)
			end
		end
		if args.step and not rows[1] then
			raise_nothing(ctx, db, run.id, args)
		end
		attempt.texts.text = host.clean(text_of(rows))
		return rows
	end,
}
