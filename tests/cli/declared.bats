#!/usr/bin/env bats
# Where commands are found, and what authors may write into their files and into
# runner.lua: every mistake names the file, the key and what to write.

load lib/helper
load lib/input

# --- where commands are found -----------------------------------------------------------

# who NAME DIR…: a command file in each DIR that answers with its folder.
who() {
	local name=$1 dir
	shift
	for dir; do
		mkdir -p "$dir"
		echo "return { description = 'x', danger_level = 'safe', run = function() return { from = '$dir' } end }" >"$dir/$name.lua"
	done
}

found_in() {
	succeeded
	expect "e.data['from'] == '$1'"
}

@test "the nearest runner.lua wins over a nearer commands/, which wins over a farther one" {
	who who commands sub/commands
	mkdir -p sub/deep
	cd sub/deep
	call who
	found_in sub/commands
	echo 'return {}' >../../runner.lua
	call who
	found_in commands
	echo 'return { commands = "scripts" }' >../runner.lua
	(cd ../.. && who who scripts && mv scripts sub/)
	call who
	found_in scripts
}

@test "the search ends at the root of the repository and at HOME" {
	who who commands
	mkdir -p repo/.git repo/src home/src
	cd repo/src
	call who
	refused 2 COMMAND_NOT_FOUND
	cd ../../home/src
	call who
	found_in commands
	call HOME="${PWD%/src}" who
	refused 2 COMMAND_NOT_FOUND
	call HOME="$PWD" who
	refused 2 COMMAND_NOT_FOUND
}

@test "the search ends at HOME however it is spelt" {
	local home
	who who commands
	mkdir -p home/src/deep elsewhere
	ln -s home link
	cd home/src/deep
	for home in "$PWD/../.." "${PWD%/src/deep}/" "${PWD%/home/src/deep}/link" "${PWD%/home/src/deep}/elsewhere/../home//"; do
		call HOME="$home" who
		refused 2 COMMAND_NOT_FOUND
	done
	call HOME="${PWD%/home/src/deep}/elsewhere" who
	found_in commands
}

@test "RUNNER_PATH, then XDG_CONFIG_HOME or ~/.config, behind the project; any form of a path" {
	who who commands extra xdg/runner/commands home/.config/runner/commands
	who more extra xdg/runner/commands home/.config/runner/commands
	who own xdg/runner/commands home/.config/runner/commands
	local path
	for path in "$PWD/extra" "$PWD/extra/" extra ./extra// "/proc/nonexistent::$PWD/extra" "$PWD/home/../extra"; do
		call RUNNER_PATH="$path" XDG_CONFIG_HOME="$PWD/xdg" HOME="$PWD/home" who
		found_in commands
		call RUNNER_PATH="$path" XDG_CONFIG_HOME="$PWD/xdg" HOME="$PWD/home" more
		found_in extra
		call RUNNER_PATH="$path" XDG_CONFIG_HOME="$PWD/xdg" HOME="$PWD/home" own
		found_in xdg/runner/commands
	done
	call RUNNER_PATH=/ XDG_CONFIG_HOME="$PWD/xdg" own
	found_in xdg/runner/commands
	call HOME="$PWD/home" own
	found_in home/.config/runner/commands
	chmod 777 extra
	call RUNNER_PATH="extra/" more
	refused 4 COMMAND_INVALID
}

@test "a built-in can't be shadowed" {
	local name
	for name in help completion self workflow; do
		command_file "$name" <<<'return { description = "x", danger_level = "safe",
			run = function() local f = io.open("touched", "w") f:close() return { mine = true } end }'
		call "$name"
		[ ! -e touched ]
	done
}

# --- declarations ------------------------------------------------------------------------

@test "every mistake of a declaration: exit 4, the file, the key and what to write" {
	local good='description = "x", danger_level = "safe", run = function() local f = io.open("touched", "w") f:close() end'
	local key lua needle
	while IFS='|' read -r key lua needle; do
		echo "$key: $lua" # shown when something fails
		case $lua in
		-*) lua="${good/${lua#-}/}" ;;
		*) lua="$good, $lua" ;;
		esac
		echo "return { $lua }" >commands/wrong.lua
		call wrong
		refused 4 COMMAND_INVALID
		expect "'commands/wrong.lua' in e.error.message and '$key' in e.error.errors[0]['field']"
		expect "'''$needle '''[:-1] in e.error.errors[0]['fix_required']"
	done <<-'ROWS'
		description|-description = "x",|one sentence
		description|description = "  "|one sentence
		danger_level|-danger_level = "safe",|"safe", "mutating" or "destructive"
		danger_level|danger_level = "harmless"|"safe", "mutating" or "destructive"
		run|run = 5|function(args, ctx)
		tiemout|tiemout = "5s"|Rename 'tiemout' to 'timeout'
		timeout|timeout = "soon"|a duration such as
		timeout|timeout = -1|a duration such as
		attempt_timeout|attempt_timeout = {}|a duration such as
		idle_timeout|idle_timeout = "1 fortnight"|a duration such as
		grace|grace = true|a duration such as
		stdin|stdin = "yes"|true or false
		interactive|interactive = 1|true or false
		steps|steps = {}|a list of names
		steps|steps = { "a", "b", "a" }|a unique name
		steps|steps = { "a", 5 }|a list of names
		validate|validate = "no"|function(args)
		cleanup|cleanup = {}|function(ctx)
		limits.memory|limits = { memory = "much" }|a size such as
		limits.disk|limits = { disk = 1 }|memory
		retry|retry = {}|retries = 3
		retry|retry = 5|retries = 3
		retry.retrys|retry = { retries = 1, retrys = 3 }|Rename 'retrys' to 'retries'
		retry.retries|retry = { retries = -1 }|a whole number
		retry.delay|retry = { retries = 1, delay = "x" }|a duration
		retry.strategy|retry = { retries = 1, strategy = "random" }|"exponential"
		retry.strategy|retry = { retries = 1, strategy = "custom" }|delays
		retry.strategy|retry = { delays = { "1s" }, strategy = "linear" }|Remove one of them
		retry.delays|retry = { delays = {} }|a list of 1 to 64
		retry.jitter|retry = { retries = 1, jitter = 2 }|a number from 0 to 1
		retry.on|retry = { retries = 1, on = "UNAVAILABLE" }|a list of error codes
		retry.on|retry = { retries = 1, on = { "UNAVAILABEL" } }|Replace it with 'UNAVAILABLE'
		retry.on|retry = { retries = 1, on = { "BUSY_NOW" } }|Declare it in exit_codes
		retry.delay|retry = { retries = 1, delay = "a: b" }|a duration
		retry|retry = coroutine.create(print)|Write a table such as
		retry.maybe|retry = { retries = 1, maybe = "x" }|true or false
		retry|retry = { max_delay = "1s" }, timeout = "none"|retries = 3
		exit_codes.LOCKED.code|exit_codes = { LOCKED = { code = 78, retryable = true, side_effects = "none" } }|from 79 to 125
		exit_codes.LOCKED.code|exit_codes = { LOCKED = { code = 126, retryable = true, side_effects = "none" } }|from 79 to 125
		exit_codes.LOCKED.retryable|exit_codes = { LOCKED = { code = 79, side_effects = "none" } }|true, false or "maybe"
		exit_codes.LOCKED.side_effects|exit_codes = { LOCKED = { code = 79, retryable = true } }|"none", "complete" or "partial"
		exit_codes.LOCKED|exit_codes = { LOCKED = { retryable = true } }|code = 79
		exit_codes.TIMEOUT.code|exit_codes = { TIMEOUT = { code = 80 } }|Remove code
		exit_codes.locked|exit_codes = { locked = { code = 79, retryable = true, side_effects = "none" } }|in capitals
		exit_codes.BB.code|exit_codes = { AA = { code = 79, retryable = true, side_effects = "none" }, BB = { code = 79, retryable = true, side_effects = "none" } }|another number
		exit_codes.NOT_FOUND.retry_strategy|exit_codes = { NOT_FOUND = { retry_strategy = "quick" } }|"immediate"
		exit_codes.NOT_FOUND.retry_after_ms|exit_codes = { NOT_FOUND = { retry_after_ms = -5 } }|whole number of ms
		args.1|args = { 5 }|Write a table such as
		args.a.type|args = { { "a" } }|"string"
		args.a.type|args = { { "a", "text" } }|"string"
		args.A.name|args = { { "A", "string" } }|lower-case
		args.timeout.name|args = { { "timeout", "string" } }|Write another name
		args.a.short|args = { { "a", "string", short = "h" } }|Choose another short
		args.a.name|args = { { "a", "string" }, { "a", "integer" } }|Choose another name
		args.a.values|args = { { "a", "enum" } }|a list of strings
		args.a.min|args = { { "a", "integer", min = 5, max = 1 } }|Lower it
		args.a.min|args = { { "a", "string", min = 5 } }|Remove it
		args.a.min|args = { { "a", "integer", min = 1.5 } }|Write a whole number
		args.a.default|args = { { "a", "integer", default = "x", max = 9 } }|Write a whole number of at most 9
		args.a.default|args = { { "a", "enum", values = { "x" }, default = "y" } }|one of its values
		args.a.default|args = { { "a", "array", items = "number", default = { "y" } } }|Write a list, each item a number
		args.a.name|args = { { "b", "string", name = "a" } }|Remove one of them
		args.a.pattern|args = { { "a", "string", pattern = "^[$" } }|Fix the regular expression
		args.a.pattern|args = { { "a", "string", pattern = "(" } }|Fix the regular expression
		args.a.pattern|args = { { "a", "string", pattern = "abc" } }|^abc$
		args.a.pattern|args = { { "a", "string", pattern = "uuidd" } }|use the preset 'uuid'
		args.a.requird|args = { { "a", "string", requird = true } }|Rename 'requird' to 'required'
		args.b.required|args = { { "a", "string", positional = true }, { "b", "string", positional = true, required = true } }|required
		args.b.positional|args = { { "a", "string", variadic = true }, { "b", "string", positional = true } }|Move it before
		args.a.items|args = { { "a", "array" } }|items
		examples.1.command|examples = { { description = "x" } }|a command line
		exit_codes.TIMEOUT|danger_level = "mutating"|TIMEOUT = { retryable = false, side_effects = "partial" }
	ROWS
}

@test "all mistakes of a declaration are reported at once, each with its line" {
	printf '%s\n' 'return {' 'description = "x",' 'danger_level = "none",' 'tiemout = 5,' 'run = 7,' '}' >commands/wrong.lua
	call wrong
	refused 4 COMMAND_INVALID
	expect '[(p["field"], p["line"]) for p in e.error.errors] == [("danger_level", 3), ("tiemout", 4), ("run", 5)]'
	expect 'e.error.message.endswith("(and 2 more)")'
}

# --- ctx:fail ------------------------------------------------------------------------------

@test "ctx:fail: a field that an error can't hold is left out with a warning; the failure stays what it is" {
	local fields needle
	while IFS='|' read -r fields needle; do
		echo "$fields" # shown when something fails
		body fails <<<"ctx:fail('CONFLICT', 'm', { suggestion = 'kept', $fields })"
		call fails
		assert_envelope
		[ "$status" -eq 6 ]
		expect 'e.error.message == "m" and e.error.suggestion == "kept" and e.error.phase == "execution"'
		expect 'e.error.retryable is False and e.data is None and e.error.context is None'
		expect "[w['code'] for w in e.warnings] == ['FIELD_IGNORED'] and '''$needle '''[:-1] in e.warnings[0]['message']"
	done <<-'ROWS'
		retryable = "no"|ctx:fail: retryable is "no". Write true, false or "maybe"
		retry_after = 5|unknown key 'retry_after'. Rename 'retry_after' to 'retry_after_ms'
		retry_after_ms = "30"|retry_after_ms is "30". Write a number of ms
		side_effects = "all"|side_effects is "all". Write "none"
		fix_required = {}|fix_required is {}. Write a string
		phase = "validation"|unknown key 'phase'
		errors = { "x" }|errors is { "x" }. Write a list such as
		context = { 1, 2 }|context is { 1, 2 }. Write a table of facts
		context = require("json").array({})|The error's context was dropped
		context = { f = print }|data.f is a function
		data = print|The error's data was dropped
	ROWS
	body fails <<<"ctx:fail('CONFLICT', 'm', { zebra = 1, phase = 'x', ant = 1, mule = 1 })"
	call fails
	expect '[w["message"].split("\x27")[1] for w in e.warnings] == ["ant", "mule", "phase", "zebra"]'
	body fails <<<"ctx:fail('UNAVAILABLE', 'm', { retryable = false, errors = {}, data = 5 })"
	call fails
	assert_envelope
	expect 'e.warnings == [] and e.data == {"value": 5}'
	body fails <<<"ctx:fail('UNAVAILABLE', 'm', { retryable = false, detail = ('x'):rep(20 << 20) })"
	call fails
	assert_envelope
	expect 'e.error.retryable is False and [w["code"] for w in e.warnings] == ["FIELD_IGNORED"]'
	body fails <<<"ctx:fail('UNAVAILABLE', 'm', 'a text')"
	call fails
	assert_envelope
	expect '"ctx:fail: the fields are a table" in e.error.message and "fails.lua:" in e.error.message'
}

# --- runner.lua --------------------------------------------------------------------------

@test "mistakes of runner.lua: exit 4, the file, the key, what to write; nothing runs" {
	local key lua needle
	while IFS='|' read -r key lua needle; do
		echo "$lua" | tee runner.lua # shown when something fails
		call touch --target prod
		refused 4 COMMAND_INVALID
		expect "'runner.lua' in e.error.message and '''$needle '''[:-1] in e.error.fix_required"
		[ -z "$key" ] || expect "e.error.errors[0]['field'] == '$key'"
	done <<-'ROWS'
		exit_table|return { exit_table = "old" }|"standard" or "classic"
		timeout|return { timeout = "soon" }|a duration
		nmae|return { nmae = "x" }|Rename 'nmae' to 'name'
		retry|return { retry = {} }|retries = 3
		retry|return { retry = { retries = "many" } }|a whole number from 0 to 1000
		commands|return { commands = 5 }|a folder
		config|return { config = "x" }|a table
		|return 5|return {
		|return {|Correct this line
		|error("boom")|
	ROWS
	[ "$(id -u)" -eq 0 ] || skip "needs root for chown"
	echo 'return {}' >runner.lua
	chown 12345 runner.lua
	call touch --target prod
	refused 4 COMMAND_INVALID
}

@test "runner.lua gives defaults: limits, retry, config, exit_table, the folder" {
	cat >runner.lua <<-'LUA'
		return { timeout = "7s", retry = { retries = 1, delay = "1ms" }, exit_table = "classic", commands = "scripts",
			config = { targets = { "one", "two" } } }
	LUA
	mkdir scripts
	cat >scripts/ask.lua <<-'LUA'
		return { description = "x", danger_level = "safe",
			args = { { "target", "enum", values = function(config) return config.targets end } },
			run = function(args, ctx)
				if not args.target then ctx:fail("TIMEOUT", "late") end
				return { targets = ctx.config.targets, target = args.target }
			end }
	LUA
	call ask --target two
	succeeded
	expect 'e.data["target"] == "two" and e.meta["timeout_ms"] == 7000'
	call ask --target three
	refused 2 INVALID_ARGUMENT
	expect 'e.error.suggestion.startswith("Valid values: one, two")'
	call ask
	assert_envelope
	[ "$status" -eq 7 ]
	expect 'e.meta["retries"] == 1'
	call RUNNER_EXIT_TABLE=standard ask
	[ "$status" -eq 10 ]
}
