return {
	description = "A result of 10 MB",
	danger_level = "safe",
	run = function()
		return dofile(os.getenv "BENCH" .. "/rows.lua")
	end,
}
