-- caller: what a command needs of whoever calls it (a token, an editor, a window), and what it
-- does where that is missing. lua/core/surroundings.lua acts on it.

local rules = require "runner.core.rules"

local VARIABLE = "^[A-Za-z_][A-Za-z0-9_]*$"

local variables = rules.list_of(rules.matching(VARIABLE, 200), 1)

-- "--message" or "message" → "message"
local function argument(v)
	return type(v) == "string" and v:match "^%-?%-?([a-z][a-z0-9_-]*)$" or nil
end

local function needs(key, text)
	return function(n, fault)
		if not n[key] then
			fault("needs " .. text, "Add " .. text)
		end
	end
end

local function check_auth(n, fault)
	if n.auth and n.headless_supported == nil then
		fault("needs headless_supported", "Add headless_supported = true, or false where only a browser can sign in")
	end
end

local function check_headless(n, fault)
	if not n.auth then
		fault("needs auth = true", "Add auth = true")
	elseif not n.headless_supported and not n.token_env_vars then
		fault("is false, so that token_env_vars must name variables", 'Add token_env_vars = { "MYTOOL_TOKEN" }')
	end
end

local function check_editor(n, fault)
	if n.requires_editor and not n.interactive then
		fault("needs interactive = true", "Add interactive = true")
	elseif n.requires_editor and not n.non_interactive_alternatives then
		fault("needs non_interactive_alternatives", 'Add non_interactive_alternatives = { "message" }: arguments that do without')
	end
end

local function check_alternatives(n, fault)
	local known = {}
	for _, arg in ipairs(n.args or {}) do
		known[type(arg) == "table" and tostring(arg.name or arg[1]):gsub("_", "-") or 0] = true
	end
	for _, name in ipairs(n.non_interactive_alternatives) do
		if not known[(name:gsub("_", "-"))] then
			fault(("names '%s', which is no argument"):format(name), "Name arguments of args")
		end
	end
end

---@type runner.Subject
return {
	keys = {
		auth = { accept = rules.flag, expected = "true or false", manifest = "schema", check = check_auth },
		headless_supported = { accept = rules.flag, expected = "true or false", manifest = "entry", check = check_headless },
		token_env_vars = { accept = variables, expected = 'a list of variables such as { "MYTOOL_TOKEN" }', manifest = "entry",
			check = needs("auth", "auth = true") },
		requires_editor = { accept = rules.flag, expected = "true or false", manifest = "entry", check = check_editor },
		non_interactive_alternatives = { accept = rules.list_of(argument, 1), manifest = "entry",
			expected = 'a list of arguments such as { "message" }', check = check_alternatives },
		gui_operations = { accept = rules.list_of(rules.text, 1), expected = 'a list of what it opens, such as { "browser" }',
			manifest = "entry", check = needs("headless_behavior", 'headless_behavior = "emit_in_output", "skip" or "error"') },
		headless_behavior = { accept = rules.one_of("emit_in_output", "skip", "error"), manifest = "entry",
			expected = '"emit_in_output", "skip" or "error"', check = needs("gui_operations", 'gui_operations = { "browser" }') },
	},
	flags = {
		{ name = "headless", type = "boolean", when = "auth", section = "Signing in",
			description = "Sign in without a browser; always so without a terminal" },
		{ name = "token_env_var", type = "string", pattern = VARIABLE, when = "auth", section = "Signing in",
			description = "Environment variable that holds the token to sign in with" },
	},
}
