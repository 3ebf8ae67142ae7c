-- help_topics: what `runner help TOPIC` says of runner itself: its flags, variables, exit codes. A command or
-- a group of a topic's name goes before it. Pure, but for the list of the built-in commands.

local contract = require "runner.declare.contract"
local environment = require "runner.declare.environment"
local help = require "runner.tools.help"
local help_exit_codes = require "runner.tools.help_exit_codes"
local json = require "runner.json"
local layout = require "runner.output.layout"

local M = {}

---@class runner.HelpTopic
---@field name string
---@field summary string
---@field text fun(about: {width: integer, exit_table?: string, builtin: fun(): runner.CommandRow[]}): string
---@field rows? fun(about: table): {name: string, description: string}[] the same for programs

local function paragraphs(list)
	return function(about)
		local out = {}
		for i, text in ipairs(list) do
			out[i] = layout.paragraph(text, about.width)
		end
		return table.concat(out, "\n")
	end
end

local function environment_rows()
	local rows = {}
	for _, row in ipairs(contract.rows()) do
		rows[#rows + 1] = row.env and { name = row.env, description = ("Stands in for --%s: %s"):format(row.flag, row.description) } or nil
	end
	for _, row in ipairs(environment.rows) do
		rows[#rows + 1] = { name = row.name, description = row.description }
	end
	return rows
end

local function flag_rows()
	local rows = {}
	for i, row in ipairs(contract.rows()) do
		rows[i] = { name = "--" .. row.flag, description = row.description }
	end
	return rows
end

local function exit_rows(about)
	local rows = { { name = "SUCCESS", number = 0, description = "Done as intended" } }
	for i, row in ipairs(help_exit_codes.registry(about.exit_table)) do
		rows[i + 1] = { name = row.name, number = row.number, description = row.description }
	end
	return rows
end

local function builtin_rows(about)
	return about.builtin()
end

local function named(title, rows)
	return function(about)
		local out = {}
		for i, row in ipairs(rows(about)) do
			out[i] = { row.name, row.description }
		end
		return ("%s:\n%s"):format(title, layout.columns(out, about.width))
	end
end

---@type runner.HelpTopic[]
M.topics = {
	{ name = "built-in", summary = "the built-in commands", rows = builtin_rows, text = function(about)
		return (help.commands(about.builtin(), about.width, "Built-in commands"):gsub("^\n", ""))
	end },
	{ name = "environment", summary = "the environment variables that runner reads or sets", rows = environment_rows,
		text = named("Environment", environment_rows) },
	{ name = "exit-codes", summary = "how a call can end", rows = exit_rows, text = function(about)
		return "Exit codes:\n" .. layout.columns(help_exit_codes.all(about.exit_table), about.width)
	end },
	{ name = "flags", summary = "runner's own flags, which every command takes", rows = flag_rows, text = function(about)
		return (help.flags(about.width):gsub("^\n", ""))
	end },
	{ name = "output", summary = "what a call prints, and where", text = paragraphs {
		"A person at a terminal gets text. Off a terminal the answer is one line of JSON on stdout, the envelope, with ok, data,"
			.. " error, warnings and meta; notices go to stderr.",
		"--format json, jsonl, tsv, plain, table or id chooses, as does RUNNER_FORMAT. --output FILE writes the result to a file,"
			.. " --fields a,b keeps these fields, --quiet prints no notices. Colours are off with --no-color, NO_COLOR or TERM=dumb."
			.. " --plain, or RUNNER_PLAIN=1, has no colours and no line that moves, for screen readers: each change is a line.",
		"The exit status is that of the error's code: runner help exit-codes.",
	} },
	{ name = "retries", summary = "when a call is made again", text = paragraphs {
		"Nothing is retried unless the command declares `retry`, or the caller asks with --retries N (RUNNER_RETRIES). --retry-delay"
			.. " is the base of the delay; runner COMMAND --plan prints every delay and runs nothing.",
		"A failure is retried only where its code says that it may help, and where nothing was changed or the command says that a"
			.. " repetition is safe. Each attempt is a fresh process, and starts when the last process of the one before is gone.",
		"--timeout limits the whole run with all its attempts and waits, --attempt-timeout one attempt, --idle-timeout silence.",
	} },
}

---@return string[]
function M.names()
	local names = {}
	for i, topic in ipairs(M.topics) do
		names[i] = topic.name
	end
	return names
end

-- Other names of a topic.
local ALIASES = { env = "environment", ["exit"] = "exit-codes", codes = "exit-codes", errors = "exit-codes",
	options = "flags", builtin = "built-in", builtins = "built-in", retry = "retries", format = "output", formats = "output" }

---@param words string[] after `help`
---@return runner.HelpTopic?
function M.find(words)
	local name = not words[2] and (ALIASES[words[1]] or words[1])
	for _, topic in ipairs(M.topics) do
		if topic.name == name then
			return topic
		end
	end
end

---A topic as text, and as data for programs.
---@param topic runner.HelpTopic
---@param about {width: integer, exit_table?: string, builtin: fun(): runner.CommandRow[]}
---@return string text, table data {topic, summary, rows?, text?}
function M.describe(topic, about)
	local text = topic.text(about)
	return text, { topic = topic.name, summary = topic.summary, rows = topic.rows and json.array(topic.rows(about)) or nil,
		text = not topic.rows and text or nil }
end

return M
