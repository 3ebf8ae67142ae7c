# input.bash: what the suites about input share: a command that would leave a file,
# and what a refusal must look like.

prepare() {
	command_file touch <<'LUA'
return { description = "Leave a file", danger_level = "safe",
	args = {
		{ "target", "enum", values = { "prod", "staging", "dev" }, required = true },
		{ "keep", "integer", min = 1, max = 50, default = 5 },
		{ "offset", "number" },
		{ "force", "boolean" },
		{ "region", "string", env = "DEPLOY_REGION", default = "eu" },
		{ "files", "string", variadic = true },
	},
	run = function(args) local f = io.open("touched", "w") f:close() return args end }
LUA
}

# refused STATUS CODE: one valid envelope says so, and run did nothing.
refused() {
	assert_envelope
	[ "$status" -eq "$1" ]
	# the registry's codes of wrong arguments stand in the first of `errors`; others lead
	case $2 in
	INVALID_ARGUMENT | MISSING_ARGUMENT | UNKNOWN_FLAG | CONFLICTING_VALUES)
		expect "e.error.code == 'VALIDATION_ERROR' and e.error.errors[0].code == '$2'"
		;;
	*) expect "e.error.code == '$2'" ;;
	esac
	expect "e.error.phase == 'validation' and e.error.side_effects == 'none'"
	expect 'e.data is None and e.error.retryable is False and e.error.fix_required'
	[ ! -e touched ]
}

succeeded() {
	assert_envelope
	[ "$status" -eq 0 ]
}
