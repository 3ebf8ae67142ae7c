-- runner man: the manual pages of the built-in commands, runner-NAME(1), from what they declare: the manifest of
-- the program, which help, completion and the reference come from as well. `make install` calls it.

local json = require "json"

-- A line of text: mdoc takes a leading dot or quote for a request, and a backslash for an escape. Each sentence
-- has a line.
local function text(line)
	return (line:gsub("\\", "\\e"):gsub("^[.']", "\\&%0"):gsub("\n", " "):gsub("%. (%u)", ".\n%1"))
end

-- What follows a macro on its line; a word there that could be a macro is none.
local function word(value)
	return "\\&" .. value:gsub("\\", "\\e"):gsub('"', "\\(dq"):gsub(" ", "\\ ")
end

local function sorted_keys(of, less)
	local keys = {}
	for key in pairs(of) do
		keys[#keys + 1] = key
	end
	table.sort(keys, less)
	return keys
end

local function metavar(flag)
	return flag.type ~= "boolean" and (flag.enum_values and table.concat(flag.enum_values, "|") or flag.type) or nil
end

local function synopsis(add, name, command)
	add ".Nm runner"
	add(".Cm " .. name:gsub("%.", " "):gsub("%S+", word))
	for _, one in ipairs(command.positionals or {}) do
		add((one.required and ".Ar %s%s" or ".Op Ar %s%s"):format(word(one.name), one.variadic and " ..." or ""))
	end
	if next(command.flags) then
		add ".Op Ar flags"
	end
end

local function parameters(add, command)
	local positionals, flags = command.positionals or {}, sorted_keys(command.flags)
	if #positionals + #flags == 0 then
		return
	end
	add ".Bl -tag -width Ds"
	for _, one in ipairs(positionals) do
		add(".It Ar " .. word(one.name))
		add(text(one.description or one.type))
	end
	for _, name in ipairs(flags) do
		local flag = command.flags[name]
		local value = metavar(flag)
		add(".It Fl Fl " .. word(name) .. (value and " Ar " .. word(value) or ""))
		add(text(flag.description or flag.type))
	end
	add ".El"
end

-- The codes that every command has are in runner(1), and of these what a command doesn't describe itself.
local COMMON = { ["0"] = true, ["2"] = true, ["10"] = true, ["130"] = true }
local UNSAID = { ["Failed; no more specific code applies"] = true, ["A prerequisite is missing; fix it first"] = true }

local function exit_codes(add, command)
	local own = {}
	for _, status in ipairs(sorted_keys(command.exit_codes, function(a, b) return tonumber(a) < tonumber(b) end)) do
		if not COMMON[status] and not UNSAID[command.exit_codes[status].description] then
			own[#own + 1] = status
		end
	end
	if #own == 0 then
		return
	end
	add(".Pp\nExit status, besides those that every command has:\n.Bl -tag -width Ds")
	for _, status in ipairs(own) do
		local code = command.exit_codes[status]
		add((".It %s\n%s:\n%s"):format(status, text(code.name), text(code.description)))
	end
	add ".El"
end

local function examples(add, command)
	for _, example in ipairs(command.examples or {}) do
		local description = text(example.description or "An example")
		add(".Pp\n" .. description .. (description:find "%p$" and "" or ":"))
		add(".Bd -literal -offset indent\n" .. text(example.command) .. "\n.Ed")
	end
end

local function body(add, command)
	add(text(command.description) .. ".")
	parameters(add, command)
	exit_codes(add, command)
	examples(add, command)
end

-- One page for a command, or for all of a group.
local function page(group, commands, date)
	local lines, names = {}, sorted_keys(commands)
	local function add(line)
		lines[#lines + 1] = line
	end
	local alone = commands[group]
	local title = alone and alone.description or "commands of the group " .. group
	add((".Dd %s\n.Dt RUNNER-%s 1\n.Os\n.Sh NAME\n.Nm runner-%s\n.Nd %s\n.Sh SYNOPSIS"):format(date, group:upper(), group,
		text(title:sub(1, 1):lower() .. title:sub(2))))
	for _, name in ipairs(names) do
		synopsis(add, name, commands[name])
	end
	add ".Sh DESCRIPTION"
	for _, name in ipairs(names) do
		if not alone then
			add(".Ss runner " .. name:gsub("%.", " "))
		end
		body(add, commands[name])
	end
	add ".Sh SEE ALSO\n.Xr runner 1"
	return table.concat(lines, "\n") .. "\n"
end

-- Built-in commands alone, by the first word of their names.
local function groups_of(commands)
	local groups = {}
	for name, command in pairs(commands) do
		local group = name:match "^[^.]+"
		if command.builtin then
			groups[group] = groups[group] or {}
			groups[group][name] = command
		end
	end
	return groups
end

return {
	description = "Write the manual pages of the built-in commands",
	danger_level = "mutating",
	args = {
		{ "program", "path", required = true, description = "The program that is described" },
		{ "to", "path", required = true, description = "The folder to write them into" },
		{ "created", "integer", required = true, description = "Seconds since the epoch that the pages name as their date" },
	},
	exit_codes = { TIMEOUT = { retryable = true, side_effects = "none", description = "Pages are written whole" } },
	examples = { { description = "Pages of the build", command = "runner man --program build/runner --to man1 --created 0" } },
	run = function(args, ctx)
		local answer = ctx:run { args.program, "manifest", "--format", "json", "--quiet", cwd = "/", cap = 16 << 20, reads = true, check = true }
		local date, written = os.date("!%B %d, %Y", args.created):gsub(" 0", " "), 0
		for group, commands in pairs(groups_of(json.decode(answer.stdout).data.commands)) do
			ctx.fs.write(("%s/runner-%s.1"):format(args.to, group), page(group, commands, date))
			written = written + 1
		end
		return { effect = "updated", pages = written }
	end,
}
