-- about: what this program is made of, for `--version --verbose`: its commit, how it was built, the
-- libraries with their versions. Those that are opened on use are opened for it.

local about = require "runner.about"
local json = require "runner.json"

local M = {}

local INSTALL = "not here"

-- The Lua halves know whether theirs can be opened.
local function add(list, name, version, linked)
	local ok, found = pcall(version)
	list[#list + 1] = { name = name, version = ok and found or nil, linked = linked, missing = not ok and INSTALL or nil }
end

local function digest_library()
	assert(require("runner.digest").text("sha256", ""))
	return "0" -- of its file's name, libmd.so.0: it has no function that says more
end

-- "libcurl/7.88.1 OpenSSL/3.0.19 …", "10.42 2022-12-11": the first word is the version.
local function split(row)
	local version, rest = (row.version or ""):match "^[%a]*/?(%S+)%s*(.*)"
	row.version, row.with = version, rest ~= "" and rest:find "/" and rest or nil
end

---@class runner.About
---@field version string as --version prints it: in a bundle, the project's
---@field build {version: string, commit: string, linkage: "dynamic"|"static", target: string, compiler: string, libc: string}
---@field libraries {name: string, version?: string, with?: string, linked: "built-in"|"on use", missing?: string}[]

---@param version string
---@return runner.About
function M.describe(version)
	local list = json.array(about.libraries())
	for _, row in ipairs(list) do
		split(row)
	end
	local build = about.build()
	local linked = build.linkage == "static" and "built-in" or "on use"
	add(list, "lua-yaml", require("runner.core.yaml.parser").version, linked)
	add(list, "libmd", digest_library, linked)
	return { version = version, build = build, libraries = list }
end

---@param described runner.About
---@return string
function M.text(described)
	local build = described.build
	local lines = {
		described.version,
		"runner: " .. build.version,
		"commit: " .. build.commit,
		("build: %s, %s, %s, %s"):format(build.linkage, build.target, build.libc, build.compiler),
	}
	for _, one in ipairs(described.libraries) do
		lines[#lines + 1] = ("%s: %s (%s)"):format(one.name, one.version or "none",
			table.concat({ one.missing or one.linked, one.with }, "; "))
	end
	return table.concat(lines, "\n") .. "\n"
end

return M
