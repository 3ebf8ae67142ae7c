-- runner types: write the script API for the project's editor (lua-language-server):
-- .runner/types/*.lua, and .luarc.json pointing there. Idempotent.

local annotations = require "runner.tools.annotations"
local fs = require "runner.fs"
local json = require "runner.json"
local locate = require "runner.project.locate"
local pretty = require "runner.output.pretty"
local attempt = require "runner.core.attempt"
local sorted = require "runner.core.sorted"

local FOLDER = ".runner/types"
local VERSION = "Lua 5.4"

local CODES = { EACCES = "PERMISSION_DENIED", EPERM = "PERMISSION_DENIED", EROFS = "PERMISSION_DENIED",
	ENOTDIR = "CONFLICT", EEXIST = "CONFLICT", EISDIR = "CONFLICT" }

local function must(ctx, value, why, errno)
	if not value then
		ctx:fail(CODES[errno] or "UNAVAILABLE", "Can't write the types: " .. why)
	end
	return value
end

-- --- .luarc.json ------------------------------------------------------------------------

-- A setting may be written "workspace.library" or as nested objects.
local function place_of(settings, group, key)
	if type(settings[group]) == "table" and not json.is_array(settings[group]) then
		return settings[group], key
	end
	return settings, group .. "." .. key
end

local function contains(list, wanted)
	for _, v in ipairs(list) do
		if v == wanted then
			return true
		end
	end
	return false
end

-- The libraries are a list, or an object {path: true}.
local function add_folder(workspace, library)
	local list = workspace[library]
	if type(list) ~= "table" then
		workspace[library] = json.array { FOLDER }
	elseif json.is_array(list) and not contains(list, FOLDER) then
		table.insert(list, FOLDER)
	elseif not json.is_array(list) and not list[FOLDER] then
		list[FOLDER] = true
	else
		return false
	end
	return true
end

-- Add the settings we need; true if something changed.
local function complete(settings)
	local changed = false
	local runtime, version = place_of(settings, "runtime", "version")
	if runtime[version] == nil then
		runtime[version], changed = VERSION, true
	end
	local workspace, library = place_of(settings, "workspace", "library")
	return add_folder(workspace, library) or changed
end

local function read_settings(ctx, path)
	local text, why, errno = fs.read(path, 1 << 20)
	if not text then
		return errno == "ENOENT" and {} or must(ctx, nil, why, errno)
	end
	local settings, problem = json.decode(text)
	if type(settings) ~= "table" or json.is_array(settings) then
		ctx:fail("PRECONDITION", ("%s is not a JSON object%s"):format(path, problem and ": " .. problem or ""), {
			fix_required = "Make it plain JSON, without comments",
		})
	end
	return settings
end

-- --- files -----------------------------------------------------------------------------

-- "created", "updated" or "noop".
local function put(ctx, path, text)
	local old = fs.read(path, 1 << 20)
	if old == text then
		return "noop"
	end
	must(ctx, fs.mkdirs(path:match("^(.*)/")))
	must(ctx, fs.write(path, text))
	return old and "updated" or "created"
end

local function put_settings(ctx, path, settings)
	if not complete(settings) then
		return "noop"
	end
	return put(ctx, path, pretty.text(settings) .. "\n")
end

-- The overall effect: "created" only if nothing existed before.
local function effect_of(effects)
	local all = table.concat(effects, " ")
	if not all:find("created") and not all:find("updated") then
		return "noop"
	end
	return all:find("updated") and "updated" or all:find("noop") and "updated" or "created"
end

return {
	description = "Set up your editor for the script API",
	danger_level = "mutating",
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	examples = { { description = "Write .runner/types and .luarc.json", command = "runner types" } },
	run = function(_, ctx)
		local root = attempt.project.root or locate.here()
		local settings = read_settings(ctx, root .. "/.luarc.json")
		local effects, paths = {}, json.array {}
		for _, name in ipairs(sorted.keys(annotations)) do
			local path = ("%s/%s.lua"):format(FOLDER, name)
			effects[#effects + 1] = put(ctx, root .. "/" .. path, annotations[name])
			paths[#paths + 1] = path
		end
		effects[#effects + 1] = put_settings(ctx, root .. "/.luarc.json", settings)
		paths[#paths + 1] = ".luarc.json"
		return { effect = effect_of(effects), root = root, paths = paths }
	end,
}
