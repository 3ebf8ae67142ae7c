#!/usr/bin/env bats
# aliases and dotenv of runner.lua, and ctx.env.

load lib/helper

show() {
	command_file show <<-'LUA'
		return { description = "x", danger_level = "safe",
			args = { { "word", "string", default = "none", env = "WORD" }, { "n", "integer", default = 0 } },
			run = function(args, ctx)
				return { word = args.word, n = args.n, seen = ctx:run { "sh", "-c", "printf %s \"$WORD\"" }.stdout, a = ctx.env.A, path = ctx.env.PATH }
			end }
	LUA
}

@test "an alias stands for its words, with more behind them and flags in front" {
	show
	echo 'return { aliases = { s = "show --word x", t = { "show", "--word", "a b" }, help2 = "help" } }' >runner.lua
	call s --n 3
	expect 'e.ok and e.data["word"] == "x" and e.data["n"] == 3 and e.meta.command == "show"'
	call --format json t
	expect 'e.data["word"] == "a b"'
	call s --help --format plain
	[[ $stdout == *"runner show"* ]]
	call --quiet s --word y
	expect 'e.error.code == "VALIDATION_ERROR" and "given twice" in e.error.message'
}

@test "a command and a group go before an alias, and an alias can't name another" {
	show
	mkdir -p commands/db
	body db/up <<<'return { up = true }'
	echo 'return { aliases = { show = "status", db = "show", status = "show", a = "b", b = "show", dbs = "db up" } }' >runner.lua
	call show
	expect 'e.data["word"] == "none"'
	call db
	[[ $stdout == *up* ]]
	call status
	expect 'e.meta.command == "status"'
	call a
	expect 'not e.ok and "b" in e.error.message'
	call dbs
	expect 'e.data == {"up": True}'
}

@test "an alias can't confirm what a destructive command does" {
	body wipe 'danger_level = "destructive", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },' <<<'io.open("wiped", "w"):close() return { effect = "deleted" }'
	for words in '"wipe --confirm-destructive"' '{ "wipe", "--confirm-destructive=true" }' '"wipe --yes"' '"wipe --live"'; do
		echo "return { aliases = { w = $words } }" >runner.lua
		call w
		expect 'e.error.code == "COMMAND_INVALID" and "confirmation" in e.error.message'
	done
	echo 'return { aliases = { w = "wipe" } }' >runner.lua
	call w
	expect 'e.error.code == "CONFIRMATION_REQUIRED"'
	[ ! -e wiped ]
	call w --confirm-destructive
	[ -e wiped ]
}

@test "ctx:call goes through an alias with its arguments" {
	show
	echo 'return { aliases = { s = "show --n 7" } }' >runner.lua
	body outer <<<'return ctx:call("s", { word = "handed" })'
	call outer
	expect 'e.data["word"] == "handed" and e.data["n"] == 7'
}

# aliased: `show` is `sh` and `look` by itself, and `s` in runner.lua
aliased() {
	show
	sed -i 's/danger_level = "safe",/danger_level = "safe", aliases = { "look", "sh" },/' commands/show.lua
	echo 'return { aliases = { s = "show --word x", plain = "show" } }' >runner.lua
}

@test "a command's own aliases are its names, in a first call too" {
	aliased
	call look --n 3
	expect 'e.ok and e.data["n"] == 3 and e.meta.command == "show"'
	call --format json sh --word y
	expect 'e.data["word"] == "y"'
	mkdir -p commands/db
	body db/up 'aliases = { "up" }, hidden = true,' <<<'return { up = true }'
	call --quiet up
	expect 'not e.ok' # a hidden command has none
	body db/up 'aliases = { "up" },' <<<'return { up = true }'
	call up
	expect 'e.data == {"up": True} and e.meta.command == "db.up"'
	body broken 'this is not Lua' <<<'return {}'
	call up
	expect 'e.ok'
	local wrong
	for wrong in '"x"' '{}' '{ "a b" }' '{ 7 }' '{ "-x" }' '{ a = "b" }'; do
		body bad "aliases = $wrong," <<<'return {}'
		call bad
		expect 'e.error.code == "COMMAND_INVALID" and "aliases" in e.error.message'
	done
}

@test "a name that two files give is refused with both, and lint finds each that never holds" {
	aliased
	call lint
	expect 'e.ok'
	body other 'aliases = { "look", "plain", "show", "status" },' <<<'return {}'
	call look
	expect 'e.error.code == "COMMAND_INVALID" and "other.lua" in e.error.message and "show.lua" in e.error.message'
	call plain
	expect 'e.error.code == "COMMAND_INVALID" and "other.lua" in e.error.message and "runner.lua" in e.error.message'
	call show
	expect 'e.meta.command == "show"'
	call lint
	expect 'sorted(p["message"].split("'"'"'")[1] for p in e.data["problems"]) == ["look", "plain", "show", "status"]'
	expect 'all("other.lua" in p["message"] + e.error.message for p in e.data["problems"])'
}

@test "lists, help, completion and the manifest have the aliases" {
	aliased
	call show
	call --help
	expect 'e.data["aliases"] == {"look": "show", "plain": "show", "s": "show --word x", "sh": "show"}'
	call help show --format plain
	[[ $stdout == *Aliases:*"look, sh"* ]]
	call help look --format plain
	[[ $stdout == *"runner show"* ]]
	call completion bash -- ""
	[[ $stdout == *look*plain*sh* ]]
	call completion fish -- lo
	[[ $stdout == *look* ]]
	call completion zsh -- look --w
	[[ $stdout == *--word* ]]
	call completion zsh -- s --w
	[[ $stdout == *--word* ]]
	call manifest
	expect 'e.data["commands"]["show"]["aliases"] == ["look", "sh", "plain"]'
	call help nothing --format plain
	expect 'not e.ok'
}

@test "a command's alias confirms nothing and weakens no danger level" {
	body wipe 'danger_level = "destructive", aliases = { "w" }, exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },' <<<'io.open("wiped", "w"):close() return { effect = "deleted" }'
	call w
	expect 'e.error.code == "CONFIRMATION_REQUIRED" and e.meta.command == "wipe"'
	[ ! -e wiped ]
	echo '{"max_danger":"safe"}' >policy.json
	call --policy policy.json w --confirm-destructive
	expect 'not e.ok'
	[ ! -e wiped ]
	call w --confirm-destructive
	[ -e wiped ]
}

@test "a policy sees the command, not its alias" {
	show
	echo 'return { aliases = { s = "show" } }' >runner.lua
	echo '{"deny":["show"]}' >policy.json
	call --policy policy.json s
	expect 'e.error.code in ("POLICY_DENIED", "POLICY_INVALID")'
}

@test "dotenv sets what nobody has set, for arguments, scripts and programs" {
	show
	printf 'WORD="from file"\nA=1\n' >.env
	printf 'A=2\n' >.env.local
	echo 'return { dotenv = true }' >runner.lua
	call show
	expect 'e.data["word"] == "from file" == e.data["seen"] and e.data["a"] == "1"'
	call WORD=mine show
	expect 'e.data["word"] == "mine" == e.data["seen"]'
	echo 'return { dotenv = { ".env", ".env.local", "missing.env" } }' >runner.lua
	mkdir -p below
	call --cwd below show
	expect 'e.data["a"] == "2"'
	echo 'return { dotenv = ".env", contexts = { prod = { dotenv = ".env.local" } } }' >runner.lua
	call --context prod show
	expect 'e.data["a"] == "2" and e.data["word"] == "from file"'
}

@test "dotenv never sets what decides what is run, and says so" {
	show
	printf 'PATH=/evil\nLD_PRELOAD=/evil.so\nLUA_PATH=x\nRUNNER_TRUST=/\nA=1\nPATHS=fine\n' >.env
	echo 'return { dotenv = true }' >runner.lua
	call show
	expect 'e.ok and e.data["path"] != "/evil" and e.data["a"] == "1"'
	expect '[w.context["variable"] for w in e.warnings] == ["LD_PRELOAD", "LUA_PATH", "PATH", "RUNNER_TRUST"]'
	expect 'sorted(w["context"]["variable"] for w in e.warnings) == ["LD_PRELOAD", "LUA_PATH", "PATH", "RUNNER_TRUST"]'
}

@test "a dotenv file that is wrong or not trusted stops the project's commands, without its text" {
	show
	printf 'A=1\nsecret stuff\n' >.env
	echo 'return { dotenv = true }' >runner.lua
	call show
	expect 'e.error.code == "PRECONDITION" and ".env:2" in e.error.message and "stuff" not in e.error.message'
	printf 'A=1\n' >.env
	chmod 666 .env
	call show
	expect 'e.error.code == "PRECONDITION" and "world-writable" in e.error.message'
	echo 'return { dotenv = 7 }' >runner.lua
	call show
	expect 'e.error.code == "COMMAND_INVALID" and "dotenv" in e.error.message'
	echo 'return { aliases = { a = "--x" } }' >runner.lua
	call show
	expect 'e.error.code == "COMMAND_INVALID" and "aliases" in e.error.message'
}

@test "ctx.env has types, defaults, and errors without the value" {
	body typed <<-'LUA'
		local env = ctx.env
		local function why(kind, name)
			local ok, e = pcall(env[kind], env, name)
			return not ok and e.code .. ": " .. e.message
		end
		return { env:integer "I", env:number "N", env:boolean "B", env:duration "D", env:list "L", env:string "S", env:integer("NONE", 5), env.S,
			env.NONE == nil, env:string "EMPTY", env:integer("EMPTY", 1), why("integer", "S"), why("boolean", "S"), why("number", "NONE"),
			tostring(select(2, pcall(function() env.X = 1 end))) }
	LUA
	call I=-7 N=1.5 B=Yes D=90s L='a, b,,c' S=sekrit EMPTY= typed
	expect 'e.data[:11] == [-7, 1.5, True, 90.0, ["a", "b", "c"], "sekrit", 5, "sekrit", True, "", 1]'
	expect 'e.data[11] == "PRECONDITION: The variable S is not a whole number" and "sekrit" not in "".join(e.data[11:])'
	expect '"NONE is not set" in e.data[13] and "set here" in e.data[14]'
}
