-- rare_arguments: the keys of an argument that few have, and what they refuse: a pattern, sizes in bytes, directories that a
-- path may not leave, schemas of JSON; and the flags of a secret one. Loaded for one of them.

local flags = require "runner.declare.flags"
local regex = require "runner.regex"
local rules = require "runner.core.rules"

local M = {}

-- The patterns of arguments: presets by name, and anchored regular
-- expressions. Loaded when a command declares one.

---Named patterns: the regular expression, and an example. `portable`: two that say the same without looking around,
---of a text that is not empty.
M.presets = {
	uuid = { [[^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$]], "123e4567-e89b-12d3-a456-426614174000" },
	semver = { [[^(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}]]
		.. [[(?:-(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*)(?:\.(?:0|[1-9]\d*|\d*[A-Za-z-][0-9A-Za-z-]*))*)?]]
		.. [[(?:\+[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*)?$]], "1.2.3" },
	url = { [[^[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#]+\S*$]], "https://example.org/path" },
	alphanumeric_id = { [[^[A-Za-z0-9][A-Za-z0-9_-]*$]], "web-01" },
	filepath = { [[^(?!(?:.*/)?\.\.(?:/|$))(?!.*%(?:2[5eEfF]|3\d|[46][1-6]|5[cC]))[^\x00-\x1f\x7f]+$]], "site/index.html", portable = {
		([[^N?(?:/N?)*$]]):gsub("N", [[(?:\.|\.?[^./\x00-\x1f\x7f][^/\x00-\x1f\x7f]*|\.\.[^/\x00-\x1f\x7f]+)]]),
		[[^(?:[^%]|%+(?:[2-6]%+)*(?:[^%2-6]|2[^%5eEfF]|3[^%0-9]|[46][^%1-6]|5[^%cC]))*(?:%+(?:[2-6]%+)*[2-6]?)?$]],
	} },
}

---What is wrong with a declared pattern, if anything.
---@param pattern string
---@return "unanchored"|"no_regex"|nil reason, string? found
function M.pattern_fault(pattern)
	if M.presets[pattern] then
		return nil
	end
	local ok, message = regex.check(pattern)
	if not ok then
		return "no_regex", message
	elseif not pattern:find("^%^.*%$$") then
		return "unanchored", pattern
	end
end

---Why a pattern rejects a value, if it does; "regex": matching took too long.
---@param pattern string a preset's name or a regular expression
---@param value string
---@return "pattern"|"regex"|nil
function M.pattern_refuses(pattern, value)
	local preset = M.presets[pattern]
	local hit, message = regex.match(preset and preset[1] or pattern, value)
	if not hit then
		return message and "regex" or "pattern"
	end
end

-- 0 would be no limit.
local function bytes(v)
	local n = require("runner.core.amounts").size(v, 1)
	return n ~= 0 and n or nil
end

local function schema(v)
	return type(v) == "table" and require("runner.declare.output_schema").copy(v) or nil
end

M.rules = {
	max_bytes = bytes, within = rules.text, schema = schema, pipe_compatible = rules.flag,
	env_fallbacks = rules.list_of(rules.matching("^[%a_][%w_]*$", 256), 1),
}

-- Which types a key is for.
local FOR = { max_bytes = { string = true, path = true }, within = { path = true }, schema = { json = true },
	pipe_compatible = { string = true, path = true, enum = true, integer = true, number = true, duration = true } }

---The first of a row's env_fallbacks that is set, for a row whose own variable is not. Messages name it.
---@param row table normalised
---@param getenv? fun(name: string): string?
---@return string?
function M.fallback(row, getenv)
	for _, name in ipairs(row.env_fallbacks) do
		local text = (getenv or os.getenv)(name)
		if text and text ~= "" then
			row.read_from = name
			return text
		end
	end
end

---Check the rules between the keys of one argument.
---@param r table row, in part normalised
---@param kind string its type, or that of its items
---@param fault fun(key: string, reason: string, found: any)
function M.check(r, kind, fault)
	for key, kinds in next, FOR do
		if r[key] ~= nil and not kinds[kind] then
			fault(key, "not_for_type", kind)
			r[key] = nil
		end
	end
	if kind == "json" and r.secret then -- a table can't be hidden wherever a part of it appears
		fault("secret", "not_for_type", kind)
	end
	if r.pipe_compatible and r.secret then -- it has --NAME-from-file
		fault("pipe_compatible", "not_for_secret")
	end
	local problem = r.schema and require("runner.declare.output_schema").fault(r.schema)
	if problem then
		fault("schema", "schema", problem)
		r.schema = nil
	end
end

-- --- paths ------------------------------------------------------------------------------

-- Where a path leads, symbolic links followed as far as it exists; nil where that can't be told.
local function resolved(fs, path)
	local rest = ""
	while true do
		local real, _, code = fs.realpath(path)
		if real then
			return (real == "/" and "" or real) .. rest
		elseif code ~= "ENOENT" or fs.readlink(path) then
			return nil
		end
		local parent, name = path:match "^(.-)/*([^/]+)/*$"
		if name == ".." then
			return nil
		end
		path, rest = parent ~= "" and parent or path:sub(1, 1) == "/" and "/" or ".", name ~= "." and "/" .. name .. rest or rest
	end
end

---Does a path stay in a directory? Both are relative to the working directory. A check of what
---is there now, not a sandbox.
---@param path string
---@param root string
---@return boolean
function M.is_within(path, root)
	local fs = require "runner.fs"
	local inside, from = resolved(fs, path), resolved(fs, root)
	return inside ~= nil and from ~= nil and (inside .. "/"):sub(1, #from + 1) == from .. "/"
end

-- --- all --------------------------------------------------------------------------------

---Why a row's rarer rules reject a value; nil: they don't.
---@param row table normalised
---@param value any of the row's type
---@return "bytes"|"pattern"|"regex"|"outside"|"schema"|nil
function M.refuses(row, value)
	if row.max_bytes and #value > row.max_bytes then
		return "bytes"
	elseif row.schema then
		return require("runner.core.json_schema").problems(row.schema, value)[1] and "schema" or nil
	end
	local why = row.pattern and M.pattern_refuses(row.pattern, value)
	return why or row.within and not M.is_within(value, row.within) and "outside" or nil
end

-- The flags that give a secret argument its value without showing it to every
-- user of the machine, as a command line does: --NAME-from-env and --NAME-from-file. Loaded by
-- lua/declare/contract.lua where a command declares secrets; lua/project/secret_args.lua reads
-- what they name.

local SOURCES = {
	{ "env", "string", "Environment variable that holds %s" },
	{ "file", "path", "File that holds %s; a line break at its end doesn't count" },
}

---@class runner.SecretFlagRow: runner.FlagRow
---@field of table the argument's row
---@field source "env"|"file"

local function flag_row(row, source, kind, description)
	local name = ("%s_from_%s"):format(row.name, source)
	return { name = name, flag = flags.spelling(name), type = kind, when = "secrets", section = "Secrets", of = row,
		source = source, description = description:format(row.positional and row.flag or "--" .. row.flag) }
end

---The rows for a command's secret arguments, but lists. An argument of the author's goes
---before one of its name.
---@param command table normal form
---@return runner.SecretFlagRow[]
function M.secret_rows(command)
	local out, taken = {}, {}
	for _, row in ipairs(command.args) do
		taken[row.flag] = true
	end
	for _, row in ipairs(command.args) do
		for _, source in ipairs(row.secret and row.type ~= "array" and SOURCES or {}) do
			local made = flag_row(row, table.unpack(source))
			out[#out + 1] = not taken[made.flag] and made or nil
		end
	end
	return out
end

---The row of a spelling.
---@param command table normal form
---@param spelling string
---@return runner.SecretFlagRow?
function M.find_secret(command, spelling)
	for _, row in ipairs(M.secret_rows(command)) do
		if row.flag == spelling then
			return row
		end
	end
end

return M
