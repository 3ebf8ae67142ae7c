-- runner.path: paths as texts.

local path = require "runner.library.path"

local function refuses(f, ...)
	local ok, message = pcall(f, ...)
	assert.is_false(ok)
	return tostring(message)
end

describe("runner.path", function()
	it("normalises: dots, empty parts, and what .. takes back", function()
		for text, wanted in pairs { ["a//b/./c/.."] = "a/b", ["/.."] = "/", ["/a/../../b"] = "/b", ["../.."] = "../..", ["a/.."] = ".",
			["."] = ".", [""] = ".", ["//"] = "/", ["a/../../b"] = "../b", ["..."] = "..." } do
			assert.equal(wanted, path.normalise(text), text)
		end
	end)

	it("joins; an absolute part begins anew", function()
		assert.equal("a/b/c", path.join("a", "b", "c"))
		assert.equal("/etc", path.join("a", "/etc"))
		assert.equal("a", path.join("", "a", ""))
		assert.equal(".", path.join())
		assert.equal("b", path.join("a", "..", "b"))
	end)

	it("takes apart as dirname(1) and basename(1) do", function()
		for text, wanted in pairs { ["/usr/lib"] = { "/usr", "lib" }, ["/usr/"] = { "/", "usr" }, usr = { ".", "usr" },
			["/"] = { "/", "/" }, ["a/b//"] = { "a", "b" }, ["//a"] = { "/", "a" }, ["a//b"] = { "a", "b" } } do
			assert.same(wanted, { path.dirname(text), path.basename(text) }, text)
		end
		assert.equal("x", path.basename("/a/x.lua", ".lua"))
		assert.equal(".lua", path.basename("/a/.lua", ".lua"))
	end)

	it("knows endings, of hidden files too", function()
		for text, wanted in pairs { ["a.tar.gz"] = ".gz", [".bashrc"] = "", ["a."] = "", ["d.x/a"] = "", [".a.b"] = ".b" } do
			assert.equal(wanted, path.ext(text), text)
		end
		assert.equal("a.tar", path.stem "x/a.tar.gz")
	end)

	it("finds the way from a directory, and refuses where nobody knows it", function()
		assert.equal("../c", path.relative("/a/c", "/a/b"))
		assert.equal(".", path.relative("a/b", "a/./b"))
		assert.equal("b", path.relative("a/b", "a"))
		assert.equal("../../x", path.relative("../x", "a"))
		assert.truthy(refuses(path.relative, "/a", "b"):find("absolute", 1, true))
		assert.truthy(refuses(path.relative, "a", "../b"):find("it is not known", 1, true))
	end)

	it("says whether a path is within a directory, not by its beginning", function()
		assert.is_true(path.within("/a/b/c", "/a/b"))
		assert.is_true(path.within("/a", "/a/"))
		assert.is_true(path.within("x", "."))
		assert.is_false(path.within("/a/bc", "/a/b"))
		assert.is_false(path.within("/a/b/../../etc", "/a/b"))
		assert.is_false(path.within("../x", "."))
		assert.is_false(path.within("a", "/a"))
	end)

	it("makes absolute, from the working directory or another", function()
		assert.equal("/w/a", path.absolute("a", "/w"))
		assert.equal("/a", path.absolute("/a", "/w"))
		assert.equal(path.join(require("runner.host").getcwd(), "x"), path.absolute "x")
		assert.same({ "/", "a", "b" }, path.split "/a//b/")
	end)

	it("names the script's line where an argument is wrong", function()
		local message = refuses(path.join, "a", nil, "b")
		assert.truthy(message:find "path_spec%.lua" or message:find "argument 2")
		assert.truthy(message:find("path.join: argument 2 must be a string, not nil", 1, true))
	end)
end)
