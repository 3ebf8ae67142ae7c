-- compliance: which tests prove which entry of the CLI Agent Spec: .ci/docs/requirements.lua beside
-- the bats tests whose names begin with an entry's ID. .ci/docs/generate.lua makes docs/compliance.md
-- of it, and `tests/proof` asks the logs of a test run whether they passed. Both fail on a "done"
-- without a test and on a test of an entry that doesn't exist.

local M = {}

local STATUSES = { "done", "departs", "partial", "missing", "n/a" }

---@class runner.Requirement
---@field id string "REQ-F-003"
---@field level integer 1 to 3
---@field priority integer 0 to 3
---@field title string
---@field status string
---@field note? string
---@field section string

---@return runner.Requirement[] in the order of the table
function M.entries()
	local out = {}
	for _, section in ipairs(dofile ".ci/docs/requirements.lua") do
		for i = 2, #section do
			local id, level, priority, title, status, note = table.unpack(section[i])
			out[#out + 1] = { id = id, level = level, priority = priority, title = title, status = status, note = note,
				section = section[1] }
		end
	end
	return out
end

-- "REQ-F-013 REQ-F-069: TERM and INT …" → the IDs, "TERM and INT …"
local function ids_of(name)
	local ids, rest = {}, name
	while true do
		local id, after = rest:match "^(REQ%-%u%-%d%d%d):?%s+(.*)$"
		if not id then
			return ids, rest
		end
		ids[#ids + 1], rest = id, after
	end
end

---@class runner.Proof
---@field file string "tests/cli/lists.bats"
---@field name string the test's name
---@field says string the name without IDs

---@return table<string, runner.Proof[]> by ID
function M.proofs()
	local out = {}
	local list <close> = assert(io.popen "ls tests/cli/*.bats tests/fault/*.bats")
	for file in list:lines() do
		for line in io.lines(file) do
			local name = line:match '^@test "(REQ%-.*)" {$'
			local ids, says = ids_of(name or "")
			for _, id in ipairs(ids) do
				out[id] = out[id] or {}
				table.insert(out[id], { file = file, name = name:gsub('\\(["\\$`])', "%1"), says = says:gsub('\\(["\\$`])', "%1") })
			end
		end
	end
	return out
end

local function known(status)
	for _, name in ipairs(STATUSES) do
		if name == status then
			return true
		end
	end
	return false
end

local function problem_of(entry, tests)
	if not known(entry.status) then
		return ("has the status %q"):format(tostring(entry.status))
	elseif (entry.status == "done" or entry.status == "departs") and not tests then
		return "is done or departs, but no test in tests/cli or tests/fault has a name that begins with its ID"
	elseif entry.status == "missing" and tests then
		return ("is missing, but %s has a test of it: say done or partial"):format(tests[1].file)
	elseif entry.status ~= "done" and entry.status ~= "missing" and not entry.note then
		return "needs a note: what is missing, or why it does not apply"
	end
end

---What is wrong between the table and the tests, one line each.
---@param entries runner.Requirement[]
---@param proofs table<string, runner.Proof[]>
---@return string[]
function M.problems(entries, proofs)
	local out, seen = {}, {}
	for _, entry in ipairs(entries) do
		local problem = seen[entry.id] and "stands there twice" or problem_of(entry, proofs[entry.id])
		out[#out + 1] = problem and (".ci/docs/requirements.lua: %s %s"):format(entry.id, problem) or nil
		seen[entry.id] = true
	end
	for id, tests in pairs(proofs) do
		out[#out + 1] = not seen[id] and ("%s: no entry is named %s: %s"):format(tests[1].file, id, tests[1].name) or nil
	end
	table.sort(out)
	return out
end

-- --- the page --------------------------------------------------------------------------------

local GROUPS = {
	{ "Level 1", function(e) return e.level == 1 end },
	{ "Level 2", function(e) return e.level <= 2 end },
	{ "Level 3, P1", function(e) return e.level == 3 and e.priority == 1 end },
	{ "Level 3, P2 and P3", function(e) return e.level == 3 and e.priority > 1 end },
	{ "all", function() return true end },
}

local function count(entries, belongs)
	local n = { all = 0 }
	for _, entry in ipairs(entries) do
		if belongs(entry) then
			n.all, n[entry.status] = n.all + 1, (n[entry.status] or 0) + 1
		end
	end
	return n
end

---@return string Markdown
function M.summary()
	local lines = { "| | entries | " .. table.concat(STATUSES, " | ") .. " |", ("|---"):rep(#STATUSES + 2) .. "|" }
	local entries = M.entries()
	for _, group in ipairs(GROUPS) do
		local n, cells = count(entries, group[2]), {}
		for i, status in ipairs(STATUSES) do
			cells[i] = n[status] or 0
		end
		lines[#lines + 1] = ("| %s | %d | %s |"):format(group[1], n.all, table.concat(cells, " | "))
	end
	return table.concat(lines, "\n") .. "\n"
end

local function cell(text)
	return (text:gsub("|", "\\|"):gsub("<", "&lt;"))
end

local function proof_cell(tests)
	local out = {}
	for i, test in ipairs(tests or {}) do
		local short = test.file:match "([^/]+)%.bats$"
		out[i] = ("[%s](../%s): %s"):format(short, test.file, cell(test.says))
	end
	return table.concat(out, "<br>")
end

---@return string Markdown; raises what M.problems finds
function M.tables()
	local entries, proofs, lines, section = M.entries(), M.proofs(), {}, nil
	local problems = M.problems(entries, proofs)
	if problems[1] then
		error(table.concat(problems, "\n"), 0)
	end
	for _, entry in ipairs(entries) do
		if entry.section ~= section then
			section = entry.section
			lines[#lines + 1] = ("%s### %s\n\n| ID | | what it asks | status | tests |\n|---|---|---|---|---|"):format(
				lines[1] and "\n" or "", section)
		end
		local status = entry.note and ("%s: %s"):format(entry.status, cell(entry.note)) or entry.status
		lines[#lines + 1] = ("| %s | L%d P%d | %s | %s | %s |"):format(entry.id, entry.level, entry.priority, cell(entry.title),
			status, proof_cell(proofs[entry.id]))
	end
	return table.concat(lines, "\n") .. "\n"
end

return M
