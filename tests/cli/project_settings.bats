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
	call s --help
	[[ $stdout$stderr == *"runner show"* ]]
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
