return {
	description = "Have an older form", danger_level = "safe", schema_version = "2.0",
	older_versions = { ["1.0"] = function(data) return { all = data.total } end }, run = function() return { total = 5 } end,
}
