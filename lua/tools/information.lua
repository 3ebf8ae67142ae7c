-- information: the phase of an attempt that handles --version, --plan and --help, which
-- describe a call in place of making it. Loaded for one of these.

local host = require "runner.host"
local plan = require "runner.project.plan"

local M = {}

-- As data and as text. A tool of its own (lua/project/spoken.lua) says its name and version; runner says its own version,
-- and below that the project's.
local function versions(a)
	local runner, tool, project = a.launch.version, a.tool, a.project
	local function line(of, otherwise)
		return host.clean(of.version and of.name .. " " .. of.version or of.name .. otherwise):gsub("%s+", " ")
	end
	if tool then
		return { name = tool.name, version = tool.version or runner, runner = runner }, line(tool, (" (runner %s)"):format(runner))
	elseif project.name then
		return { version = runner, project = { name = project.name, version = project.version } }, runner .. "\n" .. line(project, "")
	end
	return { version = runner }, runner
end

---@param a runner.Attempt
---@return runner.Answer
function M.version(a)
	local given = a.parsed.framework_given
	local data, text = versions(a)
	plan.send({ name = "runner", danger_level = "safe", digest = "builtin" }, a.settled,
		{ format = given.format == "flag" and a.framework.format or "plain" }, a.project)
	if a.framework.verbose and given.verbose == "flag" then
		local about = require "runner.tools.about"
		text = about.text(about.add(data), text)
	else
		text = text .. "\n"
	end
	host.send("TEXT", { text = text })
	host.send("RESULT", { ok = true, data = require("runner.json").encode(data) })
	return { sent = true }
end

---@param a runner.Attempt
---@return runner.Answer
function M.plan(a)
	plan.send(a.command, a.settled, a.framework, a.project)
	local preview, format = require "runner.tools.preview", a.format
	local described = preview.describe(a.command, a.settled)
	if format ~= "json" and format ~= "text" then
		a.texts[format] = require("runner.output.render").text(preview.rows(described), format, preview)
	end
	return { success = true, data = described }
end

-- JSON for people, too: nobody reads it as a table.
local function document(a, data)
	plan.send(a.command, a.settled, a.framework, a.project)
	local text = require("runner.json").encode(data) .. "\n"
	a.texts.text, a.texts.plain, a.texts.id = text, text, text
	return { success = true, data = data }
end

---Of a command; without one, the manifest of all.
---@param a runner.Attempt
---@return runner.Answer
function M.schema(a)
	if #a.words == 0 then
		return document(a, require("runner.tools.manifest").document({}, a.project))
	end
	return document(a, require("runner.tools.entry").schema(a.command, {
		settled = require("runner.tools.topic").settle(a.command, a.project), config = a.project.config,
		exit_table = plan.exit_table(a.project) }))
end

---The settings that a call would have, and their sources.
---@param a runner.Attempt
---@return runner.Answer
function M.show_config(a)
	return document(a, require("runner.tools.shown_config").describe(a))
end

---{}, which any result keeps, where none is declared.
---@param a runner.Attempt
---@return runner.Answer
function M.output_schema(a)
	return document(a, a.command.output_schema or {})
end

---The attempt becomes a run of `help` for its command; the arguments are not checked.
---@param a runner.Attempt
function M.help(a)
	local help = assert(require("runner.project.loader").command({ name = "help", words = 1 }, a.project))
	local topic = { command = require("runner.core.command_name").words(a.command.name) }
	a.settled = require("runner.project.settings").settle(help, a.parsed, a.project, a.launch.seed_text)
	a.command = help
	a.parsed = { values = topic, framework = {}, given = {}, framework_given = {}, problems = {} }
end

return M
