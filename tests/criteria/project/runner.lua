-- The project that the probes of tests/criteria call.
return {
	name = "probes", version = "1.4.0", description = "What the criteria are tried on", changelog = "changelog.json",
	config = { region = "eu" }, contexts = { staging = { config = { region = "test" } } },
	scopes = { "read" },
	dependencies = { { name = "sh", min_version = "*" } },
}
