return {
	description = "List numbered rows", danger_level = "safe", list = true, primary_id_field = "id", args = { { "of",
		"integer", default = 45 } },
	run = function(args)
		local out = require("json").array {}
		for i = 1, args.of do out[i] = { id = i, name = "row " .. i } end
		return out
	end,
}
