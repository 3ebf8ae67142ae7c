-- listing: which commands are tools of a server, and under which names. Of the built-in ones three, and where they are asked for
-- those that only read; of all, what --only and --group leave and --allow adds: a name that is not among them can't be called either.

local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local compact_help = require "runner.tools.compact_help"
local search = require "runner.core.search"
local tables = require "runner.core.tables"

local M = {}

local NAME_READ, NEAR_MAX = 100, 5 -- bytes of a name that is looked for; tools that it may have meant

-- --- what --only, --group and --allow choose -------------------------------------------

---@class runner.mcp.Settings of one server
---@field allow? string[] commands that are listed only if they are named here
---@field only? string[] nothing but these commands
---@field group? string[] and what is below these groups
---@field builtin? boolean the built-in commands that only read, too, and prompts of built-in ones
---@field progressive? boolean the tools are search, describe and call

-- "db migrate" → "db.migrate"
local function dotted(name)
	return (name:gsub("^%s+", ""):gsub("%s+$", ""):gsub("%s+", "."))
end

local function is_named(list, command)
	for _, name in ipairs(list or {}) do
		if dotted(name) == command then
			return true
		end
	end
	return false
end

local function is_below(groups, command)
	for _, name in ipairs(groups or {}) do
		local group = dotted(name) .. "."
		if command:sub(1, #group) == group then
			return true
		end
	end
	return false
end

local function is_picked(settings, command)
	return is_named(settings.only, command) or is_below(settings.group, command)
end

local function is_chosen(settings, command)
	return not ((settings.only or {})[1] or (settings.group or {})[1]) or is_picked(settings, command)
end

---Is this command a tool?
---@param settings runner.mcp.Settings
---@param row runner.mcp.Row
---@return boolean
function M.has(settings, row)
	local may = row.listing == "always" or row.listing == "job" or row.listing ~= "never" and is_named(settings.allow, row.command)
		or row.listing == "builtin" and (settings.builtin or is_picked(settings, row.command))
	return may and is_chosen(settings, row.command)
end

---Are the examples of a tool prompts? Those of what is there unasked are none.
---@param settings runner.mcp.Settings
---@param row runner.mcp.Row
---@return boolean
function M.has_prompts(settings, row)
	return row.listing ~= "job" or settings.builtin or is_picked(settings, row.command)
end

---The tools among the rows, or those of a role, in their order.
---@param settings runner.mcp.Settings
---@param rows runner.mcp.Row[]
---@param role? "prompt"|"resource"
---@return runner.mcp.Row[]
function M.chosen(settings, rows, role)
	local out = {}
	for _, row in ipairs(rows) do
		local has = not role and M.has(settings, row) or role and row.role == role and is_chosen(settings, row.command)
		out[#out + 1] = has and row or nil
	end
	return out
end

---The tools of which words speak, the best first.
---@param rows runner.mcp.Row[]
---@param words string
---@return runner.mcp.Row[]
function M.fitting(rows, words)
	local texts, found = {}, {}
	for i, row in ipairs(rows) do
		local tool = row.tool
		texts[i] = compact_help.search_text { name = tool.title, description = tool.description, keywords = row.keywords,
			examples = row.examples, schema = tool.inputSchema }
	end
	for i, place in ipairs(search.rank(texts, words)) do
		found[i] = rows[place]
	end
	return found
end

---How the tools are called that a name may have meant, which is none of theirs; nil: it is like none.
---@param server runner.mcp.Server
---@param name string
---@return string[]?
function M.near(server, name)
	local tools = {}
	for i, row in ipairs(M.fitting(server:rows(false) or {}, (name:sub(1, NAME_READ):gsub("[%p%c]+", " ")))) do
		tools[i] = i <= NEAR_MAX and row.tool or nil
	end
	return tools[1] and require("runner.declare.usage").of_tools(tools, server.settings.progressive) or nil
end

---The names of --allow, --only and --group that name nothing, for a clear failure at the start.
---@param settings runner.mcp.Settings
---@param names string[] dot paths of all commands
---@return {flag: string, name: string}[]
local function unknown_names(settings, names)
	local out = {}
	local function check(flag, matches)
		for _, name in ipairs(settings[flag] or {}) do
			local found = false
			for _, command in ipairs(names) do
				found = found or matches({ name }, command)
			end
			out[#out + 1] = not found and { flag = flag, name = name } or nil
		end
	end
	check("allow", is_named)
	check("only", is_named)
	check("group", is_below)
	return out
end

-- --- built-in commands -----------------------------------------------------------------

-- Those without which a call that goes on as a job could not be followed; and those that only read, for who asks for them.
---@type table<string, "job"|"builtin">
local LISTED = {}
for name in ("job.logs job.status job.wait"):gmatch "%S+" do
	LISTED[name] = "job"
end
for name in ("job.list workflow.list workflow.logs workflow.show workflow.stats workflow.wait"):gmatch "%S+" do
	LISTED[name] = "builtin"
end

---@type table<string, true>
local NEVER = tables.set [[approve completion exec flame help manifest mcp.install mcp.serve mcp.tools mcp.validate new reject types
	workflow.import workflow.new]]

-- Those that only wait for something that goes on without them: always, or with this argument.
---@type table<string, string|true>
local WAITS = { ["job.wait"] = true, ["job.logs"] = "follow", ["workflow.logs"] = "follow",
	["workflow.show"] = "watch", ["workflow.wait"] = true }

local function plain(name)
	return (name:gsub("^self%.", ""))
end

---Does a call only wait?
---@param name string as M.of_builtin takes it
---@param arguments? table
---@return boolean
function M.waits(name, arguments)
	local how = WAITS[plain(name)]
	return how == true or how ~= nil and ((arguments or {})[how] or false) ~= false
end

---@param name string dot path, perhaps with "self." in front
---@return "job"|"builtin"|"allow"|"never"
function M.of_builtin(name)
	name = plain(name)
	return LISTED[name] or NEVER[name] and "never" or "allow"
end

-- --- names -----------------------------------------------------------------------------

---Give each row the name of its tool. Clients hand names on to models that take no dots: "db.migrate"
---is db_migrate. A command that is called db_migrate itself keeps its name, and the other one its dot.
---@param rows runner.mcp.Row[]
function M.give_names(rows)
	local taken = {}
	for _, row in ipairs(rows) do
		taken[row.command] = true
	end
	for _, row in ipairs(rows) do
		local name = row.command:gsub("%.", "_")
		if name ~= row.command and not taken[name] then
			taken[name], row.tool.name = true, name
		end
	end
end

-- --- the arguments of the commands that choose tools -----------------------------------

local SELECTION = {
	{ "allow", "array", items = "string", description = "A command that is a tool only if it is named here: one that is destructive, "
		.. "or a built-in one that runs files or code" },
	{ "builtin", "boolean", description = "List runner's own commands that only read jobs and runs, too, and their examples as prompts" },
	{ "only", "array", items = "string", description = "Only this command" },
	{ "group", "array", items = "string", description = "Only the commands of this group" },
}

---The arguments that choose tools, and more.
---@param more table[] rows of `args`
---@return table[]
function M.arguments(more)
	return table.move(more, 1, #more, #SELECTION + 1, table.move(SELECTION, 1, #SELECTION, 1, {}))
end

---Names that name nothing are mistakes: a server that lists less than was meant is of no use.
---@param values runner.mcp.Settings
---@return table[]? problems
function M.validate(values)
	local names = {}
	for i, listed in ipairs(catalog.list(attempt.project)) do
		names[i] = listed.name
	end
	local problems = {}
	for i, unknown in ipairs(unknown_names(values, names)) do
		local what = unknown.flag == "group" and "group of commands" or "command"
		problems[i] = { field = unknown.flag, code = "INVALID_ARGUMENT", message = ("There is no %s '%s'"):format(what, unknown.name),
			fix_required = ("Name a %s: runner lists them"):format(what) }
	end
	return problems[1] and problems or nil
end

return M
