-- children: what a command declares about the programs that it starts.

local rules = require "runner.core.rules"

local names = rules.list_of(rules.text, 0)

local PARTS = { binary = rules.text, user_controlled_args = names, hardcoded_args = names }

local function subprocess(v)
	local out, clean = rules.accept(PARTS, "subprocess", v, nil, function() end), type(v) == "table"
	for key in next, clean and v or {} do
		clean = clean and out[key] ~= nil
	end
	return clean and out.binary and out or nil
end

local function name_of(arg)
	return type(arg) == "table" and (arg.name or arg[1]) or nil
end

-- A name that is no argument's would check nothing.
local function check_subprocess(n, fault)
	local known = {}
	for _, arg in ipairs(n.args or {}) do
		known[name_of(arg) or 0] = true
	end
	for _, name in ipairs(n.subprocess and n.subprocess.user_controlled_args or {}) do
		if not known[name] then
			fault(("names '%s' in user_controlled_args, which is no argument"):format(name), "Name arguments of args")
		end
	end
end

-- Their stderr, or their stdout, is another program's already.
local function check_stderr(n, fault)
	if n.arguments or n.stdout then
		fault(("can't be used with %s"):format(n.arguments and 'arguments = "passthrough"' or 'stdout = "protocol"'), "Remove one of them")
	end
end

---@type runner.Subject
return {
	keys = {
		stderr = { accept = rules.one_of "child_log", expected = '"child_log"', check = check_stderr, manifest = "entry" },
		preserve_locale = { accept = rules.flag, expected = "true or false", manifest = "schema" },
		subprocess = { accept = subprocess, check = check_subprocess, manifest = "entry",
			expected = '{ binary = "git", user_controlled_args = { "branch" } }, with hardcoded_args = { … } if there are any' },
	},
	flags = {},
}
