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
---@field version string as --version prints it: of a tool of its own, the project's
---@field name? string of that tool
---@field runner? string the version of runner in it
---@field project? {name: string, version?: string} the one that runner was started in
---@field build {version: string, commit: string, linkage: "dynamic"|"static", target: string, compiler: string, libc: string}
---@field libraries {name: string, version?: string, with?: string, linked: "built-in"|"on use", missing?: string}[]

---@param data {version: string, name?: string, runner?: string, project?: table} gets `build` and `libraries`
---@return runner.About
function M.add(data)
	local list = json.array(about.libraries())
	for _, row in ipairs(list) do
		split(row)
	end
	local build = about.build()
	local linked = build.linkage == "static" and "built-in" or "on use"
	add(list, "lua-yaml", require("runner.core.yaml.parser").version, linked)
	add(list, "libmd", digest_library, linked)
	data.build, data.libraries = build, list
	return data
end

---@param described runner.About
---@param versions string what --version alone prints
---@return string
function M.text(described, versions)
	local build = described.build
	local lines = {
		versions,
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
