#!/usr/bin/env bats
# Values that a command keeps between runs: ctx:cached, and the flags that it gives a command.

load lib/helper

# cached KEYS <<<'body of make': a command that counts how often it makes its value in `made`
cached() {
	body fetch "filesystem_side_effects = { { path = 'out', type = 'output' }, { path = './c/x', type = 'cache'$1 } }, $2" <<LUA
local v = ctx:cached("a/b", function()
	local f = assert(io.open("made", "a")) f:write("x") f:close()
	$(cat)
end)
return { v = v }
LUA
}

made() { [ "$(stat -c %s made)" -eq "$1" ]; }

@test "REQ-O-018 ctx:cached keeps a value for the next run, and meta.cache_used says so" {
	cached '' <<<'return { list = require("runner.json").array{}, n = 1 }'
	umask 000
	answers 0 fetch
	expect 'e.data == {"v": {"list": [], "n": 1}} and "cache_used" not in e.meta'
	[ "$(stat -c %a c c/x c/x/*)" = $'700\n700\n600' ]
	answers 0 fetch
	expect 'e.data == {"v": {"list": [], "n": 1}} and e.meta["cache_used"] is True'
	answers 0 fetch --stable-output
	expect '"cache_used" not in e.meta'
	made 1
	answers 0 cleanup --scope cache
	answers 0 fetch
	made 2
}

@test "REQ-O-018 with --no-cache, or --cache-ttl 0, nothing is read and nothing kept" {
	cached '' <<<'return "v"'
	local flag
	for flag in --no-cache --cache-ttl=0 --cache-ttl=900ms; do
		answers 0 fetch "$flag"
		expect 'e.data == {"v": "v"} and e.meta["cache_used"] is False'
		[ ! -e c ]
	done
	made 3
	answers 0 fetch
	for flag in --no-cache --cache-ttl=0; do
		answers 0 fetch "$flag"
		expect 'e.meta["cache_used"] is False'
	done
	made 6
	answers 0 fetch
	made 6
}

@test "REQ-O-018 a value older than --cache-ttl, or than ttl_seconds, is made anew; one from the future too" {
	cached ', ttl_seconds = 600' <<<'return "v"'
	answers 0 fetch
	sed -i -E "s/(\"saved\":)[0-9]+/\1$(($(date +%s) - 300))/" c/x/*
	answers 0 fetch
	made 1
	answers 0 fetch --cache-ttl 299s
	made 2
	local age
	for age in 601 -500; do
		sed -i -E "s/(\"saved\":)[0-9]+/\1$(($(date +%s) - age))/" c/x/*
		answers 0 fetch
		expect '"cache_used" not in e.meta'
	done
	made 4
	sed -i -E "s/(\"saved\":)[0-9]+/\1$(($(date +%s) - 601))/" c/x/*
	answers 0 fetch --cache-ttl 1h
	made 4
}

@test "REQ-O-018 only a command that declares a cache has the flags, and its own argument goes before them" {
	body fetch 'filesystem_side_effects = { { path = "c", type = "log" } },' <<<'return ctx:cached("k", function() return {} end)'
	answers 2 fetch --no-cache
	answers 2 fetch --cache-ttl 5s
	call fetch
	[ "$status" -eq 1 ]
	expect '"declares no cache" in e.error["message"]'
	call fetch --help --format plain
	[[ $stdout != *--no-cache* ]]
	cached '' 'args = { { "cache", "boolean" } },' <<<'return args.cache'
	answers 0 fetch --no-cache
	expect 'e.data == {"v": False} and "cache_used" not in e.meta'
	call fetch --help --format plain
	[[ $stdout == *"--cache-ttl <duration>"* ]]
}

@test "REQ-O-018 a damaged value is made anew, an error is not kept, and a full or read-only place is a warning" {
	cached '' <<<'return "v"'
	answers 0 fetch
	local damage
	for damage in '' '{' '[]' '{"saved":"x","value":"1"}' '{"saved":1}' $'\xff'; do
		printf %s "$damage" >"$(echo c/x/*)"
		answers 0 fetch
		expect 'e.data == {"v": "v"} and "cache_used" not in e.meta and e.warnings == []'
	done
	made 7
	rm -r c
	: >c
	answers 0 fetch
	expect 'e.data == {"v": "v"} and [w["code"] for w in e.warnings] == ["CACHE_NOT_WRITTEN"]'
	rm c
	cached '' <<<'ctx:fail("NOT_FOUND", "gone")'
	call fetch
	expect 'e.error["code"] == "NOT_FOUND"'
	cached '' <<<'return nil'
	answers 0 fetch
	[ ! -e c ]
	cached '' <<<'return print'
	call fetch
	[ "$status" -eq 1 ]
	[ ! -e c ]
}

@test "REQ-O-018 a dry run keeps nothing" {
	command_file fetch <<'LUA'
return { description = "x", danger_level = "mutating", dry_run = true, filesystem_side_effects = { { path = "c", type = "cache" } },
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function(_, ctx) return { v = ctx:cached("k", function() return 1 end), effect = "noop" } end }
LUA
	answers 0 fetch --dry-run
	[ ! -e c ]
	answers 0 fetch
	[ -e c/k.json ]
}
