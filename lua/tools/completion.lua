-- completion: the candidates for the next word of a command line, and the shell scripts
-- that call for them. Loaded by `runner completion` alone. It loads the command that is
-- being typed, or all commands while a name is being typed.

local catalog = require "runner.project.catalog"
local contract = require "runner.declare.contract"
local locate = require "runner.project.locate"
local values = require "runner.declare.values"

local M = {}

---@class runner.Candidate
---@field value string
---@field description? string

-- --- scripts --------------------------------------------------------------------------

-- Each calls `runner completion SHELL --format plain -- WORDS…`: one candidate per
-- line, a tab, its description. If there are none, files are completed.
M.scripts = {
	bash = [==[
_runner_completion() {
	mapfile -t COMPREPLY < <("${COMP_WORDS[0]}" completion bash --format plain -- \
		"${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1)
}
complete -o default -F _runner_completion runner
]==],
	zsh = [==[
#compdef runner
_runner_completion() {
	local -a candidates
	local value description
	while IFS=$'\t' read -r value description; do
		candidates+=("${value//:/\\:}${description:+:$description}")
	done < <("${words[1]}" completion zsh --format plain -- "${(@)words[2,CURRENT]}" 2>/dev/null)
	if (( ${#candidates} )); then
		_describe 'runner' candidates
	else
		_files
	fi
}
compdef _runner_completion runner
]==],
	fish = [==[
function __runner_completion
	set -l typed (commandline -opc)[2..-1] (commandline -ct)
	set -l found (command runner completion fish --format plain -- $typed 2>/dev/null)
	if test (count $found) -gt 0
		printf '%s\n' $found
	else
		__fish_complete_path (commandline -ct)
	end
end
complete -c runner -f -a '(__runner_completion)'
]==],
}

-- --- candidates -----------------------------------------------------------------------

local function begins(text, with)
	return text:sub(1, #with) == with
end

local function option_rows(command)
	local rows, taken = {}, {}
	for _, row in ipairs(command and command.args or {}) do
		rows[#rows + 1] = not row.positional and row or nil
		taken[row.flag] = true
	end
	for _, row in ipairs(contract.rows(command)) do
		rows[#rows + 1] = not taken[row.flag] and not (command and row.front) and row or nil
	end
	return rows
end

local function options(command, typed, out)
	for _, row in ipairs(option_rows(command)) do
		local spelt = "--" .. row.flag
		if begins(spelt, typed) then
			out[#out + 1] = { value = spelt, description = row.description }
		end
	end
end

-- The row whose value comes next, if the previous word is its flag.
local function awaited(command, before)
	for _, row in ipairs(before and option_rows(command) or {}) do
		if row.type ~= "boolean" and (before == "--" .. row.flag or row.short and before == "-" .. row.short) then
			return row
		end
	end
end

local function listed(row, config, typed, out)
	local ok, list = pcall(values.listed, row, config)
	for _, value in ipairs(ok and list or {}) do
		if begins(value, typed) then
			out[#out + 1] = { value = value }
		end
	end
end

local function add_matching(candidates, typed, out)
	for _, candidate in ipairs(candidates) do
		out[#out + 1] = begins(candidate.value, typed) and candidate or nil
	end
end

-- What the argument is a name of, in one of our own commands: "workflow" or "job" for an ID,
-- "step" for a step of the run that the words name.
local function kind_of(command, slot)
	local group = not command.path and command.name:match "^(%l+)%."
	if group == "workflow" and (slot.name == "step" or slot.name == "mark_done") then
		return "step"
	end
	return slot.name == "id" and group
end

-- The next word of every name that begins with the words before it.
local function names(words, typed, project, out)
	local prefix = words[1] and table.concat(words, ".") .. "." or ""
	local seen = {}
	for _, entry in ipairs(catalog.list(project)) do
		local word, more = entry.name:sub(#prefix + 1):match("^([^.]+)(%.?)")
		if word and begins(entry.name, prefix) and begins(word, typed) and not seen[word] then
			seen[word] = true
			local row = more == "" and catalog.rows({ entry }, project)[1]
			if more ~= "" or row then
				out[#out + 1] = { value = word, description = row and row.description or more ~= "" and "…" or nil }
			end
		end
	end
end

local function plain_words(words)
	local out = {}
	for _, word in ipairs(words) do
		if not begins(word, "-") then
			out[#out + 1] = word
		end
	end
	return out
end

local function load_command(words, project)
	local found = words[1] and locate.find(words, project)
	if not found then
		return nil
	end
	return catalog.load({ name = found.name, path = found.path, builtin = not found.path }, project), found.words
end

-- The n-th positional; a variadic one takes all that follow.
local function positional(command, n)
	local last
	for _, row in ipairs(command and command.args or {}) do
		if row.positional then
			n, last = n - 1, row
			if n == 0 then
				return row
			end
		end
	end
	return last and last.variadic and last or nil
end

---The candidates that may replace the last word.
---@param words string[] after "runner"; the last one is being typed and may be ""
---@param project table
---@param ids fun(kind: string, typed: string, id: string?): runner.Candidate[] what names a "workflow" run or a "job",
---  or a "step" of the run `id`
---@return runner.Candidate[]
function M.candidates(words, project, ids)
	local before, typed, out = table.move(words, 1, #words - 1, 1, {}), words[#words] or "", {}
	local plain = plain_words(before)
	local command, used = load_command(plain, project)
	local row = awaited(command, before[#before])
	local id = command and plain[used + 1]
	if row and kind_of(command or {}, row) then
		add_matching(ids(kind_of(command, row), typed, id), typed, out)
	elseif row then
		listed(row, project.config, typed, out)
	elseif begins(typed, "-") then
		options(command, typed, out)
	else
		local slot = command and positional(command, #plain - used + 1)
		if slot and slot.values then
			listed(slot, project.config, typed, out)
		elseif slot and kind_of(command, slot) then
			add_matching(ids(kind_of(command, slot), typed, id), typed, out)
		end
		local topic = command and command.name == "help" and 1 or 0
		names(table.move(plain, 1 + topic, #plain, 1, {}), typed, project, out)
	end
	return out
end

return M
