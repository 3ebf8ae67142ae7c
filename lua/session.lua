-- session: the state of this attempt, for the modules of the library: what the
-- worker was told, the declaration that runs, the flags, the retry budget.
-- Filled in by boot, phase by phase; scripts see `ctx` instead.

local host = require "runner.host"

local M = {
	launch = host.launch(), ---@type table what the supervisor told at the fork
	project = nil, ---@type table? runner.lua, normalised
	command = nil, ---@type table? the declaration's normal form
	framework = {}, ---@type table values of the framework's flags
	inner_repeats = 0, -- made by loops inside this attempt
	retries_given = nil, ---@type integer? --retries N: one budget for every kind of repetition
	format = nil, ---@type "json"|runner.TextFormat? of the result
	texts = {}, ---@type table<runner.TextFormat, string> the result as a built-in has worded it itself
}

---The data of an envelope: a scalar is wrapped (design §4).
---@param data any
---@return table|lightuserdata|nil
function M.wrap(data)
	if data ~= nil and type(data) ~= "table" and data ~= require("runner.json").null then
		return { value = data }
	end
	return data
end

---Repetitions that --retries still allows; nil when the caller gave no budget.
---@return integer?
function M.budget()
	if M.retries_given then
		return math.max(M.retries_given - M.launch.repeats_made - M.inner_repeats, 0)
	end
end

---What the command declared that it may use of the machine: its children inherit
---it. Nil when that is nothing.
---@return {memory_bytes?: integer, cpu_ms?: integer, processes?: integer, open_files?: integer}?
function M.limits()
	local limits = M.command and M.command.limits
	return limits and next(limits) and limits or nil
end

---The declared CPU time in ms, if this is the signal that a child of it died of.
---@param signal? string
---@return integer?
function M.cpu_limit(signal)
	return signal == "SIGXCPU" and (M.limits() or {}).cpu_ms or nil
end

---A repetition inside the attempt begins (meta.retries counts it).
function M.note_repeat()
	M.inner_repeats = M.inner_repeats + 1
	host.send("RETRY", { event = "repeat" })
end

---Add a warning to the envelope.
---@param code string
---@param message string
---@param context? table
function M.warn(code, message, context)
	local encoded = context and require("runner.json").encode(context)
	if not host.send("WARN", { code = code, message = message, context = encoded or nil }) then
		host.send("WARN", { code = code, message = message:sub(1, 8192) }) -- it was too large
	end
end

return M
