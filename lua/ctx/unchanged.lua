-- unchanged: whether a command that declares `sources` has anything to do: the contents of its files,
-- its arguments and its own file are as they were when it last succeeded, and so is what it
-- generates. A file in the state directory keeps a digest for each call; without it, or where
-- a file can't be read, there is something to do.

local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"

local M = {}

local Files = {}
Files.__index = Files

local function sha256(text)
	return require("runner.ledger").digest(text)
end

-- Every file of the patterns with its digest; nil: one of the patterns has none, or one can't be read.
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
			local digest = not stat and "gone" or stat.type == "file" and fs.hash(full) or stat.type
			if not digest then
				return nil
			end
			lines[#lines + 1] = ("%s %o %s"):format(digest, stat and stat.mode or 0, path)
		end
	end
	return table.concat(lines, "\n")
end

---Look at the files of a command.
---@param a runner.Attempt
---@param ctx runner.Context
---@return { unchanged: boolean, keep: fun(self: table) }
function M.look(a, ctx)
	local root, state = ctx.root or host.getcwd(), paths.state()
	local values = assert(json.encode(a.parsed.values))
	local self = setmetatable({ root = root, generates = a.command.generates or {} }, Files)
	self.path = state and ("%s/unchanged/%s.json"):format(state, sha256(root .. "\0" .. a.name .. "\0" .. values))
	local sources = contents(a.command.sources, root)
	self.before = sources and sha256(a.command.digest .. "\n" .. sources)
	local kept = self.path and json.decode(fs.read(self.path, 4096) or "")
	local generated = type(kept) == "table" and kept.sources == self.before and contents(self.generates, root, true)
	self.unchanged = generated and kept.generates == sha256(generated) or false
	return self
end

---The command has succeeded: with these sources it need not run again. Where that can't be written, it runs again.
function Files:keep()
	local generated = contents(self.generates, self.root, true)
	if not generated and self.generates[1] then
		require("runner.core.attempt").warn("NOTHING_GENERATED", "The command has not made what it says in generates")
	elseif generated and self.path and self.before and fs.mkdirs(self.path:match "^(.*)/", 448) then -- 0700
		fs.write(self.path, json.encode { sources = self.before, generates = sha256(generated) }, 384, false) -- 0600
	end
end

return M
