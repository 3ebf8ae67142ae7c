-- runner workflow logs ID [STEP]: the output of a run's steps, attempt by attempt.

local answer = require "runner.workflow.report.answer"
local attempt_rows = require "runner.workflow.report.attempt_rows"
local exit_codes = require "runner.workflow.report.exit_codes"
local host = require "runner.host"
local attempt = require "runner.core.attempt"
local run_id = require "runner.workflow.report.run_id"
local store = require "runner.workflow.store.store"
local suggest = require "runner.core.suggest"

-- "… 200 of 5000 attempts; to see more: …"
local function left_out(id, page)
	local command = ("runner workflow logs %s"):format(id)
	return ("… %d of %d attempts; to see others: %s --steps all, %s --cursor %s"):format(page.returned, page.total, command,
		command, page.next_cursor)
end

local function text_of(id, rows, page)
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
	out[#out + 1] = page.has_more and left_out(id, page) or nil
	return table.concat(out, "\n") .. "\n"
end

-- Unless --steps leaves it out, the step exists and the attempt doesn't, or the step is misspelt.
local function check_step(ctx, db, id, args)
	local attempts = db:attempts(id, args.step)
	if attempts[args.attempt or 1] then
		return
	end
	local near = not attempts[1] and suggest.nearest(args.step, db:attempted_steps(id), 1)[1]
	ctx:fail("NOT_FOUND", attempts[1] and ("Run %s has no attempt %d of step '%s'"):format(id, args.attempt, args.step)
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
		answer.arguments[1],
		{ "limit", "integer", min = 0, max = 1000000, description = "At most this many attempts; default 200, 0: as many as an answer holds" },
		answer.cursor,
	},
	columns = { "step", "attempt", "code", "log" },
	exit_codes = exit_codes.of_id,
	examples = { { description = "Output of one step", command = "runner workflow logs run_01J build" } },
	validate = function(args)
		return answer.problems(args, true)
	end,
	run = function(args, ctx)
		local db <close> = store.open { readonly = true }
		local id = db:find(args.id).id
		if args.step then
			check_step(ctx, db, id, args)
		end
		local rows, page = db:snapshot(attempt_rows.page, db, id, args)
		answer.send(page, args)
		attempt.texts.text = attempt.format == "text" and host.clean(text_of(id, rows, page)) or nil
		return rows
	end,
}
