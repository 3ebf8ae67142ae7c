-- instead: what answers a call whose words name no command: the command that they are an alias of, help,
-- or an error. Loaded then.

local alias_names = require "runner.project.alias_names"
local catalog = require "runner.project.catalog"
local locate = require "runner.project.locate"

-- The command that the first word is an alias of.
local function through_alias(a, load)
	if not a.words[1] or a.names[1] == locate.SELF or catalog.list_below(a.project, a.names[1])[1] then
		return nil
	end
	local words, problem = alias_names.find(a.names[1], a.project, load)
	if not words then
		return nil, problem
	end
	require("runner.project.aliases").replace(a, words)
	return locate.find(a.names, a.project)
end

---What answers a call whose words name no command: help where it was asked for, or where they are those
---of a group. What runs inside of a run (ctx:call, a step, a script) gets the error: it meant to run something.
---@param a runner.Attempt
---@param wants_help boolean?
---@return runner.Found? found, runner.Error? problem
return function(a, wants_help)
	local found, problem = through_alias(a, not wants_help)
	if found or problem then
		return found, problem
	end
	local group = not wants_help and not os.getenv "RUNNER_DEADLINE_MS" and a.names[1] ~= locate.SELF
		and catalog.list_below(a.project, table.concat(a.names, "."))[1]
	a.group_alone = group and true or nil
	if wants_help or group then
		return { name = "help", words = 0 }
	end
	return nil, catalog.not_found(a.names, a.project)
end
