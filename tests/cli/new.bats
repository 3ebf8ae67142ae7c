#!/usr/bin/env bats
# new: the file that it writes loads, lints clean and runs; nothing is overwritten.

load lib/helper

@test "a new command loads, lints clean and runs as its example says" {
	call new hello
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data["path"] == "commands/hello.lua" and e.data["effect"] == "created"'
	expect '"runner hello" in e.data["suggestion"]'
	call lint hello
	expect 'e.data["problems"] == [] and e.data["warnings"] == []'
	call hello --name Ada --times 2
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.data == {"greetings": ["Hello, Ada!", "Hello, Ada!"]}'
	call help hello
	[ "$status" -eq 0 ]
	call hello --name nobody
	[ "$status" -eq 5 ]
}

@test "dots and slashes make groups" {
	call new db.migrate
	expect 'e.data["path"] == "commands/db/migrate.lua" and e.data["command"] == "db migrate"'
	call new db/dump
	expect 'e.data["path"] == "commands/db/dump.lua"'
	call db dump
	[ "$status" -eq 0 ]
}

@test "a file that exists is left as it is" {
	echo 'mine' | command_file hello
	call new hello
	assert_envelope
	[ "$status" -eq 6 ]
	expect 'e.error.code == "ALREADY_EXISTS" and e.error.fix_required'
	[ "$(cat commands/hello.lua)" = mine ]
	ln -s nowhere commands/link.lua
	call new link
	[ "$status" -eq 6 ]
}

@test "of many that create the same file at once, exactly one succeeds" {
	local n pids=()
	for n in {1..12}; do
		env -i "${CLEAN_ENV[@]}" "$RUNNER" new hello >"out.$n" 2>/dev/null </dev/null 3>&- &
		pids+=($!)
	done
	wait "${pids[@]}" || true
	[ "$(cat out.* | grep -c '"effect":"created"')" -eq 1 ]
	[ "$(cat out.* | grep -c '"code":"ALREADY_EXISTS"')" -eq 11 ]
}

@test "an invalid name, or a built-in's, is an argument error, and nothing is written" {
	local name
	for name in ../x /etc/x a..b .x "a b" "" a. help workflow.x a.b.c.d.e "$(printf 'x%.0s' {1..65})" 'ä'; do
		call new "$name"
		assert_envelope
		[ "$status" -eq 2 ]
	done
	[ -z "$(ls -A commands)" ]
}

@test "the project's own folder is used, from anywhere inside of it" {
	echo 'return { commands = "tools" }' >runner.lua
	mkdir -p src/deep
	cd src/deep
	call new hello
	cd ../..
	[ -f tools/hello.lua ]
}

@test "without a project, commands/ is made in the working directory" {
	rmdir commands
	mkdir -p elsewhere/.git
	cd elsewhere
	call new hello
	[ "$status" -eq 0 ]
	call hello
	[ "$status" -eq 0 ]
	[ -f commands/hello.lua ]
}

@test "a folder that can't be created is reported" {
	: >commands/db
	call new db.migrate
	assert_envelope
	[ "$status" -eq 6 ]
	expect 'e.error.code == "CONFLICT" and "commands/db" in e.error.message'
}
