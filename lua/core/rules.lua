-- rules: checks for tables that an author wrote: a rule per key, a function that returns
-- the value to keep, or nil to reject it. Loaded in every worker. Faults are reported by
-- reason; lua/declare/declaration.lua turns them into messages.

local M = {}

function M.text(v)
	return type(v) == "string" and v:find("%S") and utf8.len(v) and v or nil
end

function M.flag(v)
	if type(v) == "boolean" then
		return v
	end
end

function M.anything(v)
	return v
end

function M.of_type(name)
	return function(v)
		return type(v) == name and v or nil
	end
end

function M.one_of(...)
	local known = {}
	for _, v in ipairs({ ... }) do
		known[v] = v
	end
	return function(v)
		return known[v]
	end
end

---One of the values of an enumeration of src/common/names.def.
---@param enumeration string "danger_level"
function M.named(enumeration)
	return M.one_of(table.unpack(require("runner.host").names(enumeration)))
end

function M.matching(pattern, most)
	return function(v)
		return type(v) == "string" and #v <= most and v:find(pattern) and v or nil
	end
end

---Can this word be part of a command's name?
---@param word string
---@return boolean
function M.is_command_word(word)
	return #word <= 64 and word:find("^[%w][%w_-]*$") ~= nil
end

---How a name is written on the command line, without the dashes in front.
---@param name string
---@return string
function M.spelling(name)
	return (name:gsub("_", "-"))
end

local TEN_YEARS = 315360000 -- s: 3650 days, DURATION_MAX_MS

---Every duration that is declared, or given by a script or a caller, in ms: a string as users write it, or a number of
---seconds, up to ten years. For a limit, 0 and "none" mean "no limit".
---@param v any
---@return integer? ms nil: no duration
function M.duration(v)
	if type(v) == "string" then
		return require("runner.host").duration(v)
	elseif type(v) == "number" and v >= 0 and v <= TEN_YEARS then
		local ms = math.floor(v * 1000 + 0.5)
		return v > 0 and math.max(ms, 1) or 0
	end
end

---The ms of an argument of type duration, which is a number of seconds.
---@param seconds number
---@return integer
function M.milliseconds(seconds)
	return math.floor(seconds * 1000 + 0.5)
end

function M.whole(least, most)
	return function(v)
		return math.type(v) == "integer" and v >= least and v <= most and v or nil
	end
end

---Is it a list 1..n, n from `least` to `most`, of things that `accept` keeps?
---@param v any
---@param least integer
---@param most number
---@param accept fun(item: any): any
---@return any[]? kept
function M.list(v, least, most, accept)
	if type(v) ~= "table" then
		return nil
	end
	local out, count = {}, 0
	for _ in next, v do
		count = count + 1
	end
	for i = 1, count do -- #v is undefined for a table with holes
		local item, kept = rawget(v, i), nil
		if item ~= nil then
			kept = accept(item)
		end
		if kept == nil then
			return nil
		end
		out[i] = kept
	end
	return count >= least and count <= most and out or nil
end

function M.list_of(accept, least)
	return function(v)
		return M.list(v, least, math.huge, accept)
	end
end

---Check one table by its rules; a rule that is a string makes the key an alias of the
---key it names. Unknown and rejected keys are reported, the others returned.
---@param rules table<any, function|string>
---@param kind string of the table, for the messages
---@param declared any
---@param prefix? string path of the table, "args.keep"
---@param report fun(kind: string, prefix: string?, key: any, reason: string, found: any)
---@return table kept
function M.accept(rules, kind, declared, prefix, report)
	local out = {}
	if type(declared) ~= "table" then
		report(kind, prefix, nil, "table", declared)
		return out
	end
	for key, v in next, declared do
		local rule, value = rules[key], nil
		if type(rule) == "string" then
			key, rule = rule, rules[rule]
		end
		if rule then
			value = rule(v)
		end
		if value == nil then
			report(kind, prefix, key, rule and "refused" or "unknown", v)
		end
		out[key] = value
	end
	return out
end

return M
