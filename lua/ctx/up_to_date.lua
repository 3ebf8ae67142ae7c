-- up_to_date: whether a command that declares `sources` has anything to do: the contents of its files,
-- its arguments and its own file are as they were when it last succeeded, and so is what it
-- generates. A file in the state directory keeps a digest for each call; without it, or where
-- a file can't be read, there is something to do.

local attempt = require "runner.core.attempt"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local own_state = require "runner.core.own_state"
local paths = require "runner.core.paths"

local M = {}

local Files = {}
Files.__index = Files

local function sha256(text)
	return require("runner.ledger").digest(text)
end

-- Every file of the patterns with its digest; nil: one of the patterns has none, or one can't be read, which is named.
local function contents(patterns, root, all)
	local lines = {}
	for _, pattern in ipairs(patterns) do
		local found = fs.glob(pattern, root)
		if not found or all and #found == 0 then
			return nil
		end
		for _, path in ipairs(found) do
			local full = paths.absolute(path, root)
			local stat = fs.stat(full)
			local digest = stat and stat.type or "gone"
			if digest == "file" then digest = fs.hash(full) end
			if not digest then
				return nil, path
			end
			lines[#lines + 1] = ("%s %o %s"):format(digest, stat and stat.mode or 0, path)
		end
	end
	return table.concat(lines, "\n")
end

---Look at the files of a command.
---@param a runner.Attempt
---@return { unchanged: boolean, keep: fun(self: table) }
function M.look(a)
	local root, folder = host.getcwd(), own_state.folder(a, "unchanged")
	local values = assert(json.encode(a.parsed.values))
	local self = setmetatable({ root = root, generates = a.command.generates or {}, folder = folder }, Files)
	self.path = folder and ("%s/%s.json"):format(folder, sha256(root .. "\0" .. values))
	local sources = contents(a.command.sources, root)
	self.before = sources and sha256(a.command.digest .. "\n" .. sources)
	local kept = self.path and json.decode(fs.read(self.path, 4096) or "")
	local generated = type(kept) == "table" and kept.sources == self.before and contents(self.generates, root, true)
	self.unchanged = generated and kept.generates == sha256(generated) or false
	return self
end

-- It works, but not as declared: each call does the work.
local function not_kept(why)
	attempt.warn("UNCHANGED_NOT_KEPT", "The next call does the work again, whatever has changed: " .. why)
end

---The command has succeeded: with these sources it need not run again. Where that can't be noted, it runs again.
function Files:keep()
	local generated, hidden = contents(self.generates, self.root, true)
	if hidden then
		not_kept(("%s, which it generates, can't be read"):format(hidden))
	elseif not generated then
		attempt.warn("NOTHING_GENERATED", "The command has not made what it says in generates")
	elseif not self.path then
		not_kept(paths.NO_STATE)
	elseif self.before then
		local ok, why = fs.mkdirs(self.folder, 448, true) -- 0700
		if ok then
			ok, why = fs.write(self.path, json.encode { sources = self.before, generates = sha256(generated) }, 384, false) -- 0600
		end
		if not ok then
			not_kept(tostring(why))
		end
	end
end

return M
