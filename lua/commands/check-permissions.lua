-- runner check-permissions: whether the caller's credential covers what commands declare in
-- required_scopes, and whether it can do more than that.

local attempt = require "runner.core.attempt"
local catalog = require "runner.project.catalog"
local command_line = require "runner.core.command_line"
local computed = require "runner.declare.computed"
local json = require "runner.json"
local credential_scopes = require "runner.project.credential_scopes"
local topic = require "runner.tools.topic"

local function active_scopes(ctx)
	if computed.uncalled[attempt.project.scopes] then
		error(require("runner.project.inert").problem(attempt.project.file, "scopes is a function"), 0)
	end
	local active, problem = credential_scopes.active(attempt.project)
	if problem then
		ctx:fail("PRECONDITION", problem, { fix_required = "Correct scopes in runner.lua" })
	end
	return active
end

local function load(entry)
	local command, problem = catalog.load(entry, attempt.project)
	return command or error(problem, 0)
end

local function look_at(name, command, active)
	local coverage = credential_scopes.compare(command.required_scopes, active)
	if coverage.over_privileged then
		credential_scopes.warn(name, coverage.extra)
	end
	return coverage
end

local function fail_if_missing(ctx, missing, data)
	if missing[1] then
		ctx:fail("AUTH_REQUIRED", "The credential lacks scopes: " .. table.concat(missing, ", "), { data = data,
			context = { missing_scopes = missing }, fix_required = "Sign in with a credential that has these scopes" })
	end
end

local function check_one(ctx, words, active)
	local found, _, name = topic.find(words, attempt.project)
	local command = load(found)
	local coverage = look_at(name, command, active)
	local data = { command = name, required_scopes = json.array(command.required_scopes or {}),
		active_scopes = active and json.array(active) or json.null, over_privileged = coverage.over_privileged }
	fail_if_missing(ctx, coverage.missing, data)
	return data
end

-- Unknown scopes cover nothing that is required, and are no failure: no user is signed in.
local function check_all(ctx, active)
	local data, missing, seen = { commands = {}, active_scopes = active and json.array(active) or json.null }, json.array {}, {}
	for _, entry in ipairs(catalog.list(attempt.project)) do
		local command = not entry.builtin and catalog.load_or_warn(entry, attempt.project)
		if command then
			local required, coverage = command.required_scopes or {}, look_at(entry.name, command, active)
			data.commands[entry.name] = { required_scopes = json.array(required), over_privileged = coverage.over_privileged,
				covered = not coverage.missing[1] and (active ~= nil or not required[1]) }
			for _, scope in ipairs(coverage.missing) do
				missing[#missing + 1] = not seen[scope] and scope or nil
				seen[scope] = true
			end
		end
	end
	fail_if_missing(ctx, missing, data)
	return data
end

return {
	args = {
		{ "for", "string", description = "One command, \"db migrate\" or db.migrate; all if there is none" },
	},
	exit_codes = { AUTH_REQUIRED = { description = "The credential lacks scopes; error.context.missing_scopes names them" } },
	examples = { { description = "May I deploy?", command = "runner check-permissions --for deploy" } },
	validate = function(values)
		local words = command_line.name_words(((values["for"] or ""):gsub("%s+", ".")))
		if values["for"] and not (words[1] and topic.find(words, attempt.project)) then
			local e = require("runner.project.unknown_command").error({ words[1] or "" }, attempt.project)
			return { { field = "for", code = e.code, value = values["for"], suggestion = e.suggestion,
				message = ("Unknown command '%s'"):format(values["for"]) } }
		end
	end,
	run = function(values, ctx)
		local active = active_scopes(ctx)
		if values["for"] then
			return check_one(ctx, command_line.name_words((values["for"]:gsub("%s+", "."))), active)
		end
		return check_all(ctx, active)
	end,
}
