-- What an agent reads beside the tools: pages, tools, runs; and the examples as prompts.

local json = require "runner.json"
local client_of = dofile(debug.getinfo(1, "S").source:match("^@(.*tests/lua/)") .. "lib/mcp_client.lua")

local function row(name, level, listing)
	return {
		command = name, danger_level = level or "safe", listing = listing or "always", secrets = {}, added = {}, safe_default = false,
		examples = { { description = "Do it", command = "runner " .. name } },
		tool = { name = name:gsub("%.", "_"), title = name:gsub("%.", " "), description = "x", inputSchema = { type = "object" },
			annotations = {} },
	}
end

local RUN = "run_01M826XAR52QS9AERDYHCJPTRH"
local PAGES = { ["README.md"] = "# Hello", ["docs/a b?.md"] = "# Page" }

local function client(settings)
	return client_of.new {
		rows = { row "deploy", row "workflow.list", row "workflow.show", row("drop", "destructive", "allow") }, settings = settings,
		documents = {
			list = function()
				return { { name = "README.md", size = 7 }, { name = "docs/a b?.md", size = 6 } }
			end,
			read = function(document) return PAGES[document.name] end,
		},
		run = function(request)
			local lists = request.command[3] == "list"
			return { ok = lists or request.arguments.id == RUN, error = { message = "none" },
				data = lists and json.array { { id = RUN, workflow = "w", state = "failed", created = "now" } } or { id = RUN } }
		end,
	}
end

local function uris(c, id)
	local out = {}
	for i, one in ipairs(c:modern(id, "resources/list").result.resources) do
		out[i] = one.uri
	end
	return out
end

local function read(c, uri)
	return c:modern("r" .. tostring(uri), "resources/read", { uri = uri })
end

describe("resources", function()
	it("are pages, tools and runs", function()
		assert.same({ "runner://docs/README.md", "runner://docs/docs/a%20b%3F.md", "runner://commands/deploy",
			"runner://commands/workflow_list", "runner://commands/workflow_show", "runner://runs/" .. RUN }, uris(client(), 1))
	end)

	it("can each be read", function()
		local c = client()
		for _, uri in ipairs(uris(c, 1)) do
			local content = read(c, uri).result.contents[1]
			assert.equal(uri, content.uri)
			assert.is_true(#content.text > 0)
		end
		assert.equal("# Page", read(c, "runner://docs/docs/a%20b%3F.md").result.contents[1].text)
	end)

	it("that are not listed can't be read", function()
		local c = client()
		for _, uri in ipairs { "", "x", "runner://docs/../secret", "runner://docs/docs/%2E%2E/x", "runner://docs/docs/a b?.md",
			"file:///etc/passwd",
			"runner://docs//etc/passwd", "runner://commands/drop", "runner://commands/", "runner://runs/", "runner://runs/run_x --full",
			"runner://runs/run_0", "runner://other/x", "RUNNER://docs/README.md", "runner://docs/README.md#x", "runner://docs/\0" } do
			local answer = read(c, uri)
			if not uri:find "\0" then
				assert.equal(-32602, answer.error.code, uri)
				assert.equal(uri, answer.error.data.uri)
			end
		end
		assert.equal(-32602, c:modern(1, "resources/read", {}).error.code)
		assert.equal(-32602, c:modern(2, "resources/read", { uri = {} }).error.code)
		c:initialize()
		assert.equal(-32002, c:ask(3, "resources/read", { uri = "runner://docs/x" }).error.code)
	end)

	it("are no runs where the commands that show them are no tools", function()
		local c = client { only = { "deploy" } }
		assert.same({ "runner://docs/README.md", "runner://docs/docs/a%20b%3F.md", "runner://commands/deploy" }, uris(c, 1))
		assert.equal(-32602, read(c, "runner://runs/" .. RUN).error.code)
		assert.equal(1, #c:modern(2, "resources/templates/list").result.resourceTemplates)
		assert.same({}, c.calls)
	end)

	it("have a template for answers and one for runs", function()
		local templates = client():modern(1, "resources/templates/list").result.resourceTemplates
		assert.same({ "runner://answers/{name}", "runner://runs/{id}" }, { templates[1].uriTemplate, templates[2].uriTemplate })
	end)
end)

describe("prompts", function()
	it("are the examples of the tools", function()
		local c = client()
		local prompts = c:modern(1, "prompts/list").result.prompts
		assert.equal(3, #prompts)
		assert.same({ "deploy-1", "deploy: Do it", "runner deploy" }, { prompts[1].name, prompts[1].title, prompts[1].description })
		local text = c:modern(2, "prompts/get", { name = "deploy-1" }).result.messages[1].content.text
		assert.is_truthy(text:find("the tool deploy", 1, true))
	end)

	it("that are not listed can't be had", function()
		for _, params in ipairs { {}, { name = 1 }, { name = "drop-1" }, { name = "deploy-2" }, { name = "" } } do
			assert.equal(-32602, client():modern(1, "prompts/get", params).error.code)
		end
	end)
end)
