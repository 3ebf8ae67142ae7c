-- code_lines: how many lines of code the product has: all of src, lua and commands but blank lines and comments.

local borders = dofile((debug.getinfo(1, "S").source:match "^@(.*)code_lines%.lua$") .. "borders.lua")

local M = {}

local function count(text, is_comment)
	local n = 0
	for line in text:gmatch "[^\n]+" do
		if line:find "%S" and not (is_comment and line:find(is_comment)) then
			n = n + 1
		end
	end
	return n
end

---@param text string of a Lua file (no long comments are in use)
---@return integer
function M.of_lua(text)
	return count(text, "^%s*%-%-")
end

---@param text string of a C file: block comments, as all of ours
---@return integer
function M.of_c(text)
	return count(text:gsub("/%*.-%*/", ""))
end

---All of the product.
---@param root string of the checkout: "" or a path with a slash at its end
---@return integer
function M.all(root)
	local find = "cd '%s' && find src lua commands -name '*.[ch]' -o -name '*.def' -o -name '*.lua'"
	local list = assert(io.popen(find:format(root == "" and "." or root)))
	local n = 0
	for path in list:lines() do
		n = n + (path:find "%.lua$" and M.of_lua or M.of_c)(borders.read(root .. path))
	end
	assert(list:close())
	return n
end

return M
