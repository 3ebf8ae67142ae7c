-- Absolute paths, file names and the state directory, decided in one place.

local paths = require "runner.core.paths"
local command_line = require "runner.core.command_line"

local function with(environment, f)
	local real = os.getenv
	os.getenv = function(name) return environment[name] end -- luacheck: ignore
	local ok, e = pcall(f)
	os.getenv = real -- luacheck: ignore
	assert(ok, e)
end

describe("paths", function()
	it("put a relative path below where it starts, and leave an absolute one alone", function()
		assert.equal("/w/a/b", paths.absolute("a/b", "/w"))
		assert.equal("/a/b", paths.absolute("/a/b", "/w"))
		assert.is_false(paths.is_absolute(nil))
		assert.is_false(paths.is_absolute(""))
		assert.is_true(paths.is_absolute "/")
	end)

	it("keep state in XDG_STATE_HOME, else below a HOME that is there, and nowhere that is not absolute", function()
		with({ XDG_STATE_HOME = "/s", HOME = "/h" }, function() assert.equal("/s/runner", paths.state()) end)
		with({ XDG_STATE_HOME = "s", HOME = "/etc" }, function() assert.equal("/etc/.local/state/runner", paths.state()) end)
		for _, none in ipairs { "/etc/none", "/etc/passwd", "/etc/passwd/none" } do
			with({ HOME = none }, function() assert.is_nil(paths.state()) end)
		end
		with({ XDG_STATE_HOME = "s", HOME = "h" }, function() assert.is_nil(paths.state()) end)
		with({}, function() assert.is_nil(paths.state()) end)
	end)

	it("make one file name of each text, whatever is in it", function()
		assert.equal("a-b_c.d", paths.file_name("a-b_c.d", 100))
		assert.equal("a%2Fb%00", paths.file_name("a/b\0", 100))
		assert.equal("%2E%2E", (paths.file_name("..", 100):gsub("%.", "%%2E")))
		assert.is_nil(paths.file_name("..", 100):match "^%.")
		local long, other = ("x"):rep(300), ("x"):rep(301)
		assert.equal(100, #paths.file_name(long, 100))
		assert.are_not.equal(paths.file_name(long, 100), paths.file_name(other, 100))
	end)
end)

describe("what the system passes to a program", function()
	it("is quoted for a shell where that would read it in another way", function()
		assert.equal("a-b/c.d=e:f@g%h,i+j_0", command_line.quoted "a-b/c.d=e:f@g%h,i+j_0")
		for _, word in ipairs { "", "a b", "loop[2].sub", "it's", "$(x)", "~", "*", "a\nb", "!x", "é" } do
			local pipe <close> = assert(io.popen("printf %s " .. command_line.quoted(word)))
			assert.equal(word, pipe:read "a")
			assert.equal("'", command_line.quoted(word):sub(1, 1))
		end
	end)

	it("contains no NUL byte", function()
		assert.is_true(command_line.has_nul "a\0b")
		assert.is_false(command_line.has_nul "a\\0b")
	end)

end)
