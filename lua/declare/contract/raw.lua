-- raw: commands whose stdout is not runner's answer: those that pass everything on to another
-- program (arguments = "passthrough", REQ-C-031), and those that serve a protocol there
-- (stdout = "protocol", REQ-C-032). lua/project/raw.lua acts on them.

local rules = require "runner.core.rules"

-- What needs an answer on stdout, a second attempt, or a caller who comes back later.
local NEITHER = { "retry", "streams", "list", "truncates", "output_schema", "older_versions", "columns", "async", "interruption",
	"safe_default", "requires_person", "resumable" }
local NO_PASSTHROUGH = { "args", "requires", "option_placement", "stdout", "subprocess", "requires_editor", "auth" }
local NO_PROTOCOL = { "stdin", "interactive", "arguments", "requires_editor", "gui_operations" }

local function excluded(n, names, what, fault)
	for _, name in ipairs(names) do
		local value = n[name]
		if value and not (name == "args" and not value[1]) then
			fault(("can't be used with %s"):format(name), ("Remove %s, or %s"):format(name, what))
		end
	end
end

-- Nobody could confirm a destructive call: --confirm-destructive would be the other program's.
local function check(n, what, more, fault)
	excluded(n, NEITHER, what, fault)
	excluded(n, more, what, fault)
	if n.danger_level == "destructive" then
		fault('can\'t be used with danger_level = "destructive"', "Remove " .. what .. ", and declare the arguments")
	end
end

local function check_passthrough(n, fault)
	check(n, 'arguments = "passthrough"', NO_PASSTHROUGH, fault)
	if type(n.stdin) == "table" then
		fault("can't be used with a table for stdin", "Remove stdin: the other program reads it")
	end
	n.stdin, n.raw = true, "passthrough"
end

local function check_protocol(n, fault)
	check(n, 'stdout = "protocol"', NO_PROTOCOL, fault)
	if not n.protocol then
		fault("needs protocol", 'Name it: protocol = "mcp-stdio", "lsp", "dap" or a name of your own')
	end
	n.stdin, n.raw = true, "protocol"
end

local function needs(key, value)
	return function(n, fault)
		if n[key] ~= value then
			fault(("needs %s = %q"):format(key, value), ("Add %s = %q"):format(key, value))
		end
	end
end

---@type runner.Subject
return {
	keys = {
		arguments = { accept = rules.one_of "passthrough", expected = '"passthrough"', manifest = "schema", check = check_passthrough },
		help_argv = { accept = rules.list_of(rules.text, 1), manifest = "schema", check = needs("arguments", "passthrough"),
			expected = 'the words that ask the other program for help: { "--help" }' },
		stdout = { accept = rules.one_of "protocol", expected = '"protocol"', manifest = "schema", check = check_protocol },
		protocol = { accept = rules.matching("^[a-z][a-z0-9]*[a-z0-9-]*$", 64), manifest = "schema", check = needs("stdout", "protocol"),
			expected = '"mcp-stdio", "lsp", "dap" or another name of a-z, 0-9 and -' },
	},
	flags = {},
}
