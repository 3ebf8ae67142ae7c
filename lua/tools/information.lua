-- information: the phase of an attempt that handles --version, --plan, --help and their like, which describe a call in
-- place of making it; and what this program is made of, for `--version --verbose`. Loaded for one of these.

local about = require "runner.about"
local display = require "runner.core.display"
local host = require "runner.host"
local json = require "runner.json"
local plan = require "runner.project.plan"
local tool = require "runner.core.tool"

local M = {}

local INSTALL = "not here"

-- The Lua halves know whether theirs can be opened.
local function add(list, name, version, linked)
	local ok, found = pcall(version)
	list[#list + 1] = { name = name, version = ok and found or nil, linked = linked, missing = not ok and INSTALL or nil }
end

local function digest_library()
	assert(require("runner.digest").text("sha256", ""))
	return "0" -- of its file's name, libmd.so.0: it has no function that says more
end

local function archive_library()
	local _, why, code = require("runner.archive").open "/dev/null"
	assert(code ~= "PRECONDITION", why)
	return "13" -- as well
end

-- "libcurl/7.88.1 OpenSSL/3.0.19 …", "10.42 2022-12-11": the first word is the version.
local function split(row)
	local version, rest = (row.version or ""):match "^[%a]*/?(%S+)%s*(.*)"
	row.version, row.with = version, rest and rest:find "/" and rest or nil
end

---@class runner.About
---@field version string as --version prints it: of a tool of its own, the project's
---@field name? string of that tool
---@field runner? string the version of runner in it
---@field project? {name: string, version?: string} the one that runner was started in
---@field build {version: string, commit: string, linkage: "dynamic"|"static", target: string, compiler: string, libc: string}
---@field libraries {name: string, version?: string, with?: string, linked: "built-in"|"on use", missing?: string}[]

---@param data {version: string, name?: string, runner?: string, project?: table} gets `build` and `libraries`
---@return runner.About
function M.add_parts(data)
	local list = json.array(about.libraries())
	for _, row in ipairs(list) do
		split(row)
	end
	local build = about.build()
	local linked = build.linkage == "static" and "built-in" or "on use"
	add(list, "lua-yaml", require("runner.core.yaml.parser").version, linked)
	add(list, "libmd", digest_library, linked)
	add(list, "libarchive", archive_library, linked)
	data.build, data.libraries = build, list
	return data
end

---@param described runner.About
---@param shown_version string what --version alone prints
---@return string
function M.parts_text(described, shown_version)
	local build = described.build
	local lines = {
		shown_version,
		"runner: " .. build.version,
		"commit: " .. build.commit,
		("build: %s, %s, %s, %s"):format(build.linkage, build.target, build.libc, build.compiler),
	}
	for _, one in ipairs(described.libraries) do
		lines[#lines + 1] = ("%s: %s (%s)"):format(one.name, one.version or "none",
			table.concat({ one.missing or one.linked, one.with }, "; "))
	end
	return table.concat(lines, "\n") .. "\n"
end

-- As data and as text. A tool of its own (lua/project/tool_name.lua) says its name and version; runner says its own version,
-- and below that the project's.
local function versions(a)
	local runner, own, project = a.launch.version, tool.own(), a.project
	local function line(of, otherwise)
		return host.clean(of.version and of.name .. " " .. of.version or of.name .. otherwise):gsub("%s+", " ")
	end
	if own then
		return { name = own.name, version = own.version or runner, runner = runner }, line(own, (" (runner %s)"):format(runner))
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
		text = M.parts_text(M.add_parts(data), text)
	else
		text = text .. "\n"
	end
	if a.format == "jsonl" or a.format == "tsv" then
		text = require("runner.output.render").text(data, a.format)
	end
	host.send("TEXT", { text = text })
	host.send("RESULT", { ok = true, data = require("runner.json").encode(data, { envelope = true }) })
	return { sent = true }
end

-- A plan approves the arguments, too: which of them it could not judge is said.
local function warn_unjudged()
	local computed = require "runner.declare.computed"
	if computed.unasked.values then
		computed.warn_uncalled(computed.unasked.values)
	end
end

---@param a runner.Attempt
---@return runner.Answer
function M.plan(a)
	plan.send(a.command, a.settled, a.framework, a.project)
	if a.command.unread then
		warn_unjudged()
	end
	local preview, format = require "runner.tools.preview", a.format
	local described = preview.plan(a.command, a.settled)
	if format ~= "json" and format ~= "text" then
		display.set { [format] = require("runner.output.render").text(preview.plan_rows(described), format,
			{ columns = preview.plan_columns, rows = true }) }
	end
	return { success = true, data = described }
end

-- JSON for people, too: it is not read as a table.
local function document(a, data)
	plan.send(a.command, a.settled, a.framework, a.project)
	local text = require("runner.json").encode(data, { envelope = true }) .. "\n"
	display.set { text = text, plain = text, id = text }
	return { success = true, data = data }
end

---Of a command; without one, the manifest of all.
---@param a runner.Attempt
---@return runner.Answer
function M.schema(a)
	if #a.call.places == 0 then
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
	return document(a, require("runner.tools.preview").settings(a))
end

---{}, which any result keeps, where none is declared.
---@param a runner.Attempt
---@return runner.Answer
function M.output_schema(a)
	return document(a, (require("runner.core.portable_schema").of(a.command.output_schema or {})))
end

-- The run of `help` that this attempt becomes: no job, and in no older form.
local function help_of(a)
	local help = assert(require("runner.project.loader").command({ name = "help", words = 1 }, a.project))
	local topic = { command = require("runner.core.command_line").name_words(a.command.name) }
	return { information = "help", command = help, job = false, older = false,
		parsed = { values = topic, framework = {}, given = {}, framework_given = {}, problems = {} },
		settled = require("runner.project.settings").settle(help, a.parsed, a.project, a.launch.seed_text) }
end

local function flag_of(framework, a)
	if framework.help and a.command.name ~= "help" then
		return "help"
	end
	local described = framework.schema and "schema" or framework.output_schema and "output_schema"
		or framework.show_config and "show_config"
	if described then
		return described
	end
	local flag = framework.version and "version" or framework.plan and "plan"
	return flag and #a.parsed.problems == 0 and flag or nil
end

---The answer to a flag that describes a call in place of making it; nil: there is none, or the call is wrong.
---@param a runner.Attempt
---@return table found
---@return runner.Answer?
function M.answer(a)
	local flag = flag_of(a.framework, a)
	if flag == "help" then
		return help_of(a)
	end
	return { information = flag }, flag and M[flag](a)
end

return M
