-- runner releases --target prod: the releases of a target, newest first. A list of
-- objects, so that every --format can show it.

-- A file beside this one. Where it is asks `debug`, which a file that is only read can't call at its top.
local function beside(name)
	return dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. name)
end

local json = require "json"

local function target_names(config)
	return beside("_target.lua").names(config)
end

-- The releases and the live one, as of one moment; deploys may run meanwhile.
local function look(target)
	local live, names, made
	repeat
		live = target:live()
		names, made = target:list()
	until live == target:live()
	return live, names, made
end

return {
	description = "List the releases of a target",
	danger_level = "safe",
	list = true,
	output_schema = {
		type = "array",
		items = {
			type = "object", required = { "name", "live", "previous", "created" },
			properties = { name = { type = "string" }, live = { type = "boolean" }, previous = { type = "boolean" },
				created = { type = "string" }, source = { type = "string", description = "What it was deployed from" } },
		},
	},
	args = {
		{ "target", "enum", values = target_names, required = true, code = "INVALID_ENVIRONMENT",
			env = "DEPLOY_TARGET", description = "A name in config.targets of runner.lua" },
	},
	examples = { { description = "As a table", command = "runner releases --target prod --format table" } },
	run = function(args, ctx)
		local target = beside("_target.lua").open(ctx, args.target)
		local live, names, made = look(target)
		local previous, rows = live and target:before(live), json.array {}
		for i, name in ipairs(names) do
			rows[i] = {
				name = name, live = name == live, previous = name == previous,
				created = os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(made[name])), source = target:note(name).source,
			}
		end
		return rows
	end,
}
