-- runner new NAME: write a commented command file to start from, which already runs.

local fs = require "runner.fs"
local host = require "runner.host"
local rules = require "runner.core.rules"
local locate = require "runner.project.locate"
local attempt = require "runner.core.attempt"
local template = require "runner.tools.template"

local MAX_DEPTH = 4 -- of folders that the list of commands shows

-- "db.migrate" and "db/migrate" → {"db", "migrate"}; nil if it is not a name.
local function words_of(name)
	local words = {}
	for word in (name .. "."):gsub("/", "."):gmatch("([^.]*)%.") do
		if not rules.is_command_word(word) then
			return nil
		end
		words[#words + 1] = word
	end
	return #words <= MAX_DEPTH and words or nil
end

local function shown(path)
	local here = host.getcwd() .. "/"
	return path:sub(1, #here) == here and path:sub(#here + 1) or path
end

local CODES = { EACCES = "PERMISSION_DENIED", EPERM = "PERMISSION_DENIED", EROFS = "PERMISSION_DENIED",
	ENOTDIR = "CONFLICT", EEXIST = "CONFLICT" }

local function must(ctx, ok, why, errno)
	if not ok then
		ctx:fail(CODES[errno] or "UNAVAILABLE", "Can't write the command file: " .. why)
	end
end

-- Checking first whether the name is free would be a race: create() fails if it exists.
local function create(ctx, path, text)
	must(ctx, fs.mkdirs(path:match("^(.*)/")))
	local ok, why, errno = fs.create(path, text)
	if errno == "EEXIST" then
		ctx:fail("ALREADY_EXISTS", ("%s already exists and was not changed"):format(shown(path)),
			{ fix_required = "Choose another name, or edit that file", context = { path = path } })
	end
	must(ctx, ok, why, errno)
end

return {
	description = "Write a command file to start from",
	danger_level = "mutating",
	args = {
		{ "name", "string", positional = true, required = true, min_length = 1,
			description = "Name of the command: hello, or db.migrate for 'runner db migrate'" },
	},
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	examples = { { description = "Write commands/hello.lua", command = "runner new hello" } },
	validate = function(args)
		local words = words_of(args.name)
		if not words then
			return { { field = "name", code = "INVALID_ARGUMENT", value = args.name,
				message = ("'%s' is not a valid command name"):format(args.name),
				suggestion = ("Use letters, digits, - and _; start with a letter or digit; join at most %d words "
					.. "with dots"):format(MAX_DEPTH) } }
		elseif locate.builtins[words[1]] then
			return { { field = "name", code = "INVALID_ARGUMENT", value = args.name,
				message = ("'%s' is the name of a built-in command"):format(words[1]),
				suggestion = "Choose another name" } }
		end
	end,
	run = function(args, ctx)
		local words = words_of(args.name)
		local folder = attempt.project.commands or locate.here() .. "/commands"
		local path = ("%s/%s.lua"):format(folder, table.concat(words, "/"))
		local command = table.concat(words, " ")
		create(ctx, path, template.text(command))
		return {
			path = shown(path), command = command, effect = "created",
			suggestion = ("Run it: runner %s --name Ada. Then edit %s and check it: runner lint %s"):format(command,
				shown(path), table.concat(words, ".")),
		}
	end,
}
