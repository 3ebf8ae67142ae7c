-- script_line: where in a script one of our functions was called, for a message about that call.
-- Loaded when something is wrong.

local M = {}

local HERE = debug.getinfo(1, "S").source:match "^(.*)core/script_line%.lua$" -- of all our chunks

---"file:line: " of the first line that is not in a room; "" where that line is ours, too: after a
---tail call (return ctx:run{…}) the script has left no trace.
---@param room string the folder of the functions that scripts call: "ctx/"
---@return string
function M.of(room)
	for level = 2, 30 do
		local at = debug.getinfo(level, "Sl")
		if not at then
			break
		elseif at.currentline > 0 and at.source:sub(1, #HERE + #room) ~= HERE .. room then
			return at.source:sub(1, #HERE) ~= HERE and ("%s:%d: "):format(at.short_src, at.currentline) or ""
		end
	end
	return ""
end

return M
