-- versions: older forms of a command's result, and the flag that asks for one.

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

---@type runner.Subject
return {
	keys = {
		older_versions = { accept = older, check = are_older, manifest = "none",
			expected = 'functions such as { ["1.0"] = function(data) … end }, one for each older major version' },
	},
	flags = {
		{ name = "schema_version", type = "integer", min = 0, max = 1000000, when = "older_versions", section = "Output",
			description = "Major version of the result's form, for callers that know an older one" },
	},
}
