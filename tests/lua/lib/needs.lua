-- needs: libraries that runner loads when a caller needs them. Where one isn't there, the tests that need it say so, and do nothing.
--
--   dofile "tests/lua/lib/needs.lua" (_ENV, "sqlite3")     all tests of a file, from here on
--   it("…", needs "md" or function() … end)                one test: local needs = dofile "tests/lua/lib/needs.lua" (_ENV)

local FILES = {
	curl = { "libcurl.so.4", "libcurl-gnutls.so.4" },
	md = { "libmd.so.0" },
	sqlite3 = { "libsqlite3.so.0" },
}

local HOOKS = { "before_each", "after_each", "setup", "teardown", "lazy_setup", "lazy_teardown" }

local function is_there(library)
	for _, file in ipairs(FILES[library]) do
		if package.loadlib(file, "*") then
			return true
		end
	end
	return false
end

return function(env, library)
	local it = env.it

	-- What a test does in its place; nil: the library is there.
	local function instead(name)
		return not is_there(name) and function()
			env.pending("there is no lib" .. name) -- that of the test that runs
		end or nil
	end

	if library and not is_there(library) then
		env.it = function(name)
			return it(name, instead(library))
		end
		for _, hook in ipairs(HOOKS) do
			env[hook] = function() end
		end
	end
	return instead
end
