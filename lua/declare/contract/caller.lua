-- caller: what a command says to callers and needs of them (how it is found, what it demands of the machine, the token it
-- signs in with, a person for an editor), and the flags of a call that few calls use. lua/core/requirements.lua acts on some.

local rules = require "runner.core.rules"

-- --- what it needs of the caller -------------------------------------------------------------

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

-- --- for agents that choose commands ---------------------------------------------------------

-- Programs by name; "*" is any version.
local function versions(v)
	local out = {}
	for name, least in next, type(v) == "table" and v or {} do
		local is_version = type(least) == "string" and (least == "*" or least:find "^%d[%w.+-]*$")
		if not is_version or type(name) ~= "string" or name == "" or name:find "^%-" then
			return nil
		end
		out[name] = least
	end
	return next(out) and out or nil
end

-- What a command is to a client of MCP beside a tool: a prompt, or the resource of a URI, in which {NAME} stands for an argument.
local function mcp_role(v)
	local uri, kind = type(v) == "table" and v.resource, type(v) == "table" and v.mime_type
	for key in next, type(v) == "table" and v or {} do
		if key ~= "resource" and key ~= "mime_type" then
			return nil
		end
	end
	if not uri then
		return (type(v) == "boolean" or v == "prompt") and v or nil
	end
	local fits = type(uri) == "string" and #uri <= 1024 and uri:find "^%l[%l%d+.-]*://[%w%-._~!$&'()*+,;=:@/%%{}]+$"
		and not uri:gsub("{[%l_][%w_]*}", ""):find "[{}]" and not uri:find "}{" and not uri:find "^runner:"
	return fits and (not kind or type(kind) == "string" and kind:find "^[%w.+-]+/[%w.+-]+$") and { resource = uri, mime_type = kind } or nil
end

local function check_mcp_role(n, fault)
	local uri, rows = type(n.mcp) == "table" and n.mcp.resource or "", {}
	if type(n.mcp) ~= "boolean" and n.danger_level ~= "safe" then
		fault("needs a command that changes nothing", 'Write danger_level = "safe", or leave out mcp')
	end
	for _, row in ipairs(n.args or {}) do
		local name = row.name or row[1]
		rows[name] = row
		if uri ~= "" and row.required and not uri:find("{" .. name .. "}", 1, true) then
			fault(("leaves out the required argument %s"):format(name), ("Name it in the URI: {%s}"):format(name))
		end
	end
	for name in uri:gmatch "{(.-)}" do
		if not rows[name] then
			fault(("names {%s}, which is no argument"):format(name), ("Add the argument %s"):format(name))
		end
	end
end

-- --- the rows ---------------------------------------------------------------------------

---@type runner.Subject
return {
	keys = {
		-- a call
		cwd = { accept = function(v) return rules.text(v) and not ("/" .. v .. "/"):find("/../", 1, true) and v or nil end,
			manifest = "schema", expected = '"project", "caller" or a directory of the project' },
		-- what it needs of the caller
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
		-- for agents that choose commands
		output_schema = { manifest = "entry", expected = "a JSON Schema (draft 07) as a table",
			accept = function(v)
				return type(v) == "table" and require("runner.declare.output_schema").copy(v) or nil
			end,
			check = function(n, fault)
				local problem = n.output_schema and require("runner.declare.output_schema").fault(n.output_schema)
				if problem then
					fault("is no JSON Schema: " .. problem, "Correct the schema")
				end
			end },
		mcp = { accept = mcp_role, check = check_mcp_role, manifest = "schema",
			expected = 'true, false, "prompt", or { resource = "notes://{name}" }, with its mime_type' },
		aliases = { manifest = "entry", expected = 'a list of other names such as { "d", "ship" }', accept = function(v)
			return rules.list(v, 1, 20, function(name)
				return type(name) == "string" and rules.is_command_word(name) and name or nil
			end)
		end },
		keywords = { accept = rules.list_of(rules.text, 1), manifest = "entry",
			expected = 'a list of words that a caller may search for, such as { "rollout" }' },
		introduced_in = { accept = rules.text, expected = "a version", manifest = "schema" },
		deprecated_in = { accept = rules.text, expected = "a version", manifest = "schema" },
		replacement = { accept = rules.text, expected = "the command to use instead", manifest = "schema",
			check = function(n, fault)
				if not n.deprecated_in then
					fault("needs deprecated_in", "Add deprecated_in = \"VERSION\"")
				end
			end },
		removed_in = { accept = rules.text, expected = "a version", manifest = "schema",
			check = function(n, fault)
				if not n.deprecated_in then
					fault("needs deprecated_in", "Add deprecated_in = \"VERSION\"")
				end
			end },
		primary_id_field = { accept = rules.text, expected = 'the name of a field such as "id"', manifest = "schema" },
		platform = { accept = rules.list_of(rules.text, 1), expected = 'a list such as { "linux" }', manifest = "entry" },
		required_tools = { accept = versions, expected = 'programs and versions such as { git = "2.30", jq = "*" }',
			manifest = "entry" },
		-- the network
		has_network_io = { accept = rules.flag, expected = "true or false", manifest = "entry" },
	},
	flags = {
		-- a call
		{ name = "cwd", type = "path", short = "C", front = true, yields = true, section = "Settings",
			description = "Work in this directory, as if runner had been called there" },
		{ name = "choose", type = "boolean", front = true, yields = true, section = "Help",
			description = "Choose one of the project's commands from a list, and run it" },
		{ name = "config", type = "path", front = true, yields = true, section = "Settings",
			description = "Read this file in place of runner.lua" },
		{ name = "context", type = "string", front = true, yields = true, section = "Settings",
			description = "Use these settings of contexts in runner.lua" },
		{ name = "no_config", type = "boolean", front = true, yields = true, section = "Settings",
			description = "Read no runner.lua" },
		{ name = "policy", type = "path", front = true, yields = true, section = "Settings",
			description = "Allow no more than this JSON file says, to this call and to what it starts" },
		{ name = "subject", type = "string", front = true, yields = true, section = "Settings",
			description = "Whose call this is, and whatever it starts, where no policy says so (RUNNER_SUBJECT)" },
		{ name = "plain", type = "boolean", yields = true, section = "Output",
			description = "At a terminal, a plain line for each change: no colours, no line that moves (RUNNER_PLAIN=1)" },
		{ name = "width", type = "integer", min = 0, max = 1000, yields = true, section = "Output",
			description = "Columns of help and other prose; 0: one line a paragraph" },
		-- what it needs of the caller
		{ name = "headless", type = "boolean", when = "auth", section = "Signing in",
			description = "Sign in without a browser; always so without a terminal" },
		{ name = "token_env_var", type = "string", pattern = VARIABLE, when = "auth", section = "Signing in",
			description = "Environment variable that holds the token to sign in with" },
		-- for agents that choose commands
		{ name = "schema", type = "boolean", yields = true, section = "Help",
			description = "Print the command's arguments, exit codes and result as JSON; run nothing (also --print-schema)" },
		{ name = "show_config", type = "boolean", yields = true, section = "Help",
			description = "Print the settings of this call and where each comes from; run nothing" },
		{ name = "output_schema", type = "boolean", yields = true, section = "Help",
			description = "Print the JSON Schema of the command's result; run nothing" },
		-- the network
		{ name = "connect_timeout", type = "duration", when = "has_network_io", section = "Network",
			description = "Limit for making a connection; an explicit one of ctx:http wins" },
		{ name = "proxy", type = "string", when = "has_network_io", section = "Network",
			description = "URL of the proxy for ctx:http; overrides the environment" },
		{ name = "no_proxy", type = "boolean", when = "has_network_io", section = "Network",
			description = "Connect directly, whatever the environment says" },
	},
}
