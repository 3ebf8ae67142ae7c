return {
	description = "Show the entries", danger_level = "safe", list = true,
	args = {
		{ "who", "string", positional = true, description = "Only those of this person" },
		{ "upper", "boolean", description = "In capitals" },
	},
	examples = { { description = "All of them", command = "runner show" } },
	run = function(args)
		local rows = {}
		for i, name in ipairs { "ada", "grace" } do
			rows[i] = { id = i, name = args.upper and name:upper() or name, of = args.who }
		end
		return rows
	end,
}
