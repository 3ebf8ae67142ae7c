-- shell_words: words that only a shell obeys, given to a program that is started without one, and what to write in their place.
-- Loaded when a program has failed, by lint, and for a task that is one program.

local tables = require "runner.core.tables"

local M = {}

local OPERATORS = tables.set "&& || | 2>&1"
local REDIRECTIONS = tables.set "> >> < 2> &>"
local BUILTINS = tables.set ". alias bg eval exit fg popd pushd set shift source trap ulimit umask unset"
-- Programs that may mean the word itself.
local SEARCH = tables.set("[ ag awk bash cmp dash echo egrep expr fgrep find gawk git grep jq perl printf python3 rg sed sh ssh test "
	.. "xargs zsh")

local function listed(words, first, last)
	local out = {}
	for i = first, last do
		out[#out + 1] = ("%q"):format(words[i])
	end
	return ("{ %s }"):format(table.concat(out, ", "))
end

-- A text as an expression of Lua, in which a shell would put $NAME and a ~ that begins it.
local function expanded(word)
	local parts, at = {}, 1
	word = word:gsub("^~%f[/%z]", "$HOME")
	local function add(text)
		parts[#parts + 1] = text ~= "" and ("%q"):format(text) or nil
	end
	for from, name, to in word:gmatch "()%${?([%a_][%w_]*)}?()" do
		add(word:sub(at, from - 1))
		parts[#parts + 1] = ("os.getenv %q"):format(name)
		at = to
	end
	add(word:sub(at))
	return table.concat(parts, " .. ")
end

-- The words as a table that does what the one of them was to do.
local function corrected(words, odd, kind)
	local out, behind = {}, {}
	for i, word in ipairs(words) do
		local is_pattern = kind == "pattern" and word == odd and i > 1
		local list = is_pattern and out or behind[1] and behind or out
		list[#list + 1] = is_pattern and ("table.unpack(ctx.fs.glob(%q))"):format(word)
			or kind == "variable" and expanded(word) or ("%q"):format(word)
		behind[1] = is_pattern and i < #words and "" or behind[1]
	end
	if not behind[1] then
		return ("ctx:run{ %s }"):format(table.concat(out, ", "))
	end
	return ("local words = { %s } on one line, words[#words + 1] = %s on the next, and ctx:run(words)"):format(table.concat(out, ", "),
		table.concat(behind, "; words[#words + 1] = ", 2))
end

local function in_shell(words)
	local text = table.concat(words, " ")
	return ("shell = %s"):format(text:find "'" and ("[[ %s ]]"):format(text) or ("'%s'"):format(text))
end

---A word that is an operator of a shell, where the program hardly means the word itself.
---@param words string[]
---@return string?
function M.operator(words)
	for i = 2, SEARCH[words[1]:match "[^/]*$"] and 1 or #words do
		if OPERATORS[words[i]] then
			return words[i]
		end
	end
end

local function place_of(words, word)
	for i, other in ipairs(words) do
		if other == word then
			return i
		end
	end
end

-- What ctx has for an operator.
local function instead_of(words, operator)
	local at = place_of(words, operator)
	local left, right = listed(words, 1, at - 1), listed(words, at + 1, #words)
	if operator == "|" and at < #words then
		return ("Write ctx:pipeline{ %s, %s }"):format(left, right)
	elseif (operator == "&&" or operator == "||") and at < #words then
		return operator == "&&" and ("Write ctx:run%s and, on the next line, ctx:run%s"):format(left, right)
			or ("Write ctx:run with check = false, and ctx:run%s if its result isn't ok"):format(right)
	elseif operator == ">>" and words[at + 1] then
		return ("Write ctx.fs.append(%q, ctx:run%s.stdout)"):format(words[at + 1], left)
	elseif operator == "<" and words[at + 1] then
		return ("Write ctx:run{ %s, stdin = ctx.fs.read(%q) }"):format(left:sub(3, -3), words[at + 1])
	elseif operator == ">" and words[at + 1] then
		return ("Write ctx.fs.write(%q, ctx:run%s.stdout)"):format(words[at + 1], left)
	end
	return "Leave it out: ctx:run has stdout and stderr, stdin = and merge ="
end

-- The first word of which the program has complained, and what is wrong with it.
local function complained(words, stderr)
	for i = 2, #words do
		local word = words[i]
		local is_named = #word > 0 and stderr:find(word, 1, true)
		if is_named and REDIRECTIONS[word] then
			return word, "operator"
		elseif is_named and word:find "[*?]" then
			return word, "pattern"
		elseif is_named and (word:find "^~" or word:find "%$[{%a_]") then
			return word, "variable"
		end
	end
end

---A word that only a shell obeys, and what to write instead; nil: there is none that explains the failure.
---@param words string[] of the program
---@param stderr string what it has said
---@param is_task? boolean they are those of a task, which may be a script
---@return string? why the beginning of a sentence that goes on with how the program has ended
---@return string? fix
function M.advice(words, stderr, is_task)
	local operator = M.operator(words)
	local word, kind = complained(words, stderr)
	if operator or kind == "operator" then
		word, kind = operator or word, "operator"
	end
	if not word then
		return nil
	end
	return ("There is no shell here: %s was given '%s' as an argument, and"):format(words[1]:match "[^/]*$", word),
		is_task and ("Write %s"):format(in_shell(words)) or kind == "operator" and instead_of(words, word)
			or "Write " .. corrected(words, word, kind)
end

-- The variables that words begin with, as a table; how many words they are.
local function variables(words)
	local out, at = {}, words[1] == "export" and 2 or 1
	while words[at] and words[at]:find "^[%a_][%w_]*=" do
		out[#out + 1] = ("%s = %q"):format(words[at]:match "^(.-)=(.*)$")
		at = at + 1
	end
	return out[1] and ("{ %s }"):format(table.concat(out, ", ")), at - 1
end

---What a program that is none is: a command of a shell, or a variable; and what to write instead; nil: it is neither.
---@param words string[]
---@param is_task? boolean
---@return string? why
---@return string? fix
function M.builtin(words, is_task)
	local first = words[1]
	local env, count = variables(words)
	local rest = env and words[count + 1] and first ~= "export" and listed(words, count + 1, #words):sub(3, -3)
	if env then
		local call = (is_task and "run = { %s }, env = %s" or "ctx:run{ %s, env = %s }"):format(rest or '"make"', env)
		return first == "export" and "export is a command of a shell, not a program" or ("%s is a variable, not a program"):format(first),
			rest and "Write " .. call or ("In place of this line, say it in the %s that needs it: %s"):format(
				is_task and "task" or "call", call)
	elseif first == "cd" then
		local dir = words[2] or "DIR"
		return "cd is a command of a shell, not a program", is_task
			and ("In place of run, write shell = %q, with your own command for make"):format(
			"cd " .. dir .. " && make")
			or ('In place of this line, say it in the call that needs it: ctx:run{ "make", cwd = %q }'):format(dir)
	elseif BUILTINS[first] or first == "export" then
		return ("%s is a command of a shell, not a program"):format(first), "Write " .. (is_task and in_shell(words)
			or ('ctx:run{ "sh", "-c", %q } with all that it is for'):format(table.concat(words, " ") .. "; make"))
	end
end

---A line of a shell as the call that does it; nil: it takes more than its words.
---@param line string
---@return string?
function M.call_of(line)
	local stages = {}
	if line:find "[\"'$`&;<>*?~#\\(){}%[%]\n]" or not line:find "%S" or line:find "|%s*|" then
		return nil
	end
	for stage in line:gmatch "[^|]+" do
		local words = {}
		for word in stage:gmatch "%S+" do
			words[#words + 1] = word
		end
		stages[#stages + 1] = listed(words, 1, #words)
	end
	return stages[2] and ("ctx:pipeline{ %s }"):format(table.concat(stages, ", ")) or "ctx:run" .. stages[1]
end

return M
