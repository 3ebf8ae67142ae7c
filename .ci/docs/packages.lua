-- packages: what .ci/check-packages did with each package, in which system, and what came of it. A row is written into
-- tests/packages/results when it ends; the table in docs/packages.md is made of them.
--
--   lua5.4 .ci/docs/packages.lua record NAME COMMIT SECONDS FILE STATUS   FILE has the lines of tests/packages/used

local tab_rows = dofile ".ci/docs/tab_rows.lua"

local M = {}

local RESULTS = "tests/packages/results"
local HEAD = "# What .ci/check-packages recorded: NAME, COMMIT, SECONDS, STEP, OUTCOME and why, with tabs between.\n"
local STEPS = { "install", "upgrade", "hello", "deploy", "rollback", "workflow", "add", "completion", "doctor", "remove" }

-- The steps that one row took, by name: { "yes" | "says so" | "no", why }.
local function recorded()
	local rows = {}
	for _, cells in ipairs(tab_rows.read(RESULTS)) do
		local row = rows[cells[1]] or { commit = cells[2], seconds = cells[3], steps = {} }
		rows[cells[1]] = row
		row.steps[cells[4]] = { cells[5], cells[6] }
	end
	return rows
end

function M.head()
	local head = { "package, and where" }
	for _, step in ipairs(STEPS) do head[#head + 1] = step end
	return table.move({ "commit", "seconds" }, 1, 2, #head + 1, head)
end

-- A failed step is bold. Where something is missing, the cell has what the step says of it.
function M.table_rows()
	local rows, known = {}, recorded()
	for i, cells in ipairs(tab_rows.read ".ci/packages") do
		local found = known[cells[1]]
		local row = { cells[6] }
		for _, step in ipairs(STEPS) do
			local got = found and found.steps[step]
			row[#row + 1] = not got and "" or got[1] == "yes" and "yes" or got[1] == "no" and "**no**" or got[2]
		end
		row[#row + 1] = found and found.commit:sub(1, 7) or "**not run yet**"
		row[#row + 1] = found and found.seconds or ""
		rows[i] = row
	end
	return rows
end

-- The row's lines take the place of those that it had; the rest stays as it is.
local function record(name, commit, seconds, path, status)
	local lines, steps, failed = {}, tab_rows.read(path), tonumber(status) ~= 0
	if failed and #steps == 0 then
		steps = { { "install", "no", "build/packages/said/" .. name .. " says why" } }
	end
	for _, cells in ipairs(tab_rows.read(RESULTS)) do
		lines[#lines + 1] = cells[1] ~= name and table.concat(cells, "\t") or nil
	end
	local done = {}
	for _, step in ipairs(steps) do
		lines[#lines + 1] = table.concat({ name, commit, seconds, step[1], step[2], step[3] or "" }, "\t")
		done[#done + 1] = step[1] .. ": " .. step[2] .. (step[2] ~= "yes" and " (" .. (step[3] or "") .. ")" or "")
		failed = failed or step[2] == "no"
	end
	table.sort(lines)
	local file = assert(io.open(RESULTS, "wb"))
	file:write(HEAD, table.concat(lines, "\n"), "\n")
	file:close()
	print(("%s, %s s: %s"):format(name, seconds, table.concat(done, ", ")))
	return not failed
end

if arg and arg[0] and arg[0]:find "packages%.lua$" then
	assert(arg[1] == "record", "record")
	os.exit(record(table.unpack(arg, 2)))
end
return M
