return {
	description = "Return fields of every kind", danger_level = "safe",
	output_schema = { type = "object", properties = { bytes = { format = "binary" }, file = { type = "string", format = "path" },
		names = { type = "array", ordered = false }, none = { type = "array" }, seed = { type = "string", high_entropy = true } } },
	run = function()
		return { bytes = "\x89PNG\0\xff", file = "site/index.html", names = { "b", "a" }, none = {},
			seed = "a1b2c3d4e5f6a7b8", unset = require("json").null }
	end,
}
