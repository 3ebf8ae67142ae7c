-- runner.watch.scope: the same files as git leaves alone.

local fs = require "runner.fs"
local scope = require "runner.watch.scope"

local has_git = os.execute "command -v git >/dev/null 2>&1"

describe("the files that git leaves alone", function()
	local root

	before_each(function()
		root = os.tmpname()
		os.remove(root)
		assert(fs.mkdirs(root))
		root = fs.realpath(root)
	end)

	after_each(function()
		fs.remove_tree(root)
	end)

	local function put(path, text)
		assert(fs.mkdirs((root .. "/" .. path):match "^(.*)/"))
		assert(fs.write(root .. "/" .. path, text or "x"))
	end

	-- All files that are left, by our rules.
	local function left(dir, at, out)
		for _, name in ipairs(fs.list(dir)) do
			local path = dir .. "/" .. name
			local is_directory = fs.lstat(path).type == "directory"
			if name ~= ".git" and not scope.ignores(at, path, name, is_directory) then
				if is_directory then
					left(path, scope.below(path, at), out)
				else
					out[#out + 1] = path:sub(#root + 2)
				end
			end
		end
		return out
	end

	local function left_by_git()
		local pipe = io.popen(("cd '%s' && export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 && git init -q . && "
			.. "git ls-files -z -co --exclude-standard"):format(root))
		local out = {}
		for path in pipe:read("a"):gmatch "%Z+" do
			out[#out + 1] = path
		end
		pipe:close()
		return out
	end

	local function sorted(list)
		table.sort(list)
		return list
	end

	local FILES = { "a.log", "keep.log", "src/a.c", "src/a.o", "src/deep/b.o", "build/x", "src/build/y", "doc/build/z", "doc/a.txt",
		"doc/b/a.txt", "node_modules/m/i.js", "x y ", "#hash", "!bang", "tmp/one/t", "tmp/keep", "a/b/c/d.txt", "a/d.txt", "foo1", "foo2",
		"foox", "back\\slash", "sub/only.txt", "sub/other.txt", "star*", "starry", "dist/.gitkeep", ".env", ".hidden/f" }
	local RULES = {
		"*.log\n!keep.log\n*.o\n",
		"/build\nnode_modules/\n",
		"build/\n!doc/build/\n",
		"doc/*.txt\n",
		"doc/**/a.txt\n**/d.txt\n",
		"a/**/d.txt\n",
		"a/**\n",
		"tmp/*\n!tmp/keep\n",
		"\\#hash\n\\!bang\n# a comment\n\n   \n",
		"x y\\ \nfoo[12]\n",
		"foo[!1]\n",
		"star\\*\n",
		"/dist/*\n!/dist/.gitkeep\n.*\n!.gitignore\n",
		"*\n!src/\n!src/a.c\n",
		"**\n!a.log\n",
		"foo?  \r\n",
		"src/deep\n",
	}

	it("are those of each kind of pattern", function()
		if not has_git then
			return pending "git is not installed"
		end
		for _, path in ipairs(FILES) do
			put(path)
		end
		put("sub/.gitignore", "only.txt\n!*.log\n")
		for _, rules in ipairs(RULES) do
			put(".gitignore", rules)
			local expected = sorted(left_by_git())
			assert.same(expected, sorted(left(root, scope.at(root), {})), rules)
		end
	end)

	it("are named by .git/info/exclude and by every directory above, up to the repository's", function()
		for _, path in ipairs { "a/b/f.x", "a/b/f.y", "a/b/f.z" } do
			put(path)
		end
		put(".git/info/exclude", "*.x\n")
		put(".gitignore", "/a/b/*.y\n")
		assert.same({ "a/b/f.z" }, left(root .. "/a/b", scope.at(root .. "/a/b"), {}))
	end)

	it("may be a directory itself, which is said", function()
		put("out/f")
		put(".git/HEAD")
		put(".gitignore", "out\n")
		assert.is_true(select(2, scope.at(root .. "/out")))
		assert.is_false(select(2, scope.at(root)))
	end)

	it("come from no line that says nothing", function()
		for _, line in ipairs { "", "#x", "/", "!", "   ", "\r" } do
			assert.is_nil(scope.rule(line))
		end
	end)
end)
