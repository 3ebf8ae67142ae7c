-- task: what a task does (lua/declare/tasks.lua): its script or program, what runs it, with what variables, and what
-- becomes of its output. lua/ctx/task.lua acts on it.

local command_line = require "runner.core.command_line"
local rules = require "runner.core.rules"
local shell_words = require "runner.core.shell_words"
local tables = require "runner.core.tables"
local tasks = require "runner.declare.tasks"

local function script(v)
	return rules.text(v) and not command_line.has_nul(v) and v or nil
end

local function word(v)
	return type(v) == "string" and not command_line.has_nul(v) and v or nil
end

local function program(v)
	local words = rules.list(v, 1, 1000, word)
	return words and words[1] ~= "" and words or nil
end

-- "bash -e", or { "bash", "-e" }
local function interpreter(v)
	return program(type(v) == "string" and command_line.split(v) or v)
end

local function env(v)
	return tables.mapped(v, function(name, value)
		if type(name) ~= "string" or not name:find "^[%a_][%w_]*$" then
			return nil
		elseif value == false then
			return false
		end
		return type(value) == "number" and tostring(value) or word(value)
	end)
end

local function check_names(n, fault)
	for _, arg in ipairs(n.args or {}) do
		local name = type(arg) == "table" and (arg.name or arg[1])
		if tasks.is_obeyed(name) then
			fault(("would be given '%s' as a variable, which programs obey"):format(name), "Rename the argument", "args." .. name)
		elseif type(name) == "string" and name:find("-", 1, true)
			and n.shell and n.shell:find("%$" .. name:gsub("%W", "%%%0") .. "%f[^%w_-]") then
			fault(("has $%s, of which a shell reads $%s"):format(name, name:match "^[^-]*"), ("Write $%s"):format(tasks.variable(name)))
		end
	end
end

local function check_work(n, fault)
	if n.run ~= tasks.run or n.shell and n.program then
		fault("does not go with run", "Remove one of them")
	elseif n.program and shell_words.operator(n.program) then
		fault(("is one program without a shell, and has '%s'"):format(shell_words.operator(n.program)),
			("Write shell = %q"):format(table.concat(n.program, " ")), "run")
	elseif n.streams or n.stdout or n.arguments or n.list then
		fault("does not go with a command that lists, streams or serves", "Remove it, or the other key")
	end
	check_names(n, fault)
end

local function needs_work(n, fault)
	if not (n.shell or n.program) then
		fault("needs shell", 'Add shell = "make"')
	end
end

---@type runner.Subject
return {
	keys = {
		task = { accept = rules.flag, expected = "true or false", manifest = "none" },
		shell = { accept = script, expected = "a script such as 'cargo build \"$@\"'", manifest = "schema", check = check_work },
		program = { accept = program, expected = 'a program and its words such as { "stylua", "." }', manifest = "schema", check = check_work },
		interpreter = { accept = interpreter, expected = '"bash -e" or { "bash", "-e" }', manifest = "schema", check = function(n, fault)
			if not n.shell then
				fault("needs shell", 'Add shell = "make"')
			end
		end },
		env = { accept = env, expected = 'a table of variables such as { RUST_BACKTRACE = "1" }, with false to remove one', manifest = "schema" },
		status = { accept = script, expected = "a script such as 'test -f x', which succeeds where there is nothing to do", manifest = "schema" },
		confirm = { accept = rules.text, expected = 'a question such as "Really drop it?"', manifest = "schema", check = function(n, fault)
			if n.danger_level ~= "destructive" then
				fault("needs a destructive command", 'Write danger_level = "destructive", or remove it')
			end
		end },
		quiet = { accept = rules.flag, expected = "true or false", manifest = "schema", check = needs_work },
		output = { accept = rules.one_of("data"), expected = '"data"', manifest = "schema", check = needs_work },
	},
	flags = {},
}
