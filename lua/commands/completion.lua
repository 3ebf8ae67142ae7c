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

-- Ids of the newest runs of workflows. There may be no database, or a broken one.
local function runs()
	local ok, rows = pcall(function()
		local db <close> = require("runner.workflow.store.store").open { readonly = true }
		return db:list { limit = RUNS }
	end)
	local out = {}
	for i, row in ipairs(ok and rows or {}) do
		out[i] = { value = row.id, description = ("%s, %s"):format(row.workflow, row.state) }
	end
	return out
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
		return json.array(completion.candidates(args.words, attempt.project, runs))
	end,
}
