#!/usr/bin/env bats
# What a wrong call over MCP is told: in words of tools and arguments, and with a call that is right (lua/mcp/speech.lua).

load lib/helper

prepare() {
	export RUNNER
	local changes='danger_level = "mutating", exit_codes = { TIMEOUT = { retryable = false, side_effects = "none" } },'
	body silence 'args = { { "id", "integer", positional = true, required = true }, { "duration", "duration" }, { "tags", "array", items = "string" } },' <<<'args.dry = ctx.dry_run return args'
	sed -i "s/danger_level = \"safe\",/$changes dry_run = true,/" commands/silence.lua
	body find 'list = true, args = { { "text", "string", required = true }, { "level", "enum", values = { "debug", "warn" } } },' <<<'return { args }'
	body token 'args = { { "name", "string", required = true }, { "password", "string", secret = true } },' <<<'return { name = args.name }'
	body advice 'args = { { "text", "string" } }, exit_codes = { PRECONDITION = { description = "no" } },' <<<'ctx:fail("PRECONDITION", "no", { fix_command = "runner silence 7 --duration 5m", suggestion = "Pass it, or run git push --all" })'
	body asks 'interactive = true,' <<<'return { ctx:confirm("Really?") }'
	body prompts 'interactive = true, args = { { "user_name", "string" } },' <<<'return { ctx:prompt("Name?", { arg = "user_name" }) }'
	body slow 'timeout = "100ms",' <<<'ctx:sleep(20)'
	body wide 'list = true, truncates = true,' <<<'local out = {} for i = 1, 400 do out[i] = { id = i, text = ("x"):rep(9000) } end return out'
}

fixed() {
	python3 "$ROOT/tests/cli/lib/mcp_fixed.py" "$@" >fixed.txt 2>err.txt || { cat err.txt; false; }
	cat fixed.txt
}

@test "REQ-C-030 a wrong call over MCP has the right one, and nothing that changes something is guessed" {
	fixed <<-'CALLS'
		silence {"id":"7","duration":"2h"}
		silence {"ID":7,"durration":"2h","tags":["a b","--c"]}
		silence {"id":"7","dry_run":true}
		silence {"alert_id":7}
		silence {"id":7,"until":"2h"}
		find {"query":"x","severity":"warning"}
		find {"txt":"x","limt":5}
		token {"nam":"x","password":"hunter22"}
		token {"nam":"sk-abcdefghijklmnopqrstuvwxyz0123456789ABCD"}
		silence {"id":null}
		silence {"id":{"a":[1]}}
		silence {"id":"7","tags":[]}
		silence {"id":"7","duration=1h":"2h"}
	CALLS
	[ "$(sed -n 1p fixed.txt)" = 'VALIDATION_ERROR {"arguments": {"duration": "2h", "id": 7}, "name": "silence"} {"dry": false, "duration": 7200, "id": 7, "tags": []}' ]
	[[ $(sed -n 2p fixed.txt) == *'"tags": ["a b", "--c"]}, "name": "silence"}'* ]]
	[[ $(sed -n 3p fixed.txt) == *'{"dry_run": true, "id": 7}'*'"dry": true'* ]]
	[ "$(sed -n '4,5p;8,13p' fixed.txt | sort -u)" = "VALIDATION_ERROR null None" ]
	[[ $(sed -n 6p fixed.txt) == *'{"level": "warn", "text": "x"}'* ]]
	[[ $(sed -n 7p fixed.txt) == *'{"limit": 5, "text": "x"}'* ]]
	[ "$(grep -c hunter22 fixed.txt)" -eq 0 ]
}

@test "a value over MCP stays under the right name that it was given by, and one of two spellings is no other's" {
	body move 'args = { { "from", "string", positional = true, required = true }, { "to", "string", positional = true, required = true }, { "log", "string", positional = true }, { "mode", "enum", values = { "copy", "link" } }, { "tags", "array", items = "string" } },' <<<'return args'
	body many 'args = { { "first", "string", positional = true, required = true }, { "files", "array", items = "path", variadic = true } },' <<<'return args'
	fixed <<-'CALLS'
		move {"to":"b","log":"l"}|-
		move {"to":"b","log":"l","mode":"Copy"}|-
		move {"from":"a","to":"b","mode":"Copy"}|{"from": "a", "mode": "copy", "to": "b"}
		move {"From":"a","to":"b","log":"l"}|{"from": "a", "log": "l", "to": "b"}
		move {"from":"a","to":"b","tags":["b"],"Tags":["a"]}|-
		many {"first":"a","cache":false}|-
		many {"first":"a","Files":["x"]}|{"files": ["x"], "first": "a"}
		many {"first":"a","Files":["x"],"files":["y"]}|-
	CALLS
}

@test "REQ-C-030 of 44 wrong calls over MCP each has the right one, or rightly none" {
	rm -r commands
	lua5.4 "$ROOT/tests/repair/project.lua" .
	known
	fixed <"$ROOT/tests/repair/mcp.txt"
	[ "$(wc -l <fixed.txt)" -eq 44 ]
	[ "$(grep -c 'null None' fixed.txt)" -eq 2 ]
}

@test "what a wrong call over MCP is told names arguments as the tool has them, its own dry_run, limit and cursor, too" {
	body report 'args = { { "max_items", "integer", max = 9 }, { "how_much", "enum", values = { "all", "few" } }, { "page_size", "json" } }, list = true,' <<<'return {}'
	body plain <<<'return {}'
	fixed --says <<-'CALLS'
		report {"max_items":70}
		report {"how_much":"none"}
		report {"pages":1}
		silence {"id":7,"dry_rum":true}
		plain {"x":1}
	CALLS
	grep -qx "Invalid max_items '70': .*" fixed.txt
	grep -qx "Unknown how_much 'none' | .*" fixed.txt
	grep -qx "Unknown argument 'pages' .* | Arguments are: max_items, how_much, page_size, limit, cursor" fixed.txt
	grep -qx "Unknown argument 'dry_rum' .* | Did you mean 'dry_run'?" fixed.txt
	grep -qx "Unknown argument 'x' .* | This command takes no arguments" fixed.txt
	[ "$(wc -l <fixed.txt)" -eq 5 ]
	run "$RUNNER" report --raw-payload '{"pages":1}' --format json
	[[ $output == *'Arguments are: max_items, how_much, page_size"'* ]]
	run "$RUNNER" report --max-items 70 --format json
	[[ $output == *"Invalid --max-items '70'"* ]]
}

@test "in progressive mode the right call is one of call" {
	fixed --progressive <<<'silence {"id":"7"}'
	[[ $(cat fixed.txt) == *'{"arguments": {"arguments": {"id": 7}, "name": "silence"}, "name": "call"} {"dry": false, "id": 7'* ]]
}

@test "no hint over MCP has a flag or a command line that isn't said to be for a person" {
	fixed <<-'CALLS'
		advice
		asks
		prompts
		slow
		wide
		wide {"cursor":"x"}
		find {}
		job_wait {"id":"x"}
		job_status {"id":"x"}
		job_logs {"id":"x"}
		workflow_show {"id":"x"}
		workflow_wait {"id":"x"}
		workflow_logs {"id":"x"}
	CALLS
	[[ $(sed -n 1p fixed.txt) == 'PRECONDITION {"arguments": {"duration": "5m", "id": 7}, "name": "silence"}'* ]]
	[ "$(awk '{ print $1 }' fixed.txt | tr '\n' ' ')" = "PRECONDITION INPUT_REQUIRED INPUT_REQUIRED TIMEOUT OK INVALID_CURSOR VALIDATION_ERROR NOT_FOUND NOT_FOUND NOT_FOUND NOT_FOUND NOT_FOUND NOT_FOUND " ]
}

@test "a wrong limit, cursor or dry_run over MCP is told by its field beside all else that is wrong, and has no fix" {
	body plain 'list = true, args = { { "who", "string", required = true }, { "validate_only", "boolean" } },' <<<'io.open("ran", "w"):close() return {}'
	fixed --says <<-'CALLS'
		plain {"who":"a","limit":5000000000}
		plain {"limit":"x","cursor":3,"whom":"a"}
		plain {"who":"a","limit":1.5,"validate_only":true}
		silence {"id":"x","dry_run":"yes"}
	CALLS
	diff - fixed.txt <<-'TOLD'
		Invalid limit: expected a whole number from 0 to 1000000000 | Give a whole number from 0 to 1000000000
		Invalid cursor: expected a string | Give a string
		Invalid limit: expected a whole number from 0 to 1000000000 | Give a whole number from 0 to 1000000000
		Unknown argument 'whom' in arguments | Did you mean 'who'?
		Missing argument who, which takes text | who takes text
		Invalid limit: expected a whole number from 0 to 1000000000 | Give a whole number from 0 to 1000000000
		Invalid dry_run: expected true or false | Give true or false
		Invalid id 'x': expected a whole number | Give a whole number
	TOLD
	fixed <<-'CALLS'
		plain {"who":"a","limit":5000000000}|-
		plain {"whom":"a","limit":-1}|-
		silence {"id":"7","dry_run":1}|-
	CALLS
	[ ! -e ran ]
	fixed <<<'plain {"who":"a","limit":2.0}'
	[[ $(cat fixed.txt) == OK* ]]
	[ -e ran ]
}
