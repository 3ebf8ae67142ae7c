-- runner completion SHELL: the script that completes commands, flags and values; and,
-- when that script calls with the words typed so far, the candidates for the next word.

local completion = require "runner.tools.completion"
local json = require "runner.json"
local attempt = require "runner.core.attempt"

local HOW = {
	bash = "In ~/.bashrc: source <(runner completion bash --format plain)",
	zsh = "In ~/.zshrc: source <(runner completion zsh --format plain)",
	fish = "Once: runner completion fish --format plain > ~/.config/fish/completions/runner.fish",
}

local function script(shell)
	local text = completion.scripts[shell]
	for _, format in ipairs { "text", "plain" } do
		attempt.texts[format] = text
	end
	return { shell = shell, script = text, suggestion = HOW[shell] }
end

local RUNS = 20

local IDS = {} -- by the group of commands: the newest

function IDS.workflow()
	local db <close> = require("runner.workflow.store.store").open { readonly = true }
	local out = {}
	for i, row in ipairs(db:list { limit = RUNS }) do
		out[i] = { value = row.id, description = ("%s, %s"):format(row.workflow, row.state) }
	end
	return out
end

function IDS.job()
	local folder, out = require "runner.jobs.folder", {}
	local names = folder.names()
	for i = #names, math.max(1, #names - RUNS), -1 do
		local job = folder.open(names[i])
		out[#out + 1] = job and { value = job.id, description = ("%s, %s"):format(job.record.command, job.status) } or nil
	end
	return out
end

-- There may be no database or no folder, or a broken one.
local function ids(kind)
	local ok, list = pcall(IDS[kind] or error)
	return ok and list or {}
end

return {
	description = "Complete commands, flags and values in your shell",
	danger_level = "safe",
	args = {
		{ "shell", "enum", values = { "bash", "zsh", "fish" }, positional = true, required = true,
			description = "Shell to write the script for" },
		{ "words", "array", items = "string", variadic = true,
			description = "Words typed so far, after --: returns the candidates for the next word" },
	},
	columns = { "value", "description" },
	examples = {
		{ description = "Enable it in this bash", command = "source <(runner completion bash --format plain)" },
		{ description = "Complete 'runner dep'", command = "runner completion bash -- dep" },
	},
	run = function(args)
		if #args.words == 0 then
			return script(args.shell)
		end
		return json.array(completion.candidates(args.words, attempt.project, ids))
	end,
}
