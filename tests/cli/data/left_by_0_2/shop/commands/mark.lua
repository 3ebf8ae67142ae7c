return {
	description = "Make a mark", danger_level = "mutating", timeout = "60s",
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function()
		local file = assert(io.open("marks.txt", "a"))
		file:write "mark\n"
		file:close()
		return { marked = true }
	end,
}
