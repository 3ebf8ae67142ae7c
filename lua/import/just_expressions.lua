-- just_expressions: the expressions of a justfile → a text, where it is one that the file has, or what a shell expands to it.

local shell = require "runner.import.shell"
local variables = require "runner.import.variables"

local M = {}

local ESCAPES = { n = "\n", t = "\t", r = "\r", ["\n"] = "" }

-- Without the blanks that all lines of an indented text begin with.
local function dedent(text)
	local common
	text = text:gsub("^\n", "")
	for blanks in ("\n" .. text):gmatch "\n([ \t]*)[^ \t\n]" do
		common = (not common or #blanks < #common) and blanks or common
	end
	return ((("\n" .. text):gsub("\n" .. (common or ""), "\n")):sub(2))
end

local DELIMITERS = { "'''", '"""', "'", '"', "```", "`" }

local function literal(text, at)
	at = text:match("^[xf]?()['\"`]", at)
	for _, delimiter in ipairs(at and DELIMITERS or {}) do
		if text:sub(at, at + #delimiter - 1) == delimiter then
			local from = at + #delimiter
			local stop = from
			while stop <= #text and text:sub(stop, stop + #delimiter - 1) ~= delimiter do
				stop = stop + ((delimiter:find '"' and text:sub(stop, stop) == "\\") and 2 or 1)
			end
			local value = text:sub(from, stop - 1)
			value = #delimiter == 3 and dedent(value) or value
			if delimiter:find '"' then
				value = value:gsub("\\u{(%x+)}", function(hex)
					return utf8.char(tonumber(hex, 16))
				end):gsub("\\(.)", function(c)
					return ESCAPES[c] or c
				end)
			end
			local kind = delimiter:find "`" and "command" or text:find("^f", at - 1) and "format"
				or text:find("^x", at - 1) and value:find "[$~]" and "an expanded text" or "const"
			return { kind = kind, text = value }, stop + #delimiter
		end
	end
end

local expression

local function condition(text, at)
	local left, right, operator
	left, at = expression(text, at)
	operator, at = text:match("^%s*([=!]=~?)()", at)
	if not operator then
		operator, at = text:match("^%s*(=~)()", at)
	end
	right, at = expression(text, at or #text + 1)
	return { left = left, right = right, operator = operator }, at
end

local function braced(text, at)
	local tree
	tree, at = expression(text, text:match("^%s*{()", at) or #text + 1)
	return tree, text:match("^%s*}()", at) or #text + 1
end

---One value: a text, a command, a name, a call, something in brackets.
---@param text string
---@param at integer
---@return table tree
---@return integer at
function M.value(text, at)
	at = text:match("^%s*()", at)
	local tree, rest = literal(text, at)
	if tree then
		return tree, rest
	end
	local name, open = text:match("^([%a_][%w_-]*)()", at)
	if name == "if" then
		tree = { kind = "if" }
		tree.condition, at = condition(text, open)
		tree.yes, at = braced(text, at)
		at = text:match("^%s*else%s*()", at) or #text + 1
		if text:find("^if%f[%W]", at) then
			tree.no, at = M.value(text, at)
		else
			tree.no, at = braced(text, at)
		end
		return tree, at
	elseif name and text:find("^%s*%(", open) then
		tree, at = { kind = "call", name = name }, text:match("^%s*%(()", open)
		while not text:find("^%s*%)", at) and at <= #text do
			tree[#tree + 1], at = expression(text, at)
			at = text:match("^%s*,()", at) or at
		end
		return tree, (text:match("^%s*%)()", at) or #text + 1)
	elseif name then
		return { kind = "name", name = name }, open
	elseif text:find("^%(", at) then
		tree, at = expression(text, at + 1)
		return tree, (text:match("^%s*%)()", at) or #text + 1)
	elseif text:find("^/", at) then
		return { kind = "const", text = "" }, at
	end
	return { kind = "unknown" }, at + 1
end

function expression(text, at)
	local tree
	tree, at = M.value(text, at)
	local operator, rest = text:match("^%s*([+/|&]+)%s*()", at)
	if operator == "+" or operator == "/" then
		local right
		right, at = expression(text, rest)
		return { kind = operator, tree, right }, at
	elseif operator then
		return { kind = "unknown" }, rest
	end
	return tree, at
end
M.expression = expression

-- --- what it is -----------------------------------------------------------------------------------------

-- A function of just: what stands for it between double quotes, with the first values as %s.
local CALLS = {
	os = [[$(uname -s | sed 's/Linux/linux/;s/Darwin/macos/')]], arch = "$(uname -m)", num_cpus = "$(getconf _NPROCESSORS_ONLN)",
	env_var = "${%N?}", env = "${%N?}", env_var_or_default = "${%N-%s}", uppercase = [[$(printf %%s "%s" | tr a-z A-Z)]],
	lowercase = [[$(printf %%s "%s" | tr A-Z a-z)]], absolute_path = '$(realpath -ms "%s")', canonicalize = '$(realpath "%s")',
	parent_directory = '$(dirname "%s")', parent_dir = '$(dirname "%s")', file_name = '$(basename "%s")',
	path_exists = '$(test -e "%s" && echo true || echo false)',
	require = '$(command -v "%s")', which = '$(command -v "%s" || true)',
	home_directory = "$HOME", home_dir = "$HOME",
	uuid = "$(cat /proc/sys/kernel/random/uuid)", datetime = '$(date "+%s")', datetime_utc = '$(date -u "+%s")', quote = "%s",
	sha256_file = [[$(sha256sum "%s" | cut -d' ' -f1)]], read = '$(cat "%s")',
	trim = [=[$(printf %%s "%s" | sed 's/^[[:space:]]*//;s/[[:space:]]*$//')]=],
	justfile_directory = "$PWD", justfile_dir = "$PWD", source_directory = "$PWD", source_dir = "$PWD", join = "%s/%s", os_family = "unix",
	invocation_directory = false, just_executable = false,
}
local COLOURS = { NORMAL = "0", BOLD = "1", ITALIC = "3", UNDERLINE = "4", BLACK = "30", RED = "31", GREEN = "32",
	YELLOW = "33", BLUE = "34",
	MAGENTA = "35", CYAN = "36", WHITE = "37" }

-- Functions that look for files.
local LOOKS = { absolute_path = true, canonicalize = true, path_exists = true, read = true, sha256_file = true, shell = true }

local hole

-- What is computed where the file is, in a task that works elsewhere, too.
local function in_root(scope, text)
	local cwd = scope.task and scope.task.keys.cwd
	if cwd == "caller" then
		return scope.fail "[no-cd], where a value is computed in the directory of the file" or { const = "" }
	end
	return { dq = cwd and text:gsub("^%$%(", function()
		return ("$(cd %s || exit; "):format(variables.way_up(cwd, scope.file.sheet.keys.cwd))
	end) or text }
end

local function of_call(scope, tree)
	local form, values = CALLS[tree.name], {}
	if tree.name == "env" and tree[2] then
		form = CALLS.env_var_or_default
	elseif form == "$PWD" and scope.task and (scope.task.keys.cwd or scope.file.settings["working-directory"]) then
		form = nil
	elseif tree.name == "shell" and tree[1] and tree[1].kind == "const" and not tree[2] then
		return in_root(scope, ("$(%s)"):format(tree[1].text))
	end
	for i, argument in ipairs(tree) do
		values[i] = hole(scope, argument)
	end
	form = tree.name == "join" and ("%s/"):rep(#tree - 1) .. "%s" or form
	local most = select(2, (form or ""):gsub("%%%%", ""):gsub("%%[sN]", ""))
	if not form or #tree > most or form:find "%%N" and not (values[1] and values[1].const and values[1].const:find "^[%a_][%w_]*$") then
		return scope.fail(tree.name .. "()") or { const = "" }
	end
	local k = form:find "%%N" and 1 or 0
	local text = form:gsub("%%N", function()
		return values[1].const
	end):gsub("%%([s%%])", function(c)
		if c == "%" then
			return "%"
		end
		k = k + 1
		return values[k] and (form:find "^%${" and shell.braced or shell.inner)(values[k]) or ""
	end)
	return LOOKS[tree.name] and in_root(scope, text) or { dq = text, bare = tree.name == "quote" and ('"%s"'):format(text) or nil }
end

local TESTS = { ["=="] = "=", ["!="] = "!=" }

---What an expression is put together from, one behind the other.
---@param tree table
---@return table[]? trees
function M.parts(tree)
	if tree.kind == "+" or tree.kind == "/" then
		return { tree[1], { kind = "const", text = tree.kind == "/" and "/" or "" }, tree[2] }
	elseif tree.kind == "format" then
		local parts, at = {}, 1
		for before, inside, rest in tree.text:gmatch "(.-){{(.-)}}()" do
			parts[#parts + 1], at = { kind = "const", text = before }, rest
			parts[#parts + 1] = expression(inside, 1)
		end
		parts[#parts + 1] = { kind = "const", text = tree.text:sub(at) }
		return parts
	end
end

---What stands in the place of an expression.
---@param scope table
---@param tree table
---@return runner.import.Hole
function M.hole(scope, tree)
	if tree.kind == "const" then
		return { const = tree.text, source = "" }
	elseif tree.kind == "command" then
		return in_root(scope, ("$(%s)"):format(tree.text))
	elseif M.parts(tree) then
		local parts = M.parts(tree)
		for i, part in ipairs(parts) do
			parts[i] = hole(scope, part)
		end
		return variables.joined(parts)
	elseif tree.kind == "call" then
		return of_call(scope, tree)
	elseif tree.kind == "if" and TESTS[tree.condition.operator or ""] then
		local c = tree.condition
		local function inner(of)
			return shell.inner(hole(scope, of))
		end
		return { dq = ('$(if [ "%s" %s "%s" ]; then printf %%s "%s"; else printf %%s "%s"; fi)'):format(inner(c.left), TESTS[c.operator],
			inner(c.right), inner(tree.yes), inner(tree.no)) }
	elseif tree.kind == "name" then
		local found = scope.find(tree.name)
		if found and found.arg then
			local variable = found.arg[1]:gsub("-", "_")
			if found.joined then
				return { dq = ("${%s}"):format(found.joined), bare = "$" .. found.joined }
			end
			return found.sign ~= "" and { dq = "$*", bare = '"$@"' } or { dq = ("${%s}"):format(variable), bare = "$" .. variable }
		elseif found and found.source then
			return variables.hole(scope, tree.name, found)
		elseif COLOURS[tree.name] then
			return { dq = ("$(printf '\\033[%sm')"):format(COLOURS[tree.name]) }
		end
		scope.fail(tree.name)
	else
		scope.fail "an expression"
	end
	return { const = "" }
end
hole = M.hole

return M
