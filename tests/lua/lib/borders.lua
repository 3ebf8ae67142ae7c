-- borders: what the files of src/ and lua/ use of each other, as their #includes and
-- requires say, held against .ci/docs/layers.lua.

local M = {}

local function read(path)
	local f = assert(io.open(path, "rb"))
	local text = f:read "a"
	f:close()
	return text
end
M.read = read

---Every file of the rooms.
---@param root string
---@return string[] paths from the root
function M.files(root)
	local list = {}
	local find = assert(io.popen(("cd '%s' && find src lua -name '*.[ch]' -o -name '*.def' -o -name '*.lua' | LC_ALL=C sort")
		:format(root == "" and "." or root)))
	for path in find:lines() do
		list[#list + 1] = path
	end
	find:close()
	return list
end

---The room of a file: the one with the longest path.
---@param rooms runner.Room[]
---@param path string
---@return runner.Room?
function M.room_of(rooms, path)
	local best
	for _, room in ipairs(rooms) do
		if path:sub(1, #room.path) == room.path and (not best or #room.path > #best.path) then
			best = room
		end
	end
	return best
end

-- Line comments say nothing of what is used.
local function without_comments(path, text)
	if path:find "%.lua$" then
		return (text:gsub("%-%-[^\n]*", ""))
	end
	return text
end

local function used_by_c(path, text, out)
	local folder = path:match "^(.*/)"
	for name in text:gmatch '#%s*include "([^"]+)"' do
		local target = folder .. name
		while target:find "[^/]+/%.%./" do
			target = target:gsub("[^/]+/%.%./", "", 1)
		end
		out[#out + 1] = target
	end
end

-- A name that is put together is the folder that it begins with.
local function used_by_lua(text, bindings, out)
	for quoted, more in text:gmatch 'require[%s(]*"runner%.([%w_.]+)"(%s*%.*)' do
		local target = "lua/" .. quoted:gsub("%.", "/")
		if bindings[quoted] then
			target = bindings[quoted]
		elseif not more:find "%.%." then
			target = target .. ".lua"
		end
		out[#out + 1] = target
	end
end

---What each file uses of ours.
---@param root string
---@param bindings table<string, string> name of a binding → the room's path
---@return table<string, string[]> by path
function M.uses(root, bindings)
	local uses = {}
	for _, path in ipairs(M.files(root)) do
		local text, out = without_comments(path, read(root .. path)), {}
		if path:find "%.lua$" then
			used_by_lua(text, bindings, out)
		else
			used_by_c(path, text, out)
		end
		uses[path] = out
	end
	return uses
end

---Uses that a room does not allow.
---@param rooms runner.Room[]
---@param uses table<string, string[]> as M.uses
---@param circles table<string, string> the exceptions
---@return string[] lines
function M.strangers(rooms, uses, circles)
	local lines = {}
	for path, list in pairs(uses) do
		local room = M.room_of(rooms, path)
		local allowed = { [room and room.name or ""] = true }
		for _, name in ipairs(room and room.uses or {}) do
			allowed[name] = true
		end
		for _, target in ipairs(list) do
			local other = M.room_of(rooms, target)
			local module = path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/", ".")
			if not room or not other or not allowed[other.name] and not circles[module .. " → " .. other.name] then
				lines[#lines + 1] = ("%s uses %s: %s may use %s"):format(path, target, room and room.name or "no room",
					room and table.concat(room.uses, " ") or "nothing")
			end
		end
	end
	table.sort(lines)
	return lines
end

---Circles of files that use each other, lazy uses included: each as one line.
---@param uses table<string, string[]>
---@return string[] lines
function M.cycles(uses)
	local index, low, on_stack, stack, counter, lines = {}, {}, {}, {}, 0, {}
	local function visit(path)
		counter = counter + 1
		index[path], low[path] = counter, counter
		stack[#stack + 1], on_stack[path] = path, true
		for _, target in ipairs(uses[path] or {}) do
			if uses[target] and not index[target] then
				visit(target)
				low[path] = math.min(low[path], low[target])
			elseif on_stack[target] then
				low[path] = math.min(low[path], index[target])
			end
		end
		if low[path] ~= index[path] then
			return
		end
		local members = {}
		repeat
			members[#members + 1] = table.remove(stack)
			on_stack[members[#members]] = nil
		until members[#members] == path
		if #members > 1 then
			table.sort(members)
			lines[#lines + 1] = table.concat(members, " ⇄ ")
		end
	end
	for path in pairs(uses) do
		if not index[path] then
			visit(path)
		end
	end
	table.sort(lines)
	return lines
end

---The rooms as floors: each stands on those below it.
---@param rooms runner.Room[]
---@return string[][] floors names, from the bottom
function M.floors(rooms)
	local by_name, level, floors = {}, {}, {}
	for _, room in ipairs(rooms) do
		by_name[room.name] = room
	end
	local function level_of(name)
		if not level[name] then
			local highest = 0
			for _, below in ipairs(by_name[name].uses) do
				highest = math.max(highest, level_of(below))
			end
			level[name] = highest + 1
		end
		return level[name]
	end
	for _, room in ipairs(rooms) do
		local n = level_of(room.name)
		floors[n] = floors[n] or {}
		table.insert(floors[n], room.name)
	end
	return floors
end

-- What a line assigns to, without strings and indexes: "a.mask, problem".
local function assigned(line)
	local code = line:gsub('"[^"]*"', ""):gsub("%b[]", "")
	local method = code:match "^%s*function%s+([%w_.]+)%s*%("
	return method or not code:find "%f[%w_]local%f[%W]" and code:match "^([%w_., \t]-)%s=%s" or ""
end

---The members of the attempt (lua/core/attempt.lua) that a Lua file assigns to, with those of its records: "input",
---"launch.format". It is called `attempt` where it is required, and `a` where it is passed on.
---@param text string of the file
---@return string[] sorted
function M.attempt_writes(text)
	local seen, out = {}, {}
	local is_passed_on = text:find("runner.Attempt", 1, true) or text:find("runner.core.attempt", 1, true)
	for line in without_comments(".lua", is_passed_on and text or ""):gmatch "[^\n]+" do
		for name, member in assigned(line):gmatch "%f[%w_.](%w+)%.([%w_.]+)" do
			if (name == "a" or name == "attempt") and not seen[member] then
				seen[member], out[#out + 1] = true, member
			end
		end
	end
	table.sort(out)
	return out
end

return M
