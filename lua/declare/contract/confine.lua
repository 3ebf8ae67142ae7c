-- confine: what `run` of a command, and all that it starts, may reach of files and network
-- (lua/project/confine.lua acts on it).

local rules = require "runner.core.rules"

local MOST = 64 -- paths of a list

-- ".." could lead anywhere by a link, and rules are compared as they are written.
local function path(v)
	return rules.text(v) and not v:find("\0", 1, true) and not ("/" .. v .. "/"):find("/../", 1, true) and v or nil
end

local function paths(v)
	return rules.list(v, 0, MOST, path)
end

local PARTS = { write = paths, read = paths, network = rules.flag, required = rules.flag }

-- A key that says nothing is no mistake of the kernel's: the author meant something else.
local function confine(v)
	local clean = type(v) == "table"
	local out = rules.accept(PARTS, "confine", v, nil, function()
		clean = false
	end)
	if not clean or not (out.write or out.read or out.network == false) then
		return nil
	end
	out.required = out.required ~= false
	return out
end

---@type runner.Subject
return {
	keys = {
		confine = { accept = confine, manifest = "schema",
			expected = 'at least one of write = { "out" }, read = { "data" } and network = false, and required = false if it may do without' },
	},
	flags = {},
}
