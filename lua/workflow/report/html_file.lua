-- html_file: the argument that names a page, and the page in its file: written whole or not at
-- all, and never over a file that is no page of ours.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local html = require "runner.workflow.report.html"

local M = {}

---For the args of a declaration.
M.argument = { "html", "path", description = "Write a page for a browser to this file instead" }

local function is_ours(path)
	local file <close> = io.open(path, "rb")
	return file ~= nil and file:read(#html.MARK) == html.MARK
end

---@param path string
---@param page string
---@param about table members of the result
---@return table data
function M.write(path, page, about)
	local there = fs.stat(path)
	if there and not is_ours(path) then
		errors.raise("ALREADY_EXISTS", ("%s is not a page that runner has written"):format(path),
			{ suggestion = "Give another name, or remove the file", side_effects = "none" })
	end
	local ok, why, errno = fs.write(path, page)
	if not ok then
		errors.raise(errno == "EACCES" and "PERMISSION_DENIED" or "OUTPUT_FAILED", ("Can't write %s: %s"):format(path, why),
			{ side_effects = "none" })
	end
	about.path, about.bytes = path, #page
	attempt.texts.text = ("page: %s (%d bytes)\n"):format(path, #page)
	return about
end

return M
