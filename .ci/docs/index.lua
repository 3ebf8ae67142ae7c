-- index: the two lists of names that stand in the sources of lua/declare so that a call needn't load the rows: the spellings
-- of runner's own flags in arguments.lua, and in contract.lua the subject of each rare flag and key. Part of
-- .ci/docs/generate.lua.

local M = {}

local COLUMNS = 140

local subjects = {} ---@type {name: string, module: runner.Subject}[]

local function load_subjects()
	if not subjects[1] then
		local list <close> = assert(io.popen "ls lua/declare/contract/*.lua")
		for path in list:lines() do
			local name = path:match "([%w_]+)%.lua$"
			subjects[#subjects + 1] = { name = name, module = require("runner.declare.contract." .. name) }
		end
	end
	return subjects
end

---@return string
function M.spellings()
	local names, lines = {}, { 'local OURS = "' }
	for i, row in ipairs(require("runner.declare.flags").rows) do
		names[i] = row.flag
	end
	table.sort(names)
	for _, name in ipairs(names) do
		if #lines[#lines] + #name + 6 > COLUMNS then
			lines[#lines], lines[#lines + 1] = lines[#lines] .. '"', '\t.. "'
		end
		lines[#lines] = lines[#lines] .. " " .. name
	end
	return table.concat(lines, "\n") .. ' "\n'
end

-- The names that the list has so far, each with its subject, where that still has it.
local function listed(text, rows)
	local out = {}
	for subject, names in text:gmatch "(%w+): ([^\n]+)" do
		for name in names:gmatch "%S+" do
			if rows[name] == subject then
				out[#out + 1] = { name, subject }
			end
		end
	end
	return out
end

local function place_of(list, name)
	for i, entry in ipairs(list) do
		if entry[1] == name then
			return i
		end
	end
end

-- A new flag stands after the one above it in its module, a new key at the end of its subject.
local function add_missing(list, subject)
	local last
	for _, row in ipairs(subject.module.flags) do
		local place = place_of(list, row.name)
		if not place then
			place = (last or #list) + 1
			table.insert(list, place, { row.name, subject.name })
		end
		last = place
	end
	for _, name in ipairs(require("runner.core.tables").sorted_keys(subject.module.keys)) do
		local place = #list
		while place > 0 and list[place][2] ~= subject.name do
			place = place - 1
		end
		if not place_of(list, name) then
			table.insert(list, (place > 0 and place or #list) + 1, { name, subject.name })
		end
	end
end

---@param text string the list so far: its order is that of help, and stays
---@return string
function M.subjects(text)
	local rows, lines = {}, {}
	for _, subject in ipairs(load_subjects()) do
		for name in pairs(subject.module.keys) do
			rows[name] = subject.name
		end
		for _, row in ipairs(subject.module.flags) do
			rows[row.name] = subject.name
		end
	end
	local list = listed(text, rows)
	for _, subject in ipairs(load_subjects()) do
		add_missing(list, subject)
	end
	for i, entry in ipairs(list) do
		local follows = i > 1 and list[i - 1][2] == entry[2] and #lines[#lines] + #entry[1] < COLUMNS
		if follows then
			lines[#lines] = lines[#lines] .. " " .. entry[1]
		else
			lines[#lines + 1] = entry[2] .. ": " .. entry[1]
		end
	end
	return "local INDEX = [[\n" .. table.concat(lines, "\n") .. "\n]]\n"
end

return M
