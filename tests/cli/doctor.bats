#!/usr/bin/env bats
# doctor: whether what commands need is on this machine, and how to get what is missing.

load lib/helper

# tool NAME VERSION: a program of the test's own, on its PATH.
tool() {
	mkdir -p bin
	printf '#!/bin/sh\necho "%s version %s (build 7)" >&%s\nexit %s\n' "$1" "$2" "${3:-1}" "${4:-0}" >"bin/$1"
	chmod +x "bin/$1"
}

# needs LUA: a command with these required_tools.
needs() {
	command_file build <<LUA
return { description = "x", danger_level = "safe", required_tools = $1, run = function() return {} end }
LUA
}

doctor() {
	call PATH="$PWD/bin:$PATH" doctor
	assert_envelope
}

@test "REQ-O-026 doctor passes when everything is there, with what was found" {
	tool frobnicate 2.10.1
	tool oldtool 3.1 2 1
	needs '{ frobnicate = "2.9", oldtool = "*" }'
	doctor
	[ "$status" -eq 0 ]
	expect 'all(c["ok"] for c in e.data["checks"])'
	expect '[c for c in e.data["checks"] if c["name"] == "frobnicate"] == [{"name": "frobnicate", "ok": True, "version": "2.10.1", "required": "2.9"}]'
	expect '[c["version"] for c in e.data["checks"] if c["name"] == "oldtool"] == ["3.1"]'
}

@test "REQ-O-026 REQ-C-018 a missing program and one that is too old are exit code 4, each with its fix" {
	tool frobnicate 2.9.9
	needs '{ frobnicate = "2.10", ["no-such-program"] = "*" }'
	doctor
	[ "$status" -eq 4 ]
	expect 'e.error["code"] == "DOCTOR_CHECKS_FAILED" and "2 of 4 checks" in e.error["message"]'
	expect '{c["name"]: c["fix"] for c in e.data["checks"] if not c["ok"]} == {
		"frobnicate": "Install frobnicate 2.10 or later", "no-such-program": "Install no-such-program"}'
	expect '[c["error"] for c in e.data["checks"] if c["name"] == "frobnicate"] == ["frobnicate is 2.9.9; 2.10 is needed"]'
}

@test "of two commands that need a program, the higher version counts" {
	tool frobnicate 2.5
	needs '{ frobnicate = "2.0" }'
	sed 's/2\.0/3.0/' commands/build.lua >commands/zip.lua
	doctor
	[ "$status" -eq 4 ]
	expect '[c["required"] for c in e.data["checks"] if c["name"] == "frobnicate"] == ["3.0"]'
}

@test "REQ-O-026 a broken file is a failed check, and a broken runner.lua stops no check" {
	echo 'return {' | command_file broken
	echo 'return { nonsense = 1 }' >runner.lua
	doctor
	[ "$status" -eq 4 ]
	expect '[(c["name"], c["fix"]) for c in e.data["checks"]] == [("runner.lua", "runner lint"), ("command broken", "runner lint broken")]'
}

@test "a program that never answers is a failed check, not a doctor that hangs" {
	tool slow 1
	printf '#!/bin/sh\nexec sleep 60\n' >bin/slow
	needs '{ slow = "1.0" }'
	doctor
	[ "$status" -eq 4 ]
	[ "$elapsed_ms" -lt 30000 ]
	expect '[c["error"] for c in e.data["checks"] if c["name"] == "slow"] == ["slow --version names no version"]'
}

@test "REQ-C-018 a command made for another system warns, and doctor names it" {
	command_file winonly <<'LUA'
return { description = "x", danger_level = "safe", platform = { "windows" }, run = function() return {} end }
LUA
	call winonly
	assert_envelope
	[ "$status" -eq 0 ]
	expect '[w["code"] for w in e.warnings] == ["PLATFORM_UNSUPPORTED"]'
	doctor
	[ "$status" -eq 4 ]
	expect '[c["name"] for c in e.data["checks"] if not c["ok"]] == ["platform of winonly"]'
	sed -i 's/"windows"/"windows", "linux"/' commands/winonly.lua
	call winonly
	expect 'e.warnings == []'
	call manifest winonly
	expect 'e.data["commands"]["winonly"]["platform"] == ["windows", "linux"]'
}

@test "required_tools that are no programs and versions are refused when the file is loaded" {
	local given
	for given in '{ git = 2 }' '{ "git" }' '{ ["--x"] = "*" }' '{ git = "two" }' '"git"'; do
		needs "$given"
		call build
		assert_envelope
		[ "$status" -eq 4 ]
		expect 'e.error["code"] == "COMMAND_INVALID" and "required_tools" in e.error["message"]'
	done
}

@test "REQ-O-031 dependencies of runner.lua are in the manifest, and doctor compares their versions" {
	tool dbtool 2.10.1
	tool newer 9.1
	cat >runner.lua <<'LUA'
return { dependencies = {
	{ name = "dbtool", min_version = "2.9", check_command = "dbtool 'report version'", fix_command = "apt-get install dbtool" },
	{ name = "newer", min_version = "*", max_version = "9" },
} }
LUA
	needs '{ dbtool = "*" }'
	doctor
	[ "$status" -eq 0 ]
	expect '[(c["version"], c["required"]) for c in e.data["checks"] if c["name"] == "dbtool"] == [("2.10.1", "*"), ("2.10.1", "2.9")]'
	expect '[(w["code"], w["context"]["found_version"]) for w in e.warnings] == [("DEPENDENCY_UNTRIED", "9.1")]'
	answers 0 manifest
	expect 'e.data["dependencies"] == [{"name": "dbtool", "check_command": "dbtool \x27report version\x27", "min_version": "2.9", "fix_command": "apt-get install dbtool"}, {"name": "newer", "check_command": "newer --version", "min_version": "*"}]'
	ln -s "$RUNNER" bin/runner
	echo '{"schema_version": "1.0", "tool": "runner", "command": ["./bin/runner"], "timeout_seconds": 60, "manifest": ["manifest"],
		"probes": [{"name": "list", "argv": [], "kind": "read"}]}' >profile.json
	call conformance profile.json
	expect '[c["status"] for c in e.data["checks"] if c["id"] == "manifest_valid"] == ["pass"]'
}

@test "REQ-O-031 a dependency that is too old or missing fails with its own fix; a wrong list is refused" {
	tool dbtool 2.8
	echo 'return { dependencies = { { name = "dbtool", min_version = "2.9", fix_command = "get dbtool" }, { name = "gone", min_version = "*" },
		{ name = "shell", min_version = "1", check_command = "echo 1 | cat" } } }' >runner.lua
	doctor
	[ "$status" -eq 4 ]
	expect '[(c["name"], c["fix"]) for c in e.data["checks"] if not c["ok"]] == [("dbtool", "get dbtool"), ("gone", "Install gone"), ("shell", "Install shell 1 or later")]'
	local wrong
	for wrong in '{ name = "x" }' '{ name = "x", min_version = "new" }' '{ name = "-x", min_version = "1" }' '{ name = "x", min_version = "1", colour = 1 }' '"x"'; do
		echo "return { dependencies = { $wrong } }" >runner.lua
		doctor
		expect '"dependencies" in e.data["checks"][0]["error"]'
	done
}

@test "on a terminal the failed checks are shown, each with its fix" {
	mkdir -p commands/db
	echo 'return 1' >commands/db/broken.lua
	env -i "${CLEAN_ENV[@]}" TERM=xterm script -qec "$RUNNER doctor" /dev/null </dev/null | tr -d '\r' >out.txt
	grep -q '^FAIL  .*commands/db/broken.lua' out.txt
	grep -qx '      fix: runner lint db broken' out.txt
}

@test "doctor's first line is one for a report of a fault, and it says what is weaker here and how to mend that" {
	doctor
	expect 'e.data["machine"]["summary"].startswith("runner " + e.meta["tool_version"] + ", ") and "Linux" in e.data["machine"]["summary"]'
	expect '"\n" not in e.data["machine"]["summary"]'
	expect '[f["name"] for f in e.data["machine"]["facts"]] == ["PATH", "state directory", "permissions", "control groups", "confinement", "terminal", "libraries"]'
	expect 'all(("weaker" in f) == ("fix" in f) for f in e.data["machine"]["facts"])'
	call PATH=/usr/bin:/bin doctor --format table
	[ "$status" -eq 0 ]
}

# on_kernel CALL RESULT: the confinement that doctor sees there
on_kernel() {
	needs_strace
	env -i "${CLEAN_ENV[@]}" ASAN_OPTIONS=detect_leaks=0 strace -qq -f -o /dev/null -e "trace=$1" -e "inject=$1:$2" "$RUNNER" doctor --format json >out.txt
	stdout=$(<out.txt)
	python3 -c 'import json; f = [f for f in json.load(open("out.txt"))["data"]["machine"]["facts"] if f["name"] == "confinement"][0]
print(f["found"], f.get("weaker"), f.get("fix"), sep="; ")'
}

@test "doctor says what the kernel holds of a confinement, and what it takes to hold all" {
	[ "$(on_kernel landlock_create_ruleset retval=7)" = "Landlock version 7, seccomp; None; None" ]
	[ "$(on_kernel landlock_create_ruleset retval=3)" = \
		"Landlock version 3, seccomp; confine can't hold tcp, ports, hosts, abstract_sockets, signals; Use Linux 6.12 or later" ]
	[[ $(on_kernel landlock_create_ruleset error=ENOSYS) == "Landlock none, seccomp; confine can't be held: commands that require it fail; "*landlock* ]]
	[[ $(on_kernel seccomp error=ENOSYS) == *"no seccomp; confine can't be held: commands that require it fail; "*SECCOMP* ]]
}

@test "doctor sees a foreign runner in PATH, a state directory that can't be written, and a folder for everybody" {
	tool runner 1.0
	chmod 777 .
	: >blocked
	call PATH="$PWD/bin:$PATH" XDG_STATE_HOME="$PWD/blocked" doctor
	[ "$status" -eq 0 ]
	expect '[f["name"] for f in e.data["machine"]["facts"] if f.get("weaker")][:3] == ["PATH", "state directory", "permissions"]'
	expect '"another runner" in e.data["machine"]["facts"][0]["weaker"]'
	mkdir bin2
	ln -s "$RUNNER" bin2/runner
	chmod 755 .
	call PATH="$PWD/bin2:$PATH" XDG_STATE_HOME="$PWD/new/state" doctor
	expect '[f["name"] for f in e.data["machine"]["facts"][:3] if f.get("weaker")] == []'
	[ ! -e new ]
	[ -z "$(find . -name ".runner-doctor*")" ]
}

@test "doctor writes its text, with the summary first, where a person reads" {
	status=0
	stdout=$(script -qefc "$(printf '%q ' env -i "${CLEAN_ENV[@]}" TERM=dumb "$RUNNER" doctor)" /dev/null </dev/null | tr -d '\r') || status=$?
	[ "$status" -eq 0 ]
	[[ $stdout == "runner "*", Linux "*"Landlock"*"terminal: dumb"*"fix: Set TERM"* ]]
}

@test "doctor names the libraries that are missing, what for, and their packages" {
	dynamic_only "has them inside"
	mkdir none
	touch none/libcurl.so.4 none/libcurl-gnutls.so.4 none/libsqlite3.so.0 none/libmd.so.0 none/libarchive.so.13
	call LD_LIBRARY_PATH="$PWD/none" doctor
	expect 'e.data["machine"]["facts"][-1]["found"].endswith(" missing")'
	local lacks
	for lacks in 'libcurl (ctx:http)' 'SQLite (workflows and what is kept between calls)' 'libmd (checksums)' 'libarchive (archives of commands)'; do
		expect "'$lacks' in e.data['machine']['facts'][-1]['weaker']"
	done
	expect '{"libcurl4", "libsqlite3-0", "libmd0", "libarchive13"} <= set(e.data["machine"]["facts"][-1]["fix"].split())'
}
