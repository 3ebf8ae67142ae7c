-- runner completion SHELL: the script that completes commands, flags and values; and,
-- asked by that script with the words typed so far, what may stand next.

local completion = require "runner.completion"
local json = require "runner.json"
local session = require "runner.session"

local HOW = {
	bash = "In ~/.bashrc: source <(runner completion bash --format plain)",
	zsh = "In ~/.zshrc: source <(runner completion zsh --format plain)",
	fish = "Once: runner completion fish --format plain > ~/.config/fish/completions/runner.fish",
}

local function script(shell)
	local text = completion.scripts[shell]
	for _, format in ipairs { "text", "plain" } do
		session.texts[format] = text
	end
	return { shell = shell, script = text, suggestion = HOW[shell] }
end

return {
	description = "Complete commands, flags and values in your shell",
	danger_level = "safe",
	args = {
		{ "shell", "enum", values = { "bash", "zsh", "fish" }, positional = true, required = true,
			description = "The shell to write a script for" },
		{ "words", "array", items = "string", variadic = true,
			description = "The words typed so far, behind --: answers with what may stand next" },
	},
	columns = { "value", "description" },
	examples = {
		{ description = "For this bash", command = "source <(runner completion bash --format plain)" },
		{ description = "What may follow 'runner dep'?", command = "runner completion bash -- dep" },
	},
	run = function(args)
		if #args.words == 0 then
			return script(args.shell)
		end
		return json.array(completion.candidates(args.words, session.project))
	end,
}
