#!/usr/bin/env bats
# lint: every problem and every doubt, each with its place and what to write.

load helper

prepare() {
	command_file good <<'LUA'
return { description = "Good", danger_level = "safe", run = function() end,
	examples = { { command = "runner good" } } }
LUA
}

bad_file() {
	command_file bad <<'LUA'
return {
	description = "Bad",
	danger_level = "harmless",
	tiemout = "5s",
	run = function() io.open("ran", "w"):close() end,
}
LUA
}

@test "a clean project has neither problems nor doubts" {
	call lint
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data == {"files": 1, "problems": [], "doubts": []}'
}

@test "every problem of every file is told, with file, line, key and fix, and nothing is run" {
	bad_file
	echo 'return {' | command_file db/syntax
	call lint
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.error.code == "COMMAND_INVALID" and e.data["files"] == 3 and len(e.data["problems"]) == 3'
	expect '[(p["file"], p["line"], p.get("key")) for p in e.data["problems"]] == [("commands/bad.lua", 3, "danger_level"), ("commands/bad.lua", 4, "tiemout"), ("commands/db/syntax.lua", 1, None)] or e.data["problems"]'
	expect 'e.data["problems"][1]["fix"].startswith("did you mean")'
	expect 'len(e.error.errors) == 3 and e.error.errors[0]["file"] == "commands/bad.lua" and e.error.errors[0]["line"] == 3'
	[ ! -e ran ]
}

@test "doubts are told and are no failure" {
	command_file doubtful <<'LUA'
print("loading")
return { description = "x", danger_level = "mutating", run = function() os.execute("true") end,
	exit_codes = { TIMEOUT = { retryable = true, side_effects = "partial" } } }
LUA
	call lint doubtful
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["problems"] == []'
	expect 'sorted(d["key"] for d in e.data["doubts"]) == ["examples", "exit_codes.TIMEOUT", "os.execute", "print"]'
}

@test "a file, a path with dots and a command's name can be named" {
	bad_file
	local name
	for name in commands/bad.lua ./commands/bad.lua "$PWD/commands/bad.lua" bad; do
		call lint "$name"
		[ "$status" -eq 4 ]
		expect 'e.data["files"] == 1 and e.data["problems"][0]["file"] == "commands/bad.lua"'
	done
	call lint good
	[ "$status" -eq 0 ]
}

@test "what is neither a file nor a command is an argument error" {
	call lint nosuch
	assert_envelope
	[ "$status" -eq 2 ]
	expect 'e.error.code == "INVALID_ARGUMENT" and "nosuch" in e.error.message'
	call lint commands
	[ "$status" -eq 2 ]
}

@test "every problem of runner.lua is told with its line, and the commands are still checked" {
	printf 'return {\n\ttimeout = "soon",\n\tcomands = "cmd",\n}\n' >runner.lua
	bad_file
	call lint
	assert_envelope
	[ "$status" -eq 4 ]
	expect '[(p["file"], p["line"]) for p in e.data["problems"]] == [("runner.lua", 3), ("runner.lua", 2), ("commands/bad.lua", 3), ("commands/bad.lua", 4)]'
}

@test "a file that a built-in hides is a problem" {
	cp commands/good.lua commands/help.lua
	call lint
	[ "$status" -eq 4 ]
	expect 'e.data["problems"][0]["file"] == "commands/help.lua" and "never run" in e.error.message'
}

@test "files that anybody may write to are a problem" {
	chmod 666 commands/good.lua
	call lint
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.data["problems"][0]["file"] == "commands/good.lua"'
}

@test "100 hostile files end in time, each with its problem" {
	local i
	for i in $(seq 1 100); do
		case $((i % 4)) in
		0) echo 'return 1' ;;
		1) echo 'os.exit(0)' ;;
		2) echo 'error {}' ;;
		3) head -c 200 /dev/urandom ;;
		esac | command_file "h$i"
	done
	call lint
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.data["files"] == 101 and len({p["file"] for p in e.data["problems"]}) == 100'
}

@test "people get a line for each finding" {
	bad_file
	call lint --format table
	[ "$status" -eq 4 ]
	[[ $stderr == *"problem: commands/bad.lua:3: danger_level is \"harmless\""* ]]
	[[ $stderr == *"2 files, 2 problems, "* ]]
}
