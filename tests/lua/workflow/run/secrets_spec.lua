-- Secrets: where they come from, and that nothing of them is left in what is shown.

local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local proc = require "runner.ctx.proc"
local masks = require "runner.core.mask"
local secrets = require "runner.workflow.run.secrets"

local function base64(text)
	return (proc.run(nil, { "base64", "-w0", stdin = text }).stdout)
end

local function refusal(list, dir)
	local ok, e = pcall(secrets.load, list, dir or "/")
	assert.is_false(ok)
	assert.are.equal("PRECONDITION", e.code)
	return e
end

describe("secrets.load", function()
	local dir

	before_each(function()
		dir = os.tmpname()
		assert(os.remove(dir))
		assert(fs.mkdir(dir, 448))
	end)

	after_each(function()
		fs.remove_tree(dir)
		host.setenv("RUNNER_TEST_SECRET", nil)
	end)

	it("takes them from the environment, from files and from the workflow", function()
		host.setenv("RUNNER_TEST_SECRET", "from env")
		assert(fs.write(dir .. "/token", "from file\n"))
		local loaded = secrets.load({ { name = "A", env = "RUNNER_TEST_SECRET" }, { name = "B", file = "token" },
			{ name = "C", file = dir .. "/token" }, { name = "D", value = "literal" } }, dir)
		assert.are.same({ A = "from env", B = "from file", C = "from file", D = "literal" }, loaded.env)
		assert.are.equal("*** *** ***", loaded.mask "from env from file literal")
	end)

	it("refuses to begin when a source is missing", function()
		local e = refusal { { name = "TOKEN", env = "RUNNER_TEST_SECRET" } }
		assert.matches("'TOKEN' needs the environment variable RUNNER_TEST_SECRET", e.message)
		assert.matches("RUNNER_TEST_SECRET", e.suggestion)
		assert.matches("No such file", refusal({ { name = "TOKEN", file = "nope" } }, dir).message)
		assert(fs.write(dir .. "/binary", "a\0b"))
		assert.matches("NUL", refusal({ { name = "TOKEN", file = "binary" } }, dir).message)
	end)

	it("is content without any", function()
		local loaded = secrets.load({}, "/")
		assert.are.same({}, loaded.env)
		assert.are.equal("text", loaded.mask "text")
	end)
end)

describe("a text that was cut", function()
	local _, hide = masks.masker { "abcdefgh", "12345678" }

	it("keeps neither the beginning of a secret before the cut nor its end behind it", function()
		assert.are.equal("x ***", hide.before "x abcdefg")
		assert.are.equal("x ***", hide.before "x 1234")
		assert.are.equal("x 123", hide.before "x 123")
		assert.are.equal("*** y", hide.after "bcdefgh y")
		assert.are.equal("*** y", hide.after "5678 y")
		assert.are.equal("bcd y", hide.after "bcd y")
		assert.are.equal("", hide.after "")
	end)
end)

describe("masking", function()
	local SECRET = 'p4ss"w/ö\\rd+?'
	local mask = masks.masker { SECRET }

	it("covers every occurrence", function()
		assert.are.equal("a *** b *** ***", mask("a " .. SECRET .. " b " .. SECRET .. " " .. SECRET))
		assert.are.equal("***", mask(SECRET))
		assert.are.equal("nothing", mask "nothing")
	end)

	it("covers the secret inside JSON", function()
		assert.are.equal('{"a":"x***y"}', mask(json.encode { a = "x" .. SECRET .. "y" }))
		assert.are.equal('{"a":"***"}', mask((json.encode { a = SECRET }:gsub("/", "\\/"))))
	end)

	it("covers the secret in base64, whatever stands around it", function()
		for before = 0, 5 do
			for after = 0, 5 do
				local text = base64(("u"):rep(before) .. SECRET .. ("v"):rep(after))
				local shown = mask(text)
				assert.matches("%*%*%*", shown)
				assert.is_true(#shown:gsub("%*", "") <= 2 + before * 2 + after * 2 + 4, shown)
				assert.matches("%*%*%*", mask((text:gsub("+", "-"):gsub("/", "_"))))
			end
		end
	end)

	it("covers the secret in a URL", function()
		assert.are.equal("x=***&y", mask "x=p4ss%22w%2F%C3%B6%5Crd%2B%3F&y")
	end)

	-- Of "p4ss w/\u{f6}+~*!'()&=:@": what the encoder named on the left makes of it.
	for encoder, form in pairs {
		["Python quote"] = "p4ss%20w/%C3%B6%2B~%2A%21%27%28%29%26%3D%3A%40",
		["Python quote_plus"] = "p4ss+w%2F%C3%B6%2B~%2A%21%27%28%29%26%3D%3A%40",
		["PHP urlencode"] = "p4ss+w%2F%C3%B6%2B%7E%2A%21%27%28%29%26%3D%3A%40",
		["PHP rawurlencode"] = "p4ss%20w%2F%C3%B6%2B~%2A%21%27%28%29%26%3D%3A%40",
		["Java URLEncoder"] = "p4ss+w%2F%C3%B6%2B%7E*%21%27%28%29%26%3D%3A%40",
		["encodeURIComponent"] = "p4ss%20w%2F%C3%B6%2B~*!'()%26%3D%3A%40",
		["encodeURI"] = "p4ss%20w/%C3%B6+~*!'()&=:@",
		["Go PathEscape"] = "p4ss%20w%2F%C3%B6+~%2A%21%27%28%29&=:@",
	} do
		it("covers the secret as " .. encoder .. " writes it, with hex digits of either case", function()
			local url = masks.masker { "p4ss w/\u{f6}+~*!'()&=:@" }
			local lower = form:gsub("%%%x%x", string.lower)
			assert.are.equal("x=***;", url("x=" .. form .. ";"))
			assert.are.equal("x=***;", url("x=" .. lower .. ";"))
		end)
	end

	it("covers single lines of a secret with several, but no trifles", function()
		local key = masks.masker { "-----BEGIN\n  line one\n}\nline two\n" }
		assert.are.equal("a *** b *** }", key "a line one b line two }")
		assert.are.equal("***", key "-----BEGIN\n  line one\n}\nline two\n")
	end)

	it("leaves nothing of secrets that overlap", function()
		local both = masks.masker { "abcdef", "defghi", "aaaa" }
		assert.are.equal("<***>", both "<abcdefghi>")
		assert.are.equal("<***>", both "<aaaaaaa>")
		assert.are.equal("<***>", masks.masker { "secret", "secretive" } "<secretive>")
	end)

	it("covers a short secret as it is", function()
		assert.are.equal("***bc ***", masks.masker { "a" } "abc a")
		assert.are.equal("a b", masks.masker { "", " " } "a b")
	end)

	it("goes through tables, keys too, and copies them", function()
		local given = json.array { { [SECRET] = 1, deep = { "x" .. SECRET } }, 2, true, json.null }
		given[1].self = given
		local masked = mask(given)
		assert.is_true(json.is_array(masked))
		assert.are.equal(1, masked[1]["***"])
		assert.are.equal("x***", masked[1].deep[1])
		assert.are.equal(masked, masked[1].self)
		assert.are.equal(json.null, masked[4])
		assert.are.equal("x" .. SECRET, given[1].deep[1])
	end)

	it("is quick on a megabyte", function()
		local started = os.clock()
		mask(("x"):rep(1 << 20))
		masks.masker { "aaaa" } (("a"):rep(1 << 20))
		assert.is_true(os.clock() - started < 5)
	end)
end)
