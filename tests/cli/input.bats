#!/usr/bin/env bats
# What comes in from outside: words, flags, values, files. Bad input gets a clear
# answer with the next step, and nothing is touched.

load lib/helper
load lib/input

# --- words -------------------------------------------------------------------------

@test "an unknown command: exit 2, did-you-mean, and the folders that were searched" {
	call tuoch --target prod
	refused 2 COMMAND_NOT_FOUND
	expect "e.error.suggestion == \"Did you mean 'touch'?\" and \"'tuoch'\" in e.error.message"
	expect 'e.error.context["folders"][0].endswith("/commands")'
	call xyzzy-quux
	refused 2 COMMAND_NOT_FOUND
	expect '"runner" in e.error.suggestion'
}

@test "an unknown command in a folder without commands: how to create it" {
	mkdir bare
	cd bare || return
	touch .git # the search upwards ends here
	call deploy
	refused 2 COMMAND_NOT_FOUND
	expect 'e.error.suggestion == "No commands/ here or above; create the command: runner new deploy"'
	call lnt
	refused 2 COMMAND_NOT_FOUND
	expect "e.error.suggestion == \"Did you mean 'lint'?\""
}

@test "a module that is missing: the one that was meant, without Lua's list of paths" {
	mkdir lib
	echo 'return {}' >lib/pictures.lua
	body late <<<'require "picturs"'
	call late
	assert_envelope
	expect "e.error.message.endswith(\"late.lua:3: module 'picturs' not found\")"
	expect "e.error.suggestion == \"Did you mean 'pictures'?\""
	echo 'local json = require "jsn" return {}' >commands/early.lua
	call early
	refused 4 COMMAND_INVALID
	expect "e.error.suggestion == \"Did you mean 'json'?\""
}

# call_from_gone ARGS…: call, from a directory that no longer exists
call_from_gone() {
	mkdir gone
	pushd gone >/dev/null && rmdir ../gone
	status=0
	env -i "${CLEAN_ENV[@]}" "$RUNNER" "$@" >"$OLDPWD/out.txt" 2>"$OLDPWD/err.txt" </dev/null || status=$?
	popd >/dev/null || return 1
	# shellcheck disable=SC2034 # for assert_envelope
	stdout=$(<out.txt)
}

@test "in a directory that is gone, the answer says so" {
	call_from_gone touch
	refused 2 COMMAND_NOT_FOUND
	expect '"working directory no longer exists" in e.error.suggestion'
	local words
	for words in "new x" types; do
		# shellcheck disable=SC2086
		call_from_gone $words
		assert_envelope
		expect 'e.error.code == "PRECONDITION" and e.error.message == "The working directory no longer exists"'
	done
}

@test "words that can't be the name of a command never become a path out of the folder" {
	mkdir -p commands/sub outside
	echo 'return { description = "x", danger_level = "safe", run = function() return {} end }' >outside/evil.lua
	local word
	for word in ../outside/evil ./touch touch.lua /touch "" "a b" .. '*' "$(printf 'a%.0s' $(seq 5000))"; do
		call "$word"
		refused 2 COMMAND_NOT_FOUND
	done
}

@test "folders are words: db migrate, and a group names its commands" {
	command_file db/migrate <<<'return { description = "x", danger_level = "safe", run = function() return {} end }'
	command_file db/dump <<<'return { description = "x", danger_level = "safe", run = function() return {} end }'
	call db migrate
	succeeded
	expect 'e.meta["command"] == "db.migrate"'
	call db
	succeeded
	expect 'e.meta["command"] == "help" and e.data["commands"].keys() == {"db dump", "db migrate"}'
	call db migrat
	refused 2 COMMAND_NOT_FOUND
	expect '"db migrate" in e.error.suggestion'
	call db.migrate
	succeeded
	expect 'e.meta["command"] == "db.migrate"'
	call db.migrat
	refused 2 COMMAND_NOT_FOUND
	expect '"db migrate" in e.error.suggestion'
}

@test "the deepest file wins, and a file beside its folder takes the rest as arguments" {
	command_file db/migrate <<<'return { description = "x", danger_level = "safe", run = function() return { at = "below" } end }'
	command_file db <<<'return { description = "x", danger_level = "safe", args = { { "word", "string", positional = true } },
		run = function(args) return args end }'
	call db migrate
	expect 'e.data["at"] == "below"'
	call db status
	expect 'e.data["word"] == "status"'
}

# --- flags and values ------------------------------------------------------------------

@test "an unknown flag: exit 2 with did-you-mean" {
	call touch --tarjet prod
	refused 2 UNKNOWN_FLAG
	expect "e.error.suggestion == \"Did you mean '--target'?\" and len(e.error.errors) == 1"
	call touch --target prod --timout 5s
	refused 2 UNKNOWN_FLAG
	expect "'--timeout' in e.error.suggestion"
}

@test "a bad value is reported with the values that are allowed" {
	call touch --target prodd
	refused 2 INVALID_ARGUMENT
	expect "e.error.message == \"Unknown target 'prodd'\" and e.error.suggestion.startswith('Valid values: prod, staging, dev')"
	call touch --target prod --keep 51
	refused 2 INVALID_ARGUMENT
	expect "'from 1 to 50' in e.error.message and e.error.errors[0]['value'] == '51'"
	call touch --target prod --keep 5.5
	refused 2 INVALID_ARGUMENT
	call touch --target prod --keep 99999999999999999999
	refused 2 INVALID_ARGUMENT
	call touch --target
	refused 2 MISSING_ARGUMENT
	call touch
	refused 2 MISSING_ARGUMENT
	expect "e.error.message == 'Missing argument --target'"
}

@test "all problems are reported together" {
	call touch --target nowhere --keep zero --offset x --unknown --timeout soon --retries -1
	refused 2 VALIDATION_ERROR
	expect '{p["field"] for p in e.error.errors} == {"target", "keep", "offset", "--unknown", "timeout", "retries"}'
	expect 'all(p["message"] and p["suggestion"] for p in e.error.errors) and "6 problems" in e.error.message'
}

@test "a wrong limit is a problem of its flag or variable, never a crash" {
	local flag
	for flag in timeout attempt-timeout idle-timeout grace retry-delay retries format; do
		call touch --target prod "--$flag" bogus
		refused 2 INVALID_ARGUMENT
		expect "e.error.errors[0]['field'] == '${flag//-/_}'"
	done
	for flag in TIMEOUT ATTEMPT_TIMEOUT IDLE_TIMEOUT GRACE RETRY_DELAY RETRIES FORMAT; do
		call "RUNNER_$flag=bogus" touch --target prod
		refused 2 INVALID_ARGUMENT
		expect "'RUNNER_$flag' in e.error.fix_required"
	done
}

@test "invalid UTF-8 in argv: refused as a value, a flag and a command" {
	call touch --target prod --region $'\xff\xfe'
	refused 2 INVALID_ARGUMENT
	call touch --target prod $'a\xc3'
	refused 2 INVALID_ARGUMENT
	call touch --target prod $'--\xff'
	refused 2 UNKNOWN_FLAG
	call $'\xff'
	refused 2 COMMAND_NOT_FOUND
}

@test "control characters and escapes in argv don't reach the envelope or a terminal's text" {
	call touch --target $'\e[31mred\e[0m\a'
	refused 2 INVALID_ARGUMENT
	call touch --target prod $'--\e]0;title\a'
	refused 2 UNKNOWN_FLAG
}

@test "options stand anywhere; --flag=value, --no-flag, -- and negative numbers" {
	call touch a --target=prod b --offset -5.5 --force c --keep=7
	succeeded
	expect 'e.data["files"] == ["a", "b", "c"] and e.data["offset"] == -5.5 and e.data["force"] and e.data["keep"] == 7'
	call --timeout 9s touch --target prod --no-force -- --keep -x
	succeeded
	expect 'e.data["files"] == ["--keep", "-x"] and e.data["force"] is False and e.meta["timeout_ms"] == 9000'
	call touch --target=prod --offset=-1e3 --region= -5
	succeeded
	expect 'e.data["offset"] == -1000 and e.data["region"] == "" and e.data["files"] == ["-5"]'
}

@test "an option given twice: the same value is fine, different values are an error" {
	call touch --target prod --target prod
	succeeded
	rm touched
	call touch --target prod --target dev
	refused 2 CONFLICTING_VALUES
	expect "\"'prod'\" in e.error.message and \"'dev'\" in e.error.message"
	call touch --target prod --force --no-force
	refused 2 CONFLICTING_VALUES
	call touch --target prod --timeout 1s --timeout 2s
	refused 2 CONFLICTING_VALUES
}

@test "a variable stands in for a flag; the flag wins; empty is not set" {
	call DEPLOY_REGION=us touch --target prod
	expect 'e.data["region"] == "us"'
	call DEPLOY_REGION=us touch --target prod --region asia
	expect 'e.data["region"] == "asia"'
	call DEPLOY_REGION= touch --target prod
	expect 'e.data["region"] == "eu"'
}

@test "10,000 values of a variadic argument" {
	local values
	mapfile -t values < <(seq 10000)
	call RUNNER_LOAD_TIMEOUT=2m touch --target prod "${values[@]}"
	succeeded
	expect 'len(e.data["files"]) == 10000 and e.data["files"][9999] == "10000"'
	[ "$elapsed_ms" -lt 20000 ]
}

@test "10,000 wrong values are reported within bounds" {
	local values
	mapfile -t values < <(seq -f '--wrong%.0f' 10000)
	call RUNNER_LOAD_TIMEOUT=2m touch --target prod "${values[@]}"
	refused 2 VALIDATION_ERROR
	expect 'len(e.error.errors) <= 101'
	[ "$elapsed_ms" -lt 60000 ]
}

@test "validate(args): its problems are exit 2, with all of them in errors" {
	command_file picky <<'LUA'
return { description = "x", danger_level = "safe", args = { { "n", "integer", default = 0 } },
	validate = function(args)
		if args.n == 1 then return { { field = "n", message = "1 is taken", suggestion = "Take 2" } } end
		if args.n == 2 then return { "first", "second" } end
		if args.n == 3 then return false end
		if args.n == 4 then error("oops") end
		if args.n == 5 then return {} end
		if args.n == 6 then return { field = "n", message = "6 alone" } end
		if args.n == 7 then return { field = "n", reason = "no list" } end
		if args.n == 8 then return { [3] = "a hole" } end
		if args.n == 9 then return { { field = "n", message = "9", code = "no code" } } end
		if args.n == 10 then return { { field = "n", message = "gone", code = "NOT_FOUND" } } end
	end,
	run = function() local f = io.open("touched", "w") f:close() return {} end }
LUA
	call picky --n 1
	refused 2 VALIDATION_ERROR
	expect 'e.error.message == "1 is taken" and e.error.suggestion == "Take 2"'
	call picky --n 2
	refused 2 VALIDATION_ERROR
	expect '[p["message"] for p in e.error.errors] == ["first", "second"]'
	call picky --n 3
	refused 4 COMMAND_INVALID
	expect '"validate returned false" in e.error.message'
	call picky --n 4
	assert_envelope
	expect 'e.error.code == "INTERNAL_ERROR" and e.error.phase == "validation" and e.error.side_effects == "none"'
	[ ! -e touched ]
	call picky --n 5
	succeeded
	rm touched
	call picky --n 6
	refused 2 VALIDATION_ERROR
	expect 'e.error.message == "6 alone" and e.error.errors[0].field == "n"'
	local n
	for n in 7 8 9; do
		call picky --n $n
		refused 4 COMMAND_INVALID
		expect '"picky.lua: validate returned a table that is not a list of problems" in e.error.message'
	done
	call picky --n 10
	refused 2 VALIDATION_ERROR
	expect 'e.error.errors[0].code == "NOT_FOUND"'
}

@test "an argument's own code never changes exit 2; a code of another exit number stays in errors" {
	command_file coded <<'LUA'
return { description = "x", danger_level = "safe", args = { { "a", "integer", code = "NO_SUCH_A" },
	{ "b", "integer", code = "TIMEOUT" }, { "c", "integer", code = "CANCELLED" } }, run = function() end }
LUA
	call coded --a x
	refused 2 NO_SUCH_A
	call coded --b x
	refused 2 VALIDATION_ERROR
	expect 'e.error.errors[0].code == "TIMEOUT"'
	call coded --c x
	refused 2 VALIDATION_ERROR
}

@test "a default or values function that raises: the file is wrong, and the argument is named" {
	command_file asks <<'LUA'
return { description = "x", danger_level = "safe", args = {
	{ "a", "string", default = function(config) return config.none.at_all end },
	{ "b", "enum", values = function() error("oops") end }, { "c", "enum", values = function() return { 1 } end },
	{ "d", "string", default = function() error({ code = "NOT_FOUND", message = "no default today" }) end } },
	run = function(args) return args end }
LUA
	call asks --d x
	refused 4 COMMAND_INVALID
	expect "\"default of argument 'a' raised an error: \" in e.error.message and 'asks.lua:2: ' in e.error.message"
	call asks --d x --a x --b y
	refused 4 COMMAND_INVALID
	expect "\"values of argument 'b' raised an error: \" in e.error.message and e.error.message.endswith('asks.lua:3: oops')"
	call asks --d x --a x --c y
	refused 4 COMMAND_INVALID
	expect "'argument \'c\' must return a list of strings' in e.error.message"
	call asks --a x
	assert_envelope
	[ "$status" -eq 5 ]
	expect 'e.error.phase == "validation" and e.error.message == "no default today"'
	call asks --a x --d y
	succeeded
}

# --- files -------------------------------------------------------------------------------

@test "a byte order mark and a #! line are left out, and lines keep their numbers" {
	local good='return { description = "x", danger_level = "safe", run = function() error("here") end }'
	printf '\xef\xbb\xbf%s' "$good" >commands/marked.lua
	printf '#!/usr/bin/env lua\r\n%s' "$good" >commands/script.lua
	printf '\xef\xbb\xbf#!/x\n%s' "$good" >commands/both.lua
	local row
	for row in marked:1 script:2 both:2; do
		call "${row%:*}"
		assert_envelope
		expect "e.error.message.endswith('/commands/${row%:*}.lua:${row#*:}: here')"
	done
}

@test "a path that is not a command file is refused with its path and the reason" {
	local row name reason
	mkdir commands/folder.lua
	{ printf x && head -c 300 /dev/urandom | tr -d '\n'; } >commands/binary.lua # a first line with # is none
	printf '\0' >>commands/binary.lua
	printf '\x1bLua\x54' >commands/bytecode.lua
	truncate -s 100M commands/huge.lua
	truncate -s 1T commands/endless.lua # more than there is memory for
	mkfifo commands/fifo.lua
	ln -s /dev/zero commands/zero.lua
	echo 'return { x = = 1 }' >commands/syntax.lua
	echo 'error("boom")' >commands/raises.lua
	echo 'error({ code = "NOT_FOUND", message = "no place" })' >commands/raises2.lua
	echo 'local x = 1' >commands/nothing.lua
	: >commands/empty.lua
	echo 'return 5' >commands/five.lua
	for row in 'folder:not a regular file' 'binary:binary data' 'bytecode:binary data' 'huge:larger than 4 MiB' 'endless:larger than 4 MiB' \
		'fifo:not a regular file' 'zero:not a regular file' "syntax:syntax.lua:1: unexpected symbol near '='" \
		'raises:raises.lua:1: boom' 'raises2:raises2.lua raised an error while it was loading: no place' 'nothing:returned nil' 'empty:returned nil' 'five:returned 5'; do
		name=${row%%:*} reason=${row#*:}
		call "$name"
		refused 4 COMMAND_INVALID
		expect "\"\"\"$reason\"\"\" in e.error.message and '/$name.lua' in e.error.message"
		expect "e.error.context['path'].endswith('/commands/$name.lua')"
		[ "$elapsed_ms" -lt 20000 ]
	done
	ln -s nowhere commands/dangling.lua
	call dangling
	refused 2 COMMAND_NOT_FOUND
}

@test "a file of another owner, or that is world-writable, is refused" {
	[ "$(id -u)" -eq 0 ] || skip "needs root for chown"
	chown 12345 commands/touch.lua
	call touch --target prod
	refused 4 COMMAND_INVALID
	expect '"it is owned by neither you nor root" in e.error.message and e.error.fix_command is None'
	chown 0 commands/touch.lua
	chmod o+w commands/touch.lua
	call touch --target prod
	refused 4 COMMAND_INVALID
	expect '"it is world-writable" in e.error.message'
	sh -c "$(field 'e.error.fix_command')"
	call touch --target prod
	[ "$status" -eq 0 ]
}

@test "a folder of another owner, or that is world-writable, is refused; nested ones too" {
	chmod 777 commands
	call touch --target prod
	refused 4 COMMAND_INVALID
	expect '"it is world-writable" in e.error.message'
	expect 'e.error.fix_command.startswith("chmod o-w ") and "/commands" in e.error.fix_command'
	chmod 755 commands
	command_file db/one <<<'return { description = "x", danger_level = "safe", run = function() return {} end }'
	chmod 777 commands/db
	call db one
	refused 4 COMMAND_INVALID
	[ "$(id -u)" -eq 0 ] || skip "needs root for chown"
	chmod 755 commands/db
	chown 12345 commands
	call touch --target prod
	refused 4 COMMAND_INVALID
	call db one
	refused 4 COMMAND_INVALID
}
