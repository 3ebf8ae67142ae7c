-- question: the answers to flags that ask about a call in place of making it:
-- --version, --plan, --help. `phases` are the phases of lua/boot.lua.

local host = require "runner.host"
local plan = require "runner.plan"
local session = require "runner.session"

local M = {}

---@param phases table
---@param settled table
---@param project table
function M.version(phases, _, parsed, settled, project)
	local version = session.launch.version
	plan.send({ name = "runner", danger_level = "safe", digest = "builtin" }, settled,
		{ format = parsed.given.format == "flag" and parsed.framework.format or "plain" }, project)
	host.send("TEXT", { text = version .. "\n" })
	host.send("RESULT", { ok = true, data = require("runner.json").encode { version = version } })
end

---@param phases table
---@param command table
---@param settled table
---@param project table
function M.plan(phases, command, parsed, settled, project)
	plan.send(command, settled, parsed.framework, project)
	local preview, format = require "runner.preview", plan.format_of(parsed.framework)
	local told = preview.describe(command, settled)
	if format ~= "json" and format ~= "text" then
		session.texts[format] = require("runner.render").text(preview.rows(told), format, preview)
	end
	phases.reply_success(told, format)
end

---@param phases table
---@param command table
---@param project table
function M.help(phases, command, parsed, _, project)
	local help = assert(require("runner.loader").command({ name = "help", words = 1 }, project))
	local topic = { command = require("runner.catalog").words(command.name) }
	local settled = require("runner.limits").settle(help, parsed, project, session.launch.seed_text)
	session.command, session.settled = help, settled
	plan.send(help, settled, parsed.framework, project)
	phases.execute(help, topic, parsed.framework, settled)
end

return M
