-- Helper of the busted tests: `runner.NAME` is lua/NAME.lua, and the C bindings
-- come from the shared object that `make testhost` builds (RUNNER_HOST_SO).

local ROOT = debug.getinfo(1, "S").source:match("^@(.*)tests/lua/init%.lua$")

-- Module name → symbol, from the rows of src/bindings/bindings.def.
local function read_bindings()
	local symbols = {}
	for line in io.lines(ROOT .. "src/bindings/bindings.def") do
		local library, scripts, open = line:match('^BINDING%(([^,]+),%s*([^,]+),%s*([%w_]+),')
		if open and library ~= "NULL" then
			symbols["runner." .. library:match('^"(.+)"$')] = open
		end
		if open and scripts ~= "NULL" then
			symbols[scripts:match('^"(.+)"$')] = open
		end
	end
	return symbols
end

local BINDINGS = read_bindings()

local function binding(name)
	local symbol = BINDINGS[name]
	if not symbol then
		return nil
	end
	local so = os.getenv "RUNNER_HOST_SO"
	if not so then
		return "\n\tRUNNER_HOST_SO is not set: run 'make testhost' and point it to runner_host.so"
	end
	local open, message = package.loadlib(so, symbol)
	return open or "\n\t" .. message
end

local function library(name)
	local rest = name:match("^runner%.(.+)$")
	if not rest then
		return nil
	end
	local is_schema = rest:find "^agent_spec%."
	local path = ROOT .. "lua/" .. rest:gsub("%.", "/") .. (is_schema and ".json" or ".lua")
	if is_schema or rest:find "^types%." then
		return function()
			local file <close> = assert(io.open(path, "rb"))
			return file:read "a"
		end
	end
	local chunk, message = loadfile(path)
	if name == "runner.core.attempt" and chunk then
		return function(...) -- what boot does
			local attempt = chunk(...)
			attempt.begin()
			return attempt
		end
	end
	return chunk or "\n\t" .. message, path
end

table.insert(package.searchers, 2, library)
table.insert(package.searchers, 2, binding)
