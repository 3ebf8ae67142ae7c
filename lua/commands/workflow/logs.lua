-- runner workflow logs ID [STEP]: what the programs of a run printed, attempt by attempt.

local exit_codes = require "runner.workflow.report.exit_codes"
local host = require "runner.host"
local json = require "runner.json"
local logs = require "runner.workflow.report.logs"
local attempt = require "runner.core.attempt"
local store = require "runner.workflow.store.store"

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

local function row_of(row)
	local record = row.log and logs.read(row.log) or nil
	return {
		step = row.key, attempt = row.number, log = row.log, status = row.status, signal = row.signal,
		code = row.code, message = row.message, missing = not record or nil,
		stdout = record and record.stdout, stderr = record and record.stderr,
	}
end

return {
	description = "Show what the steps of a run printed",
	danger_level = "safe",
	args = {
		{ "id", "string", positional = true, required = true, description = "Of the run, or how it begins" },
		{ "step", "string", positional = true, description = "Only this step" },
		{ "attempt", "integer", min = 1, description = "Only this attempt of it" },
	},
	columns = { "step", "attempt", "code", "log" },
	exit_codes = exit_codes.of_id,
	examples = { { description = "One step", command = "runner workflow logs run_01J build" } },
	run = function(args, ctx)
		local db <close> = store.open { readonly = true }
		local run = db:find(args.id)
		local rows = json.array {}
		for _, row in ipairs(db:attempts(run.id, args.step)) do
			if not args.attempt or row.number == args.attempt then
				rows[#rows + 1] = row_of(row)
			end
		end
		if args.step and not rows[1] then
			ctx:fail("NOT_FOUND", ("Run %s has no attempt %sof a step '%s'"):format(run.id,
				args.attempt and args.attempt .. " " or "", args.step), { suggestion = "runner workflow show " .. run.id })
		end
		attempt.texts.text = host.clean(text_of(rows))
		return rows
	end,
}
