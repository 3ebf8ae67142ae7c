#!/usr/bin/env bats
# unread: whatever shows the commands of a project that its user has not called yet reads the files, and runs
# none of them: every door, every kind of file.

load lib/helper

prepare() {
	mkdir -p home lib
	CLEAN_ENV+=(HOME="$PWD/home" XDG_STATE_HOME="$PWD/home/state" XDG_CONFIG_HOME="$PWD/home/config" XDG_CACHE_HOME="$PWD/home/cache" XDG_DATA_HOME="$PWD/home/data")
}

# top NAME: a command file whose top level begins with stdin
top() {
	{ cat && echo "return { description = 'Says $1', danger_level = 'safe', run = function() return {} end }"; } | command_file "$1"
}

# Of each of these the description is read.
readable() {
	top plain <<<''
	top co <<<'local say = coroutine.wrap(function() coroutine.yield "x" end) say()'
	top cmodule <<<'local m = require "evil" m.f()'
	top bytecode <<<'local f = load("\27Lua" .. ("x"):rep(100)) if f then f() end'
	top dump <<<'local dump = string.dump'
	top strings <<<'getmetatable("").__index = function() return error end string.format, string.pack, string.find, table.concat, next, type = nil'
	top ours <<<'local fs, json, text = require "fs", require "json", require "runner.text" fs.write("bad", "x") json.encode(fs.read "x" .. 1)'
	top kept <<<'local open, run, exit = io.open, os.execute, os.exit'
	top output <<<'print "bad" warn("@on") warn "bad"'
	top finalizer <<<'setmetatable({}, { __gc = function() os.execute "touch bad" end }) collectgarbage()'
	top caught <<<'pcall(os.execute, "touch bad") pcall(io.open, "bad", "w") xpcall(os.exit, function() os.exit(9) end, 9)'
	top package <<<'package.path = package.path .. ";/nowhere/?.lua" local os, s = require "os", require "string"'
	top shared <<<'local common = require "common"'
	top values <<<''
	sed -i 's/run = /args = { { "to", "enum", values = function() os.execute "touch bad" end }, { "from", "string", default = function() os.execute "touch bad" end } }, run = /' commands/values.lua
	echo 'return setmetatable({ description = "Says meta", danger_level = "safe", run = print }, { __index = function() os.execute "touch bad" end, __pairs = function() os.execute "touch bad" end })' |
		command_file meta
	echo 'return { n = 1 }' >lib/common.lua
	cat >evil.c <<-'C'
		#include <stdio.h>
		__attribute__((constructor)) static void load(void) { fclose(fopen("bad", "w")); }
		int luaopen_evil(void *L) { (void)L; return 0; }
	C
	cc -shared -fPIC -o evil.so evil.c
	CLEAN_ENV+=(LUA_CPATH="$PWD/?.so")
}

READABLE='{"plain", "co", "cmodule", "bytecode", "dump", "strings", "ours", "kept", "output", "finalizer", "caught", "package", "shared", "values", "meta"}'

# These are named with the reason.
unreadable() {
	top writes <<<'io.open("bad", "w"):write "x"'
	top executes <<<'os.execute "touch bad"'
	top popen <<<'io.popen("touch bad"):close()'
	top exits <<<'os.exit(0)'
	top getenv <<<'local home = os.getenv "HOME"'
	top stdout <<<'io.stdout:write "bad"'
	top file <<<'dofile "evil.lua"'
	top loaded <<<'loadfile("evil.lua")()'
	top library <<<'package.loadlib("evil.so", "*")'
	top debugs <<<'debug.setmetatable("", {})'
	top inside <<<'coroutine.wrap(function() os.execute "touch bad" end)()'
	top module <<<'require "effect"'
	top loop <<<'while true do pcall(function() while true do end end) end'
	top memory <<<'local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1000000) .. i end'
	top deep <<<'local t = {} for i = 1, 500 do t = { t } end'
	sed -i 's/run = /examples = t, run = /' commands/deep.lua
	echo 'return { description = require("runner.text").name, danger_level = "safe", run = print }' | command_file unknown
	echo 'os.execute "touch bad"' >lib/effect.lua
	echo 'os.execute "touch bad"' >evil.lua
}

UNREADABLE='{"writes": "io.open", "executes": "os.execute", "popen": "io.popen", "exits": "os.exit", "getenv": "os.getenv", "stdout": "io.stdout.write",
	"file": "dofile", "loaded": "loadfile", "library": "package.loadlib", "debugs": "debug.setmetatable", "inside": "os.execute", "module": "os.execute",
	"loop": "too much work", "memory": "not enough memory", "deep": "nested too deeply", "unknown": "module of runner"}'

contents() {
	find . -type f -not -name '*.txt' -not -path './home/*' -print0 | LC_ALL=C sort -z | xargs -0 cksum
}

# Nothing was run, and nothing was written: in the whole tree of the home directory, and in the project.
assert_untouched() {
	[ ! -e bad ]
	[ -z "$(find home -mindepth 1)" ]
	[ "$(contents)" = "$before" ]
}

keep_state() {
	rm -f ./*.txt
	before=$(contents)
}

# Each prints what a door says of all commands.
DOORS=("" "help" "--help" "help --search says" "--format plain" "--format tsv" "--help --format json" "manifest" "--schema" "mcp tools" "doctor" "status" "lint"
	"check-permissions" "completion bash --" "completion zsh -- w" "completion bash -- writes --" "--show-config" "--version" "cleanup --dry-run"
	"workflow list" "job list" "executor list" "audit list" "library list" "changelog" "generate-skills --dry-run" "nosuch" "wri")

@test "no door runs a file of a project that is not known, nor writes anything" {
	readable
	unreadable
	local door
	keep_state
	for door in "${DOORS[@]}"; do
		echo "door: $door"
		# shellcheck disable=SC2086
		call $door
		assert_untouched
	done
}

@test "no flag that describes a call runs the file of the command, nor writes anything" {
	readable
	unreadable
	local flag name
	keep_state
	for flag in --help -h --schema --output-schema --show-config --plan --version "--plan --nosuch" "--target x --help" "--format json --help"; do
		for name in plain values writes module loop; do
			echo "door: $name $flag"
			# shellcheck disable=SC2086
			call $name $flag
			assert_envelope || [ "$flag" = --version ]
			assert_untouched
			# shellcheck disable=SC2086
			call help $name
			[ "$status" -eq 0 ]
			assert_untouched
		done
	done
	call writes --help --format plain
	[ "$status" -eq 0 ]
	[[ $stdout == *"it calls io.open while it loads"*RUNNER_TRUST* ]]
	call writes --schema
	expect 'e["error"]["code"] == "PRECONDITION" and "io.open" in e["error"]["message"] and "RUNNER_TRUST" in e["error"]["fix_required"]'
	call plain --help --format plain
	[[ $stdout == *"Says plain"* ]]
	call values --schema
	expect '"enum_values" not in e.data["parameters"]["to"] and [w["code"] for w in e["warnings"]] == ["VALUES_UNREAD"]'
}

@test "each description that can be read is there, and the others are named with the reason" {
	readable
	unreadable
	local said="all('Says ' + n in text for n in $READABLE)" why="all(k in why and part in why[k] for k, part in $UNREADABLE.items())"
	for door in "" "help --search says"; do
		# shellcheck disable=SC2086
		call $door
		python3 - "$door" <<-PY
			import json
			data = json.load(open("out.txt"))["data"]
			text, why = json.dumps(data), data["unread"]
			assert "$door" or $said, text
			assert $why, why
		PY
	done
	for door in manifest --schema "mcp tools" "check-permissions" "generate-skills --dry-run"; do
		# shellcheck disable=SC2086
		call $door
		python3 - "$door" <<-PY
			import json, re
			e = json.load(open("out.txt"))
			names = set(re.sub(r'[][",]', " ", json.dumps(e["data"])).split())
			assert all(n in names for n in $READABLE), names
			why = {w["context"]["command"]: w["message"] for w in e["warnings"] if w["code"] == "COMMAND_UNREAD"}
			assert $why, why
			assert all(w.startswith("'%s' is left out: it is not read, since " % n.replace(".", " ")) for n, w in why.items()), why
		PY
	done
}

@test "every door reads the commands that ship" {
	mkdir docs
	cp -r "$ROOT/commands" .
	cp -r "$ROOT/docs/demo" docs/
	cd docs/demo
	local door
	for door in "" "help --search live" "help deploy" "deploy --help" "deploy --schema" "deploy --target prod --plan" "releases --target prod --plan" \
		"rollback --target prod --plan" lint doctor status manifest --schema "mcp tools" check-permissions; do
		echo "door: $door"
		# shellcheck disable=SC2086
		call $door
		[ "$status" -eq 0 ]
		[[ $stdout != *'"unread":'* ]]
		expect 'not {w["code"] for w in e["warnings"]} & {"COMMAND_UNREAD", "COMMAND_INVALID"}'
		[ -z "$(find ../../home -mindepth 1)" ]
	done
	call
	expect 'all(e.data["commands"][n] for n in ("deploy", "releases", "rollback"))'
}

# Each asks what nobody knows. Without the end of the reading it would say "0 templates", {} or "small".
ASKING=('local n = #found' 'local n = 0 for _ in pairs(found) do n = n + 1 end' 'local n = 0 for _ in ipairs(found) do n = n + 1 end'
	'local n = found[1] and "some" or "none"' 'local n = next(found) and "some" or "none"' 'local n = found < 3 and "small" or "large"'
	'local n = found <= "x" and "small" or "large"' 'local n = found == {} and "none" or "some"' 'local n = table.concat(found, ", ")'
	'local n = table.unpack(found)' 'local n = require("counted").of(found)')

@test "no answer of a stub is shown as a fact, also where the file catches the error" {
	echo 'return { of = function(t) return #t end }' >lib/counted.lua
	local i=0 from ask asking
	for asking in "${ASKING[@]}"; do
		for from in 'require("fs").glob "*"' 'require("json").decode "{}"' 'require("runner.fs").read "x".lines'; do
			ask="local found = $from $asking"
			i=$((i + 1))
			echo "$ask return { description = 'Says ' .. n, danger_level = 'safe', run = print }" | command_file "plain$i"
			echo "local n = 0 pcall(function() $ask end) return { description = 'Says none', danger_level = 'safe', run = print }" | command_file "caught$i"
		done
	done
	keep_state
	call manifest
	expect "len([w for w in e['warnings'] if 'depends on what a module gives' in w['message']]) == $((2 * i))"
	expect 'not any(name.startswith(("plain", "caught")) for name in e.data["commands"])'
	call status
	expect 'e.data["commands"]["broken"] == []'
	assert_untouched
}

@test "what loops where no instruction is counted is ended, and the files after it are read" {
	top pattern <<<'("a"):rep(40):find(("a-"):rep(40) .. "b")'
	top moved <<<'table.move({}, 1, math.maxinteger - 1, 2)'
	top finalizer <<<'setmetatable({}, { __gc = function() while true do end end })'
	top repeated <<<'(""):rep(math.maxinteger)'
	top zz <<<''
	keep_state
	call
	[ "$status" -eq 0 ]
	expect 'e.data["commands"]["zz"] == "Says zz" and sorted(e.data["unread"]) == ["finalizer", "moved", "pattern", "repeated"]'
	expect 'all("too much work" in why for why in e.data["unread"].values())'
	assert_untouched
	assert_no_process_left
}

@test "many files that use up their time are not waited for, and no other is passed over in silence" {
	local i
	for i in {10..29}; do
		top "f$i" <<<'("a"):rep(40):find(("a-"):rep(40) .. "b")'
	done
	top zz <<<''
	call --timeout 5m
	expect 'len(e.data["unread"]) == 21 and "other files" in e.data["unread"]["zz"]'
}

@test "nothing says none where it does not know" {
	top plain <<<''
	top writes <<<'io.open("bad", "w"):write "x"'
	call help --search certificate
	expect '"matches" not in e.data and list(e.data["unread"]) == ["writes"]'
	[[ $(call help --search certificate --format plain && cat out.txt) != *"No command fits"* ]]
	call help --search plain
	expect 'e.data["matches"] == 1 and list(e.data["unread"]) == ["writes"]'
	call doctor
	expect 'e["error"]["code"] == "DOCTOR_CHECKS_FAILED" and [c["fix"] for c in e["data"]["checks"] if c["name"] == "command writes"][0].endswith("RUNNER_TRUST=" + e["meta"]["cwd"])'
	call status
	expect 'e.data["commands"] == {"count": 2, "broken": [], "unread": ["writes"]}'
	call lint
	expect '[p["file"] for p in e["data"]["problems"]] == ["commands/writes.lua"] and "RUNNER_TRUST" in e["error"]["fix_required"]'
}

@test "--plan says which values it could not judge, and a call judges them" {
	echo 'return { description = "x", danger_level = "safe", args = { { "to", "enum", values = function() return { "a", "b" } end }, { "n", "integer" } }, run = function() return {} end }' |
		command_file go
	keep_state
	local given
	for given in --to=zzz --to=a '--raw-payload={"to":"zzz"}'; do
		call go "$given" --plan
		[ "$status" -eq 0 ]
		expect '[w["code"] for w in e["warnings"]] == ["VALUES_UNREAD"] and "\x27to\x27" in e["warnings"][0]["message"]'
		assert_untouched
	done
	call go --n 1 --plan
	expect 'e["warnings"] == []'
	call go --to zzz
	expect 'e["error"]["code"] == "VALIDATION_ERROR" and e["warnings"] == []'
	call go --to zzz --plan
	expect '"no command of this project has run for you" in e["warnings"][0]["message"]'
	call go --to a
	expect 'e["warnings"] == []'
	call go --to zzz --plan
	expect 'e["error"]["code"] == "VALIDATION_ERROR"'
}

@test "lint says that functions of arguments were not called where there are some" {
	call new hello
	call lint --warnings-as-errors
	[ "$status" -eq 0 ]
	expect 'e["warnings"] == []'
	local row
	for row in 'default = function() return "x" end' 'values = function() return { "x" } end'; do
		echo "return { description = 'Says it', danger_level = 'safe', args = { { 'to', '$([[ $row == values* ]] && echo enum || echo string)', $row } }, run = print }" |
			command_file asks
		call lint
		expect '[w["code"] for w in e["warnings"]] == ["PROJECT_UNREAD"]'
	done
}

@test "runner.lua is read in the same way: its name, aliases and folder of commands hold, its functions don't" {
	mkdir -p tools bin
	echo 'return { name = "shop", version = "3.1.0", description = "Sells things", commands = "tools", aliases = { d = "deploy" },
		before = function() os.execute "touch bad" end, scopes = function() os.execute "touch bad" end, dotenv = true }' >runner.lua
	echo 'BAD=1' >.env
	echo 'return { description = "Says deploy", danger_level = "safe", run = function() return { env = os.getenv "BAD" } end }' >tools/deploy.lua
	ln -s "$RUNNER" bin/shop
	keep_state
	local door
	call check-permissions # which it would have to ask
	[ "$status" -eq 4 ]
	assert_untouched
	for door in "" --help manifest doctor status "d --help" "deploy --schema" "mcp tools" "completion bash -- d"; do
		# shellcheck disable=SC2086
		call $door
		[ "$status" -eq 0 ]
		assert_untouched
	done
	call
	expect 'e.data["commands"] == {"deploy": "Says deploy"} and e.data["aliases"] == {"d": "deploy"}'
	run env -i "${CLEAN_ENV[@]}" "$PWD/bin/shop" --version
	[ "$output" = "shop 3.1.0" ]
	call d
	expect 'e.data == {"env": "1"}'
	[ -e bad ]
}

@test "a runner.lua that can't be read so is named, and runs for no word that it alone may know" {
	mkdir tools
	echo 'os.execute "touch bad" return { commands = "tools", aliases = { d = "deploy" } }' >runner.lua
	echo 'return { description = "Says deploy", danger_level = "safe", run = function() return {} end }' >tools/deploy.lua
	top plain <<<''
	keep_state
	call
	expect '"os.execute" in e.data["problem"] and "invalid" not in e.data["problem"]'
	call manifest
	expect 'e["warnings"][0]["code"] == "PROJECT_UNREAD" and "os.execute" in e["warnings"][0]["message"]'
	local words
	for words in lnt deploy "deploy --x 1" "d --plan" "d --schema" "lnt --plan" "plain --plan" "lnt lint" "deploy --help" "help deploy" "help d"; do
		echo "words: $words"
		# shellcheck disable=SC2086
		call $words
		[ "$status" -eq 4 ]
		expect 'e["error"]["code"] == "PRECONDITION" and "runner.lua" in e["error"]["message"] and "RUNNER_TRUST=" in e["error"]["fix_required"]'
		assert_untouched
	done
	CLEAN_ENV+=(RUNNER_TRUST="$PWD")
	call deploy
	[ "$status" -eq 0 ]
	CLEAN_ENV=("${CLEAN_ENV[@]/RUNNER_TRUST=*/X=}")
	call d
	[ "$status" -eq 0 ]
	call
	expect 'e.data["commands"] == {"deploy": "Says deploy"} and "problem" not in e.data'
}

@test "the alias of a command is found without running the others, and then that one runs" {
	top writes <<<'io.open("bad", "w"):write "x"'
	echo 'return { description = "x", danger_level = "safe", aliases = { "go" }, run = function() return { went = true } end }' | command_file deploy
	call go
	expect 'e.data == {"went": True}'
	[ ! -e bad ]
}

@test "an argument of the command that is called as such a flag makes the call no less one" {
	echo 'return { description = "x", danger_level = "safe", args = { { "plan", "string" } }, run = function(args) return { plan = args.plan } end }' |
		command_file draw
	call draw --plan a
	expect 'e.data == {"plan": "a"}'
	[ -n "$(find home/state/runner/projects -type f)" ]
}

# Where a file runs as it is loaded, it leaves a line.
@test "once a command has been called every door runs the files, and still none writes but status and lint" {
	top loud <<<'io.open("loaded", "a"):write "x"'
	top other <<<''
	call other
	[ -n "$(find home/state/runner/projects -type f)" ]
	local door kept
	kept=$(find home | LC_ALL=C sort)
	for door in "" help --help "help --search says" "help loud" "loud --help" "loud --schema" "loud --output-schema" "loud --plan" manifest --schema "mcp tools" doctor \
		check-permissions "completion bash -- lou" "completion bash -- loud --" "loud --show-config"; do
		rm -f loaded
		# shellcheck disable=SC2086
		call $door
		[ "$status" -eq 0 ]
		[ -e loaded ] || { echo "not loaded: $door"; false; }
		[ "$(find home | LC_ALL=C sort)" = "$kept" ]
	done
	for door in --version "loud --version" --show-config "completion bash"; do
		# shellcheck disable=SC2086
		call $door
		[ "$(find home | LC_ALL=C sort)" = "$kept" ]
	done
}

@test "a server that somebody starts there runs the files, and a list of its tools does not" {
	top loud <<<'io.open("loaded", "a"):write "x"'
	keep_state
	call mcp tools
	[ ! -e loaded ]
	# shellcheck disable=SC2094 # stdin ends after the answer
	{
		printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}' \
			'{"jsonrpc":"2.0","method":"notifications/initialized"}' '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
		until_true grep -q '"id":2' served.txt
	} | env -i "${CLEAN_ENV[@]}" "$RUNNER" mcp serve >served.txt
	grep -q '"Says loud"' served.txt
	[ -e loaded ]
}
