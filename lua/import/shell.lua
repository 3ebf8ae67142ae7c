-- shell: lines of a shell with holes, where another tool pastes the text of a value, as a script that has variables there:
-- what the caller gives never becomes a part of it. Pure.

local quoting = require "runner.workflow.expr.quoting"

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

---@param text string
---@return string
function M.single(text)
	return "'" .. text:gsub("'", "'\\''") .. "'"
end

---The text with its holes filled, each by where it stands; nil: one can't be, where its value isn't expanded.
---@param parts (string|runner.import.Hole)[]
---@return string? text
---@return runner.import.Hole? the one that can't
function M.fill(parts)
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

-- What a line does to the shell that runs it, of which the next one there knows nothing.
local LASTING = { "cd", "pushd", "popd", "export", "set", "exit", "exec", "source", "%.", "shopt", "trap", "unset", "ulimit",
	"umask", "read", "alias",
	"return", "shift", "local", "declare" }

-- Words in front of a command.
local LEADERS = { "then", "do", "else", "if", "while", "until", "!" }

local function lasts(line)
	local text = "; " .. line:gsub("'[^']*'", "''"):gsub('"[^"]*"', '""'):gsub("[;&|(){}\n]", " ; ")
	for _, word in ipairs(LEADERS) do
		text = text:gsub("%f[^%s]" .. word .. "%f[%s]", ";")
	end
	for _, word in ipairs(LASTING) do
		if text:find("; *" .. word .. "%f[%s;\0]") then
			return true
		end
	end
	return text:find "; *[%a_][%w_]*%+?=%S* *;" or text:find "; *[%a_][%w_]*%+?=%S* *$" or text:find "%${?[%a_][%w_]*:?="
end

---One line of a list of which each has a shell of its own, in a script that has one for all.
---@param line string filled
---@param is_last boolean
---@param ignored? boolean its failure is passed over
---@param goes_on? boolean a command in it that fails doesn't end it
---@return string
function M.own_shell(line, is_last, ignored, goes_on)
	local bare = line:gsub("'[^']*'", ""):gsub('"[^"]*"', ""):gsub(";;", ""):gsub("\\\n", "")
	local many = goes_on and bare:find "[;\n]"
	local chained = bare:find "&&" or bare:find "||" or bare:find "^%s*!" -- sh -e goes on behind these
	chained = chained and not ignored and not is_last and (line:find "\n" or not line:find "<<")
	if many or chained or ignored and lasts(line) or not is_last and lasts(line) then
		line = ("( %s%s%s )"):format(many and not ignored and "set +e; " or "", line, line:find "[#\n]" and "\n" or "")
	end
	return ignored and (line:find "[\n#|&;]" and not line:find "^%( " and ("{ %s\n} || true"):format(line) or line .. " || true") or line
end

return M
