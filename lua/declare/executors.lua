-- executors: places where steps of workflows may run, as `executors` of runner.lua and of workflow
-- files describe them: the keys of one, and which of them each kind needs. It reads plain values
-- and opens nothing.

local json = require "runner.json"
local json_shapes = require "runner.declare.json_shapes"
local rules = require "runner.core.rules"
local tables = require "runner.core.tables"

local M = {}

---@class runner.Executor in its normal form (docs/scale.md)
---@field name string
---@field kind "slurm"|"command"|"local"|"fake" fake: of tests only, no file can name it
---@field partition? string
---@field account? string
---@field qos? string
---@field cpus? integer of a task
---@field gpus? string of a task: "2", "a100:2"
---@field memory? string[] "4G": of a task; the next one after it ran out of memory
---@field time_ms? integer of a task
---@field times? integer[] as time_ms, of a step: the next one after it was not enough
---@field at_once? integer tasks of one submission that run at the same time, at most
---@field poll_ms integer between two looks at the queue
---@field submit_rate number submissions per second
---@field directory? string absolute, and the same on every node; nil: of kind local. With via, of the other side: maybe "~/…"
---@field via? string the host that ssh reaches it by; nil: its programs are here
---@field options string[] further words for the program that submits
---@field prologue? string shell text that runs on the node in front of runner
---@field environment table<string, string>
---@field runner? string path of runner on the nodes; nil: our own, with via the one in PATH there
---@field submit? string[] argv, of kind command; so are the next two
---@field states? string[]
---@field cancel? string[]

M.NAME, M.NAME_WORDS = "^%a[%w_-]*$", "letters, digits, _ and -, starting with a letter"
M.NOWHERE = "none" -- `on: none`: not on the workflow's executor

local MOST = 1000000
local KINDS = rules.one_of("slurm", "command", "local")
local WORD = rules.matching("^%w[%w_.,+:@/-]*$", 200)

-- One line, whatever it is: it becomes a line of a script, or one argument.
local function line(v)
	return rules.text(v) and not v:find "%c" and v or nil
end

local function size(v)
	return type(v) == "string" and v:find "^[1-9]%d*[KMGT]$" and #v <= 12 and v or nil
end

local function sizes(v)
	return rules.list(type(v) == "table" and v or { v }, 1, 16, size)
end

local function gpus(v)
	local count = rules.whole(1, 1024)(v)
	return count and tostring(count) or rules.matching("^%a[%w_.-]*:%d+$", 64)(v)
		or rules.matching("^[1-9]%d*$", 4)(v)
end

local function some_time(v)
	local ms = rules.duration(v)
	return ms ~= 0 and ms or nil
end

local PER = { s = 1, m = 60, h = 3600 }

-- "2/s", "10/m", or a number of submissions per second.
local function rate(v)
	local n, unit = tostring(v):match "^(%d+%.?%d*)/([smh])$"
	local per_second = n and tonumber(n) / PER[unit] or type(v) == "number" and v
	return per_second and per_second > 0 and per_second <= 1000 and per_second or nil
end

-- Below HOME, or absolute; without "..", which links would make a riddle of.
local function directory(path)
	local plain = line(path) and path:find "^~?/." and not (path .. "/"):find("/../", 1, true) and #path <= 1024
	return plain and path:gsub("/+", "/"):gsub("(.)/$", "%1") or nil
end

-- A path below the HOME of this machine. That of an executor that ssh reaches is settled there.
local function at_home(path)
	local home = os.getenv "HOME"
	return home and path and path:gsub("^~", function() return home end) or path
end

-- What ssh takes as a host, and nothing that it would take as an option.
local function host_of(v)
	local host = type(v) == "string" and v:match "^ssh +(%S+)$"
	return host and host:find "^[%w_][%w_.@:%%-]*$" and #host <= 255 and host or nil
end

local SCALAR = { string = true, number = true, boolean = true }

local function environment(v)
	local out = {}
	for name, value in next, type(v) == "table" and v or { false } do
		if type(name) ~= "string" or not name:find "^[%a_][%w_]*$" then
			return nil
		end
		local text = SCALAR[type(value)] and tostring(value) or nil
		if not text or text:find "%z" then
			return nil
		end
		out[name] = text
	end
	return out
end

local PROGRAM = rules.list_of(function(v)
	return type(v) == "string" and v ~= "" and not v:find "%z" and v or nil
end, 1)

local function row(accept, expected, field)
	return { accept = accept, expected = expected, field = field }
end

local A_WORD, A_PROGRAM = "a name of the site", "a list: the program, and its first arguments"

---Key → what it takes, in words, and the field of the normal form that it fills.
---@type table<string, { accept: fun(v: any): any, expected: string, field?: string }>
M.keys = {
	kind = row(KINDS, "slurm, command or local"),
	partition = row(WORD, A_WORD), account = row(WORD, A_WORD), qos = row(WORD, A_WORD),
	cpus = row(rules.whole(1, 65536), "a whole number from 1 to 65536"),
	gpus = row(gpus, "a number from 1 to 1024, or a type and a number such as a100:2"),
	memory = row(sizes, "a size such as 4G, or a list of sizes such as [4G, 8G], for the task that ran out of memory"),
	time = row(some_time, "a duration such as 30m or 4h", "time_ms"),
	at_once = row(rules.whole(1, MOST), "a whole number from 1 to 1000000"),
	poll = row(function(v)
		local ms = some_time(v)
		return ms and ms >= 100 and ms or nil
	end, "a duration of at least 100ms, such as 5s", "poll_ms"),
	submit_rate = row(rate, "submissions per second, such as 1/s, or 10/m"),
	directory = row(directory, "an absolute path, or one that starts with ~/"),
	options = row(rules.list_of(line, 0), "a list of words for the program that submits"),
	prologue = row(rules.text, "a shell text such as module load apps"),
	environment = row(environment, "a map of names and values"),
	via = row(host_of, "ssh and a host, such as ssh login.cluster: its port, user and key belong into ~/.ssh/config"),
	runner = row(directory, "the absolute path of runner on the nodes"),
	submit = row(PROGRAM, A_PROGRAM), states = row(PROGRAM, A_PROGRAM), cancel = row(PROGRAM, A_PROGRAM),
}

---The executors of a runner.lua, each with the fields that it sets; nil: something is wrong.
---@param v any
---@return table<string, table>?
function M.accept(v)
	local out, clean = {}, type(v) == "table"
	local readers = {}
	for key, entry in pairs(M.keys) do
		readers[key] = entry.accept
	end
	for name, declared in next, clean and v or {} do
		clean = clean and type(name) == "string" and name:find(M.NAME) ~= nil and name ~= M.NOWHERE
		local own = rules.accept(readers, "executor", declared, nil, function()
			clean = false
		end)
		out[name] = {}
		for key, value in pairs(own) do
			out[name][M.keys[key].field or key] = value
		end
	end
	return clean and out or nil
end

-- What is wrong with one executor of a runner.lua: its key, a clause, and the fix.
local function wrong_key(declared)
	for _, key in ipairs(tables.sorted_keys(declared)) do
		local entry = M.keys[key]
		if not entry then
			local near = require("runner.core.suggest").nearest(tostring(key), tables.sorted_keys(M.keys), 1)[1]
			return key, "is not a key of an executor", near and ("rename it to %s"):format(near) or "remove it"
		elseif entry.accept(declared[key]) == nil then
			return key, "has a value that an executor can't have", "write " .. entry.expected
		end
	end
end

---The first thing that is wrong with executors that accept refuses, in words.
---@param v any
---@return string? prefix where it stands, "executors.site"; nil: it is no table at all
---@return any key
---@return string clause
---@return string fix
function M.wrong(v)
	for _, name in ipairs(type(v) == "table" and tables.sorted_keys(v) or {}) do
		if type(name) ~= "string" or not name:find(M.NAME) or name == M.NOWHERE then
			return "executors", name, "is not a valid name", "use " .. M.NAME_WORDS
		elseif type(v[name]) ~= "table" then
			return "executors", name, "is no table", 'write { kind = "slurm", directory = "~/runner" }, for example'
		end
		local key, clause, fix = wrong_key(v[name])
		if clause then
			return "executors." .. name, key, clause, fix
		end
	end
end

local OF_COMMAND = { "submit", "states", "cancel" }

local function fault_of(e)
	if not e.kind then
		return "kind is missing", "Write kind: slurm, command or local"
	elseif e.kind ~= "local" and not e.directory then
		return "directory is missing: a folder that every node sees under the same path", "Write directory: ~/runner, if HOME is shared"
	end
	if e.via and e.kind == "local" then
		return "via: kind local runs its tasks on this machine", "Write kind: slurm or command; or remove via"
	end
	for _, key in ipairs(OF_COMMAND) do
		if (e.kind == "command") ~= (e[key] ~= nil) then
			return e.kind == "command" and key .. " is missing" or ("%s belongs to kind: command"):format(key),
				"kind: command has the three programs submit, states and cancel"
		end
	end
	local word, fault
	if e.kind == "slurm" and e.options and e.options[1] then
		word, fault = require("runner.declare.sbatch_options").wrong(e.options)
	end
	if word then
		return ("options: '%s' %s"):format(word, fault), "Remove it; what sbatch has for tasks: man sbatch"
	end
end

local POLL_MS = { slurm = 5000, command = 5000, ["local"] = 200 }

---An executor in its normal form: the site's fields, those of the file over them, defaults.
---@param name string
---@param site? table its fields in runner.lua
---@param own? table its fields in the workflow file
---@return runner.Executor? executor, string? fault, string? suggestion
function M.settle(name, site, own)
	local e = { name = name }
	for _, fields in ipairs { site or {}, own or {} } do
		for _, key in ipairs(tables.sorted_keys(fields)) do
			e[key] = fields[key]
		end
	end
	local fault, suggestion = fault_of(e)
	if fault then
		return nil, ("the executor '%s': %s"):format(name, fault), suggestion
	end
	if not e.via then
		e.directory, e.runner = at_home(e.directory), at_home(e.runner)
		if (e.directory or ""):find "^~" or (e.runner or ""):find "^~" then
			return nil, ("the executor '%s': HOME is not set, and its paths begin with ~/"):format(name), "Write absolute paths, or set HOME"
		end
	end
	e.poll_ms = e.poll_ms or POLL_MS[e.kind]
	e.submit_rate = e.submit_rate or e.kind == "local" and 1000 or 1
	e.options, e.environment = e.options or {}, e.environment or {}
	return e
end

-- --- as JSON Schema (draft 07), for workflow files and runner.lua ---------------------------

local WORD_SCHEMA = { type = "string", pattern = "^[A-Za-z0-9][A-Za-z0-9_.,+:@/-]*$", maxLength = 200 }
local LINE = "^[^\\x00-\\x1f\\x7f]*[^\\x00-\\x20\\x7f][^\\x00-\\x1f\\x7f]*$"
local SIZE = { type = "string", pattern = "^[1-9][0-9]*[KMGT]$", maxLength = 12 }
local PROGRAM_SCHEMA = { type = "array", minItems = 1, items = { type = "string", pattern = "^[^\\x00]+$" } }

-- Absolute or below HOME, without "..".
local PLACE = { allOf = json.array { { type = "string", pattern = LINE }, { pattern = "^(~?/.)" },
	{ ["not"] = { pattern = "/\\.\\.(/|$)" } } } }

local SCALAR_SCHEMA = { type = json.array { "string", "number", "boolean" } }

local function either(...)
	return { anyOf = json.array { ... } }
end

local function count(most)
	return { type = "integer", minimum = 1, maximum = most }
end

---Key → what it takes.
---@return table<string, table>
function M.schema()
	local duration = json_shapes.duration(true)
	return {
		kind = { type = "string", enum = json.array { "slurm", "command", "local" } },
		partition = WORD_SCHEMA, account = WORD_SCHEMA, qos = WORD_SCHEMA, cpus = count(65536),
		gpus = either(count(1024), { type = "string", pattern = "^([A-Za-z][A-Za-z0-9_.-]*:[0-9]+|[1-9][0-9]{0,3})$", maxLength = 64 }),
		memory = either(SIZE, { type = "array", minItems = 1, maxItems = 16, items = SIZE }),
		time = duration, at_once = count(1000000), poll = duration,
		submit_rate = either({ type = "number", exclusiveMinimum = 0, maximum = 1000 },
			{ type = "string", pattern = "^(0*[1-9][0-9]*\\.?[0-9]*|0+\\.[0-9]*[1-9][0-9]*)/[smh]$" }),
		directory = PLACE, options = { type = "array", items = { type = "string", pattern = LINE } }, prologue = json_shapes.text(),
		environment = { type = "object", patternProperties = { ["^[A-Za-z_][A-Za-z0-9_]*$"] = SCALAR_SCHEMA }, additionalProperties = false },
		via = { type = "string", pattern = "^ssh +[A-Za-z0-9_][A-Za-z0-9_.@:%-]*$", maxLength = 300 },
		runner = PLACE, submit = PROGRAM_SCHEMA, states = PROGRAM_SCHEMA, cancel = PROGRAM_SCHEMA,
	}
end

---What holds between the keys: programs of the user's belong to kind command, words for sbatch to kind slurm.
---@return table[]
function M.schema_between()
	local function where(kinds, properties)
		return { ["if"] = { required = json.array { "kind" }, properties = { kind = { enum = json.array(kinds) } } },
			["then"] = { properties = properties } }
	end
	return json.array { where({ "slurm", "local" }, { submit = false, states = false, cancel = false }),
		where({ "slurm" }, { options = { items = require("runner.declare.sbatch_options").schema() } }) }
end

return M
