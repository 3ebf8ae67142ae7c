-- runner types: write the script API for the project's editor (lua-language-server): .runner/types/*.lua, and
-- .luarc.json pointing there; and beside them the JSON Schemas of workflow files and of runner.lua's
-- data. Idempotent. With --print: one of these schemas, on stdout alone.

local annotations = require "runner.tools.annotations"
local fs = require "runner.fs"
local json = require "runner.json"
local json_edit = require "runner.core.json_edit"
local paths = require "runner.core.paths"
local layout = require "runner.output.layout"
local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local tables = require "runner.core.tables"

local FOLDER = ".runner/types"
local VERSION = "Lua 5.4"
local COMMENTS = { comments = true } -- the language server allows them

-- What --print takes, and the modules that make it.
local SCHEMAS = { project = "runner.tools.project_schema", workflow = "runner.workflow.file.schema" }

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
local function path_of(settings, group, key)
	if type(settings[group]) == "table" and not json.is_array(settings[group]) then
		return { group, key }, settings[group][key]
	end
	return { group .. "." .. key }, settings[group .. "." .. key]
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
local function add_folder(text, settings)
	local path, libraries = path_of(settings, "workspace", "library")
	if type(libraries) ~= "table" then
		return json_edit.set(text, path, json.encode(json.array { FOLDER }), COMMENTS)
	elseif json.is_array(libraries) then
		return contains(libraries, FOLDER) and text or json_edit.append(text, path, json.encode(FOLDER), COMMENTS)
	elseif libraries[FOLDER] then
		return text
	end
	path[#path + 1] = FOLDER
	return json_edit.set(text, path, "true", COMMENTS)
end

-- The text with the settings that we need; every other byte of it stays.
local function complete(text)
	local settings = json_edit.value(text, COMMENTS)
	local path, version = path_of(settings, "runtime", "version")
	if version == nil then
		text = assert(json_edit.set(text, path, json.encode(VERSION), COMMENTS))
	end
	return assert(add_folder(text, settings))
end

local function read_settings(ctx, path)
	local text, why, errno = fs.read(path, 1 << 20)
	if not text then
		return errno == "ENOENT" and "" or must(ctx, nil, why, errno)
	end
	local settings, problem = json_edit.value(text, COMMENTS)
	if not settings then
		ctx:fail("PRECONDITION", ("%s is not a JSON object: %s"):format(path, problem), { fix_required = "Mend it, or remove it" })
	end
	return text
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

-- The overall effect: "created" only if nothing existed before.
local function effect_of(effects)
	local all = table.concat(effects, " ")
	if not all:find("created") and not all:find("updated") then
		return "noop"
	end
	return all:find("updated") and "updated" or all:find("noop") and "updated" or "created"
end

local function schema_text(name)
	return layout.json(require(SCHEMAS[name]).schema()) .. "\n"
end

-- Every file that an editor needs: path → text.
local function files()
	local out = {}
	for name, text in next, annotations.files do
		out[("%s/%s.lua"):format(FOLDER, name)] = text
	end
	for name in next, SCHEMAS do
		out[("%s/%s.schema.json"):format(FOLDER, name)] = schema_text(name)
	end
	return out
end

local function write(ctx, root)
	local settings = read_settings(ctx, root .. "/.luarc.json")
	local effects, written, texts = {}, json.array {}, files()
	for _, path in ipairs(tables.sorted_keys(texts)) do
		effects[#effects + 1] = put(ctx, root .. "/" .. path, texts[path])
		written[#written + 1] = path
	end
	effects[#effects + 1] = put(ctx, root .. "/.luarc.json", complete(settings))
	written[#written + 1] = ".luarc.json"
	return { effect = effect_of(effects), root = root, paths = written }
end

return {
	args = {
		{ "print", "enum", values = tables.sorted_keys(SCHEMAS),
			description = "Print the JSON Schema of workflow files, or of runner.lua's data, and write nothing" },
	},
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	examples = { { description = "Write .runner/types and .luarc.json", command = "runner types" },
		{ description = "The JSON Schema of workflow files", command = "runner types --print workflow --format plain" } },
	run = function(args, ctx)
		if not args.print then
			return write(ctx, attempt.project.root or paths.here())
		end
		local text = schema_text(args.print)
		display.set { text = text, plain = text }
		return { effect = "noop", schema = require(SCHEMAS[args.print]).schema() }
	end,
}
