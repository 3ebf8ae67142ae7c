-- http_file: ctx:http with `to`: the body of a success goes to a file, which appears whole or not at
-- all. The bytes are written by the C half, to a name beside it. Loaded on first use.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"

local M = {}

local function must(ok, why, errno)
	if not ok then
		error(require("runner.core.returned").error(why, errno), 0)
	end
end

-- A file in the place of a device or a pipe would take it away; a directory can't be replaced.
local function check_place(path)
	local stat = fs.stat(path)
	if stat and stat.type ~= "file" or path:sub(-1) == "/" then
		errors.raise("PRECONDITION", ("The body can't go to %s: it is a %s, not a file"):format(path, stat and stat.type or "directory"),
			{ side_effects = "none", fix_required = "Name a file in `to`" })
	end
end

---Make a request with a place for its body: `exchange` finds it as request.temporary. What isn't a
---success, or raises, leaves no file.
---@param request runner.HttpRequest
---@param exchange fun(request: runner.HttpRequest): runner.HttpResult, runner.Error?
---@return runner.HttpResult result with `path` and `size` where the file has been written
---@return runner.Error? failure
function M.exchange(request, exchange)
	check_place(request.to)
	local dir, name = request.to:match "^(.*/)([^/]*)$"
	request.temporary = ("%s.%s.%012x.tmp"):format(dir or "", (name or request.to):sub(1, 200), host.random() & 0xffffffffffff)
	local _ <close> = setmetatable({}, { __close = function()
		fs.unlink(request.temporary) -- gone by then, if all went well
	end })
	local result, failure = exchange(request)
	if not failure and result.status >= 200 and result.status < 300 then
		local stat = fs.stat(request.temporary)
		if not stat then
			errors.raise("GENERAL_ERROR", ("The file for %s is gone"):format(request.to))
		end
		must(fs.replace(request.temporary, request.to))
		result.path, result.size = request.to, stat.size
	end
	return result, failure
end

return M
