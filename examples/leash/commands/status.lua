return {
	description = "Show how often what was deployed",
	danger_level = "safe",
	examples = { { description = "Show it", command = "runner status" } },
	run = function(_, ctx)
		local count = {}
		for env in (ctx.fs.exists "deployed.log" and ctx.fs.read "deployed.log" or ""):gmatch "%l+" do
			count[env] = (count[env] or 0) + 1
		end
		return { deployed = count }
	end,
}
