-- reference: what a caller may write in the place of an ID such as run_01J…, the same for runs
-- and jobs: @last, the ID, its beginning or its end. An ID begins with its time, so that runs
-- of the same minutes begin alike; its end is random.

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

return M
