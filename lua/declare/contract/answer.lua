-- answer: what a command declares about its result (a list, rows in it, rows while it runs, older forms), and how much of an
-- answer a caller wants and what it may show: pages, fields, tokens of a language model (REQ-O-049), masks.

local rules = require "runner.core.rules"

-- --- lists -----------------------------------------------------------------------------------

local function needs_list(n, fault)
	if not n.list then
		fault("needs list = true", "Add list = true")
	end
end

local function not_streamed(n, fault)
	if not (n.list or n.truncates) then
		return
	end
	if n.streams then
		fault("can't be used with streams = true", "Remove one of them: a stream has no pages, and is not cut")
	end
end

-- true: the result itself is the list; else the member that holds it.
local function rows(v)
	return v == true or rules.text(v)
end

local function is_list(schema)
	local kind = type(schema) == "table" and schema.type or nil
	return kind == nil or kind == "array" or type(kind) == "table" and table.concat(kind, " "):find("array", 1, true) ~= nil
end

local function check_rows(n, fault)
	if n.list or n.streams == true then
		fault(("can't be used with %s = true"):format(n.list and "list" or "streams"), "Remove one of them: both say which rows there are")
	end
	local schema = n.output_schema
	local properties = schema and type(schema.properties) == "table" and schema.properties or nil
	if n.rows == true and not is_list(schema) then
		fault("is true, but output_schema describes no array", 'Name the member that holds the rows, or write type = "array"')
	elseif n.rows ~= true and properties and not (properties[n.rows] ~= nil and is_list(properties[n.rows])) then
		fault(("names '%s', which output_schema doesn't describe as an array"):format(n.rows), "Name a member of the result that is a list")
	end
end

-- --- rows while it runs ----------------------------------------------------------------------

local function needs_streams(n, fault)
	if n.rows_may_repeat and not n.streams then
		fault("needs streams = true", "Add streams = true")
	end
end

-- true, or the name of the boolean argument that switches it on.
local function streams(v)
	return type(v) == "string" and v:find "^%l[%w_]*$" and v or rules.flag(v)
end

local function check_streams(n, fault)
	for _, row in ipairs(type(n.streams) == "string" and n.args or {}) do
		if (row.name or row[1]) == n.streams and (row.type or row[2]) == "boolean" then
			return
		end
	end
	if type(n.streams) == "string" then
		fault(("names no boolean argument '%s'"):format(n.streams), "Write true, or the name of a boolean argument")
	end
end

-- A caller can't confirm rows that are on their way.
local function not_destructive(n, fault)
	if n.streams and n.danger_level == "destructive" then
		fault("can't be used with danger_level = \"destructive\"", "Remove streams, and return the rows from run")
	end
	check_streams(n, fault)
end

-- --- older forms -----------------------------------------------------------------------------

-- { ["1.0"] = function(data) … end } → by major version
local function older(v)
	local out = {}
	for version, shape in next, type(v) == "table" and v or {} do
		local major = type(version) == "string" and version:match "^(%d+)%.%d+$"
		if not major or type(shape) ~= "function" or out[major] then
			return nil
		end
		out[major] = { version = version, shape = shape }
	end
	return next(out) and out or nil
end

local function are_older(n, fault)
	local current = tonumber((n.schema_version or "1.0"):match "^%d+")
	for major, row in next, n.older_versions or {} do
		if tonumber(major) >= current then
			fault(("has %s, which is not older than schema_version"):format(row.version), "Raise the major number of schema_version")
		end
	end
end

-- --- the rows ---------------------------------------------------------------------------

---@type runner.Subject
return {
	keys = {
		-- lists
		rows = { accept = rows, expected = 'true, or the name of a member of the result such as "files"', check = check_rows,
			manifest = "schema" },
		truncates = { accept = rules.flag, expected = "true or false", check = not_streamed, manifest = "schema" },
		list = { accept = rules.flag, expected = "true or false", check = not_streamed, manifest = "schema" },
		default_limit = { accept = rules.whole(0, 1000000), expected = "a whole number from 0 to 1000000", check = needs_list,
			manifest = "schema" },
		-- rows while it runs
		streams = { accept = streams, expected = "true, false or the name of a boolean argument", check = not_destructive, manifest = "schema" },
		rows_may_repeat = { accept = rules.flag, expected = "true or false", check = needs_streams, manifest = "schema" },
		-- older forms
		older_versions = { accept = older, check = are_older, manifest = "none",
			expected = 'functions such as { ["1.0"] = function(data) … end }, one for each older major version' },
	},
	flags = {
		-- lists
		{ name = "max_bytes", type = "integer", min = 4096, max = 1 << 24, yields = true, section = "Output",
			description = "Most bytes of the answer; what is more is kept in a file, and meta says where" },
		{ name = "limit", type = "integer", min = 0, max = 1000000000, when = "list", section = "Output",
			description = "At most this many items; 0: all; 20 unless the command says otherwise" },
		{ name = "cursor", type = "string", when = "list", section = "Output",
			description = "Go on where meta.pagination.next_cursor of an earlier call says" },
		{ name = "sort", type = "string", when = "list", section = "Output",
			description = "Sort by these fields, separated by commas; - in front of one: descending" },
		{ name = "fields", type = "string", yields = true, section = "Output",
			description = "Only these fields of the result, separated by commas; of each item of a list" },
		-- rows while it runs
		{ name = "stream", type = "boolean", when = "streams", section = "Output",
			description = "As --format jsonl: rows as they come; --no-stream: as --format json" },
		{ name = "heartbeat_ms", type = "integer", min = 0, max = 86400000, yields = true, section = "Output",
			description = "Milliseconds of silence before a JSON line on stdout says that the command still runs; 0: never" },
		{ name = "heartbeat_interval", type = "duration", min = 0.1, max = 86400, yields = true, section = "Output",
			description = "Every so many seconds, a line on stderr says how far the command is" },
		-- what it may show
		{ name = "unmask", type = "boolean", yields = true, section = "Output",
			description = "Show tokens and keys in the result; without it they are masked" },
		{ name = "meta", type = "enum", values = { "short", "full" }, yields = true, section = "Output",
			description = "short: leave out of meta what is the same in all answers, or known to the caller" },
		{ name = "stable_output", type = "boolean", yields = true, section = "Output",
			description = "Leave out of meta what differs between two equal calls" },
		{ name = "no_injection_protection", type = "boolean", yields = true, section = "Output",
			description = "Don't mark data from outside as untrusted; off a terminal it needs --yes too" },
		-- tokens of a language model
		{ name = "token_limit", type = "integer", min = 16, max = 1000000000, yields = true, section = "Output",
			description = "At most this many tokens of the result, in whole elements; what is more is left out, and meta says so" },
		{ name = "token_offset", type = "integer", min = 0, max = 1000000000000, yields = true, section = "Output",
			description = "Leave out what answers of --token-limit have shown so far: the next_token_offset of the last one" },
		{ name = "token_count", type = "boolean", yields = true, section = "Output",
			description = "Run the command, and answer with the number of tokens of its result" },
		{ name = "tokenizer", type = "enum", values = { "bytes4" }, yields = true, section = "Output",
			description = "How tokens are counted: bytes4 is a token for every 4 bytes" },
		-- older forms
		{ name = "schema_version", type = "integer", min = 0, max = 1000000, when = "older_versions", section = "Output",
			description = "Major version of the result's form, for callers that know an older one" },
	},
}
