-- The JSON Schema of runner.lua's data and the checks of runner.lua judge alike: every kind of value of
-- every key is given to both.

local json = require "runner.json"
local json_schema = require "runner.core.json_schema"
local layout = require "runner.output.layout"
local project = require "runner.project.project"
local schema = require "runner.tools.project_schema"

local ROOT = debug.getinfo(1, "S").source:match("^@(.*)tests/lua/")
local LIST = json.array
local SCHEMA = json.decode(json.encode(schema.schema()))

-- Functions, which JSON can't hold.
local FUNCTIONS = { before = true, after = true }

-- What JSON Schema can't say, or a Lua table doesn't: key → values, as JSON.
local ONLY_CHECK = {
	aliases = { ['{"a":["-x"]}'] = "the first word is no flag" },
}

-- A Lua table doesn't tell an empty list from an empty map.
local function holds_empty(value)
	return json.encode(value):find("[]", 1, true) ~= nil
end

local NAMED = { x = 1, X = "x", ["9"] = "x" }
local VALUES = { true, false, 0, 1, 5, -1, 1.5, 0.5, 4e8, 2000000000, "", " ", "text", "5s", "0s", "5 s", "none", "1G", "1GiB",
	"standard", "classic",
	"a b", "--yes", "deploy --yes", "deploy --yesterday", "-x deploy", "ü", ("x"):rep(70), LIST { "a" }, LIST { "" }, LIST { 5 },
	LIST { "a", 5 },
	LIST { LIST {} }, { a = "x" }, { a = "-x" }, { a = LIST { "x", "y" } }, { a = LIST { "-x" } }, { a = LIST { "x", "--live=1" } },
	{ a = LIST {} },
	{ ["a b"] = "x" }, { a = 5 }, NAMED, { path = "x" }, { path = "" }, { path = 5 }, { required = true, sync = false }, { required = "yes" },
	{ nokey = 1 }, { content = true }, { content = 1 }, { file = "x", service_name = "y" }, { file = "" },
	{ older_than = "30d" }, { older_than = "0" }, { older_than = 0 }, { older_than = 1.5 }, { max_size = "1GiB" }, { max_size = 1 },
	{ max_size = "x" },
	{ max_size = "none" }, { keep = 0 }, { keep = -1 }, { keep = 1.5 }, { keep = 2000000000 }, { failed = true }, { keep = 1,
	failed = true, interrupted = 1 },
	{ x = { kind = "slurm", directory = "/x" } }, { x = { kind = "slurms" } }, { none = { kind = "local" } }, { x = { cpus = 0 } },
	{ x = { memory = LIST { "1G", "2G" }, gpus = "a100:2", submit_rate = "1/s", options = LIST { "--qos=x" } } },
	{ x = { options = LIST { "a\nb" } } },
	{ x = 5 }, LIST { { name = "git", min_version = "2.30" } }, LIST { { name = "git", min_version = "*" } }, LIST { { name = "git" } },
	LIST { { name = "-git", min_version = "2" } }, LIST { { name = "git", min_version = "v2" } },
	LIST { { name = "git", min_version = "2", max_version = "3", check_command = "git --version", fix_command = "x" } },
	LIST { { name = "git", min_version = "2", max_version = "*" } }, { retries = 3 }, { retries = -1 }, { retries = 1001 }, { retries = "3" },
	{ delay = "1s" }, { delay = "1s", retries = 1, strategy = "linear", jitter = 0.5, seed = 7, maybe = true }, { max_delay = "1m" },
	{ max_delay = "0s" }, { max_delay = 0 }, { max_delay = "none" }, { delays = LIST { "1s", 2 } }, { delays = LIST {} },
	{ delays = LIST { "x" } },
	{ delays = LIST { 1 }, strategy = "linear" }, { delays = LIST { 1 }, strategy = "custom" }, { strategy = "custom", retries = 1 },
	{ retries = 1, jitter = "full" }, { retries = 1, jitter = "factor" }, { retries = 1, jitter = 1.5 }, { retries = 1,
	on = LIST { "UNAVAILABLE" } },
	{ retries = 1, on = LIST { "x" } }, { retries = 1, on = LIST {} }, { prod = { timeout = "5m" } }, { prod = { timeout = "x" } },
	{ prod = { contexts = {} } }, { prod = { config = { a = 1 }, retry = { retries = 1 } } }, { db = { before = "x" } },
	{ ["api.example.org"] = { rate = "10/min" } }, { ["[::1]:80"] = { rate = "100 / 30s", breaker = { failures = 5 } } }, { x = {} },
	{ ["http://x"] = { rate = "1/s" } }, { ["x:"] = { rate = "1/s" } }, { [".x"] = { rate = "1/s" } }, { x = { rate = "0/s" } },
	{ x = { rate = "10001/s" } }, { x = { rate = "1/w" } }, { x = { rate = "1/0s" } }, { x = { breaker = {} } },
	{ x = { breaker = { failures = 0 } } },
	{ x = { breaker = { failures = 1, window = "0", pause = "1s" } } }, { x = { breaker = { failures = 1, window = 5, pause = "1.5m" } } } }

-- "both", "neither", "schema" or "check": who accepts it.
local function judges(key, value)
	local text = assert(json.encode { [key] = value })
	local settings = {}
	local problem = project.read(json.decode(text), text, "/p/runner.lua", settings)
	local refused = json_schema.problems(SCHEMA, json.decode(text))
	if not problem then
		return refused[1] and "check" or "both", refused[1] and text .. " " .. json_schema.text(refused[1])
	end
	return refused[1] and "neither" or "schema", text .. " " .. problem.message
end

describe("the schema of runner.lua's data and its check", function()
	for key in pairs(project.keys) do
		if not FUNCTIONS[key] then
			it("judge every value of " .. key .. " alike", function()
				local differ, accepted = {}, 0
				for _, value in ipairs(VALUES) do
					local verdict, why = judges(key, value)
					accepted = accepted + (verdict == "both" and 1 or 0)
					local known = verdict == "check" and holds_empty(value) or (ONLY_CHECK[key] or {})[json.encode(value)]
					differ[#differ + 1] = (verdict == "schema" or verdict == "check") and not known and verdict .. " accepts " .. why or nil
				end
				assert.same({}, differ)
				assert.is_true(accepted > 0 or key == "groups")
			end)
		end
	end

	it("refuse a key that there is not, and what is no table", function()
		assert.equal("neither", (judges("nokey", 1)))
		assert.truthy(json_schema.problems(SCHEMA, "x")[1])
		assert.truthy(json_schema.problems(SCHEMA, LIST { 1 })[1])
	end)

	it("know the same keys", function()
		for key in pairs(project.keys) do
			assert.equal(not FUNCTIONS[key], SCHEMA.properties[key] ~= nil, key)
		end
		for key, property in pairs(SCHEMA.properties) do
			assert.truthy(project.keys[key], key)
			assert.truthy(property.description ~= "", key)
		end
	end)

	it("know the same keys of an executor", function()
		local rows, known = require("runner.declare.executors").schema(), {}
		for key in pairs(require("runner.declare.executors").keys) do
			known[key] = true
			assert.truthy(rows[key], key)
			assert.truthy(SCHEMA.definitions.ExecutorSettings.properties[key], key)
		end
		for key in pairs(rows) do
			assert.is_true(known[key], key)
		end
	end)

	it("accept the settings of the examples", function()
		local find = "cd '%s' && find docs examples tests/bench tests/conformance -name runner.lua"
		local list = assert(io.popen(find:format(ROOT == "" and "." or ROOT)))
		local seen = 0
		for path in list:lines() do
			local chunk = loadfile(ROOT .. path, "t", setmetatable({}, { __index = _G }))
			local ok, settings = pcall(chunk or error)
			if ok and type(settings) == "table" then
				for key, value in pairs(settings) do
					settings[key] = type(value) ~= "function" and value or nil
				end
				local text = json.encode(settings)
				if text and next(settings) then
					seen = seen + 1
					assert.same({}, json_schema.problems(SCHEMA, json.decode(text)), path)
				end
			end
		end
		list:close()
		assert.is_true(seen > 0)
	end)
end)

describe("the schema of runner.lua's data", function()
	it("is what docs/schema/project.json publishes", function()
		local handle = assert(io.open(ROOT .. "docs/schema/project.json", "rb"))
		local published = handle:read "a"
		handle:close()
		assert.is_true(published == layout.json(schema.schema()) .. "\n", "docs/schema/project.json is out of date: run make docs")
	end)
end)
