-- runner generate-skills: a document for agents about each of the project's commands, and one about
-- all of them, made of what the commands declare.

local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local json = require "runner.json"
local plan = require "runner.project.plan"
local skill = require "runner.tools.skill"
local topic = require "runner.tools.topic"

local function facts_of(project, version)
	local out = {}
	for _, entry in ipairs(catalog.list(project)) do
		local command = not entry.builtin and catalog.load_listed(entry, project)
		if command then
			out[#out + 1] = skill.facts(command, { settled = topic.settle(command, project), config = project.config,
				exit_table = plan.exit_table(project), version = version })
		end
	end
	return out
end

return {
	dry_run = true,
	args = {
		{ "output_dir", "path", default = "skills", min_length = 1, description = "Directory of the documents" },
		{ "skill_format", "enum", values = { "markdown", "json" }, default = "markdown", description = "Form of the documents" },
	},
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	examples = { { description = "Write skills/CONTEXT.md and skills/SKILL-….md", command = "runner generate-skills" } },
	run = function(args, ctx)
		local project, written = attempt.project, json.array {}
		local version = project.version or attempt.launch.version
		local list = facts_of(project, version)
		local suffix = args.skill_format == "json" and ".json" or ".md"
		ctx.fs.mkdirs(args.output_dir)
		local function write(name, text, about)
			about.path, about.format = args.output_dir .. "/" .. name .. suffix, args.skill_format
			ctx.fs.write(about.path, text)
			written[#written + 1] = about
		end
		local as_json = args.skill_format == "json"
		write("CONTEXT", as_json and json.encode { version = version, commands = json.array(list) } .. "\n"
			or skill.context(list, version), { type = "context" })
		for _, facts in ipairs(list) do
			write("SKILL-" .. facts.name:gsub(" ", "-"), as_json and json.encode(facts) .. "\n" or skill.markdown(facts),
				{ type = "skill", command = facts.name })
		end
		return { skills = written, effect = "updated" }
	end,
}
