-- foreign_names: what people type out of habit with other tools, and what does that here. Loaded where a
-- name or a flag is unknown.

local M = {}

local LIST = "Run 'runner' to list the commands"
local NEW = "To create a command: runner new NAME"
local PLAN = "To see what a call would do: runner COMMAND --plan"
local HERE = "runner doctor checks this machine, runner status shows what is kept on it"

-- The first word of a call → advice
local WORDS = {
	list = LIST, ls = LIST, commands = LIST, tasks = LIST, targets = LIST, all = LIST,
	init = NEW, create = NEW, generate = NEW,
	version = "For the version: runner --version",
	plan = PLAN, ["dry-run"] = PLAN, preview = PLAN,
	check = "runner lint checks command files, runner doctor this machine",
	validate = "runner lint checks command files, runner workflow check a workflow",
	info = HERE, env = "For the variables that runner reads: runner help environment",
	config = "For the settings of a call: runner COMMAND --show-config",
	docs = "For help: runner help COMMAND", man = "For help: runner help COMMAND", usage = "For help: runner help COMMAND",
	ps = "For what runs in the background: runner job list", jobs = "For what runs in the background: runner job list",
	runs = "For the runs of workflows: runner workflow list", workflows = "For the runs of workflows: runner workflow list",
	logs = "runner workflow logs ID, runner job logs ID",
	resume = "To go on with the run of a workflow: runner workflow resume ID",
	completions = "For completion in your shell: runner completion bash, zsh or fish",
	autocomplete = "For completion in your shell: runner completion bash, zsh or fish",
}

-- What stands in front of a command's name elsewhere.
M.RUN = { run = true, call = true, start = true, ["do"] = true, invoke = true }

---@param words string[] of the call; none of them names a command
---@return string? advice
function M.word(words)
	return WORDS[words[1]]
end

local function use(flag)
	return { ("Use %s"):format(flag) }
end

local EITHER = use "--yes; behind the name of a destructive command, --confirm-destructive"
local CONFIRM, JSON, QUIET, NEVER_ASK = use "--yes", use "--format json", use "--quiet", use "--non-interactive"
local ALL = { LIST, "Leave the flag out" }
local WITHOUT = { "--plan prints the limits and delays and runs nothing; a command that declares dry_run = true takes --dry-run",
	"Use --plan" }

-- A flag as it is typed → what does that here, and the fix if it is not the same
local FLAGS = {
	["--json"] = JSON, ["-j"] = JSON, ["--yaml"] = JSON, ["--table"] = use "--format table",
	["--tsv"] = use "--format tsv", ["--csv"] = use "--format tsv", ["--jsonl"] = use "--format jsonl",
	["--dry-run"] = WITHOUT, ["--dryrun"] = WITHOUT, ["--simulate"] = WITHOUT, ["--what-if"] = WITHOUT, ["-n"] = WITHOUT,
	["--silent"] = QUIET, ["-q"] = QUIET, ["-s"] = QUIET, ["-v"] = use "--verbose, or --version", ["-vv"] = use "--debug",
	["-y"] = CONFIRM, ["--assume-yes"] = CONFIRM, ["--force"] = CONFIRM, ["-f"] = CONFIRM, ["--auto-approve"] = CONFIRM,
	["--no-input"] = NEVER_ASK, ["--batch"] = NEVER_ASK, ["--no-interaction"] = NEVER_ASK,
	["--trace"] = use "--debug", ["-o"] = use "--output FILE",
	["--color"] = use "--no-color, or NO_COLOR", ["--colour"] = use "--no-color, or NO_COLOR",
	["--list"] = ALL, ["-l"] = ALL, ["--all"] = ALL, ["-a"] = ALL, ["-C"] = use "--cwd DIR in front of the command's name",
	["--profile"] = use "--context NAME in front of the command's name",
	["--chdir"] = use "--cwd DIR in front of the command's name", ["--usage"] = use "--help", ["-?"] = use "--help",
	["--background"] = use "--detach", ["--bg"] = use "--detach", ["--retry"] = use "--retries N",
	["--show"] = { "runner help NAME --show prints a task as it is written", "Write runner help NAME --show" },
	["--watch"] = use "runner watch -- COMMAND", ["-w"] = use "runner watch -- COMMAND",
}

local FORMAT_FLAGS = { ["-o"] = true, ["-O"] = true, ["-f"] = true, ["--out"] = true, ["--output-format"] = true, ["--as"] = true }
local FORMATS = { yaml = "json", yml = "json", csv = "tsv", text = "plain", wide = "table" } -- those of other tools

-- `-o json`, `-o yaml`: a format, and no file.
local function format_of(spelt, value)
	local ours = FORMATS[value]
	for _, name in ipairs(FORMAT_FLAGS[spelt] and require("runner.declare.flags").by_flag.format.values or {}) do
		ours = name == value and name or ours
	end
	return FORMAT_FLAGS[spelt] and ours and use("--format " .. ours)
end

-- `-j 4`, `-j4`, as make has it
local function at_once(count)
	local call = ("runner + -j %s NAME + NAME"):format(count)
	return { "Several run at once as " .. call, "Write " .. call }
end

-- `-f Makefile`, as make and just have it: the file of another tool, and no yes.
local function file_of(spelt, value)
	local call = spelt == "-f" and value and (value:find "[./]" or value:lower():find "file$")
		and "runner init --from " .. require("runner.core.command_line").quoted(value)
	return call and { call .. " writes a tasks.lua from it", "Write " .. call }
end

-- What confirms a call of the command; in front of its name it is not known yet.
local function confirming(command)
	return (not command or command.name == "help") and EITHER
		or command.danger_level == "destructive" and use "--confirm-destructive" or CONFIRM
end

---@param spelt string with its dashes, without a value
---@param value? string that it has, or that stands after it
---@param command? table normal form
---@return string? advice, string? fix
function M.flag(spelt, value, command)
	local count = (spelt == "-j" and value or spelt:match "^%-j(%d+)$" or ""):match "^%d+$"
	local row = value and format_of(spelt, value) or count and at_once(count) or file_of(spelt, value) or FLAGS[spelt]
	row = row == CONFIRM and confirming(command) or row
	if row then
		return row[1], row[2] or row[1]
	end
end

return M
