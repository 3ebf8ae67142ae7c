-- environments: what .ci/check-anywhere ran, where, and what came of it. A run writes tests/environments/NAME; the table in
-- docs/reliability.md is made of these files, and tests/proof asks them which tests were executed somewhere.
--
--   lua5.4 .ci/docs/environments.lua record NAME COMMIT SECONDS FOLDER SUITE|FILE…   FOLDER has `said` and `logs`
--   lua5.4 .ci/docs/environments.lua recorded NAME COMMIT    is all of it recorded of this commit, without a failure?
--   lua5.4 .ci/docs/environments.lua list

local tab_rows = dofile ".ci/docs/tab_rows.lua"

local M = {}

local FOLDER = "tests/environments/"

local function lines_of(path)
	local file = io.open(path, "rb")
	local text = file and file:read "a" or ""
	if file then file:close() end
	return text:gmatch "[^\n]+"
end

-- The rows of .ci/environments, in their order.
---@return { name: string, suites: string, says: string }[]
function M.rows()
	local rows = {}
	for i, cells in ipairs(tab_rows.read ".ci/environments") do
		rows[i] = { name = cells[1], suites = cells[4], says = cells[5] }
	end
	return rows
end

-- What is recorded of an environment, or nil: its lines are KEY and VALUE…, with tabs between.
---@return table?
function M.read(name)
	local found = { ran = {}, skips = {}, failures = {} }
	for _, cells in ipairs(tab_rows.read(FOLDER .. name)) do
		local key = table.remove(cells, 1)
		if key == "ran" then
			found.ran[cells[1]] = true
		elseif key == "skip" then
			found.skips[#found.skips + 1] = cells
		elseif key == "failure" then
			found.failures[#found.failures + 1] = cells
		else
			found[key] = math.tointeger(tonumber(cells[1])) or cells[1]
		end
	end
	return found.commit and found or nil
end

local function quoted(text) return "'" .. text:gsub("'", "'\\''") .. "'" end

-- The files of a suite that ran are the heads of its log's parts ("# of FILE"); what has no files is named itself.
local function read_log(path, suite, found)
	local file = suite
	for line in lines_of(path) do
		file = line:match "^# of (.+)$" or file
		found.ran[file] = true
		if line:find "^not ok" and not line:lower():find "# *skip" then
			found.failures[#found.failures + 1] = { file, (line:gsub("^not ok %d*%s*", "")) }
		end
	end
end

-- The counts of the suites are in the last lines that they printed: "NAME N passed N failed N skipped".
local function collect(folder)
	local found = { ran = {}, skips = {}, failures = {}, passed = 0, failed = 0, skipped = 0 }
	local list <close> = assert(io.popen("ls " .. quoted(folder .. "/logs")))
	for name in list:lines() do
		local suite = name:match "^(.+)%.tap$"
		if suite then
			read_log(folder .. "/logs/" .. name, suite, found)
		end
		for line in (name:find "%.skips$" and lines_of(folder .. "/logs/" .. name) or string.gmatch("", "x")) do
			found.skips[#found.skips + 1] = tab_rows.cells(line)
		end
	end
	local ended
	for line in lines_of(folder .. "/said") do
		local passed, failed, skipped = line:match "^[%w-]+ +(%d+) passed +(%d+) failed +(%d+) skipped"
		if passed then
			found.passed, found.failed, found.skipped = found.passed + passed, found.failed + failed, found.skipped + skipped
		end
		ended = ended or line:find "^%d+ passed, %d+ failed, %d+ skipped$"
	end
	if not ended then
		found.failed = found.failed + 1
		found.failures[#found.failures + 1] = { "-", "the run did not end: the last lines of build/anywhere say why" }
	end
	return found
end

local function write(name, head, found)
	local lines = {}
	local function add(...) lines[#lines + 1] = table.concat({ ... }, "\t") end
	for _, key in ipairs { "commit", "date", "words", "passed", "failed", "skipped", "seconds" } do
		add(key, tostring(head[key] or found[key]))
	end
	local first = #lines + 1
	for file in pairs(found.ran) do add("ran", file) end
	for _, cells in ipairs(found.skips) do add("skip", table.unpack(cells)) end
	for _, cells in ipairs(found.failures) do add("failure", table.unpack(cells)) end
	local rest = table.move(lines, first, #lines, 1, {})
	table.sort(rest)
	table.move(rest, 1, #rest, first, lines)
	local file = assert(io.open(FOLDER .. name, "wb"))
	file:write(table.concat(lines, "\n"), "\n")
	file:close()
end

-- Is all that the environment's row names in it?
function M.is_whole(row, found)
	return found ~= nil and found.words == row.suites
end

-- The first environment that no whole run is recorded of, or nil.
---@return string?
function M.incomplete()
	for _, row in ipairs(M.rows()) do
		if not M.is_whole(row, M.read(row.name)) then
			return row.name
		end
	end
end

-- A test that was skipped in one environment: was it executed in another? By "FILE\tTEST" of each that was skipped somewhere.
---@return fun(file: string, test: string): boolean
function M.executed()
	local known = {}
	for _, row in ipairs(M.rows()) do
		local found = M.read(row.name)
		if found then
			local not_run = {}
			for _, cells in ipairs(found.skips) do not_run[cells[2] .. "\t" .. cells[3]] = true end
			known[#known + 1] = { ran = found.ran, not_run = not_run }
		end
	end
	return function(file, test)
		for _, one in ipairs(known) do
			if one.ran[file] and not one.not_run[file .. "\t" .. test] then
				return true
			end
		end
		return false
	end
end

-- How many were skipped of each kind: "3 program, 1 kernel".
local function by_kind(skips)
	local counts, kinds, out = {}, {}, {}
	for _, cells in ipairs(skips) do
		local kind = cells[1]
		kinds[#kinds + 1] = not counts[kind] and kind or nil
		counts[kind] = (counts[kind] or 0) + 1
	end
	table.sort(kinds)
	for i, kind in ipairs(kinds) do out[i] = counts[kind] .. " " .. kind end
	return table.concat(out, ", ")
end

-- Of which suites and files a run was: "all", or "only unit, lua and 40 files".
local function extent(row, found)
	if M.is_whole(row, found) then
		return "whole"
	end
	local suites, files = {}, 0
	for word in found.words:gmatch "%S+" do
		if word:find("/", 1, true) then files = files + 1 else suites[#suites + 1] = word end
	end
	if files > 0 then suites[#suites + 1] = files .. " files" end
	return "**partial**: " .. table.concat(suites, ", ")
end

-- The rows of the page: those of an older commit than the newest say so.
function M.table_rows()
	local newest, rows = "", {}
	for _, row in ipairs(M.rows()) do
		local found = M.read(row.name)
		newest = found and found.date > newest and found.date or newest
	end
	for i, row in ipairs(M.rows()) do
		local found = M.read(row.name)
		if found then
			local day = found.date:sub(1, 10)
			local age = day < newest:sub(1, 10) and ", **older**: " .. day or ""
			rows[i] = { "`" .. row.name .. "`", row.says, extent(row, found), found.commit:sub(1, 7) .. age, found.passed .. "", found.failed .. "",
				found.skipped > 0 and ("%d: %s"):format(found.skipped, by_kind(found.skips)) or "0", found.seconds .. "" }
		else
			rows[i] = { "`" .. row.name .. "`", row.says, "**not run yet**", "", "", "", "", "" }
		end
	end
	return rows
end

function M.kinds()
	local rows = {}
	for i, cells in ipairs(tab_rows.read "tests/skips") do
		rows[i] = { cells[1], cells[3] }
	end
	return rows
end

local verbs = {}

function verbs.record(name, commit, seconds, folder, ...)
	local head = { commit = commit, date = os.date "!%Y-%m-%d %H:%M", words = table.concat({ ... }, " "), seconds = seconds }
	local found = collect(folder)
	write(name, head, found)
	print(("%s: %d passed, %d failed, %d skipped (%s) in %s s"):format(name, found.passed, found.failed, found.skipped,
		by_kind(found.skips), seconds))
	return found.failed == 0
end

function verbs.recorded(name, commit)
	for _, row in ipairs(M.rows()) do
		local found = M.read(row.name)
		if row.name == name and M.is_whole(row, found) and found and found.commit == commit and found.failed == 0 then
			return true
		end
	end
	return false
end

function verbs.list()
	for _, row in ipairs(M.rows()) do
		local found = M.read(row.name)
		local count <close> = assert(io.popen(("git rev-list --count %s..HEAD 2>/dev/null"):format(found and found.commit or "HEAD")))
		local behind = count:read "l" or "?"
		print(found and ("%-15s %5d passed %3d failed %3d skipped  %5d s  %s, %s commits ago, %s"):format(row.name, found.passed, found.failed,
			found.skipped, found.seconds, found.commit:sub(1, 7), behind, extent(row, found)) or ("%-15s not run yet"):format(row.name))
	end
	return true
end

if arg and arg[0] and arg[0]:find "environments%.lua$" then
	os.exit(assert(verbs[arg[1] or ""], "record, recorded or list")(table.unpack(arg, 2)))
end
return M
