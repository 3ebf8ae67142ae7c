-- attempt: the state of this attempt, for the modules of the library: what the worker
-- was told, and what the phases of lua/boot.lua have found, in their order. One process
-- is one attempt; scripts see `ctx` instead.

local host = require "runner.host"

---@class runner.Attempt
local M = {
	launch = host.launch(), ---@type table what the supervisor told at the fork
	words = nil, ---@type {word: string, index: integer}[] the words of argv that may name a command
	names = nil, ---@type string[] the same, without their places
	name = nil, ---@type string of the command, as far as it is known
	tokens = nil, ---@type string[] argv without the command's words
	project = nil, ---@type table? runner.lua, normalised
	found = nil, ---@type runner.Found? the command's place
	command = nil, ---@type table? the declaration's normal form
	parsed = nil, ---@type table? of args.parse: values, framework, given, problems
	framework = {}, ---@type table values of the framework's flags
	format = nil, ---@type "json"|runner.TextFormat? of the result
	settled = nil, ---@type table? of settings.settle: limits and policy with their sources
	retries_given = nil, ---@type integer? --retries N: one budget for every kind of repetition
	information = nil, ---@type "help"|"plan"|"version"? the flag that asks about the call
	ctx = nil, ---@type runner.Context? once `run` is next
	inner_repeats = 0, -- made by loops inside this attempt
	texts = {}, ---@type table<runner.TextFormat, string> the result as a built-in has worded it itself
}

---The data of an envelope: a scalar is wrapped, so that no caller meets a bare one
---(docs/design.md#one-envelope).
---@param data any
---@return table|lightuserdata|nil
function M.wrap(data)
	if data ~= nil and type(data) ~= "table" and data ~= require("runner.json").null then
		return { value = data }
	end
	return data
end

---The seed that RUNNER_SEED gives: a whole number from 0, as retry.seed takes it.
---@return integer?
function M.environment_seed()
	local seed = math.tointeger(tonumber(os.getenv "RUNNER_SEED"))
	return seed and seed >= 0 and seed or nil
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
