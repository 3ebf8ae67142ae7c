-- runner bundle -o FILE: this project and runner as one program.

local archive = require "runner.bundle.archive"
local attempt = require "runner.core.attempt"
local fs = require "runner.fs"
local host = require "runner.host"
local ledger = require "runner.ledger"
local new_file = require "runner.tools.new_file"
local paths = require "runner.core.paths"
local vendored = require "runner.project.vendored"

local EXECUTABLE = 493 -- 0755
local FOLDERS = { "lib", "workflows" }

-- --- the files ----------------------------------------------------------------------------------

local function add(ctx, root, path, out)
	local kind = (fs.lstat(root .. "/" .. path) or {}).type
	if kind == "directory" then
		for _, name in ipairs(fs.list(root .. "/" .. path) or {}) do
			add(ctx, root, path .. "/" .. name, out)
		end
	elseif kind == "file" then
		local text, why = fs.read(root .. "/" .. path)
		out[#out + 1] = { path = path, text = text or ctx:fail("PERMISSION_DENIED", "Can't read it: " .. tostring(why)) }
	elseif kind then
		ctx:fail("PRECONDITION", ("%s is neither a file nor a folder, and can't be bundled"):format(path), {
			fix_required = "Replace it by what it leads to" })
	end
end

local function below(ctx, root, path)
	local inside = path:sub(1, #root + 1) == root .. "/" and path:sub(#root + 2)
	if not inside or ("/" .. inside .. "/"):find("/../", 1, true) then
		ctx:fail("PRECONDITION", ("%s is not below the project, %s"):format(path, root), { fix_required = "Move it there" })
	end
	return inside
end

-- The libraries that runner.lock has, and nothing else of vendor/. A changed one is not packed.
local function add_libraries(ctx, root, out)
	local libraries, problem = vendored.read(root)
	for name, row in pairs(libraries or error(problem, 0)) do
		problem = vendored.changed(root, name, row)
		if problem then
			error(problem, 0)
		end
		add(ctx, root, vendored.folder(root, name, row):sub(#root + 2), out)
	end
	if next(libraries) then
		add(ctx, root, "runner.lock", out)
	end
end

local function files_of(args, ctx, project)
	local root, out = project.root, {}
	add(ctx, root, "runner.lua", out)
	add(ctx, root, "tasks.lua", out)
	add(ctx, root, below(ctx, root, project.commands), out)
	for _, name in ipairs(FOLDERS) do
		add(ctx, root, name, out)
	end
	add_libraries(ctx, root, out)
	for _, name in ipairs(fs.list(root) or {}) do
		if name:find "%.ya?ml$" then
			add(ctx, root, name, out)
		end
	end
	for _, path in ipairs(args.include) do
		add(ctx, root, below(ctx, root, paths.absolute(path, root)), out)
	end
	return out
end

-- --- the program ----------------------------------------------------------------------------------

-- Our own program with the digest in its slot and the archive in a section.
local function program_with(ctx, bytes)
	local program, why = fs.read "/proc/self/exe"
	local mark, section = host.bundle_mark()
	local at = program and program:find(mark, 1, true)
	if not at then
		ctx:fail("UNAVAILABLE", "This program can't be read: " .. tostring(why or "its slot is missing"))
	end
	local digest, slot = ledger.digest(bytes), at + #mark - 1
	program = program:sub(1, slot) .. digest .. program:sub(slot + #digest + 1)
	program, why = archive.with_section(program, section, bytes)
	return program or ctx:fail("PRECONDITION", "This program can't be extended: " .. why), digest
end

return {
	args = {
		{ "output", "path", short = "o", required = true, description = "The program to write; its name is what it calls itself" },
		{ "include", "array", items = "path", description = "More files and folders of the project to add" },
	},
	exit_codes = { TIMEOUT = { retryable = true, side_effects = "none" } },
	examples = { { description = "One file that runs anywhere", command = "runner bundle -o mytool" } },
	run = function(args, ctx)
		local project = attempt.project
		if not project.root then
			ctx:fail("PRECONDITION", "There is no project here", { fix_required = "Go to a directory with commands/ or runner.lua" })
		end
		local files = files_of(args, ctx, project)
		local bytes = archive.pack({ name = project.name, version = project.version, has_file = project.file ~= nil }, files)
		local program, digest = program_with(ctx, bytes)
		local existed = fs.stat(args.output) ~= nil
		local ok, why = fs.write(args.output, program, EXECUTABLE)
		if not ok then
			ctx:fail("UNAVAILABLE", "The program can't be written: " .. why)
		end
		return { effect = existed and "updated" or "created", path = new_file.shown(args.output), files = #files,
			bytes = #program, digest = digest }
	end,
}
