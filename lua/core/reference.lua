-- reference: what a caller may write in the place of an ID such as run_01J…, the same for runs
-- and jobs: @last, the ID, its beginning or its end. An ID begins with its time, so that runs
-- of the same minutes begin alike; its end is random. And what the key of a step of a workflow says.

local M = {}

---The newest of all.
M.LAST = "@last"

---Characters of an end of an ID: a shorter one is none.
M.LEAST_END = 4

local SHORT = 8 -- characters, of 5 random bits each

---For an argument that names a run or a job: no path, no URL, nothing that is escaped in one.
M.PATTERN = "^[^/?#%.\\x00-\\x20\\x7f][^/?#%\\x00-\\x1f\\x7f]*$"

---The name of a run or a job that people read and type: the end of its ID.
---@param id string
---@return string
function M.short(id)
	return id:sub(-SHORT)
end

---Does an ID begin or end so? Case is ignored, and so is what stands in front of its "_".
---@param id string
---@param text string not empty
---@return boolean
function M.matches(id, text)
	id, text = id:lower(), text:lower()
	local bare = id:match "_(.*)$" or id
	return id:sub(1, #text) == text or bare:sub(1, #text) == text or #text >= M.LEAST_END and id:sub(-#text) == text
end

---A call of ours that somebody else can make about a record of this one: in the same instance, which their environment may not name.
---@param words string
---@return string
function M.call(words)
	local id = os.getenv "RUNNER_INSTANCE_ID"
	return ("runner %s%s"):format(id and id:find "^%w[%w_-]*$" and ("--instance-id %s "):format(id) or "", words)
end

-- What the key of a step of a workflow says (docs/workflows/steps.md): which steps it is inside, and at its end the
-- rounds that it ran in, such as @2 or @2@1 (lua/workflow/run/resumed_results.lua writes them).

---@param key string
---@return string base the key in the first round
---@return string rounds "" in the first one
function M.split(key)
	local base = key:gsub("@[@%d]+$", "")
	return base, key:sub(#base + 1)
end

---The key in the first round, with [*] for the items of loops.
---@param key string
---@return string
function M.static(key)
	return (M.split(key):gsub("%[%d+%]", "[*]"):gsub("@[%d@]+", ""))
end

---What tells of another key whether it is this one, or that of a step inside it in any of its rounds.
---@param key string
---@return fun(other: string): boolean
function M.holder(key)
	local base = M.split(key)
	return function(other)
		return other == key or other:sub(1, #base) == base and other:find("^[.%[@]", #base + 1) ~= nil
	end
end

return M
