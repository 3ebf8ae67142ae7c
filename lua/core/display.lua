-- display: how the result of this call is shown, where that isn't as its declaration says: a text of its own in the place of
-- a rendered table, other rows, another form. Loaded where a built-in command says so, and where a result is rendered.

local attempt = require "runner.core.attempt"

local M = {}

---@class runner.Display by the name of a format: the result as text; a function gets what is shown of the result
---@field [runner.TextFormat] string|fun(data: any): string
---@field row? fun(row: table): string a row as lines of a terminal
---@field rows? string|boolean where the rows are, as `rows` of a declaration says it; false: there are none
---@field output_schema? table|false of the form that the result has by now; false: none describes it
---@field columns? false they are not the declared ones
---@field goes_on? boolean the list ends where enough has been read, and how many there are is unknown

local own = {} ---@type runner.Display

---@param display runner.Display gets added to what has been said before
function M.set(display)
	for name, v in pairs(display) do
		own[name] = v
	end
end

---@param name string
---@return any nil: nothing was said
function M.get(name)
	return own[name]
end

---@param command table normal form
---@param name "rows"|"columns"|"output_schema"
---@return any what holds for this result, declared or not
function M.of(command, name)
	if own[name] == nil then
		return command[name]
	end
	return own[name] or nil
end

---What `run` returns, unless it is a failure, is made into what `f` returns.
---@param f fun(data: any): any
function M.then_result(f)
	attempt.around("run", function(run, ...)
		local data, failure, third = run(...)
		if data == nil and failure ~= nil then
			return data, failure, third
		end
		return f(data)
	end)
end

return M
