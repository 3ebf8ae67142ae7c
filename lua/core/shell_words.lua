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
		return operator == "&&" and ("Write ctx:run%s and ctx:run%s"):format(left, right)
			or ("Write ctx:run with check = false, and ctx:run%s if its result isn't ok"):format(right)
	elseif operator:find "^[>&]" and words[at + 1] then
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

---What to write instead of a word that only a shell obeys; nil: there is none that explains the failure.
---@param words string[] of the program
---@param stderr string what it has said
---@param is_task? boolean they are those of a task, which may be a script
---@return string?
function M.advice(words, stderr, is_task)
	local first, operator = words[1], M.operator(words)
	local word, kind = complained(words, stderr)
	if operator or kind == "operator" then
		word, kind = operator or word, "operator"
	end
	if not word then
		return nil
	end
	local fix = is_task and ("Write %s"):format(in_shell(words))
		or kind == "operator" and instead_of(words, word)
		or kind == "pattern" and ("Write { %q, table.unpack(ctx.fs.glob %q) }"):format(first, word)
		or ("Write os.getenv %q%s"):format(word:match "%$[{]?([%w_]+)" or "HOME", word:gsub("^~(/?.*)", ' .. "%1"'):match "^ .. \"/.*" or "")
	return ("There is no shell, so '%s' is a word like any other. %s"):format(word, fix)
end

---What to write instead of a program that is none, but a command of a shell; nil: it is not one.
---@param words string[]
---@param is_task? boolean
---@return string?
function M.builtin(words, is_task)
	local first, at = words[1], is_task and "the task" or "the call that needs it"
	local name, value = first:match "^([%a_][%w_]*)=(.*)$"
	if not name and first == "export" and words[2] then
		name, value = words[2]:match "^([%a_][%w_]*)=(.*)$"
	end
	if name then
		return ("A variable is no program. Write env = { %s = %q } in %s"):format(name, value, at)
	elseif first == "cd" then
		return ("cd is a command of a shell, and no program. Write cwd = %q in %s"):format(words[2] or "DIR", at)
	elseif BUILTINS[first] or first == "export" then
		return ("%s is a command of a shell, and no program. Write %s"):format(first,
			is_task and in_shell(words) or ('ctx:run{ "sh", "-c", "…" } with all that it is for'))
	end
end

return M
