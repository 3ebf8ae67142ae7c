-- runner completion SHELL: the script that completes commands, flags and values; and,
-- when that script calls with the words typed so far, the candidates for the next word.

local completion = require "runner.tools.completion"
local host = require "runner.host"
local json = require "runner.json"
local attempt = require "runner.core.attempt"
local display = require "runner.core.display"

local HOW = {
	bash = "In ~/.bashrc: source <(runner completion bash)",
	zsh = "In ~/.zshrc: source <(runner completion zsh)",
	fish = "Once: runner completion fish > ~/.config/fish/completions/runner.fish",
}

local function script(shell)
	local text = require("runner.tools.completion_scripts")[shell]
	display.set { text = text, plain = text }
	return { shell = shell, script = text, suggestion = HOW[shell] }
end

local RUNS, STEPS = 20, 200

local IDS = {} -- by what is named: the newest

-- Whole IDs where one is being typed, else what is shorter.
local function add_names(out, id, description, typed)
	local reference = require "runner.core.reference"
	if #out == 0 and (typed == "" or typed:sub(1, 1) == "@") then
		out[1] = { value = reference.LAST, description = description }
	end
	local whole = typed:sub(1, 4) == id:sub(1, 4)
	out[#out + 1] = { value = whole and id or reference.short(id), description = description }
end

function IDS.workflow(typed)
	local db <close> = require("runner.workflow.store.store").open { readonly = true }
	local out, known = {}, {}
	for _, row in ipairs(db:list { limit = RUNS, project = require("runner.core.scope").own() }) do
		add_names(out, row.id, ("%s, %s"):format(row.workflow, row.state), typed)
		if not known[row.workflow] and not row.workflow:find "[%s%c'\"\\$`]" then -- else a shell would read it as more than a word
			known[row.workflow] = true
			out[#out + 1] = { value = row.workflow, description = "the newest run of this workflow" }
		end
	end
	return out
end

function IDS.step(_, id)
	local db <close> = require("runner.workflow.store.store").open { readonly = true }
	local out = {}
	for i, row in ipairs(db:step_page(db:resolve(id), { choice = "outline", after = 0, limit = STEPS, output = 0, data = 0 })) do
		out[i] = { value = row.key, description = ("%s, %s"):format(row.kind, row.state) }
	end
	return out
end

function IDS.job(typed)
	local folder, out = require "runner.jobs.folder", {}
	local names = folder.names(require("runner.core.scope").own())
	for i = #names, math.max(1, #names - RUNS), -1 do
		local job = folder.open(names[i])
		if job then
			add_names(out, job.id, ("%s, %s"):format(job.record.command, job.status), typed)
		end
	end
	return out
end

-- There may be no database or no folder, or a broken one.
local function ids(kind, ...)
	local ok, list = pcall(IDS[kind] or error, ...)
	return ok and list or {}
end

local function count_lines(text)
	local count, at = -1, 0
	repeat
		count, at = count + 1, text:find("\n", at + 1, true)
	until not at
	return count
end

-- As the scripts read it: a line for each, its description behind a tab. Each is cleaned by itself, so that
-- none hides the next, where there is something to clean.
local function text_of(candidates)
	local parts = {}
	for i = 1, #candidates do
		local at, candidate = 4 * i, candidates[i]
		parts[at - 3], parts[at - 2], parts[at - 1], parts[at] = candidate.value, "\t", candidate.description or "", "\n"
	end
	local text = table.concat(parts)
	if host.clean(text) == text and count_lines(text) == #candidates then
		return text
	end
	for at = 4, #parts, 4 do
		parts[at - 3] = host.clean(parts[at - 3]):gsub("\n", " ")
		parts[at - 1] = host.clean(parts[at - 1]):gsub("\n", " ")
	end
	return table.concat(parts)
end

local function on_a_line(text)
	return (host.clean(text):gsub("[\n\t]", " "))
end

-- A candidate as the script of a shell takes it.
local LINES = {}

-- What printf %q of bash makes of it.
function LINES.bash(candidate)
	local text = on_a_line(candidate.value)
	if text:find "[^%w_./:@%%+=-]" then
		text = text:gsub("[^%w_./:@%%+=\x80-\xff~#-]", "\\%0"):gsub("^[~#]", "\\%0"):gsub("([=:])~", "%1\\~")
	end
	return text
end

-- As _describe takes it.
function LINES.zsh(candidate)
	local text, description = on_a_line(candidate.value):gsub("[:\\]", "\\%0"), candidate.description or ""
	return description == "" and text or text .. ":" .. on_a_line(description)
end

-- What is not read is not made.
local function offer(candidates, shell)
	local line = attempt.format == "tsv" and LINES[shell]
	if line then
		local lines = {}
		for i = 1, #candidates do
			lines[i] = line(candidates[i]) .. "\n"
		end
		display.set { tsv = table.concat(lines) }
		return json.array {}
	elseif attempt.format == "plain" then
		display.set { plain = text_of(candidates) }
		return json.array {}
	end
	display.set { rows = true } -- a script is none
	return json.array(candidates)
end

return {
	timeout = "2s", grace = "100ms", -- a person waits at a prompt
	args = {
		{ "shell", "enum", values = { "bash", "zsh", "fish" }, positional = true, required = true,
			description = "Shell to write the script for" },
		{ "words", "array", items = "string", variadic = true,
			description = "Words typed so far, after --: returns the candidates for the next word" },
	},
	columns = { "value", "description" },
	examples = {
		{ description = "Enable it in this bash", command = "source <(runner completion bash)" },
		{ description = "Complete 'runner dep'", command = "runner completion bash -- dep" },
	},
	run = function(args)
		if #args.words == 0 then
			return script(args.shell)
		end
		return offer(completion.candidates(args.words, attempt.project, ids, args.shell), args.shell)
	end,
}
