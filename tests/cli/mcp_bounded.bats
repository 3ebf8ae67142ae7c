#!/usr/bin/env bats
# A message of MCP has a budget, and what is not in it is a resource (lua/mcp/bounded.lua).

load lib/helper
load lib/mcp

prepare() {
	export RUNNER
	body text '' <<<'return { text = ("é\""):rep(700000) }'
	body rows 'output_schema = { type = "object", properties = { rows = { type = "array" } } },' <<-'LUA'
		local rows = {}
		for i = 1, 20000 do rows[i] = { id = i } end
		return { rows = rows }
	LUA
	body strict 'output_schema = { type = "object", properties = { text = { type = "string", pattern = "^x+$" } } },' <<<'return { text = ("x"):rep(90000) }'
	body fails 'exit_codes = { NOT_FOUND = { description = "no" } },' <<<'ctx:fail("NOT_FOUND", "m", { context = { big = ("x"):rep(500000) } })'
	body small '' <<<'return { a = 1 }'
}

parts() {
	python3 "$ROOT/tests/cli/lib/mcp_parts.py" "$@" >parts.txt 2>err.txt
}

@test "no message has more than 32 KiB, and the parts of what had no room make the whole" {
	parts text rows strict fails small
	cat parts.txt
	[ "$(awk '{ print $2, $3 }' parts.txt | tr '\n' ';')" = "None text;None structured;OUTPUT_TOO_LARGE structured;NOT_FOUND text;None structured;" ]
	head -n 4 parts.txt >large.txt
	[ "$(awk '$4 != $5' large.txt)" = "" ]
	[ "$(awk '$5 < 90000' large.txt)" = "" ]
	[ "$(awk 'NR == 1 { print ($1 > 30000) }' parts.txt)" = 1 ]
}

@test "whoever starts the server says how much, and a name of 100 KB isn't sent back" {
	SERVE="--max-bytes 8192" MOST=8192 parts text rows
	[ "$(awk '$4 != $5' parts.txt)" = "" ]
	RUNNER_MAX_OUTPUT_BYTES=200000 MOST=200000 parts strict small
	[ "$(awk '{ print $2, $3, $4 }' parts.txt | tr '\n' ';')" = "None structured None;None structured None;" ]
	parts "$(printf 'x%.0s' {1..100000})"
	[ "$(awk '{ print ($1 < 1500), $2 }' parts.txt)" = "1 -32602" ]
}

@test "a page that is cut ends at the cut: following what it says loses no item, and an expired rest is refused" {
	body numbers 'list = true, args = { { "n", "integer", default = 1000 } },' <<-'LUA'
		local out = {}
		for i = 1, args.n do out[i] = { id = i, text = ("x"):rep(60) } end
		return out
	LUA
	python3 "$ROOT/tests/cli/lib/mcp_pages.py" '{"limit":500,"n":1000}' '{"limit":0,"n":1000}' '{"limit":0,"n":20000}' >pages.txt
	cat pages.txt
	[ "$(cut -d' ' -f1 pages.txt | tr '\n' ' ')" = "1000 1000 20000 " ]
	[ "$(cut -d' ' -f2 pages.txt | sort -u)" = expires ]
	[ "$(cut -d' ' -f3 pages.txt | sort -u)" = gone ]
}

@test "whatever is asked, in each era and of each method, no message is longer; a task that is polled writes its rest once" {
	export XDG_STATE_HOME=$PWD/state
	CLEAN_ENV+=(XDG_STATE_HOME="$XDG_STATE_HOME" METHODS="$ROOT/lua/mcp/methods.lua")
	body build 'timeout = "5m",' <<<'return { text = ("x"):rep(300000) }'
	body breaks 'timeout = "5m", exit_codes = { NOT_FOUND = { description = "no" } },' 'args = { { "x", "string", default = "" } },' \
		<<<'ctx:fail("NOT_FOUND", ("\1\""):rep(3000), { context = { big = ("x"):rep(90000) } })'
	body talk 'args = { { "name", "string" } },' <<<'ctx:log("info", ("l"):rep(90000)) io.stderr:write(("s"):rep(90000), "\n") return {}'
	command_file wipe <<-'LUA'
		local args = { { "name", "string", required = true } }
		for i = 0, 59 do args[i + 2] = { "more" .. i, "string" } end
		return { description = "Wipe", danger_level = "destructive", dry_run = true, args = args,
			exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } }, run = function() return { effect = "would_run" } end }
	LUA
	session <"$ROOT/tests/cli/lib/mcp_bound.py"
}
