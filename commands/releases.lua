-- runner releases --target prod: what a target has, newest first. A list: each row
-- is an object, so that every --format can show it.

local HERE = debug.getinfo(1, "S").source:match("^@(.*/)")

local json = require "json"
local fs = require "fs"

local function target_names(config)
	return dofile(HERE .. "_target.lua").names(config)
end

return {
	description = "List the releases of a target",
	danger_level = "safe",
	args = {
		{ "target", "enum", values = target_names, required = true, code = "INVALID_ENVIRONMENT",
			env = "DEPLOY_TARGET", description = "A name in config.targets of runner.lua" },
	},
	examples = { { description = "As a table", command = "runner releases --target prod --format table" } },
	run = function(args, ctx)
		local target = dofile(HERE .. "_target.lua").open(ctx, args.target)
		local live, rows = target:live(), json.array {}
		local previous = live and target:before(live)
		for i, name in ipairs(target:list()) do
			local made = math.floor(fs.lstat(target:release(name)).mtime)
			rows[i] = {
				name = name, live = name == live, previous = name == previous,
				created = os.date("!%Y-%m-%dT%H:%M:%SZ", made), source = target:note(name).source,
			}
		end
		return rows
	end,
}
