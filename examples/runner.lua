-- Six commands of everyday work, each with its tests: `runner test` runs them.
return {
	name = "examples",
	version = "1.0.0",
	description = "Backup, deployment, release, paging, logs, CI",
	config = { hosts = { "web1", "web2", "web3" }, checks = { lint = { "luacheck", "-q", "." }, tests = { "make", "check" } } },
}
