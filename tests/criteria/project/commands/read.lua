return {
	description = "Count what it reads", danger_level = "safe", stdin = { type = "text" },
	run = function(_, ctx) return { bytes = #ctx.input } end,
}
