-- usage: how a command is called, in one line: of its help, and of an error about its arguments. Pure.

local command_line = require "runner.core.command_line"

local M = {}

---The value of an option: "<string>".
---@param row table
---@return string
function M.placeholder(row)
	return ("<%s>"):format(row.items or row.type)
end

---A positional argument: "<file>", "[files...]".
---@param row table
---@return string
function M.slot(row)
	local text = row.variadic and row.flag .. "..." or row.flag
	return row.required and ("<%s>"):format(text) or ("[%s]"):format(text)
end

---@param args table[]
---@param visit fun(row: table, kind: "positional"|"option")
function M.each_kind(args, visit)
	for _, row in ipairs(args) do
		visit(row, row.positional and "positional" or "option")
	end
end

---How a command is called, in one line.
---@param command table normal form
---@return string
function M.of(command)
	local words, optional = { "runner", command_line.typed(command.name) }, false
	M.each_kind(command.args, function(row, kind)
		if kind == "option" and row.required then
			words[#words + 1] = ("--%s %s"):format(row.flag, M.placeholder(row))
		end
		optional = optional or kind == "option" and not row.required
	end)
	words[#words + 1] = optional and "[options]" or command.arguments and "[arguments of the other program]" or nil
	M.each_kind(command.args, function(row, kind)
		words[#words + 1] = kind == "positional" and M.slot(row) or nil
	end)
	return table.concat(words, " ")
end

return M
