-- What squeue prints of arrays whose tasks are running, limited, held, suspended, cancelled, and what is made of it. The records of 22.05
-- were made by a real controller (Debian 12, MaxArraySize 1001) with the question that runner asks; they are cut where lines repeat. Newer
-- releases were not run: _print_job_job_id and _print_job_from_format (src/squeue/print.c) are word for word the same up to 26.11, so that
-- their records differ only in states (job_state_string, src/common/slurm_protocol_defs.c) and in reasons.

local slurm = require "runner.workflow.executors.slurm"
local conclusions = require "runner.workflow.executors.conclusions"

-- What each of six tasks is, in a letter; ! after it: the answer has a line that can't be read.
local LETTERS = { running = "r", pending = "p", ended = "e", unknown = "?" }

local function letters(text, token)
	local states, line = slurm.states(text, { token or "rn-a.1", "rn-other.1" })
	local out = {}
	for task = 1, 6 do
		local known, of_task = conclusions.said(states, token or "rn-a.1", task)
		out[task] = known == nil and "." or not known and "-" or of_task and LETTERS[of_task.state] or "0"
	end
	return table.concat(out) .. (line and "!" or ""), states
end

local RECORDS = { -- what was done, what squeue printed, what it says of tasks 1 to 6
	{ "22.05: a limit, and 2 that run", "prrppp", [[
1_1|rn-a.1|PENDING|JobArrayTaskLimit|
1_4|rn-a.1|PENDING|JobArrayTaskLimit|
1_5|rn-a.1|PENDING|JobArrayTaskLimit|
1_6|rn-a.1|PENDING|JobArrayTaskLimit|
1_2|rn-a.1|RUNNING|None|n1
1_3|rn-a.1|RUNNING|None|n2
]] },
	{ "22.05: the same, right after scancel", "rrreee", [[
1|rn-a.1|CANCELLED|JobArrayTaskLimit|
1_1|rn-a.1|COMPLETING|None|n1
1_2|rn-a.1|COMPLETING|None|n1
1_3|rn-a.1|COMPLETING|None|n2
]] },
	{ "22.05: the same, until MinJobAge is over", "eeeeee", [[
1|rn-a.1|CANCELLED|JobArrayTaskLimit|
1_1|rn-a.1|CANCELLED|None|n1
1_2|rn-a.1|CANCELLED|None|n1
1_3|rn-a.1|CANCELLED|None|n2
]] },
	{ "22.05: held", "ppppp0", [[
5_1|rn-a.1|PENDING|JobHeldUser|
5_2|rn-a.1|PENDING|JobHeldUser|
5_3|rn-a.1|PENDING|JobHeldUser|
5_4|rn-a.1|PENDING|JobHeldUser|
5_5|rn-a.1|PENDING|JobHeldUser|
]] },
	{ "22.05: held, then cancelled", "eeeeee", "5|rn-a.1|CANCELLED|JobHeldUser|\n" },
	{ "22.05: one of two suspended", "rrpppp", [[
6_3|rn-a.1|PENDING|Resources|
6_4|rn-a.1|PENDING|Resources|
6_5|rn-a.1|PENDING|Resources|
6_6|rn-a.1|PENDING|Resources|
6_2|rn-a.1|RUNNING|None|n1
6_1|rn-a.1|SUSPENDED|None|n1
]] },
	{ "22.05: the same, right after scancel", "reeeee", [[
6|rn-a.1|CANCELLED|Resources|
6_2|rn-a.1|CANCELLED|None|n1
6_1|rn-a.1|COMPLETING|None|n1
]] },
	{ "22.05: an array of one, cancelled before it ran", "eeeeee", "11|rn-a.1|CANCELLED|None|\n" },
	{ "22.05: every second one cancelled while held, then all", "e0e0e0", [[
13_1|rn-a.1|CANCELLED|JobHeldUser|
13_3|rn-a.1|CANCELLED|JobHeldUser|
13_5|rn-a.1|CANCELLED|JobHeldUser|
]] },
	{ "26.11, by its source: a state that 22.05 has not", "r?0000", [[
7_1|rn-a.1|EXPEDITING|None|
7_2|rn-a.1|SOMETHING_NEW|None|n1
]] },
	{ "any: a reason of several words, and with a bar in it", "pp0000", [[
7_1|rn-a.1|PENDING|launch failed requeued held|
7_2|rn-a.1|PENDING|a | b|
]] },
	{ "any: a heterogeneous job of the same name", "......!", "8+0|rn-a.1|RUNNING|None|n1\n" },
	{ "any, without --array", "r?????!", "9_1|rn-a.1|RUNNING|None|n1\n9_[2-6%3]|rn-a.1|PENDING|JobArrayTaskLimit|\n" },
}

describe("what squeue prints", function()
	for _, record in ipairs(RECORDS) do
		local what, expected, text = table.unpack(record)
		it("is read: " .. what, function()
			local found, states = letters(text)
			assert.equal(expected, found)
			assert.same({ false }, { conclusions.said(states, "rn-other.1", 1) })
		end)
	end

	it("of one token annuls nothing that it says of others", function()
		for _, line in ipairs {
			"3_[1-2]|rn-b.1|PENDING|x|", "3|rn-b.1|WHATEVER|x|", "3_x|rn-b.1|RUNNING|None|n1", "|rn-b.1|", "3_1|rn-b.1|RUNNING",
		} do
			for _, order in ipairs { "1_1|rn-a.1|RUNNING|None|n1\n%s\n", "%s\n1_1|rn-a.1|RUNNING|None|n1\n" } do
				local states = slurm.states(order:format(line), { "rn-a.1", "rn-b.1", "rn-c.1" })
				assert.equal("running", states["rn-a.1"].tasks[1].state)
				assert.is_nil(states["rn-a.1"].rest)
				assert.is_false((conclusions.said(states, "rn-c.1", 1)))
				local known, task = conclusions.said(states, "rn-b.1", 1)
				assert.is_true(known == nil or task.state == "unknown", line)
			end
		end
	end)

	it("and names nobody leaves open what it doesn't list, and nothing else", function()
		for _, line in ipairs { "CLUSTER: east\n", "slurm_load_jobs error: x\n", "\n", "1_2|rn-", "1_2|rn-a.1|RUNN", "9_9|other|RUNNING" } do
			assert.equal("e?????!", (letters("1_1|rn-a.1|FAILED|NonZeroExitCode|n1\n" .. line)))
			assert.equal("......!", (letters(line)))
		end
	end)

	-- A line that is missing as a whole leaves no trace; everything else does.
	it("cut anywhere, or with noise anywhere in it, ends no task that lives", function()
		for _, record in ipairs(RECORDS) do
			local whole = letters(record[3])
			local function check(text, what)
				local found = letters(text)
				for task = 1, 6 do
					assert.is_true(not whole:sub(task, task):find "[rp?]" or not found:sub(task, task):find "[e0-]",
						("%s: %s: %s"):format(record[1], what, found))
				end
			end
			for at = 0, #record[3] do
				for _, noise in ipairs { "\n", "x\n", "|\n", "1_1|rn-z.1|RUNNING|None|n1\n", "\0" } do
					check(record[3]:sub(1, at) .. noise .. record[3]:sub(at + 1), ("%q at %d"):format(noise, at))
				end
				if at > 0 and record[3]:sub(at, at) ~= "\n" then
					check(record[3]:sub(1, at), "cut at " .. at)
				end
			end
		end
	end)
end)
