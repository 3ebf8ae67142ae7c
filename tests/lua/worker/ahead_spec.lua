-- The modules that worker.c loads before any call is known (docs/design.md#warm-start): what they do while
-- they load must be the same for every call, so they may ask for nothing that belongs to one.

local ROOT = debug.getinfo(1, "S").source:match("^@(.*)tests/lua/worker/ahead_spec%.lua$")

-- Functions of bindings that are the same in every process, whoever calls it.
local CONSTANT = { ["host.bound"] = true, ["host.names"] = true }

-- The names in the lists of worker.c, "core/attempt" …
local function listed()
	local file <close> = assert(io.open(ROOT .. "src/worker/worker.c"))
	local names = {}
	for list in file:read("a"):gmatch "\nstatic const char %*const modules[%w_]*%[%] = (%b{});" do
		for name in list:gmatch '"([^"]+)"' do
			names[#names + 1] = name
		end
	end
	return names
end

-- `real`, where each call of a function of it is noted.
local function noting(real, of, called)
	return setmetatable({}, { __index = function(_, name)
		local value = real[name]
		return type(value) == "function" and function(...)
			called[#called + 1] = of .. "." .. name
			return value(...)
		end or value
	end })
end

-- Loads modules from their files, each once; `called` are the functions that they call meanwhile.
local function loading(called)
	local loaded, globals = {}, setmetatable({}, { __index = _G })
	for _, name in ipairs { "io", "os", "debug", "coroutine" } do
		globals[name] = noting(_G[name], name, called)
	end
	function globals.require(name)
		if loaded[name] == nil then
			local file = ROOT .. "lua/" .. name:gsub("^runner%.", ""):gsub("%.", "/") .. ".lua"
			local chunk = loadfile(file, "t", globals)
			loaded[name] = chunk and chunk(name) or noting(require(name), name:match "[^.]+$", called)
		end
		return loaded[name]
	end
	return globals.require
end

describe("a module that is loaded ahead", function()
	it("asks for nothing of a call, its environment or the time while it loads", function()
		local called, asked = {}, {}
		local load_module = loading(called)
		local names = listed()
		assert.is_true(#names > 20)
		for _, name in ipairs(names) do
			load_module("runner." .. name:gsub("/", "."))
			for i = #called, 1, -1 do
				asked[#asked + 1] = not CONSTANT[called[i]] and name .. ": " .. called[i] or nil
				called[i] = nil
			end
		end
		assert.same({}, asked)
	end)

	it("that asked for its launch would be noticed", function()
		local called = {}
		loading(called) ("runner.host").launch()
		assert.same({ "host.launch" }, called)
	end)
end)
