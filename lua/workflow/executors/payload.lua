-- payload: what of a run travels to another machine, so that an engine there does with a step
-- what one here would do: the step, the values that its texts name, the environment, the seed.
-- Values that are long, or kept in files, become files of the unit's folder. What holds a secret
-- goes apart from the rest. It writes those files and nothing else; lua/workflow/executors/step_folder.lua
-- writes the two documents.

local codec = require "runner.workflow.store.codec"
local condition = require "runner.workflow.expr.condition"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local inner_lists = require "runner.workflow.file.inner_lists"
local host = require "runner.host"
local json = require "runner.json"
local large_value = require "runner.workflow.expr.large_value"
local retry_budget = require "runner.core.retry_budget"
local tables = require "runner.core.tables"
local variables = require "runner.workflow.expr.variables"

local M = { FORMAT = 2, DAMAGED = "Find out what its steps have done, then start the workflow again" }

local LONG = 64 << 10 -- bytes of a value that is a file of its own
local CHUNK = 65536
local FILE = 384 -- 0600
local EVERYTHING = "none" -- capture_limit, as the file writes it

---@class runner.workflow.Parcel
---@field run string the run's id
---@field key string of the step in the run
---@field step runner.workflow.Step
---@field place runner.workflow.Place
---@field workflow {name: string, path: string, claude: table}
---@field seed integer
---@field settings {cwd: string, errexit: boolean, env: table<string, string>, claude: table}
---@field secrets string[] values to mask
---@field retries integer? what is left of --retries
---@field retry_delay_ms integer? --retry-delay
---@field wait_here_ms integer? a longer wait of an item is left to the coordinator
---@field sizes integer? of memory that its executor has

-- --- steps ---------------------------------------------------------------------------------------

local function copy(value)
	if type(value) ~= "table" then
		return value
	end
	local out = {}
	for name, item in next, value do
		out[name] = copy(item)
	end
	return setmetatable(out, getmetatable(value))
end

local function each_below(step, f)
	for _, list in ipairs(inner_lists.of(step)) do
		for _, below in ipairs(list) do
			f(below)
		end
	end
end

-- A set of numbers, which JSON doesn't have, as a list; and back.
local function list_of(set)
	return json.array(tables.sorted_keys(set))
end

local function set_of(list)
	local set = {}
	for _, member in ipairs(list) do
		set[member] = true
	end
	return set
end

local function with_exits(step, f)
	for _, rule in ipairs(step.retry and step.retry.rules or {}) do
		rule.exit = rule.exit and f(rule.exit)
	end
end

local function flatten(step)
	step.when = step.when and step.when.text
	step.capture_limit = step.capture_limit == math.huge and EVERYTHING or step.capture_limit
	step.on, step.chunk, step.resources = nil, nil, nil -- placed once
	with_exits(step, list_of)
	each_below(step, flatten)
	return step
end

local function unfold(step)
	step.when = step.when and { text = step.when, ast = assert(condition.parse(step.when)) }
	step.capture_limit = step.capture_limit == EVERYTHING and math.huge or step.capture_limit
	with_exits(step, set_of)
	each_below(step, unfold)
	return step
end

-- What follows the step, and whether it runs, is decided where the run is.
local function portable(step)
	local out = copy(step)
	out.when, out.on_failure, out.on_success, out.items, out.items_file = nil, nil, nil, nil, nil
	out.where, out.sort = nil, nil
	return flatten(out)
end

-- --- values that its texts name --------------------------------------------------------------------

-- The dotted names in any text of it, as a set; of the steps whose session one continues, too.
local function named_in(value, out)
	if type(value) == "string" and value:find("${", 1, true) then
		for _, reference in ipairs(variables.names(assert(variables.parse(value, { shell = true })))) do
			out[reference.name] = true
		end
	elseif type(value) == "table" then
		for _, item in next, value do
			named_in(item, out)
		end
	end
	return out
end

local function named_by(step, out)
	for _, reference in ipairs(step.when and condition.names(step.when.ast) or {}) do
		out[reference.name] = true
	end
	if step.session then
		out["steps." .. step.session .. ".session_id"] = true
	end
	each_below(step, function(below)
		named_by(below, out)
	end)
	return out
end

---@class runner.workflow.Packing
---@field dir string
---@field files integer written so far

-- What keeps a file from being written → code, and what to do
local FULL = { "RESOURCE_EXHAUSTED", "Make room in the shared directory" }
local READ_ONLY = { "PRECONDITION", "Make the shared directory writable, or name another one" }
local OTHERWISE = { "OUTPUT_FAILED", "Find out what is wrong with the shared directory" }
-- (numbers: as Lua's own library says it)
local UNWRITTEN = { ENOSPC = FULL, EDQUOT = FULL, [28] = FULL, [122] = FULL, EROFS = READ_ONLY, EACCES = READ_ONLY, EPERM = READ_ONLY }

---Raises what keeps a file of the shared directory from being written.
---@param message string
---@param errno string|integer|nil
---@param context? table
function M.raise_unwritten(message, errno, context)
	local why = UNWRITTEN[errno] or OTHERWISE
	errors.raise(why[1], message, { retryable = false, fix_required = why[2], context = context })
end

local function next_file(packing)
	packing.files = packing.files + 1
	return ("scope-%d"):format(packing.files)
end

local function put_text(packing, text)
	local name = next_file(packing)
	local ok, why, errno = fs.write(packing.dir .. "/" .. name, text, FILE)
	return ok and name or M.raise_unwritten(why, errno)
end

local function put_copy(packing, from)
	local name = next_file(packing)
	local path = packing.dir .. "/" .. name
	local input <close> = assert(io.open(from, "rb"))
	local ok, why, errno = fs.write(path, "", FILE, false)
	local output <close> = ok and io.open(path, "r+b") or M.raise_unwritten(why, errno)
	for text in input:lines(CHUNK) do
		ok, why, errno = output:write(text)
		if not ok then
			M.raise_unwritten(why, errno)
		end
	end
	ok, why, errno = output:close()
	if ok then
		ok, why, errno = fs.fsync(path)
	end
	return ok and name or M.raise_unwritten(why, errno)
end

local function cut_of(value)
	return { step = value.step, bytes = value.bytes, cut = value.cut, why = value.why }
end

-- A value without what is held elsewhere: that is in `cuts`, each with its way there.
local function settled(value, cuts, way)
	if large_value.is(value) and value.cut then
		cuts[#cuts + 1] = { way = table.move(way, 1, #way, 1, {}), cut = cut_of(value) }
		return json.null
	end
	value = large_value.value(value)
	if type(value) ~= "table" then
		return value
	end
	local out = {}
	for name, item in next, value do
		way[#way + 1] = name
		out[name] = settled(item, cuts, way)
		way[#way] = nil
	end
	return setmetatable(out, getmetatable(value))
end

-- { value, cuts? } | { file, bytes, step, json?, cuts? } | { cut }
local function packed(packing, value)
	if large_value.is(value) and value.cut then
		return { cut = cut_of(value) }
	elseif large_value.is(value) and value.file and not value.get then
		return { file = put_copy(packing, value.file), bytes = value.bytes, step = value.step }
	elseif type(value) == "string" then
		return #value > LONG and { file = put_text(packing, value), bytes = #value, step = "" } or { value = value }
	end
	local cuts = {}
	local plain = settled(value, cuts, {})
	local text, found = codec.encode("data", plain), cuts[1] and cuts or nil
	if #text > LONG then
		return { file = put_text(packing, text), bytes = #text, step = "", json = true, cuts = found }
	end
	return { value = plain, cuts = found }
end

-- The path of an output: that of a copy.
local function packed_path(packing, given)
	local form = given.output ~= nil and packed(packing, given.output)
	if form and form.value then
		form = { file = put_text(packing, form.value), bytes = #form.value, step = "" }
	end
	if form then
		form.path = true
	end
	return form or nil
end

local function pack_result(packing, out, given, field)
	for _, name in ipairs(field and { field, "ok", "status" } or { "output", "data", "ok", "status", "error", "session_id" }) do
		if name == "output_path" then
			out[name] = out[name] or packed_path(packing, given)
		elseif given[name] ~= nil then
			out[name] = out[name] or packed(packing, given[name])
		end
	end
	return out
end

local RESULTS = tables.set(table.concat(variables.kinds, " "))

local function pack_name(packing, out, scope, name)
	local head, second, third = name:match "^([^.]+)%.?([^.]*)%.?([^.]*)"
	if head == "env" then
		out.env[name:sub(5)] = scope.env and scope.env(name:sub(5)) or false
	elseif head == "steps" and scope.steps[second] then
		out.steps[second] = pack_result(packing, out.steps[second] or {}, scope.steps[second], third ~= "" and third or nil)
	elseif (RESULTS[head] or variables.guarded[head]) and scope[head] then
		out[head] = pack_result(packing, out[head] or {}, scope[head], second ~= "" and second or nil)
	elseif variables.loop[head] and scope[head] ~= nil then
		out[head] = out[head] or packed(packing, scope[head])
	elseif not variables.groups[head] and scope.vars[head] ~= nil then
		out.vars[head] = out.vars[head] or packed(packing, scope.vars[head])
	end
end

local function pack_scope(run, step, scope, dir)
	local names = named_by(step, named_in(step, named_in(run.settings.claude or {}, {})))
	local packing = { dir = dir, files = 0 }
	local out = { vars = {}, steps = {}, env = {}, captures = scope.captures or {} }
	for _, name in ipairs(tables.sorted_keys(names)) do
		pack_name(packing, out, scope, name)
	end
	return out
end

---What travels of a step. Writes long values into `dir`, and raises OUTPUT_FAILED where it can't.
---@param run table the run: id, workflow, settings, seed, mask, secrets
---@param step runner.workflow.Step
---@param key string
---@param place runner.workflow.Place
---@param dir string of the unit
---@return table about for everybody who may read the folder, without a secret
---@return table private the environment, and what holds a secret
function M.pack(run, step, key, place, dir)
	local scope = pack_scope(run, step, place.scope, dir)
	local private = { format = M.FORMAT, env = run.settings.env, secrets = json.array(run.secrets or {}), called_with = scope.env, parts = {} }
	scope.env = nil
	local about = { format = M.FORMAT, runner = host.launch().version, run = run.id, workflow = run.workflow.name, path = run.workflow.path,
		key = key, loop = step.kind == "foreach", prefix = place.prefix, suffix = place.suffix, seed = run.seed,
		retries = retry_budget.budget(), retry_delay_ms = retry_budget.delay_ms(), cwd = run.settings.cwd, errexit = run.settings.errexit,
		env_names = json.array(tables.sorted_keys(run.settings.env)) }
	for name, part in next, { step = portable(step), scope = scope, claude = run.settings.claude or {} } do
		local text = codec.encode("data", part)
		local where = run.mask(text) == text and about or private.parts
		where[name] = part
	end
	return about, private
end

-- --- on the other side -----------------------------------------------------------------------------

local function place_cuts(value, cuts)
	for _, found in ipairs(cuts or {}) do
		local at, last = value, #found.way
		for i = 1, last - 1 do
			at = at[found.way[i]]
		end
		at[found.way[last]] = large_value.new(found.cut)
	end
	return value
end

local function unpacked(form, dir)
	if form.cut then
		return large_value.new(form.cut)
	elseif not form.file then
		return place_cuts(form.value, form.cuts)
	elseif not tostring(form.file):find "^scope%-%d+$" then
		errors.raise("PRECONDITION", dir .. "/unit.json is damaged", { fix_required = M.DAMAGED })
	end
	local path = dir .. "/" .. form.file
	if form.path then
		return path
	end
	return large_value.new { step = form.step, bytes = form.bytes, file = path, get = form.json and function(text)
		return place_cuts(codec.decode({ data = text }).data, form.cuts)
	end or nil }
end

local function unpacked_all(forms, dir)
	local out = {}
	for name, form in next, forms or {} do
		out[name] = unpacked(form, dir)
	end
	return out
end

local function unpack_scope(about, packed_scope, called_with, dir)
	local scope = { vars = unpacked_all(packed_scope.vars, dir), steps = {}, captures = packed_scope.captures,
		run = { id = about.run, name = about.workflow } }
	for id, forms in next, packed_scope.steps do
		scope.steps[id] = unpacked_all(forms, dir)
	end
	for _, heads in ipairs { RESULTS, variables.guarded } do
		for head in next, heads do
			scope[head] = packed_scope[head] and unpacked_all(packed_scope[head], dir)
		end
	end
	for head in next, variables.loop do
		scope[head] = packed_scope[head] and unpacked(packed_scope[head], dir)
	end
	-- What isn't set where the run is isn't set here: conditions decide as they would there.
	function scope.env(name)
		return called_with[name] or nil
	end
	return scope
end

---@param about table as M.pack returned it
---@param private table
---@param dir string of the unit
---@return runner.workflow.Parcel
function M.unpack(about, private, dir)
	local function part(name)
		return about[name] or private.parts[name]
	end
	local claude = part "claude"
	local scope = unpack_scope(about, part "scope", private.called_with, dir)
	return {
		run = about.run, key = about.key, step = unfold(part "step"), seed = about.seed, secrets = private.secrets,
		place = { prefix = about.prefix, suffix = about.suffix, scope = scope },
		workflow = { name = about.workflow, path = about.path, claude = claude }, wait_here_ms = about.wait_here_ms, sizes = about.sizes,
		retries = about.retries, retry_delay_ms = about.retry_delay_ms,
		settings = { cwd = about.cwd, errexit = about.errexit, env = private.env, claude = claude },
	}
end

return M
