-- new_file: create a file that a person goes on to edit. `runner new` and `runner workflow
-- new` say what is in it; a file that exists is never changed.

local fs = require "runner.fs"
local host = require "runner.host"

local M = {}

---A path as answers show it: relative to the working directory if it is below that.
---@param path string
---@return string
function M.shown(path)
	local here = host.getcwd() .. "/"
	return path:sub(1, #here) == here and path:sub(#here + 1) or path
end

local CODES = { EACCES = "PERMISSION_DENIED", EPERM = "PERMISSION_DENIED", EROFS = "PERMISSION_DENIED",
	ENOTDIR = "CONFLICT", EEXIST = "CONFLICT" }

local function must(ctx, what, ok, why, errno)
	if not ok then
		ctx:fail(CODES[errno] or "UNAVAILABLE", ("Can't write the %s: %s"):format(what, why))
	end
end

---Create the file, and its directory if that is missing. Fails with ALREADY_EXISTS, CONFLICT,
---PERMISSION_DENIED or UNAVAILABLE.
---@param ctx runner.Context
---@param what string for the message: "command file"
---@param path string
---@param text string
function M.create(ctx, what, path, text)
	local dir = path:match("^(.*)/")
	if dir and dir ~= "" then
		must(ctx, what, fs.mkdirs(dir))
	end
	-- Checking first whether the name is free would be a race: create() fails if it exists.
	local ok, why, errno = fs.create(path, text)
	if errno == "EEXIST" then
		ctx:fail("ALREADY_EXISTS", ("%s already exists and was not changed"):format(M.shown(path)),
			{ fix_required = "Choose another name, or edit that file", context = { path = path } })
	end
	must(ctx, what, ok, why, errno)
end

return M
