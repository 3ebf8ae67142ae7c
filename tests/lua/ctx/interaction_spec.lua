-- ctx:prompt and ctx:confirm with a played terminal.

local attempt, terminal, asked, answers, tty
local real = {}

local function play(name, module)
	real[name] = package.loaded[name] or false
	package.loaded[name] = module
end

local function raised(f, ...)
	local ok, e = pcall(f, {}, ...)
	assert.is_false(ok)
	return e
end

describe("the terminal", function()
	before_each(function()
		asked, answers = {}, {}
		attempt = { command = { interactive = true }, framework = {},
			launch = { stdin_is_tty = true, stderr_is_tty = true }, call = { argv = {} }, place = {} }
		terminal = {
			ask = function(question, secret)
				asked[#asked + 1] = { question, secret or false }
				local answer = table.remove(answers, 1)
				return answer, not answer and "end of input" or nil
			end,
		}
		play("runner.core.attempt", attempt)
		play("runner.terminal", terminal)
		package.loaded["runner.ctx.interaction"] = nil
		tty = require "runner.ctx.interaction"
	end)

	after_each(function()
		for name, module in pairs(real) do
			package.loaded[name] = module or nil
		end
		package.loaded["runner.ctx.interaction"] = nil
	end)

	it("asks and returns the line", function()
		answers = { "v1" }
		assert.are.equal("v1", tty.prompt({}, "Release"))
		assert.are.same({ { "Release: ", false } }, asked)
	end)

	it("shows the default and takes Enter for it", function()
		answers = { "", "v2" }
		assert.are.equal("v1", tty.prompt({}, "Release", { default = "v1" }))
		assert.are.equal("v2", tty.prompt({}, "Release", { default = "v1" }))
		assert.are.equal("Release [v1]: ", asked[1][1])
	end)

	it("keeps a secret, also the default one", function()
		answers = { "x" }
		tty.prompt({}, "Token", { secret = true, default = "hush" })
		assert.are.same({ "Token: ", true }, asked[1])
	end)

	it("asks again until the answer is valid, and says what was wrong", function()
		answers = { "one", "1" }
		assert.are.equal("1", tty.prompt({}, "How many", {
			validate = function(answer)
				return tonumber(answer) ~= nil, "Write a number."
			end,
		}))
		assert.are.equal("Write a number.\nHow many: ", asked[2][1])
	end)

	it("does not ask for ever: ten times", function()
		for i = 1, 100 do
			answers[i] = "x"
		end
		local e = raised(tty.prompt, "Q", { validate = function() return false end })
		assert.are.equal("INPUT_REQUIRED", e.code)
		assert.equal(10, #asked)
		assert.truthy(e.message:find("no usable answer in 10 tries", 1, true), e.message)
	end)

	it("understands yes and no, and Enter as the default", function()
		answers = { "y", "YES", " no ", "N", "", "", "what", "y" }
		for _, expected in ipairs { true, true, false, false, false } do
			assert.are.equal(expected, tty.confirm({}, "Sure?"))
		end
		assert.is_true(tty.confirm({}, "Sure?", { default = true }))
		assert.is_true(tty.confirm({}, "Sure?"))
		assert.are.equal("Sure? [y/N] ", asked[1][1])
		assert.are.equal("Please answer yes or no.\nSure? [y/N] ", asked[#asked][1])
	end)

	it("lets --yes answer a confirmation, with or without a terminal", function()
		attempt.framework.yes = true
		attempt.command.interactive = false
		assert.is_true(tty.confirm({}, "Sure?"))
		assert.are.same({}, asked)
	end)

	it("raises INPUT_REQUIRED at the end of input", function()
		assert.are.equal("INPUT_REQUIRED", raised(tty.prompt, "Q").code)
	end)

	for name, spoil in pairs {
		["the command is not interactive"] = function() attempt.command.interactive = nil end,
		["--non-interactive was given"] = function() attempt.framework.non_interactive = true end,
		["CI is set"] = function() attempt.launch.ci = true end,
		["stdin is no terminal"] = function() attempt.launch.stdin_is_tty = false end,
		["stderr is no terminal"] = function() attempt.launch.stderr_is_tty = false end,
	} do
		it("asks nobody when " .. name, function()
			spoil()
			local e = raised(tty.prompt, "Token", { arg = "api_token" })
			assert.are.equal("INPUT_REQUIRED", e.code)
			assert.are.equal("Pass --api-token", e.suggestion)
			e = raised(tty.confirm, "Sure?")
			assert.are.equal("INPUT_REQUIRED", e.code)
			assert.are.equal("Confirm with --yes", e.fix_required)
			assert.are.same({}, asked)
		end)
	end

	it("names what says that nobody is there, and no other variable", function()
		attempt.launch.ci = true
		local host = require "runner.host"
		for _, name in ipairs { "CI", "GITHUB_ACTIONS", "JENKINS_URL" } do
			for _, other in ipairs { "CI", "GITHUB_ACTIONS", "JENKINS_URL" } do
				host.setenv(other, other == name and "1" or nil)
			end
			assert.are.equal(("'Token' can't be asked: %s is set"):format(name), raised(tty.prompt, "Token").message)
		end
		host.setenv("JENKINS_URL", nil)
		attempt.launch = { stdin_is_tty = false, stderr_is_tty = true }
		assert.are.equal("'Token' can't be asked: stdin is not a terminal", raised(tty.prompt, "Token").message)
	end)

	it("shows no control characters of a question", function()
		answers = { "x" }
		tty.prompt({}, "Na\27[31mme")
		assert.are.equal("Name: ", asked[1][1])
	end)

	it("refuses odd calls", function()
		for _, e in ipairs { raised(tty.prompt), raised(tty.prompt, "Q", { defualt = "x" }), raised(tty.confirm, "") } do
			assert.same({ "INTERNAL_ERROR", false }, { e.code, e.retryable })
		end
		assert.equal("Rename 'defualt' to 'default'", raised(tty.prompt, "Q", { defualt = "x" }).fix_required)
	end)
end)
