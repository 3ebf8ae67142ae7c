#!/usr/bin/env bats
# Runner's own flags beside a command's arguments, flags that a declaration switches on, and
# built-in commands beside a project's.

load lib/helper

prepare() {
	command_file resize <<'LUA'
return { description = "Resize", danger_level = "safe",
	args = { { "picture", "path", positional = true }, { "format", "enum", values = { "png", "webp" }, default = "png" },
		{ "version", "string" }, { "output", "string" }, { "limit", "integer" }, { "proxy", "string" } },
	run = function(args) return args end }
LUA
	command_file fetch <<'LUA'
return { description = "Fetch", danger_level = "safe", has_network_io = true, args = { { "url", "string" } },
	run = function(args, ctx)
		if args.url then return ctx:http{ url = args.url, retry = { retries = 0 } }.status end
		return { child = ctx:run{ "env" }.stdout }
	end }
LUA
}

@test "everyday names are the author's: format, version, output, limit, proxy" {
	answers 0 resize cat.png --format webp --version 2 --output o.png --limit 3 --proxy p
	expect 'e.data == {"picture": "cat.png", "format": "webp", "version": "2", "output": "o.png", "limit": 3, "proxy": "p"}'
	[ ! -e o.png ]
}

@test "in front of the command's name, and as --runner-NAME, a flag is runner's own" {
	call --format plain resize cat.png --format webp
	[ "$status" -eq 0 ]
	[ "$stdout" = $'webp\tcat.png' ]
	call resize cat.png --runner-format=plain --format webp
	[ "$stdout" = $'webp\tcat.png' ]
	call resize --runner-version
	[ "$stdout" = "$(call --version; echo "$stdout")" ]
	call resize cat.png --runner-output there.txt --runner-format plain
	[ "$(<there.txt)" = $'png\tcat.png' ]
}

@test "REQ-F-067 options may stand anywhere, -- ends them, and two values of one are a conflict" {
	body three 'args = { { "name", "string", positional = true }, { "rest", "string", positional = true }, { "size", "integer" } },' <<<'return args'
	local place
	for place in "--size 3 a b" "a --size 3 b" "a b --size=3" "a b --size 3 --size 3"; do
		# shellcheck disable=SC2086
		answers 0 three $place
		expect 'e.data == { "name": "a", "rest": "b", "size": 3 }'
	done
	answers 0 three --size 3 a -- --size
	expect 'e.data == { "name": "a", "rest": "--size", "size": 3 }'
	answers 2 three a --size 3 b --size 4
	expect '[(p.field, p.code) for p in e.error.errors] == [("size", "CONFLICTING_VALUES")]'
}

@test "REQ-F-067 a flag that a declaration switches on may stand anywhere" {
	local place
	for place in "--proxy http://127.0.0.1:9 fetch" "fetch --proxy http://127.0.0.1:9" "fetch --proxy=http://127.0.0.1:9"; do
		# shellcheck disable=SC2086
		answers 0 $place
		expect '"https_proxy=http://127.0.0.1:9\n" in e.data.child'
	done
}

@test "REQ-C-012 has_network_io adds --connect-timeout, which ctx:http follows" {
	# a full queue: the kernel drops further connections, so that they hang
	python3 -c 'import socket, time
s = socket.socket(); s.bind(("127.0.0.1", 0)); s.listen(0)
full = [socket.socket() for _ in range(4)]
for c in full:
    c.setblocking(False); c.connect_ex(s.getsockname())
print(s.getsockname()[1], flush=True); time.sleep(60)' >port.txt &
	local server=$!
	until_true test -s port.txt
	call fetch --connect-timeout 150ms --timeout 20s --url "http://127.0.0.1:$(<port.txt)/"
	kill "$server"
	assert_envelope
	expect '"150ms" in e.error.message'
	answers 2 resize --connect-timeout 1s
	expect 'e.error.errors[0].code == "UNKNOWN_FLAG"'
}

@test "REQ-O-019 --proxy and --no-proxy overrule the environment, for children too" {
	answers 0 http_proxy=http://from.env:1 NO_PROXY=x fetch --proxy http://p:2
	expect '"http_proxy=http://p:2\n" in e.data.child and "HTTPS_PROXY=http://p:2\n" in e.data.child'
	expect '"NO_PROXY" not in e.data.child'
	answers 0 http_proxy=http://from.env:1 fetch --no-proxy
	expect '"_proxy=" not in e.data.child'
	answers 0 http_proxy=http://from.env:1 fetch
	expect '"http_proxy=http://from.env:1\n" in e.data.child'
}

@test "help and completion show a conditional flag where it holds, and how to reach a hidden one" {
	call fetch --help --format plain
	grep -q -- '--connect-timeout <duration>' out.txt
	call --format plain resize --help
	[ -z "$(grep -- '--connect-timeout' out.txt || true)" ]
	grep -q -- '--runner-format' out.txt
	call completion bash --format plain -- fetch --con
	[ "$(cut -f1 <<<"$stdout")" = --connect-timeout ]
	call completion bash --format plain -- resize --con
	[ -z "$stdout" ]
}

@test "self reaches a built-in command, and only that" {
	answers 0 self lint
	expect 'e.meta.command == "lint"'
	echo 'return { description = "x", danger_level = "safe", run = function() return {} end }' >commands/self.lua
	answers 4 self lint
	expect '"never run" in e.data.problems[0].message'
	answers 2 self deploy
	expect 'e.error.code == "COMMAND_NOT_FOUND" and "self lint" in e.error.suggestion'
}

@test "a broken runner.lua stops the project's commands, not those of runner itself" {
	echo 'return { tiemout = 1 }' >runner.lua
	answers 4 resize cat.png
	answers 4 self lint
	expect 'e.meta.command == "lint" and e.data.problems'
}

@test "--version --verbose has the version of each library, or that it is not here" {
	call --version --verbose --format json
	assert_envelope
	expect '{"Lua", "libcurl", "SQLite"} <= {row["name"] for row in e.data.libraries}'
	expect 'all(("version" in row) != ("missing" in row) for row in e.data.libraries)'
	expect '"version" in e.data.libraries[0]'
}
