-- package_json: the scripts of a package.json. npm's variables that a script may ask for are set where it does.

local host = require "runner.host"
local json = require "runner.json"
local shell = require "runner.import.shell"

local M = {}

-- The expression by which node finds "config_port" in the file: the first path of keys that make that name.
local function member(of, name, path)
	for key, value in next, type(of) == "table" and of or {} do
		local flat = tostring(key):gsub("[^%w]", "_")
		if flat == name and type(value) ~= "table" then
			return ("%s[%s]"):format(path, json.encode(key))
		end
		local found = name:sub(1, #flat + 1) == flat .. "_" and member(value, name:sub(#flat + 2), ("%s[%s]"):format(path, json.encode(key)))
		if found then
			return found
		end
	end
end

-- What npm sets and the script asks for: lines in front of it.
local function variables(sheet, task, script, package)
	local lines, seen = {}, {}
	for name in script:gmatch "npm_[%w_]+" do
		local key = name:match "^npm_package_(.+)$"
		local path = key and member(package, key, 'require("./package.json")')
		if path and not seen[name] then
			lines[#lines + 1] = ("%s=\"$(node -p %s)\" || exit\nexport %s\n"):format(name, shell.single(path), name)
		elseif name:find "^npm_config_" and not seen[name] then
			sheet:note(task.line, name, "npm takes it from its options and .npmrc: here it is the caller's variable", task)
		elseif not seen[name] then
			sheet:note(task.line, name, "npm sets it; here it is empty", task)
		end
		seen[name] = true
	end
	if script:find "%f[%w_]INIT_CWD%f[^%w_]" then
		sheet:note(task.line, "INIT_CWD", "npm sets it to the directory of its caller; here it is empty", task)
	end
	return table.concat(lines)
end

local function line_of(text, name)
	local at = text:find(json.encode(name):gsub("%W", "%%%0") .. "%s*:%s*\"", (text:find '"scripts"%s*:')) or 1
	return 1 + select(2, text:sub(1, at):gsub("\n", "")), at
end

-- The names of the scripts as they are written.
local function in_order(text, scripts)
	local names = {}
	for name, script in next, scripts do
		local line, at = line_of(text, name)
		names[#names + 1] = type(script) == "string" and { name = name, line = line, at = at } or nil
	end
	table.sort(names, function(a, b)
		return a.at < b.at or a.at == b.at and a.name < b.name
	end)
	return names
end

-- Where npm looks for programs: beside the file and in each folder above it that has a package, as those of a workspace.
local function programs(folder)
	local out, up = { "$PWD/node_modules/.bin" }, ""
	for _ = 1, 16 do
		up = up .. "../"
		if host.probe(folder .. up .. "package.json") then
			out[#out + 1] = ("$PWD/%snode_modules/.bin"):format(up)
		end
	end
	return table.concat(out, ":") .. ":$PATH"
end

---@param text string
---@param path string
---@param sheet runner.import.Sheet
function M.read(text, path, sheet)
	local package, why = json.decode(text)
	local line, column, wrong = (why or ""):match "^line (%d+) column (%d+): (.*)$"
	if wrong then
		return nil, { line = math.tointeger(line), column = math.tointeger(column), message = "it can't be read as JSON: " .. wrong }
	end
	local scripts = type(package) == "table" and package.scripts
	if type(scripts) ~= "table" then
		return nil, { line = 1, column = 1, message = type(package) == "table" and "it has no scripts" or "it is no JSON" }
	end
	local names = in_order(text, scripts)
	for _, row in ipairs(names) do
		row.task = sheet:task(row.name, row.line)
	end
	for _, row in ipairs(names) do
		local task, script = row.task, scripts[row.name]
		local before, after = "pre" .. row.name, "post" .. row.name
		local keys = task.keys
		keys.description = script:find "%S" and script:gsub("%s+", " "):sub(1, 60) or row.name
		local last = script:match "(%S*)%s*$"
		local takes = script:find "%S"
			and not (last:find "[)};&|]$" or last == "done" or last == "fi" or last == "esac" or script:find "#" or script:find "<<")
			and not shell.code_in { script .. " ", { dq = "$*" } }
		keys.args = takes and { { "args", "string", variadic = true } } or nil -- which nothing else may follow
		keys.shell = variables(sheet, task, script, package) .. (script:find "%S" and script or ":") .. (takes and ' "$@"' or "")
		keys.interpreter = script:find "[;\n]" and "sh" or nil -- npm's is not sh -e
		if type(scripts[before]) == "string" then
			keys.needs = { sheet.names[before] }
		end
		if type(scripts[after]) == "string" then
			sheet:sequence(task, { { shell = keys.shell }, { name = sheet.names[after] } })
		end
		if script:find "%f[%w]npm%s+%l" or script:find "%f[%w]yarn%f[%W]" or script:find "%f[%w]pnpm%f[%W]" then
			sheet:once(row.line, "npm run", "scripts that call it need package.json as before")
		end
	end
	sheet.env.PATH = programs(path:match "^(.*/)" or "")
	return sheet
end

return M
