-- folders: where commands are that are not the project's own: its libraries (runner.lock), the folders of
-- RUNNER_PATH, the user's and the machine's. Loaded where the project itself has no such command.

local host = require "runner.host"

local M = {}

---The folders of command files, first match wins.
---@param project? table
---@return string[]
function M.list(project)
	local config = os.getenv("XDG_CONFIG_HOME")
	local home = os.getenv("HOME")
	local list = {}
	if project and project.root then
		list[1] = project.commands
	end
	for dir in (os.getenv("RUNNER_PATH") or ""):gmatch("[^:]+") do
		list[#list + 1] = dir
	end
	if config and config:sub(1, 1) == "/" then
		list[#list + 1] = config .. "/runner/commands"
	elseif home and home ~= "" then
		list[#list + 1] = home .. "/.config/runner/commands"
	end
	return host.add_installed(list)
end

---Has the project libraries (lua/project/vendored.lua)?
---@param project? table
---@return boolean
function M.has_libraries(project)
	return project ~= nil and project.root ~= nil and host.probe(project.root .. "/runner.lock") ~= nil
end

---Find a command that is not the project's own. Its libraries come before the folders of others: what a
---project does is the same for everybody.
---@param words string[]
---@param project? table
---@param in_folder fun(dir: string, words: string[]): runner.Found? of lua/project/locate.lua
---@param is_builtin any is there a built-in command of the first word?
---@return runner.Found?
function M.find(words, project, in_folder, is_builtin)
	local found = M.has_libraries(project) and require("runner.project.vendored").find(words, project.root, is_builtin)
	local list = found and {} or M.list(project)
	for i = project and project.root and 2 or 1, #list do
		found = found or in_folder(list[i], words)
	end
	return found or nil
end

return M
