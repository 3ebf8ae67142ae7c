-- makefile: the targets of a Makefile that stand for no file, each as a call of make: its rules stay where they are.

local host = require "runner.host"
local tables = require "runner.core.tables"

local M = {}

-- A value of make may be code, of make or of the shell that a rule pastes it into.
local VARS = [=[
local vars = { "vars", "string", variadic = true, pattern = [[^(?!(SHELL|MAKEFLAGS|MAKEFILES)\b)\w[\w.-]*\s*[:+?]?=[\w./:@%+=, -]*$]],
	description = "Variables of make: NAME=VALUE" }
]=]

local BLOCKS = { define = "endef" }

-- Logical lines: without what ends in "\", without recipes and texts of several lines.
local function lines_of(text)
	local out, block, number = {}, nil, 0
	local held, first
	for line in (text:gsub("\r\n", "\n") .. "\n"):gmatch "([^\n]*)\n" do
		number = number + 1
		local opens = BLOCKS[line:match "^%s*(%a+)" or ""] or line:find "^%s*override%s+define" and "endef"
		local is_recipe = not held and line:find "^\t" -- which may go on, too
		line, first = (held or "") .. line, held and first or number
		held = line:find "\\$" and line:gsub("%s*\\$", " ") or nil
		if block then
			block = not line:find("^%s*" .. block) and block or nil
		elseif opens then
			block = opens
		elseif not held and not is_recipe then
			out[#out + 1] = { text = line, line = first }
		elseif held and is_recipe then
			held = "\t" .. held
		end
	end
	return out
end

local SPECIAL = "[%%$/~*?%[%]()\"'`;|&<>]"

local DIRECTIVES = tables.set "ifeq ifneq ifdef ifndef else endif export unexport vpath override undefine"

-- "a b: c ## what for", ".PHONY: a b"
local function rule_of(line)
	if line:find "^[%s#]" or line:find "^%$%(%l+%s" or DIRECTIVES[line:match "^%a+" or ""] then
		return nil
	end
	local targets, rest = line:match "^([^:=#]-)%s*&?::?([^=].*)$"
	targets = targets or line:match "^([^:=#]-)%s*&?::?$"
	if not targets or targets:find "^%s*%-?include%f[%s]" or (rest or ""):find "^="
		or (rest or ""):find "^%s*%a*%s*%a*%s*[%w_.]+%s*[:?+!]?=" then
		return nil -- a variable, of a target too
	end
	return targets, rest or ""
end

---@param text string
---@param path string
---@param sheet runner.import.Sheet
function M.read(text, path, sheet)
	local folder, phony, rules, comment, section, seen = path:match "^(.*/)" or "", {}, {}, nil, nil, {}
	for _, row in ipairs(lines_of(text)) do
		local targets, rest = rule_of(row.text)
		local heading = row.text:match "^##@%s*(.-)%s*$"
		section = heading or section
		local assigned = row.text:match "^%s*%-?s?include%s+(.*)$"
		if assigned then
			sheet:note(row.line, "include " .. assigned, "its targets are left out; make knows them")
		end
		for name in (targets or ""):gmatch "%S+" do
			if name == ".PHONY" then
				for word in rest:gsub("#.*$", ""):gmatch "%S+" do
					phony[word] = true
				end
			else
				rules[#rules + 1] = { name = name, line = row.line, section = section, said = rest:match "##%s*(.-)%s*$" or comment }
			end
		end
		local words = row.text:match "^##%s*([^@%s#].-)%s*$" or row.text:match "^#%s*([^%s#].-)%s*$"
		comment = words and not words:find "^[-=*]+$" and words or nil
		comment = comment and targets == nil and comment or nil
	end
	for _, rule in ipairs(rules) do
		local name = rule.name
		local is_file = not phony[name] and (name:find "[./]" or host.probe(folder .. name))
		if name:find(SPECIAL) and not phony[name] or name:find "[%%$]" or name:find "^%.%u+" or is_file then
			if phony[name] then
				sheet:note(rule.line, name, "left out: a name that make computes")
			end
		elseif name:find "^%-" then
			sheet:note(rule.line, name, "left out: make would read it as an option")
		elseif not seen[name] then
			local task = sheet:task(name:gsub("/", "-"), rule.line)
			seen[name], task.section = task, rule.section
			task.keys.run = { "make", name }
			task.keys.args = { lua = "{ vars }" }
			task.keys.description = rule.said
		else
			seen[name].keys.description = seen[name].keys.description or rule.said
		end
	end
	sheet.code = VARS
	local file = path:match "[^/]+$"
	local found -- what make would read
	for _, name in ipairs { "GNUmakefile", "makefile", "Makefile" } do
		found = found or host.probe(folder .. name) and name
	end
	if found ~= file then
		for _, task in ipairs(sheet.tasks) do
			task.keys.run = { "make", "-f", file, task.keys.run[2] }
		end
	end
	return sheet
end

return M
