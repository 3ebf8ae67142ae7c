-- guard: the functions of the scripts' libraries that change something outside of the process,
-- refused for a while: in a dry run (lua/ctx/dry_run.lua) and while a command's `validate` looks
-- at its arguments. It is a net for honest mistakes, no sandbox: functions that a file took out of
-- their module while it loaded, and C modules, pass through it.

local M = {}

---The functions of fs that change something, and how many of their arguments say what.
M.CHANGES = {
	mkdir = 1, mkdirs = 1, rename = 2, symlink = 2, unlink = 1, rmdir = 1, remove_tree = 1, touch = 1, write = 1, append = 1,
	create = 1, fsync = 1, fsync_tree = 1, swap_symlink = 2, copy_tree = 2,
	copy = 2, replace = 2, chmod = 1, check_way = 1,
}

local PROGRAMS, FILES = "program", "file" -- what a refused function would have started or changed

---The refusing functions of os and io, by library: those of the scripts, not ours, which are a
---copy (docs/design.md#private-library).
---@param refuse fun(name: string, kind: "program"|"file", target?: string) raises
---@return table<table, table<string, function>>
function M.standard(refuse)
	local real_open, real_output = package.loaded.io.open, package.loaded.io.output
	local function refused(name, kind)
		return function()
			refuse(name, kind)
		end
	end
	return {
		[package.loaded.os] = { execute = refused("os.execute", PROGRAMS), remove = refused("os.remove", FILES),
			rename = refused("os.rename", FILES), tmpname = refused("os.tmpname", FILES) },
		[package.loaded.io] = { popen = refused("io.popen", PROGRAMS), tmpfile = refused("io.tmpfile", FILES),
			open = function(path, mode)
				if tostring(mode or "r"):find "[wa+]" then
					refuse("io.open", FILES, tostring(path))
				end
				return real_open(path, mode)
			end,
			output = function(file)
				if type(file) == "string" then
					refuse("io.output", FILES, file)
				end
				return real_output(file)
			end },
	}
end

---Put functions in the place of those of their libraries.
---@param guards table<table, table<string, function>>
---@return fun() undo
function M.on(guards)
	local real = {}
	for library, functions in pairs(guards) do
		real[library] = {}
		for name, fn in pairs(functions) do
			real[library][name], library[name] = library[name], fn
		end
	end
	return function()
		for library, functions in pairs(real) do
			for name, fn in pairs(functions) do
				library[name] = fn
			end
		end
	end
end

return M
