-- Secrets: where they come from, and that nothing of them is left in what is shown.

local fs = require "runner.fs"
local host = require "runner.host"
local json = require "runner.json"
local proc = require "runner.ctx.process"
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

	it("are all of a file but the end of its last line, of whichever system", function()
		for text, value in pairs { ["x"] = "x", ["x\n"] = "x", ["x\r\n"] = "x", ["x\r"] = "x\r", ["x\r\r\n"] = "x\r", ["x\n\n"] = "x\n",
				["x\r\n\r\n"] = "x\r\n", ["a\r\nb\n"] = "a\r\nb", ["x\n "] = "x\n ", ["\n"] = "", [""] = "" } do
			assert(fs.write(dir .. "/token", text))
			assert.are.equal(value, secrets.load({ { name = "A", file = "token" } }, dir).env.A, ("%q"):format(text))
		end
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

local function holds(value)
	return secrets.is_in(value) or secrets.without_password(value) ~= value
end

describe("a secret by its form", function()
	it("is in each of these", function()
		for _, value in ipairs {
			"Server=db;User Id=sa;Password=hunter;", "Server=db; Pwd = hunter",
			"AccountName=x;AccountKey=hunter==", "Access Key=hunter",
			"Authorization: Bearer hunter", "Accept: x\r\nX-Auth-Token: hunter", "bearer hunter",
			"Basic hunter", "{\"password\": \"hunter\"}",
			"{'a': 1, 'api_key':'hunter'}", "token:hunter", "password=12345", "root:hunter@tcp(db)/x",
			"root:hun/t@er@tcp(db)/x", "a, root:hunter@db",
			"postgres://app:hunter@host/db", "postgres://app:p@hun/ter@host/db", "redis://:hunter@host", "amqp://u:p@a,amqp://u:p@b",
			"https://x/cb?token=hunter", "https://x/cb?a=1&sig=hunter",
			"x/cb?code=1&access_token=hunter#f", "https://u:p@x/cb?key=hunter", "session=hunter",
			"SESSIONID=hunter", "a=1; sid=hunter", "--verbose --token hunter", "--password=hunter",
			"curl -H \"Authorization: Basic hunter\"",
			"sk-ant-0123456789abcdef0123456789", "a=token=hunter",
		} do
			assert.is_true(holds(value), value)
		end
	end)

	it("is in none of these", function()
		for _, value in ipairs {
			"", "staging", "/home/me/auth/keys", "/usr/bin:/opt/auth:/opt/secret", "db:5432",
			"auth-service:8080", "auth.example.com:443", "http://auth:8080/x",
			"postgres://app@host:5432/db", "https://x/cb?page=2&sort=name", "registry:5000/app@sha256:0a1b", "app:1.2@sha256:0a1b",
			"git@github.com:org/repo.git", "me@example.com", "a=1;b=2", "password=", "password=;a=1",
			"12:30:00", "{\"to\":\"a@b\"}", "eu-west-1", "--key-length 5",
			"arn:aws:secretsmanager:eu:1:secret:x", "C:\\auth", "monkey=1", "key=value", "secret://vault/x",
		} do
			assert.is_false(holds(value), value)
		end
	end)

	it("may be anywhere in a long value", function()
		assert.is_true(holds(("a "):rep(5000)))
	end)

	it("is looked for in bounded time", function()
		for _, piece in ipairs { "a=b,", "a", "http://a:80,", "a ", " ", "=", ":", "a:", "-a ", "\"", "@", "://", "a:@/" } do
			local began = os.clock()
			holds(piece:rep((8 << 10) // #piece))
			assert.is_true(os.clock() - began < 10, piece)
		end
	end)
end)
