local json = require "runner.json"
local via = require "runner.workflow.executors.via"

local executor = { name = "q", kind = "command", via = "login" }

local function came_to(result)
	local data, problem = via.answer(executor, result)
	assert.is_nil(data)
	return problem
end

describe("via: what a call of ssh came to", function()
	it("says of nothing that ssh brings that it was refused: it may have been done", function()
		for _, result in ipairs { { error = "no such file" },
			{ status = 255, stderr = "ssh: Could not resolve hostname login: Try again" },
			{ status = 255, stderr = "me@login: Permission denied (publickey)." }, { status = 127, stderr = "sh: runner: not found" },
			{ status = 126, stderr = "sh: runner: Permission denied" },
			{ status = 255, stderr = "" }, { ok = true, status = 0, stdout = "hello" } } do
			assert.equal("unknown", came_to(result).kind)
		end
	end)

	it("knows what no later try would change, in ssh's own words, at the end, with its own status", function()
		for _, said in ipairs { "Welcome!\nme@login: Permission denied (publickey,password).\r\n", "Host key verification failed.\r\n",
			"/home/me/.ssh/config: line 3: Bad configuration option: hots\r\n/home/me/.ssh/config: terminating, 1 bad configuration options\r\n",
			"Bad owner or permissions on /home/me/.ssh/config\r\n",
			"Unable to negotiate with 10.0.0.1 port 22: no matching host key type found. Their offer: ssh-dss\r\n" } do
			assert.is_true(came_to({ status = 255, stderr = said }).for_good)
			assert.is_nil(came_to({ status = 1, stderr = said }).for_good)
		end
	end)

	it("doesn't take what a shell there has printed for that", function()
		for _, said in ipairs { "bash: /etc/profile.d/quota.sh: Permission denied\n", "ssh: Could not resolve hostname login: Try again\r\n",
			"bash: /etc/profile.d/quota.sh: Permission denied\nclient_loop: send disconnect: Broken pipe\r\n",
			"Permission denied (publickey).\nConnection to login closed by remote host.\r\n", "cat: no matching file\n" } do
			local problem = came_to { status = 255, stderr = said }
			assert.is_nil(problem.for_good)
			assert.equal("UNAVAILABLE", problem.code)
		end
	end)
end)

describe("bytes that travel", function()
	it("come back as they were, and grow by half at most", function()
		local all = {}
		for b = 0, 255 do
			all[b + 1] = string.char(b)
		end
		for _, bytes in ipairs { "", "a line\n\tand more\r\n", "grün", "\0", ("\1"):rep(9999), ("\27[1m"):rep(999),
			("\127"):rep(999), table.concat(all) } do
			local sent = json.encode(via.packed(bytes))
			assert.equal(bytes, via.unpacked(json.decode(sent)))
			assert.is_true(#sent < #bytes * 1.5 + 60, sent:sub(1, 80))
		end
	end)

	it("are nothing where a part is missing", function()
		assert.is_nil(via.unpacked { size = 3, text = "ab" })
		assert.is_nil(via.unpacked { size = 3 })
		assert.is_nil(via.unpacked "abc")
	end)
end)

describe("an answer of the host", function()
	local function data_of(stdout)
		return via.answer(executor, { stdout = stdout, ok = true, status = 0 })
	end

	it("is the last envelope, whatever start files print", function()
		local envelope = '{"ok":true,"data":{"reach":1,"n":2},"error":null}\n'
		for _, before in ipairs { "", "Welcome!\n", "\27]0;me@login\7", "{ not JSON\n", '{"ok":\n', '{"ok":true,"data":{"reach":1,"n":1}}\n' } do
			assert.equal(2, data_of(before .. envelope).n, before)
		end
	end)

	it("is unknown where there is none", function()
		for _, stdout in ipairs { "", "hello\n", '{"ok":true,"data":{"reach":9}}\n', '{"ok":true,"data":{"reach":1}' } do
			local data, problem = data_of(stdout)
			assert.is_nil(data)
			assert.equal("unknown", problem.kind)
		end
	end)
end)
