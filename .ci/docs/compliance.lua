-- compliance: which tests prove which entry of the CLI Agent Spec: .ci/docs/requirements.lua beside
-- its criteria (tests/criteria/criteria.txt), which have a probe each or name a test, and the bats tests whose names begin with an
-- entry's ID. .ci/docs/generate.lua makes docs/compliance.md of it, and `tests/proof` asks the logs of a test run whether they
-- passed. Both fail on a "done" without a criterion or a test, on a criterion without a probe or a test that exists, and on either
-- of an entry that doesn't exist.

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

local CRITERIA = "tests/criteria/criteria.txt"

---@class runner.Criterion
---@field id string of its entry
---@field says string
---@field calls string[] its probe
---@field holds integer how much must hold of their answers
---@field tests {file: string, begins: string}[] that hold it; a test's name, without IDs, begins so

---@param text? string in the place of the file's
---@return runner.Criterion[]
function M.criteria(text)
	local out, id = {}, nil
	if not text then
		local file <close> = assert(io.open(CRITERIA, "rb"))
		text = file:read "a"
	end
	for line in text:gmatch "[^\n]+" do
		local mark, rest = line:match "^%s*(%S+)%s*(.-)%s*$"
		local last = out[#out]
		if mark and mark:find "^REQ%-%u%-%d%d%d$" then
			id = mark
		elseif mark == "-" and id then
			out[#out + 1] = { id = id, says = rest, calls = {}, holds = 0, tests = {} }
		elseif mark == "$" then
			last.calls[#last.calls + 1] = rest
		elseif mark == "?" then
			last.holds = last.holds + 1
		elseif mark == "=" then
			local file, begins = rest:match "^(%S+): (.+)$"
			last.tests[#last.tests + 1] = { file = file or rest, begins = begins or "" }
		end
	end
	return out
end

---A criterion with a probe as a test that tests/criteria/run.py reports.
---@param criterion runner.Criterion
---@return runner.Proof?
function M.probe(criterion)
	return criterion.calls[1] and { file = CRITERIA, name = ("%s: %s"):format(criterion.id, criterion.says), says = criterion.says } or nil
end

-- The test that one is held by.
local function named(test, proofs)
	for _, proof in ipairs(proofs or {}) do
		if proof.file:match "([^/]+)%.bats$" == test.file and proof.says:sub(1, #test.begins) == test.begins then
			return proof
		end
	end
end

local function wrong_of(criterion, proofs)
	if not criterion.calls[1] and not criterion.tests[1] then
		return "has no probe and names no test"
	elseif criterion.calls[1] and criterion.holds == 0 then
		return "has a probe of which nothing must hold"
	end
	for _, test in ipairs(criterion.tests) do
		if not named(test, proofs[criterion.id]) then
			return ("names a test of its entry that doesn't exist: %s: %s"):format(test.file, test.begins)
		end
	end
end

local function known(status)
	for _, name in ipairs(STATUSES) do
		if name == status then
			return true
		end
	end
	return false
end

local function problem_of(entry, tests, criteria)
	local is_held = entry.status == "done" or entry.status == "departs"
	if not known(entry.status) then
		return ("has the status %q"):format(tostring(entry.status))
	elseif is_held and not tests then
		return "is done or departs, but no test in tests/cli or tests/fault has a name that begins with its ID"
	elseif is_held and not criteria[entry.id] then
		return "is done or departs, but has no criterion in " .. CRITERIA
	elseif entry.status == "missing" and tests then
		return ("is missing, but %s has a test of it: say done or partial"):format(tests[1].file)
	elseif entry.status ~= "done" and entry.status ~= "missing" and not entry.note then
		return "needs a note: what is missing, or why it does not apply"
	end
end

---What is wrong between the table and the tests, one line each.
---@param entries runner.Requirement[]
---@param proofs table<string, runner.Proof[]>
---@param criteria runner.Criterion[]
---@return string[]
function M.problems(entries, proofs, criteria)
	local out, seen, of_entry, said = {}, {}, {}, {}
	for _, criterion in ipairs(criteria) do
		local name = criterion.id .. ": " .. criterion.says
		local problem = said[name] and "stands there twice" or wrong_of(criterion, proofs)
		out[#out + 1] = problem and ("%s: %s: %s"):format(CRITERIA, name, problem) or nil
		of_entry[criterion.id], said[name] = true, true
	end
	for _, entry in ipairs(entries) do
		local problem = seen[entry.id] and "stands there twice" or problem_of(entry, proofs[entry.id], of_entry)
		out[#out + 1] = problem and (".ci/docs/requirements.lua: %s %s"):format(entry.id, problem) or nil
		seen[entry.id] = true
	end
	for id in pairs(of_entry) do
		out[#out + 1] = not seen[id] and ("%s: no entry is named %s"):format(CRITERIA, id) or nil
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

local function link(test)
	return ("[%s](../%s)"):format(test.file:match "([^/]+)%.bats$", test.file)
end

-- Its criteria with their probes, and the tests that no criterion names.
local function proof_cell(entry, criteria, proofs)
	local out, told = {}, {}
	for _, criterion in ipairs(criteria) do
		local by = { criterion.calls[1] and "probe" or nil }
		for _, test in ipairs(criterion.id == entry.id and criterion.tests or {}) do
			local proof = named(test, proofs)
			told[proof], by[#by + 1] = true, link(proof)
		end
		if criterion.id == entry.id then
			out[#out + 1] = ("%s (%s)"):format(cell(criterion.says), table.concat(by, ", "))
		end
	end
	for _, test in ipairs(proofs or {}) do
		out[#out + 1] = not told[test] and ("%s: %s"):format(link(test), cell(test.says)) or nil
	end
	return table.concat(out, "<br>")
end

---How many there are, for the page.
---@return string
function M.count()
	local criteria, probes, calls = M.criteria(), 0, 0
	for _, criterion in ipairs(criteria) do
		probes, calls = probes + (criterion.calls[1] and 1 or 0), calls + #criterion.calls
	end
	return ("%d criteria: %d have a probe, in %d calls; %d are held by a test alone.\n"):format(#criteria, probes, calls, #criteria - probes)
end

---@return string Markdown; raises what M.problems finds
function M.tables()
	local entries, proofs, criteria, lines, section = M.entries(), M.proofs(), M.criteria(), {}, nil
	local problems = M.problems(entries, proofs, criteria)
	if problems[1] then
		error(table.concat(problems, "\n"), 0)
	end
	for _, entry in ipairs(entries) do
		if entry.section ~= section then
			section = entry.section
			lines[#lines + 1] = ("%s### %s\n\n| ID | | what it asks | status | its criteria, and more tests |\n|---|---|---|---|---|"):format(
				lines[1] and "\n" or "", section)
		end
		local status = entry.note and ("%s: %s"):format(entry.status, cell(entry.note)) or entry.status
		lines[#lines + 1] = ("| %s | L%d P%d | %s | %s | %s |"):format(entry.id, entry.level, entry.priority, cell(entry.title),
			status, proof_cell(entry, criteria, proofs[entry.id]))
	end
	return table.concat(lines, "\n") .. "\n"
end

return M
