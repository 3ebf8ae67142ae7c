-- conclusions: what is concluded about a chunk that was placed, from what its unit's folder and the
-- queue say: the failure table of docs/scale.md as pure functions. Nothing here asks,
-- waits, or writes.
--
-- Three facts carry all of it. A result of the chunk's own generation is its end, whatever the
-- queue says. A held fence means that something of the chunk still lives, so it isn't placed
-- again. And "unknown" is believed only from a queue that answered, several times.

local M = {}

M.MISSES = 4 -- polls without a sign of life that prove a loss
M.FAILURES = 5 -- losses of one chunk in a row, then it fails
M.BUSY = 100 -- submissions in a row that a queue without anything of ours was too busy for: more than an hour
M.NOT_TAKEN = 10 -- the same, that failed in a way of which nothing is known: minutes
M.SILENCE_MS = 24 * 3600 * 1000 -- how long a queue may not answer
local BACKOFF_MS, BACKOFF_MAX_MS = 1000, 60000

---@class runner.workflow.Seen what is known of a placed chunk at one poll
---@field result? {generation: integer, state: string} K.result, if it can be read
---@field generation integer the chunk's own
---@field fence "free"|"held"|"unknown" unknown: its folder couldn't be looked at
---@field known? boolean of its placement; nil: the queue couldn't be asked, or a submission is in doubt
---@field task? {state: "pending"|"running"|"ended"|"unknown", ended?: string, reason?: string, why?: string}
---@field misses integer polls in a row, before this one, that showed no sign of life
---@field needed integer misses that prove a loss

---@class runner.workflow.Answer what a queue says of a token; nil: it knows none
---@field job? string
---@field tasks table<integer, table> those that it lists
---@field rest? table what it says of all others together
---@field unsure? true it has said nothing that could be read: it may know the token, or not

---What a queue says of a placement and of one of its tasks.
---@param answers? table<string, runner.workflow.Answer> nil: it couldn't be asked
---@param token string
---@param task integer
---@return boolean? known nil: it isn't sure
---@return table? of_task
function M.said(answers, token, task)
	local answer = answers and answers[token]
	if not answers or answer and answer.unsure then
		return nil
	end
	return answer ~= nil, answer and (answer.tasks[task] or answer.rest)
end

---@alias runner.workflow.Verdict "import"|"running"|"wait"|"miss"|"lost"|"memory"|"again"|"cancelled"
--- import: it has a result; running: it lives; wait: nothing can be concluded; miss: no sign of life,
--- ask again; the others: it is proven to be over without a result

-- How a task that the queue calls ended is treated once nothing of it lives.
local ENDED = {
	out_of_memory = "memory",
	cancelled = "cancelled",
	node_failed = "lost", timeout = "again", preempted = "again", boot_failed = "again",
	completed = "lost", failed = "lost",
}

---@param seen runner.workflow.Seen
---@return runner.workflow.Verdict
function M.verdict(seen)
	local task = seen.task
	if seen.result and seen.result.generation == seen.generation then
		return "import"
	elseif seen.fence == "held" then
		return "running"
	elseif seen.known == nil or seen.fence == "unknown" then
		return "wait"
	elseif task and task.state ~= "ended" then
		return task.state == "running" and "running" or "wait"
	elseif seen.misses + 1 < seen.needed then
		return "miss"
	end
	return task and ENDED[task.ended] or "lost"
end

-- Why, in words.
local WORDS = {
	lost = "it ended without a result",
	memory = "it ran out of memory",
	cancelled = "somebody cancelled it in the queue",
}
local AGAIN = { timeout = "the executor ended it at its time limit", preempted = "it was preempted",
	boot_failed = "its node could not start it", node_failed = "its node failed" }

---What happened to a chunk that is over without a result, for people.
---@param verdict runner.workflow.Verdict
---@param seen runner.workflow.Seen
---@return string
function M.words(verdict, seen)
	local ended = seen.task and seen.task.ended
	return AGAIN[ended] or verdict == "lost" and seen.known == false and "the executor does not know it any more"
		or WORDS[verdict] or "it ended"
end

---How long to wait before a placement that follows this many failures.
---@param failures integer from 1
---@return integer ms
function M.backoff(failures)
	return math.min(BACKOFF_MS << math.min(failures - 1, 16), BACKOFF_MAX_MS)
end

---@class runner.workflow.Next what becomes of a chunk
---@field state "planned"|"failed"
---@field memory integer
---@field failures integer
---@field wait_ms? integer before it is placed again
---@field code? string of a failure
---@field transient? boolean

-- More memory, as long as there is more.
local function after_memory(chunk, sizes)
	if chunk.memory < sizes then
		return { state = "planned", memory = chunk.memory + 1, failures = chunk.failures }
	end
	return { state = "failed", memory = chunk.memory, failures = chunk.failures, code = "RESOURCE_EXHAUSTED", transient = false }
end

---What becomes of a chunk that is over without a result.
---@param verdict "lost"|"memory"|"again"|"cancelled"
---@param chunk {memory: integer, failures: integer}
---@param sizes integer how many sizes of memory its executor has
---@param times? integer of a task that a time limit ended: how many there are
---@return runner.workflow.Next
function M.after(verdict, chunk, sizes, times)
	if verdict == "memory" then
		return after_memory(chunk, sizes)
	elseif times and chunk.memory < times then
		return { state = "planned", memory = chunk.memory + 1, failures = chunk.failures }
	end
	local failures = chunk.failures + 1
	if verdict == "cancelled" or failures > M.FAILURES then
		return { state = "failed", memory = chunk.memory, failures = failures, code = "UNAVAILABLE", transient = true }
	end
	return { state = "planned", memory = chunk.memory, failures = failures, wait_ms = M.backoff(failures) }
end

---What to do with a placement whose submission has an answer, or none.
---@param answer {job: string?, kind: string?} kind: of a failure
---@return "submitted"|"refused"|"later"|"look" later: submit the same token again; look: look it up first
function M.submitted(answer)
	if not answer.kind then
		return "submitted"
	elseif answer.kind == "refused" then
		return "refused"
	end
	return answer.kind == "busy" and "later" or "look"
end

---What a look-up says about a placement that may or may not have arrived.
---@param known boolean? nil: the queue couldn't be asked
---@param nones integer answers "unknown" before this one, in a row
---@param needed integer
---@return "submitted"|"later"|"look"
function M.looked_up(known, nones, needed)
	if known then
		return "submitted"
	elseif known == false and nones + 1 >= needed then
		return "later"
	end
	return "look"
end

return M
