-- fake_program: programs that answer from a script, in a folder that stands first in PATH. Each is a
-- shell script: it notes how it was called, finds the first rule whose words its arguments begin with,
-- and gives that rule's next answer. A call that no rule fits exits with 127, and fails the test.
--
-- What doesn't look in PATH is not reached: a program named by its path, what a shell has built in,
-- what a C module does.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local command_line = require "runner.core.command_line"

local M = {}

local SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
local KEYS = { args = "table", stdout = "string", stderr = "string", status = "number", signal = "string", script = "string" }
local EXECUTABLE = 493 -- 0755
local UNFIT = 127

---@class runner.FakeProgram
---@field name string
---@field rules { id: integer, args: string[], answers: table[] }[]
---@field folder string what it notes
---@field path string
local FakeProgram = {}
FakeProgram.__index = FakeProgram

local quoted = command_line.quoted

local function must(ok, why)
	if not ok then
		errors.raise("UNAVAILABLE", "A stand-in can't be written: " .. tostring(why))
	end
end

local function check(answer, name)
	if type(answer) == "string" then
		return { stdout = answer }
	elseif type(answer) ~= "table" then
		error(("fake.run: an answer of %s is a string or a table, not a %s"):format(name, type(answer)), 4)
	end
	for key, value in next, answer do
		if KEYS[key] ~= type(value) then
			error(("fake.run: an answer of %s has args (a list), stdout, stderr, signal, script (strings) and status (a number), not %s = %s")
				:format(name, tostring(key), tostring(value)), 4)
		end
	end
	return answer
end

-- One answer, or a list of them: the last one is given from then on.
local function answers_of(given, name)
	local list = type(given) == "table" and given[1] ~= nil and given or { given == nil and {} or given }
	local out = {}
	for i, answer in ipairs(list) do
		out[i] = check(answer, name)
	end
	return out
end

-- --- the script --------------------------------------------------------------------------------

local function condition(args)
	local tests = { ("[ $# -ge %d ]"):format(#args) }
	for i, word in ipairs(args) do
		tests[#tests + 1] = ('[ "${%d}" = %s ]'):format(i, quoted(tostring(word)))
	end
	return table.concat(tests, " && ")
end

local function answer_lines(answer)
	local lines = {}
	local function add(format, ...)
		lines[#lines + 1] = "\t\t\t" .. format:format(...)
	end
	if answer.stdout and answer.stdout ~= "" then
		add("printf %%s %s", quoted(answer.stdout))
	end
	if answer.stderr and answer.stderr ~= "" then
		add("printf %%s %s >&2", quoted(answer.stderr))
	end
	if answer.script then
		add("(PATH=$given; %s\n\t\t\t)", answer.script)
		add(answer.status and "exit %d" or "exit", answer.status)
	elseif answer.signal then
		add("kill -%s $$", quoted((answer.signal:gsub("^SIG", ""))))
	else
		add("exit %d", answer.status or 0)
	end
	add ";;"
	return table.concat(lines, "\n")
end

-- The n-th call of a rule gets its n-th answer: making a folder is what only one process can do.
local function rule_lines(number, rule)
	local lines = { ("if %s; then"):format(condition(rule.args)), ('\tcount "$d/rule%d"'):format(number), "\tcase $n in" }
	for i, answer in ipairs(rule.answers) do
		lines[#lines + 1] = ("\t\t%s)\n%s"):format(i == #rule.answers and "*" or tostring(i), answer_lines(answer))
	end
	lines[#lines + 1] = "\tesac\nfi"
	return table.concat(lines, "\n")
end

local HEAD = [[
#!/bin/sh
# Written by runner test.
given=$PATH
PATH=%s
d=%s
count() {
	n=1
	while ! mkdir "$1.$n" 2>/dev/null; do
		[ -d "$1.$n" ] || exit 125
		n=$((n + 1))
	done
}
count "$d/call"
c=$d/call.$n
for word in "$@"; do printf '%%s\0' "$word"; done >"$c/args"
printf %%s "$PWD" >"$c/cwd"
[ -t 0 ] || cat >"$c/stdin"
]]

function FakeProgram:write()
	local lines = { HEAD:format(SYSTEM_PATH, quoted(self.folder)) }
	for _, rule in ipairs(self.rules) do
		lines[#lines + 1] = rule_lines(rule.id, rule)
	end
	lines[#lines + 1] = (': >"$c/unfit"\necho "%s: no answer of fake.run fits: $*" >&2\nexit %d\n'):format(self.name, UNFIT)
	must(fs.write(self.path, table.concat(lines, "\n"), EXECUTABLE))
end

-- --- what it was asked -------------------------------------------------------------------------

local function words_of(text)
	local words = {}
	for word in text:gmatch "([^%z]*)%z" do
		words[#words + 1] = word
	end
	return words
end

---How it was called so far, in order.
---@return { args: string[], cwd: string, stdin: string }[]
function FakeProgram:calls()
	local list = {}
	while true do
		local folder = ("%s/call.%d"):format(self.folder, #list + 1)
		local args = fs.read(folder .. "/args")
		if not args then
			return list
		end
		list[#list + 1] = { args = words_of(args), cwd = fs.read(folder .. "/cwd") or "", stdin = fs.read(folder .. "/stdin") or "",
			unfit = fs.stat(folder .. "/unfit") and true or nil }
	end
end

---The arguments of the first call that no rule fitted.
---@return string?
function FakeProgram:unfit()
	for _, call in ipairs(self:calls()) do
		if call.unfit then
			return table.concat(call.args, " ")
		end
	end
end

---Add a rule, and write the program again.
---@param given any as fake.run takes it
function FakeProgram:add(given)
	local answers = answers_of(given, self.name)
	local args = type(given) == "table" and given.args or answers[1].args or {}
	self.rules[#self.rules + 1] = { id = #self.rules + 1, args = args, answers = answers }
	-- the longest first, so that a general rule doesn't hide a particular one
	table.sort(self.rules, function(a, b)
		return #a.args > #b.args or #a.args == #b.args and a.id < b.id
	end)
	self:write()
end

---@param name string of the program, without a folder
---@param bin string the folder in PATH
---@param notes string a folder for what it notes
---@return runner.FakeProgram
function M.new(name, bin, notes)
	if type(name) ~= "string" or not name:find "^[%w._+-]+$" or name:find "^%.+$" then
		error("fake.run: it stands in for a program of PATH, by its name: fake.run(\"git\", …)", 3)
	end
	local self = setmetatable({ name = name, rules = {}, folder = notes .. "/" .. name, path = bin .. "/" .. name }, FakeProgram)
	must(fs.mkdirs(self.folder))
	return self
end

return M
