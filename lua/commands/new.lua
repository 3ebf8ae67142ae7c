-- runner new NAME: write a commented command file to start from, which already runs.

local rules = require "runner.core.rules"
local paths = require "runner.core.paths"
local locate = require "runner.project.locate"
local attempt = require "runner.core.attempt"
local new_file = require "runner.tools.new_file"

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

return {
	args = {
		{ "name", "string", positional = true, required = true, min_length = 1,
			description = "Name of the command: hello, or db.migrate for 'runner db migrate'" },
		{ "with_test", "boolean", description = "Write tests/NAME_test.lua, too, which 'runner test' runs" },
	},
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" },
		ALREADY_EXISTS = { description = "There is a file of that name, which was not changed" } },
	examples = { { description = "Write commands/hello.lua", command = "runner new hello" },
		{ description = "… and its tests", command = "runner new hello --with-test" } },
	validate = function(args)
		local words = words_of(args.name)
		if not words then
			return { { field = "name", code = "INVALID_ARGUMENT", value = args.name,
				message = ("'%s' is not a valid command name"):format(args.name),
				suggestion = ("Use letters, digits, - and _; start with a letter or digit; join at most %d words "
					.. "with dots"):format(MAX_DEPTH) } }
		elseif locate.fixed[words[1]] then
			return { { field = "name", code = "INVALID_ARGUMENT", value = args.name,
				message = ("'%s' is the name of a built-in command"):format(words[1]),
				suggestion = "Choose another name" } }
		end
	end,
	run = function(args, ctx)
		local words = words_of(args.name)
		local folder = attempt.project.commands or paths.here() .. "/commands"
		local path = ("%s/%s.lua"):format(folder, table.concat(words, "/"))
		local command = table.concat(words, " ")
		local test = args.with_test and ("%s/tests/%s_test.lua"):format(attempt.project.root or paths.here(), table.concat(words, "_")) or nil
		new_file.create(ctx, "command file", path, new_file.command_text(command))
		if test then
			new_file.create(ctx, "test file", test, new_file.test_text(command))
		end
		return {
			path = new_file.shown(path), test = test and new_file.shown(test), command = command, effect = "created",
			suggestion = ("Run it: runner %s --name Ada. Then edit %s and check it: runner lint %s"):format(command,
				new_file.shown(path), table.concat(words, ".")),
		}
	end,
}
