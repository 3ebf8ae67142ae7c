-- documents: the pages of a project that an agent may read: README.md and the Markdown below
-- docs/. Only regular files that were found by listing can be read; no path of a client is opened.

local attempt = require "runner.core.attempt"
local fs = require "runner.fs"

local M = {}

local DEPTH_MAX, COUNT_MAX, BYTES_MAX = 4, 200, 1 << 20

---@class runner.mcp.Document
---@field name string relative to the project: "docs/guide.md"
---@field path string
---@field size integer bytes

local function add_file(out, root, name)
	local path = root .. "/" .. name
	local about = #out < COUNT_MAX and fs.lstat(path)
	if about and about.type == "file" and about.size <= BYTES_MAX and utf8.len(name) and not name:find "%c" then
		out[#out + 1] = { name = name, path = path, size = about.size }
	end
end

local function add_folder(out, root, folder, depth)
	for _, name in ipairs(depth <= DEPTH_MAX and fs.list(root .. "/" .. folder) or {}) do
		local below = folder .. "/" .. name
		local about = name:sub(1, 1) ~= "." and fs.lstat(root .. "/" .. below)
		if about and about.type == "directory" then
			add_folder(out, root, below, depth + 1)
		elseif about and name:find "%.md$" then
			add_file(out, root, below)
		end
	end
end

---The pages there are, in the order of their names.
---@return runner.mcp.Document[]
function M.list()
	local root, out = attempt.project.root, {}
	if root then
		add_file(out, root, "README.md")
		local docs = fs.lstat(root .. "/docs")
		if docs and docs.type == "directory" then
			add_folder(out, root, "docs", 1)
		end
	end
	return out
end

---The text of a page; nil: it is gone, or no text.
---@param document runner.mcp.Document
---@return string?
function M.read(document)
	local text = fs.read(document.path, BYTES_MAX)
	return text and utf8.len(text) and text or nil
end

return M
