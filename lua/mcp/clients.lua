-- clients: where the clients of MCP keep which servers they start, and in which form.

local attempt = require "runner.core.attempt"
local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local paths = require "runner.core.paths"
local layout = require "runner.output.layout"
local tool = require "runner.core.tool"

local M = {}

---@class runner.mcp.ClientRow
---@field name string
---@field key string of the object in its file that holds the servers
---@field file fun(root: string): string?, boolean? and whether that is below a HOME that isn't there
---@field type? boolean each server says that it is started over stdio
---@field global? boolean its file is not that of a project, so that the server has to be told the folder

local function in_project(name)
	return function(root)
		return root .. "/" .. name
	end
end

local function in_config(name)
	return function()
		local config, home = os.getenv "XDG_CONFIG_HOME", os.getenv "HOME"
		if paths.is_absolute(config) then
			return config .. "/" .. name
		end
		if paths.is_absolute(home) then
			return home .. "/.config/" .. name, paths.home() == nil
		end
	end
end

---@type table<string, runner.mcp.ClientRow>
M.rows = {
	["claude-code"] = { name = "Claude Code", key = "mcpServers", file = in_project ".mcp.json" },
	["claude-desktop"] = { name = "Claude Desktop", key = "mcpServers", file = in_config "Claude/claude_desktop_config.json", global = true },
	cursor = { name = "Cursor", key = "mcpServers", file = in_project ".cursor/mcp.json" },
	vscode = { name = "VS Code", key = "servers", file = in_project ".vscode/mcp.json", type = true },
}

-- The policies that hold for the server: one as a flag, several in its environment.
local function policies(list)
	local out = {}
	for i, policy in ipairs(list) do
		out[i] = policy.path
	end
	return not out[2] and out[1] or nil, out[2] and { RUNNER_POLICY = table.concat(out, ":") } or nil
end

-- The words of `mcp serve` for these settings.
local function words(settings, folder, policy)
	local out = json.array(folder and { "--cwd", folder } or {})
	out[#out + 1], out[#out + 2] = policy and "--policy", policy
	local subject = os.getenv "RUNNER_SUBJECT"
	out[#out + 1], out[#out + 2] = subject and "--subject", subject
	out[#out + 1], out[#out + 2] = "mcp", "serve"
	for _, flag in ipairs { "allow", "only", "group" } do
		for _, name in ipairs(settings[flag] or {}) do
			out[#out + 1], out[#out + 2] = "--" .. flag, name
		end
	end
	out[#out + 1] = settings.builtin and "--builtin" or nil
	out[#out + 1] = settings.progressive and "--progressive" or nil
	return out
end

-- A file of the project is for everybody who works on it: a name that PATH has, where that is this program. What a desktop
-- starts has a PATH of its own.
local function program(in_project_file)
	local here, name = fs.readlink "/proc/self/exe" or "runner", (tool.own() or {}).name or "runner"
	for dir in (in_project_file and os.getenv "PATH" or ""):gmatch "[^:]+" do
		local path = dir .. "/" .. name
		if host.probe(path) == "file" then
			return paths.is_absolute(dir) and fs.realpath(path) == fs.realpath(here) and name or here
		end
	end
	return here
end

---@class runner.mcp.Installation
---@field path string the client's file
---@field key string the object in it
---@field name string of the server
---@field server table its entry
---@field homeless? boolean its file is below a HOME that isn't there, which nothing of ours makes

---What a client's file has to say of our server.
---@param client string of M.rows
---@param settings table of runner mcp install
---@param list table[] the policies of the server
---@return runner.mcp.Installation? nil: neither XDG_CONFIG_HOME nor HOME is an absolute path
function M.installation(client, settings, list)
	local row, root = M.rows[client], attempt.project.root or paths.here()
	local path, homeless = row.file(root)
	local name = settings.name or (root:match "[^/]+$" or "runner"):gsub("[^%w_-]+", "-"):sub(1, 64) -- as --name takes it
	local policy, env = policies(list)
	return path and { path = path, homeless = homeless, key = row.key, name = name,
		server = { type = row.type and "stdio" or nil, command = program(not row.global), env = env,
			args = words(settings, row.global and root or nil, policy) } }
end

---The text of a client's file with our server in it.
---@param installation runner.mcp.Installation
---@param text string as it is now; "" where there is none
---@return string? text
---@return string? why it can't be set
function M.merged(installation, text)
	local entry = layout.json(installation.server):gsub("%s+$", "")
	return require("runner.core.json_edit").set(text, { installation.key, installation.name }, entry)
end

return M
