-- json_shapes: the values that several kinds of file share, as JSON Schema (draft 07): texts,
-- durations, sizes, the answer of `--detach`. What lua/core/rules.lua accepts, as far as a schema can say it. Pure.

local json = require "runner.json"

local M = {}

local TEN_YEARS = 315360000 -- s: lua/core/rules.lua
local NOT_BLANK = "[^ \\t\\n\\x0b\\f\\r]" -- \S of ECMAScript knows more blanks

---One of the values of a list, whose order stays.
---@param list string[]
---@return table
function M.enum(list)
	return { type = "string", enum = json.array(table.move(list, 1, #list, 1, {})) }
end

---A text that is not blank.
---@return table
function M.text()
	return { type = "string", pattern = NOT_BLANK }
end

---Any scalar but null: YAML's 8080 and true are texts where a text is wanted.
---@param blank? boolean false: a text may not be blank
---@return table
function M.scalar(blank)
	return { type = json.array { "string", "number", "boolean" }, pattern = blank == false and NOT_BLANK or nil }
end

---@param positive? boolean 0 and none are refused
---@return table
function M.duration(positive)
	local number = { type = "number", minimum = not positive and 0 or nil, exclusiveMinimum = positive and 0 or nil,
		maximum = TEN_YEARS }
	local digits = positive and "(0*[1-9][0-9]*(\\.[0-9]+)?|0+\\.[0-9]*[1-9][0-9]*)(ms|s|m|h|d)?" or "(none|[0-9]+(\\.[0-9]+)?(ms|s|m|h|d)?)"
	return { anyOf = json.array { { type = "string", pattern = "^" .. digits .. "$" }, number } }
end

---A number of bytes, from 0.
---@return table
function M.size()
	return { anyOf = json.array { { type = "string", pattern = "^(none|[0-9]+\\s*([kKmMgG]([iI]?[bB])?)?)$" },
		{ type = "integer", minimum = 0 } } }
end

---An error code.
---@return table
function M.code()
	return { type = "string", pattern = "^[A-Z][A-Z0-9_]+$", maxLength = 64 }
end

---A Lua pattern of classes of characters as a regular expression.
---@param pattern string "^[%a_][%w_]*$"
---@return string
function M.regex(pattern)
	local text = pattern:gsub("%b[]", function(class)
		return (class:gsub("%%a", "A-Za-z"):gsub("%%w", "A-Za-z0-9"):gsub("%%d", "0-9"))
	end)
	return (text:gsub("%%w", "[A-Za-z0-9]"):gsub("%%a", "[A-Za-z]"))
end

---A meaning in Markdown as plain text: links are their words.
---@param markdown string
---@return string
function M.plain(markdown)
	return (markdown:gsub("%[([^%]]+)%]%([^)]*%)", "%1"):gsub("%*%*", ""))
end

local TEXT, COUNT = { type = "string" }, { type = "integer", minimum = 0 }

---What `--detach` and every call of an `async` command answer with (REQ-C-022), for the manifest.
M.job_descriptor = {
	["$schema"] = "http://json-schema.org/draft-07/schema#",
	type = "object",
	required = json.array { "job_id", "status", "terminal", "status_command", "cancel_command", "poll_interval_ms",
		"timeout_ms" },
	properties = {
		job_id = TEXT, status = { enum = json.array { "running", "complete", "failed", "cancelled", "lost" } },
		terminal = { type = "boolean" }, status_command = TEXT, cancel_command = TEXT, wait_command = TEXT,
		logs_command = TEXT, poll_interval_ms = COUNT, timeout_ms = COUNT,
	},
}

return M
