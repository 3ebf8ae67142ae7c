-- runner generate-skills: the project's commands as a skill of coding agents: an index that they read first, and a page for each
-- group of commands, made of what the commands declare.

local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local fs = require "runner.fs"
local json = require "runner.json"
local skill = require "runner.tools.skill"
local tool = require "runner.core.tool"

local function rows_of(project)
	local out = {}
	for _, entry in ipairs(catalog.list(project)) do
		local command = not entry.builtin and catalog.load_listed(entry, project)
		if command then
			out[#out + 1] = { name = entry.name:gsub("%.", " "), description = command.description, command = command }
		end
	end
	return out
end

-- Did an earlier call write it?
local function is_ours(path)
	local info = fs.lstat(path)
	local text = info and info.type == "file" and fs.read(path)
	return text and text:find(tool.says(skill.MARK), 1, true) ~= nil
end

local function check_owner(ctx, path)
	if fs.lstat(path) and not is_ours(path) then
		ctx:fail("ALREADY_EXISTS", ("%s belongs to another author, and was not changed"):format(path),
			{ fix_required = "Move it away, or give another --output-dir" })
	end
end

-- Pages that nothing is about any more.
local function remove_old(ctx, folder, written)
	for _, name in ipairs(fs.list(folder) or {}) do
		local path = folder .. "/" .. name
		if not written[path] and name:find "%.md$" and is_ours(path) then
			ctx.fs.unlink(path)
		end
	end
end

return {
	dry_run = true,
	args = { { "output_dir", "path", default = ".claude/skills", min_length = 1,
		description = "Directory of skills; this one gets a folder of its own there" } },
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" },
		ALREADY_EXISTS = { description = "There is a file of that name, which was not changed" } },
	examples = { { description = "Write .claude/skills/PROJECT/SKILL.md and a page for each group", command = "runner generate-skills" } },
	run = function(args, ctx)
		local project, out, written = attempt.project, json.array {}, {}
		local name = skill.name(project)
		local folder, pages = args.output_dir .. "/" .. name, skill.pages(rows_of(project))
		check_owner(ctx, folder .. "/SKILL.md")
		for _, page in ipairs(pages) do
			check_owner(ctx, folder .. "/" .. page.file)
		end
		ctx.fs.mkdirs(folder)
		local function write(file, text, kind, rows)
			local path, commands = folder .. "/" .. file, nil
			for i, row in ipairs(rows or {}) do
				commands = commands or json.array {}
				commands[i] = row.name
			end
			ctx.fs.write(path, text)
			written[path] = true
			out[#out + 1] = { path = path, type = kind, bytes = #text, commands = commands }
		end
		for _, page in ipairs(pages) do
			write(page.file, skill.page(page, project), "skill", page.rows)
		end
		write("SKILL.md", skill.index(name, project, pages, project.version or attempt.launch.version), "context")
		remove_old(ctx, folder, written)
		return { skills = out, effect = "updated" }
	end,
}
