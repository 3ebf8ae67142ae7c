-- commands: the 307 commands of tests/search/commands.txt: as tables, or, as a program, as files of a project.
--
--   lua5.4 tests/search/commands.lua FOLDER     writes FOLDER/commands/GROUP/NAME.lua
--
-- questions.txt asks for them in plain words, a line each: "question|name", or names where several are right. The questions
-- were written before the words that mean the same (lua/core/search_words.lua); while those were, only the lines with odd
-- numbers were looked at. latest.txt has 201 plain questions that were written when that was done, and asked once: 194 were answered
-- at first sight. later.txt has 210 that say what somebody wants without naming it ("Bob lost his phone"): 145 were answered at first
-- sight; then three quarters of them were looked at, and of the last one (every fourth line, from the second on) 36 of 53 are answered.
-- others.txt has 200 by somebody who knew the commands and none of the words: 159 were answered at first sight; then all were looked at.

local here = debug.getinfo(1, "S").source:match "^@(.*)commands%.lua$"
local M = {}

local function argument(text)
	local what, description = text:match "^([^:]*):?(.*)$"
	local name, values = what:match "^([^=]*)=?(.*)$"
	local list
	for value in values:gmatch "[^,]+" do
		list = list or {}
		list[#list + 1] = value
	end
	return { name = name, description = description, values = list }
end

---@return {name: string, danger_level: string, description: string, args: {name: string, description: string, values?: string[]}[]}[]
function M.list()
	local out = {}
	for line in io.lines(here .. "commands.txt") do
		local name, level, description, args = line:match "^([^|]*)|([^|]*)|([^|]*)|(.*)$"
		local one = { name = name, danger_level = level, description = description, args = {} }
		for text in args:gmatch "[^;]+" do
			table.insert(one.args, argument(text))
		end
		out[#out + 1] = one
	end
	return out
end

---@param file? string default: questions.txt
---@return {question: string, names: table<string, true>}[]
function M.questions(file)
	local out = {}
	for line in io.lines(here .. (file or "questions.txt")) do
		local question, names = line:match "^([^|]*)|(.*)$"
		out[#out + 1] = { question = question, names = {} }
		for name in names:gmatch "[^,]+" do
			out[#out].names[name] = true
		end
	end
	return out
end

local function quoted(list)
	local out = {}
	for i, value in ipairs(list) do
		out[i] = ("%q"):format(value)
	end
	return table.concat(out, ", ")
end

-- What its file holds: it answers with what it was given.
local function source(one)
	local args = {}
	for i, arg in ipairs(one.args) do
		args[i] = ("\t\t{ %q, %q, %sdescription = %q },\n"):format(arg.name, arg.values and "enum" or "string",
			arg.values and ("values = { %s }, "):format(quoted(arg.values)) or "", arg.description)
	end
	return ("return {\n\tdescription = %q, danger_level = %q,\n\targs = {\n%s\t},\n"
		.. "\texit_codes = { TIMEOUT = { retryable = false, side_effects = \"partial\" } },\n\trun = function(args) return args end,\n}\n")
		:format(one.description, one.danger_level, table.concat(args))
end

---Write the first `count` commands into FOLDER/commands.
---@param folder string
---@param count? integer
function M.write(folder, count)
	local made = {}
	for i, one in ipairs(M.list()) do
		local group, name = one.name:match "^(%S+) (%S+)$"
		local path = ("%s/commands/%s"):format(folder, group)
		made[path] = made[path] or os.execute(("mkdir -p '%s'"):format(path))
		local file <close> = assert(io.open(("%s/%s.lua"):format(path, name), "w"))
		file:write(source(one))
		if i == count then
			return
		end
	end
end

if arg and arg[0]:find "search/commands%.lua$" then
	M.write(arg[1], tonumber(arg[2]))
end

return M
