-- shell: lines of a shell with holes, where another tool pastes the text of a value, as a script that has variables there:
-- what the caller gives never becomes a part of it. Pure.

local quoting = require "runner.workflow.expr.quoting"
local tables = require "runner.core.tables"

local M = {}

---@class runner.import.Hole what stands in place of an expression; one of these
---@field const? string a text that the author of the file has written: it is pasted, as there
---@field dq? string what stands for it between double quotes: "${name}"
---@field bare? string the same without quotes, where that is another: '"$@"'
---@field text? string what a variable is known to be
---@field source string as written

---A text as it stands between double quotes.
---@param text string
---@return string
function M.dq(text)
	return (text:gsub('[\\"$`]', "\\%0"))
end

---A hole as it stands between double quotes.
---@param hole runner.import.Hole
---@return string
function M.inner(hole)
	return hole.const and M.dq(hole.const) or hole.dq
end

---The same within "${name:-…}": a brace of a text ends nothing.
---@param hole runner.import.Hole
---@return string
function M.braced(hole)
	return hole.const and M.dq(hole.const):gsub("}", "\\}") or hole.dq
end

---@param text string
---@return string
function M.single(text)
	return "'" .. text:gsub("'", "'\\''") .. "'"
end

local HOLE = "\1" -- a value in a text that is read for its form

local function pass(text, at, patterns)
	for i, pattern in ipairs(patterns) do
		local _, stop = text:find(pattern, at)
		if stop then
			return stop + 1, i
		end
	end
end

-- Programs that read an argument as code, with the options that say so; others that read all of theirs.
local READERS = tables.set "sh bash dash zsh ksh ash fish python perl ruby node nodejs deno bun php lua su runuser pwsh psql mysql"
local SHELLS = tables.set "sh bash dash zsh ksh ash fish"
local HEADS = tables.set "then do else elif if while until { ! time command builtin"
local CODE = { "^%-%a*[ceE]()$", "^%-%a*[ceE]()['\"]", "^%-%-eval()", "^%-%-command()", "^%-%-print()", "^%-[pr]()$" }
local WITH_VALUE = { "^[-+][WXIMou]$", "^%-%-require$", "^%-%-import$" }

-- The words of a text that goes on behind it: is the last one open there?
local function words_before(text)
	local words, at = {}, text:match "^%s*()"
	while at <= #text do
		local from = at
		repeat
			local rest = text:match("^[^%s'\"\\]+()", at) or text:match("^\\.?()", at) or text:match("^'[^']*'()", at)
			if not rest and text:find('^"', at) then
				rest = at + 1
				while rest <= #text and not text:find('^"', rest) do
					rest = rest + (text:find("^\\", rest) and 2 or 1)
				end
				rest = rest + 1
			end
			at = rest or text:find("^'", at) and #text + 2 or at
		until not rest or at > #text
		words[#words + 1] = text:sub(from, at - 1)
		if at > #text then
			return words, true
		end
		at = text:match("^%s*()", at)
	end
	return words, false
end

-- The program that reads as code what follows a text, the beginning of a command; nil: none is known.
local function reader_of(text, is_here)
	local words, is_open = words_before(is_here and text:match "^[^\n]*" or text)
	local reader, flag, host, skips, is_head = nil, false, false, false, true
	for i, word in ipairs(words) do
		local name = word:gsub("['\"\\]", ""):match "[^/]*$":gsub("[%d.]+$", "")
		local open = is_open and i == #words
		local code = reader and reader ~= "ssh" and word:find "^[-]" and pass(word, 1, CODE)
		if flag then
			if open then
				return reader
			end
			reader, flag = nil, false
		elseif skips then
			skips = false
		elseif reader and word:find "^<<<" then
			return reader
		elseif reader == "ssh" and not host then
			skips = word:find "^%-[BbcDEeFIiJLlmOopQRSWw]$" ~= nil
			host = not word:find "^%-" and not open
		elseif code then
			flag = true
			if open and word:find "['\"=]" then
				return reader
			end
		elseif is_head and (name == "eval" or name == "trap") and not open then
			return name
		elseif name == "ssh" or name == "autossh" then
			reader, host = "ssh", false
		elseif READERS[name] or word == HOLE then
			reader = word == HOLE and "a program" or name
		elseif reader and reader ~= "ssh" and reader ~= "su" and reader ~= "runuser" then
			skips = pass(word, 1, WITH_VALUE) ~= nil
			reader = (skips or word:find "^[-+<]") and reader or nil
		end
		is_head = is_head and (HEADS[name] or word:find "^[%a_][%w_]*=" ~= nil)
	end
	return (is_here or flag or host) and reader or nil
end

-- The same of what follows a value: a pipe into a shell.
local function reader_behind(text)
	for command in text:match "^[^\n]*":gmatch "|%s*([^|&;]*)" do
		local words = words_before(command .. " ")
		local name = (words[1] or ""):match "[^/]*$"
		for i = 2, #words do
			local is_code = (name == "xargs" or name == "parallel") and READERS[words[i]] and pass(words[i + 1] or "", 1, CODE)
			if is_code then
				return name .. " " .. words[i]
			end
		end
		if SHELLS[name] and not command:find "%s[^-%s)]" then
			return name
		end
	end
end

---The first hole whose value would be read as code, and by what: that of `sh -c`, of eval, of a shell elsewhere.
---@param parts (string|runner.import.Hole)[]
---@return runner.import.Hole?
---@return string? program
function M.code_in(parts)
	local known = {}
	for i, part in ipairs(parts) do
		known[i] = type(part) == "table" and (part.const or part.text) or part
	end
	local places, begins, text = quoting.places(known)
	for i, part in ipairs(known) do
		for _, begin in ipairs(type(part) == "table" and part.dq ~= "$PWD" and places[i] ~= "comment" and begins[i] or {}) do
			local program = reader_of(text:sub(begin, begins[i].at - 1), (places[i] or ""):find "^here" ~= nil)
				or reader_behind(text:sub(begins[i].at + 1))
			if program then
				return part, program
			end
		end
	end
end

---The text with its holes filled, each by where it stands; nil: one can't be, where its value isn't expanded.
---@param parts (string|runner.import.Hole)[]
---@return string? text
---@return runner.import.Hole? the one that can't
function M.fill(parts)
	local code, program = M.code_in(parts)
	if code then
		return nil, { source = ("%s, which %s reads as code: write a task that gives it as an argument"):format(code.source, program) }
	end
	local places, out = quoting.places(parts), {}
	parts = table.move(parts, 1, #parts, 1, {})
	for i, part in ipairs(parts) do
		local place = places[i] or "bare"
		if type(part) == "string" or part.const then
			out[i] = type(part) == "string" and part or part.const
		elseif place == "bare" then
			out[i] = part.bare or part.dq
		elseif place == "single" then
			local closes = type(parts[i + 1]) == "string" and parts[i + 1]:find "^'" and (out[i - 1] or ""):find "'$"
			if closes then
				out[i - 1], parts[i + 1] = out[i - 1]:sub(1, -2), parts[i + 1]:sub(2)
			end
			out[i] = (closes and '"%s"' or "'\"%s\"'"):format(part.dq)
		elseif place == "comment" then
			out[i] = part.source:gsub("\n", " ")
		elseif place == "here_quoted" or place == "escaped" then
			return nil, part
		else
			out[i] = part.dq
		end
	end
	return table.concat(out)
end

-- How a script of another language has a variable, where a hole is all that stands between two quotes.
local LANGUAGES = { python = '__import__("os").environ["%s"]', node = 'process.env["%s"]', deno = 'Deno.env.get("%s")', ruby = 'ENV["%s"]',
	perl = '$ENV{"%s"}', lua = 'os.getenv("%s")' }

---The same in a script of another language; nil: it can't be told what would stand there.
---@param parts (string|runner.import.Hole)[]
---@param program string
---@return string? text
---@return runner.import.Hole? the one that can't
function M.fill_other(parts, program)
	local form, out = LANGUAGES[program:match "^%a+"], {}
	parts = table.move(parts, 1, #parts, 1, {})
	for i, part in ipairs(parts) do
		if type(part) == "table" and (part.const or part.text) then
			out[i] = part.const or part.text
		elseif type(part) == "table" then
			local name = (part.dq or ""):match "^%${([%a_][%w_]*)}$"
			local before, after = out[i - 1] or "", type(parts[i + 1]) == "string" and parts[i + 1] or ""
			local quote = before:match "[\"']$"
			if not (form and name and quote) or after:sub(1, 1) ~= quote then
				return nil, part
			end
			out[i - 1], parts[i + 1], out[i] = before:sub(1, -2), after:sub(2), form:format(name)
		else
			out[i] = part
		end
	end
	return table.concat(out)
end

---The script of a task that could not be imported: it fails, and says so.
---@param name string
---@param from string
---@return string
function M.refusal(name, from)
	return ("echo %s >&2\nexit 1"):format(M.single(("%s of %s was not imported: see tasks.lua"):format(name, from)))
end

-- Words that change the shell in which they stand, of which the next line has nothing there (`for` sets its variable), or that may
-- be open at the end of theirs; and words in front of a command.
local LASTING = tables.set [[: . alias bg break builtin bye cd command continue coproc declare disown enable eval exec exit export fg
	for function getopts hash let local logout mapfile popd printf pushd read readarray readonly repeat return select set shift shopt
	source suspend times trap typeset ulimit umask unalias unset wait if then elif else fi while until do done case esac { }]]
local LEADERS = tables.set "! time"

local QUOTED = "\1" -- what a shell expands, or has between quotes: no word of which it is known what it does

-- What an expansion may be that changes nothing.
local EXPANSIONS = { "^%$[%w_@*#?!-]", "^%${[%w_@*#?!]+:?[-+#%%]?[^{}'\"`$\\=]*}" }
local BARE = { "^\\\n", "^%f[^%s;&|()\0]#[^\n]*", "^\\.", "^'[^']*'", "^[^\\'\"$`#()]+", "^#" }
local DOUBLE = { "^\\.", "^[^\\\"$`]+" }

local scan

local function expansion(text, at, inner)
	local rest = pass(text, at, EXPANSIONS)
	return rest or text:find("^%$%([^(]", at) and scan(text, at + 2, ")", inner, inner) or nil
end

-- Lines without comments, what is quoted as one sign, into `out`, and what stands in $( ) into `inner`; nil: it can't be told for
-- certain where something ends.
function scan(text, at, closer, out, inner)
	while at <= #text and text:sub(at, at) ~= closer do
		local c = text:sub(at, at)
		local rest, kind = pass(text, at, BARE)
		local part = kind and (kind > 4 and text:sub(at, rest - 1) or kind > 2 and QUOTED or "") or c == "(" and c or QUOTED
		out[#out + 1] = part
		if c == '"' then
			rest = at + 1
			while rest and not text:find('^"', rest) do
				rest = pass(text, rest, DOUBLE) or expansion(text, rest, inner)
			end
			rest = rest and rest + 1
		elseif c == "(" then
			rest = scan(text, at + 1, ")", out, inner)
			out[#out + 1] = ")"
		elseif c ~= ")" then
			rest = rest or expansion(text, at, inner)
		end
		if not rest then
			return nil
		end
		at = rest
	end
	return (at <= #text or not closer) and at + 1 or nil
end

-- Is it sure that no command of a line changes the shell? `text` is that of `scan`.
local function passes(text)
	if text:find "<<" or text:find "%(%s*[()]" then
		return false
	end
	for command in text:gsub("[<>]&", ">"):gsub("&>", ">"):gmatch "[^;&|()\n]+" do
		local assigns = false
		for word in command:gmatch "%S+" do
			local is_assignment = word:find "^[%a_][%w_]*%+?="
			assigns = assigns or is_assignment ~= nil
			if not is_assignment and not LEADERS[word] then
				if LASTING[word] or not (word:find "^[%w_./@%%+:~,-]+$" or word:find "^%[%[?$" or word == "]" or word == "]]") then
					return false
				end
				assigns = false
				break
			end
		end
		if assigns then
			return false
		end
	end
	return true
end

---One line of a list of which each has a shell of its own, in a script that has one for all.
---@param line string filled
---@param is_last boolean
---@param ignored? boolean its failure is passed over
---@param goes_on? boolean a command in it that fails doesn't end it
---@return string
function M.own_shell(line, is_last, ignored, goes_on)
	local out, inner = {}, {}
	local bare = scan(line, 1, nil, out, inner) and table.concat(out)
	local many = goes_on and (not bare or (bare .. table.concat(inner)):find "[;\n]")
	local chained = not bare or bare:find "&&" or bare:find "||" or bare:find "^%s*!" -- sh -e goes on behind these
	local lasts = not (bare and passes(bare)) or ignored and line:find("$", 1, true) -- sh -u ends at a variable that isn't set
	local wraps = many or chained and not ignored and not is_last or lasts and (ignored or not is_last)
	if wraps then
		local word = bare and bare:match "<<%-?%s*([%w_]+)[^<]*$"
		local is_whole = bare and (not bare:find "<<" or word and line:find("\n%s*" .. word .. "%f[\n\0]"))
		line = is_whole and line or "eval " .. M.single(line) -- what is open at its end stays its own
		line = ("( %s%s%s )"):format(many and not ignored and "set +e; " or "", line, (line:find "[#\n]" or line:find "\\$") and "\n" or "")
	end
	return ignored and (not wraps and line:find "[\n#|&;]" and ("{ %s\n} || true"):format(line) or line .. " || true") or line
end

return M
