-- fs: ctx.fs, every function of `require "fs"`, raising where that returns nil and a
-- message. Loaded on first use. lua/core/returned.lua has the codes.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local misuse = require "runner.ctx.misuse"
local returned = require "runner.core.returned"

local M = {}

local function raise_held(path, holder)
	errors.raise("LOCK_HELD", ("The lock %s is held by %s"):format(path,
		holder.pid and "process " .. holder.pid or "another process"),
		{ context = { lock_file = path, holder_pid = holder.pid, holder_age_ms = holder.age_ms } })
end

-- What the function returned, unless that is a failure.
local function checked(path, value, why, about, ...)
	if value ~= nil or why == nil then
		return value, why, about, ...
	elseif why == "held" then
		raise_held(path, about)
	end
	error(returned.error(why, about), 0)
end

-- A wrong argument is told by C as "bad argument #1 to '?' (…)", with no place of the script.
local function called(name, path, ok, ...)
	if ok then
		return checked(path, ...)
	end
	local raised = ...
	local number, why = tostring(raised):match "bad argument #(%d+) to .- %((.*)%)$"
	if type(raised) == "string" and number then
		misuse.raise("ctx.fs." .. name, ("argument %s: %s"):format(number, why))
	end
	error(raised, 0)
end

local function raising(name, fn)
	return function(path, ...)
		return called(name, path, pcall(fn, path, ...))
	end
end

for name, fn in pairs(fs) do
	M[name] = raising(name, fn)
end

---Is there something at the path? A dangling link is something too. Raises where that
---can't be known.
---@param path string
---@return boolean
function M.exists(path)
	local ok, stat = pcall(M.lstat, path)
	if not ok and not (errors.is(stat) and stat.context and (stat.context.errno == "ENOENT" or stat.context.errno == "ENOTDIR")) then
		error(stat, 0)
	end
	return ok
end

-- Those of lua/library/files.lua are there once one is asked for.
local function load_rest()
	if fs.glob then
		for name, fn in pairs(fs) do
			rawset(M, name, rawget(M, name) or raising(name, fn))
		end
	end
end

return setmetatable(M, { __index = function(_, name)
	load_rest()
	if rawget(M, name) then
		return M[name]
	end
	local near = require("runner.core.suggest").nearest(tostring(name), require("runner.core.tables").sorted_keys(M), 1)[1]
	misuse.raise("ctx.fs", ("there is no function '%s'"):format(tostring(name)),
		near and ("Write ctx.fs.%s"):format(near) or "See 'runner types' for the functions of fs")
end })
