#!/usr/bin/env bats
# What a command declares that it needs of its caller (a token, an editor, a window), and what
# it leaves behind (settings, files, processes).

load lib/helper

# declared NAME LEVEL KEYS <<<BODY: a command of that level with these keys.
declared() {
	{
		echo "return { description = 'x', danger_level = '$2', $3"
		echo 'exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },'
		echo 'run = function(args, ctx)'
		cat
		echo 'end }'
	} | command_file "$1"
}

# at_terminal [NAME=value…] COMMAND…: all three streams are a terminal; what it showed is out.txt.
at_terminal() {
	env -i "${CLEAN_ENV[@]}" TERM=xterm script -qec "env $*" /dev/null </dev/null | tr -d '\r' >out.txt
}

# refuses WORDS: the file of `x` is invalid, and the message has them.
refuses() {
	answers 4 x
	expect 'e.error.code == "COMMAND_INVALID"'
	grep -qF -- "$1" out.txt
}

# --- signing in -----------------------------------------------------------------------

sign_in() {
	declared login mutating "auth = true, $1" <<'LUA'
local seen = ctx.token
io.stderr:write("with ", tostring(seen), "\n")
return { effect = "created", headless = ctx.headless, length = seen and #seen, echo = seen }
LUA
}

@test "REQ-C-021 without a terminal a command that signs in needs one of its variables, and lists them" {
	sign_in 'headless_supported = false, token_env_vars = { "MY_TOKEN", "OLD_TOKEN" },'
	answers 4 login
	expect 'e.error.code == "NO_TTY" and e.error.phase == "validation" and e.error.retryable is False'
	expect '[(m["type"], m["name"]) for m in e.error.auth_methods] == [("env_var", "MY_TOKEN"), ("env_var", "OLD_TOKEN")]'
	answers 0 OLD_TOKEN=t0pS3cretTok3n login
	expect 'e.data == {"effect": "created", "headless": True, "length": 14, "echo": "***"}'
	run grep -c t0pS3cretTok3n out.txt
	[ "$output" -eq 0 ]
	answers 0 manifest login
	expect 'e.data.commands.login.headless_supported is False and e.data.commands.login.token_env_vars == ["MY_TOKEN", "OLD_TOKEN"]'
}

@test "REQ-C-021 at a terminal the command may open a browser; one with a way of its own needs no token anywhere" {
	sign_in 'headless_supported = false, token_env_vars = { "MY_TOKEN" },'
	at_terminal "$RUNNER" login
	grep -q 'headless:.*false' out.txt
	sign_in 'headless_supported = true,'
	answers 0 login
	expect 'e.data.headless is True and e.data.length is None'
}

@test "REQ-C-021 a command that signs in says whether it can do so without a browser" {
	declared x mutating 'auth = true,' <<<'return { effect = "noop" }'
	refuses 'headless_supported'
	declared x mutating 'auth = true, headless_supported = false,' <<<'return { effect = "noop" }'
	refuses 'token_env_vars'
	declared x mutating 'token_env_vars = { "A" },' <<<'return { effect = "noop" }'
	refuses 'auth = true'
	declared x mutating 'auth = true, headless_supported = true, token_env_vars = { "not a name" },' <<<'return { effect = "noop" }'
	refuses 'token_env_vars'
}

@test "REQ-O-033 --token-env-var names the variable, --headless does at a terminal what is done without one" {
	sign_in 'headless_supported = false, token_env_vars = { "MY_TOKEN" },'
	answers 0 OTHER=0therTok3n login --token-env-var OTHER
	expect 'e.data.length == 10'
	answers 4 MY_TOKEN=x login --token-env-var OTHER
	expect 'e.error.auth_methods == [{"type": "env_var", "name": "OTHER", "hint": "Set OTHER to a token"}]'
	answers 2 login --token-env-var 'not a name'
	at_terminal "$RUNNER" login --headless
	grep -q 'NO_TTY' out.txt
	grep -q 'MY_TOKEN' out.txt
	body plain <<<'return {}'
	answers 2 plain --headless
	answers 2 plain --token-env-var OTHER
}

# --- editors ----------------------------------------------------------------------------

note() {
	declared note mutating 'interactive = true, requires_editor = true, non_interactive_alternatives = { "--message" },
		args = { { "message", "string", description = "The note itself" } },' <<'LUA'
return { effect = "created", text = args.message or ctx:edit("draft\n", "note.md") }
LUA
}

@test "REQ-C-023 without a terminal an editor's alternative is used, or the call says which there is" {
	note
	answers 0 note --message hello
	expect 'e.data.text == "hello"'
	answers 4 note
	expect 'e.error.code == "EDITOR_REQUIRED" and e.error.alternatives == [{"flag": "--message", "description": "The note itself"}]'
	expect 'e.error.fix_required == "Give --message"'
	answers 0 manifest note
	expect 'e.data.commands.note.requires_editor is True and e.data.commands.note.non_interactive_alternatives == ["message"]'
}

@test "REQ-F-055 REQ-C-023 at a terminal the editor opens; elsewhere a command that asks for one is refused" {
	note
	cat >editor <<'SH'
#!/bin/sh
{ cat "$2"; echo "and more, $1"; } >edited && cat edited >"$2"
SH
	chmod +x editor
	at_terminal EDITOR="\"$PWD/editor --wait\"" "$RUNNER" note
	grep -q 'draft' out.txt
	grep -q 'and more, --wait' edited
	rm edited
	sed -i 's/requires_editor/dry_run = true, requires_editor/' commands/note.lua
	at_terminal EDITOR="\"$PWD/editor --wait\"" "$RUNNER" note --dry-run
	grep -q 'would_create' out.txt
	[ ! -e edited ]
	declared undeclared safe '' <<<'ctx:edit("x")'
	answers 4 undeclared
	expect 'e.error.code == "EDITOR_REQUIRED"'
	expect '"alternatives" not in e.error or e.error.alternatives == []'
}

@test "REQ-C-023 a command that needs an editor declares another way" {
	declared x mutating 'interactive = true, requires_editor = true,' <<<'return {}'
	refuses 'non_interactive_alternatives'
	declared x mutating 'requires_editor = true, non_interactive_alternatives = { "m" }, args = { { "m", "string" } },' <<<'return {}'
	refuses 'interactive = true'
	declared x mutating 'interactive = true, requires_editor = true, non_interactive_alternatives = { "nope" },' <<<'return {}'
	refuses "'nope', which is no argument"
}

# --- windows ------------------------------------------------------------------------------

opener() {
	declared show safe "$1" <<'LUA'
local opened = ctx:open_url("https://example.com/report?id=1")
return { opened_there = opened }
LUA
	mkdir -p bin
	printf '#!/bin/sh\necho "$1" >%s/launched.part && mv %s/launched.part %s/launched\n' "$PWD" "$PWD" "$PWD" >bin/xdg-open
	chmod +x bin/xdg-open
}

@test "REQ-F-057 where no window can open a URL is in the answer, and nothing is started" {
	opener ''
	answers 0 PATH="$PWD/bin:$PATH" DISPLAY=:9 show
	expect 'e.data == {"opened_there": False, "opened": False, "open_url": "https://example.com/report?id=1"}'
	expect 'e.meta.headless is True'
	[ ! -e launched ]
	declared path safe '' <<<'ctx:open_path("out.txt") return { fine = true }'
	answers 0 path
	expect 'e.data == {"fine": True, "opened": False, "open_path": "'"$PWD"'/out.txt"}'
	declared wrong safe '' <<<'ctx:open_url("file:///etc/passwd")'
	answers 1 wrong
}

@test "REQ-F-057 at a terminal with a display the browser opens" {
	opener ''
	at_terminal PATH="$PWD/bin:$PATH" DISPLAY=:9 "$RUNNER" show
	until_true [ -s launched ]
	[ "$(<launched)" = 'https://example.com/report?id=1' ]
	run grep -c -e open_url -e BACKGROUND out.txt
	[ "$output" -eq 0 ]
}

@test "REQ-C-024 headless_behavior: name it in the answer, leave it out with a warning, or fail" {
	opener 'gui_operations = { "browser" }, headless_behavior = "emit_in_output",'
	answers 0 show
	expect 'e.data.open_url == "https://example.com/report?id=1" and e.warnings == []'
	opener 'gui_operations = { "browser" }, headless_behavior = "skip",'
	answers 0 show
	expect 'e.data == {"opened_there": False} and [w["code"] for w in e.warnings] == ["WINDOW_SKIPPED"]'
	opener 'gui_operations = { "browser" }, headless_behavior = "error",'
	answers 4 show
	expect 'e.error.code == "NO_TTY"'
	answers 0 manifest show
	expect 'e.data.commands.show.gui_operations == ["browser"] and e.data.commands.show.headless_behavior == "error"'
	declared x safe 'gui_operations = { "browser" },' <<<'return {}'
	refuses headless_behavior
	declared x safe 'gui_operations = { "browser" }, headless_behavior = "hope",' <<<'return {}'
	refuses emit_in_output
}

# --- settings -----------------------------------------------------------------------------

@test "REQ-C-025 settings go to the project, and to the user's only with --global and a warning" {
	touch runner.lua
	echo 'return {}' >runner.lua
	declared set mutating 'config_write_scope = "global", args = { { "region", "string", positional = true } },' <<'LUA'
return { effect = "updated", path = ctx:save_settings { region = args.region } }
LUA
	declared get safe '' <<<'return ctx:settings()'
	answers 0 HOME="$PWD/home" XDG_STATE_HOME="$PWD/state" set eu
	expect 'e.data.path == "'"$PWD"'/.runner-config.json" and e.warnings == []'
	answers 4 HOME="$PWD/home" XDG_STATE_HOME="$PWD/state" set us --global
	[ ! -e home ]
	mkdir home
	answers 0 HOME="$PWD/home" XDG_STATE_HOME="$PWD/state" set us --global
	expect 'e.data.path == "'"$PWD"'/home/.config/runner/config.json" and [w["code"] for w in e.warnings] == ["GLOBAL_CONFIG_MODIFIED"]'
	[ "$(stat -c %a home/.config/runner/config.json)" = 600 ]
	answers 0 HOME="$PWD/home" get
	expect 'e.data == {"region": "eu"}'
	rm .runner-config.json
	answers 0 HOME="$PWD/home" get
	expect 'e.data == {"region": "us"}'
	answers 0 manifest set
	expect 'e.data.commands.set.config_write_scope == "global"'
}

@test "REQ-C-025 a scope is declared, and what it forbids isn't written" {
	declared set mutating 'config_write_scope = "local",' <<<'return { effect = "updated", path = ctx:save_settings { a = 1 } }'
	answers 2 set --global
	answers 0 XDG_STATE_HOME="$PWD/state" set
	[ -e .runner-config.json ]
	rm .runner-config.json
	declared set mutating 'config_write_scope = "local", dry_run = true,' <<<'return { effect = "updated", path = ctx:save_settings { a = 1 } }'
	answers 0 XDG_STATE_HOME="$PWD/state" set --dry-run
	[ ! -e .runner-config.json ]
	declared set mutating 'config_write_scope = "session",' <<<'return { effect = "updated", path = ctx:save_settings { a = 1 } }'
	answers 0 XDG_STATE_HOME="$PWD/state" set
	[ ! -e .runner-config.json ]
	declared set mutating '' <<<'ctx:save_settings { a = 1 }'
	answers 1 set
	grep -q 'config_write_scope' out.txt
	declared x safe 'config_write_scope = "local",' <<<'return {}'
	refuses 'changes something'
}

@test "REQ-C-025 two writers at once lose nothing, and a broken file is named, not replaced" {
	declared set mutating 'config_write_scope = "local", args = { { "name", "string", positional = true } },' <<'LUA'
ctx:save_settings { [args.name] = true }
return { effect = "updated" }
LUA
	local i pids=()
	for i in 1 2 3 4 5 6; do
		env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" "$RUNNER" set "n$i" >/dev/null 2>&1 </dev/null &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i"; done
	[ "$(cat .runner-config.json)" = '{"n1":true,"n2":true,"n3":true,"n4":true,"n5":true,"n6":true}' ]
	# one that has read and not yet written, and another that begins then
	declared slow mutating 'timeout = "5m", config_write_scope = "local",' <<'LUA'
ctx:save_settings(setmetatable({}, { __pairs = function()
	io.open("marker", "w"):close()
	while not io.open "begun" do ctx:sleep "10ms" end
	ctx:sleep "300ms"
	return next, { slow = true }
end }))
return { effect = "updated" }
LUA
	declared quick mutating 'config_write_scope = "local",' <<'LUA'
io.open("begun", "w"):close()
ctx:save_settings { quick = true }
return { effect = "updated" }
LUA
	rm .runner-config.json
	env -i "${CLEAN_ENV[@]}" XDG_STATE_HOME="$PWD/state" "$RUNNER" slow >/dev/null 2>&1 </dev/null 3>&- &
	until_true [ -e marker ]
	answers 0 XDG_STATE_HOME="$PWD/state" quick
	wait $!
	[ "$(cat .runner-config.json)" = '{"quick":true,"slow":true}' ]
	echo '{ broken' >.runner-config.json
	answers 4 XDG_STATE_HOME="$PWD/state" set more
	[ "$(<.runner-config.json)" = '{ broken' ]
}

# --- files and processes that stay ------------------------------------------------------------

@test "REQ-C-011 files that a command leaves are declared, and are in the manifest" {
	declared fetch mutating 'filesystem_side_effects = { { path = ".cache/x", type = "cache", ttl_seconds = 60, clearable_with = "runner clear" },
		{ path = "out", type = "output" } },' <<<'return { effect = "noop" }'
	answers 0 manifest fetch
	expect 'e.data.commands.fetch.filesystem_side_effects == [{"path": ".cache/x", "type": "cache", "ttl_seconds": 60, "clearable_with": "runner clear"}, {"path": "out", "type": "output"}]'
	local wrong
	for wrong in '{ path = "x" }' '{ path = "x", type = "junk" }' '{ path = "x", type = "cache", size = 1 }' '{ path = "x", type = "output", ttl_seconds = 1 }' '"x"'; do
		declared x mutating "filesystem_side_effects = { $wrong }," <<<'return {}'
		refuses filesystem_side_effects
	done
}

@test "REQ-C-010 a command that leaves a process declares how it ends, and names it in the answer" {
	declared serve mutating 'spawns_background_process = true, cleanup_command = "runner unserve", max_lifetime_seconds = 3600,' <<'LUA'
local p = ctx:spawn{ "sleep", "600", detach = true }
return { effect = "created", pid = p.pid }
LUA
	answers 0 serve
	local pid
	pid=$(field 'e.data.background_pid')
	kill "$pid"
	expect 'e.data.background_pid == e.data.pid and e.data.cleanup_command == "runner unserve" and e.warnings == []'
	answers 0 manifest serve
	expect '[e.data.commands.serve[k] for k in ("spawns_background_process", "cleanup_command", "max_lifetime_seconds")] == [True, "runner unserve", 3600]'
	declared x mutating 'spawns_background_process = true,' <<<'return {}'
	refuses cleanup_command
	declared x mutating 'max_lifetime_seconds = 5,' <<<'return {}'
	refuses spawns_background_process
}

@test "REQ-C-010 a process that is left without a declaration is named in a warning, which may fail the call" {
	declared serve mutating '' <<<'return { effect = "created", pid = ctx:spawn{ "sleep", "600", detach = true }.pid }'
	answers 0 serve
	kill "$(field 'e.data.pid')"
	expect '[(w["code"], w["context"]) for w in e.warnings] == [("BACKGROUND_UNDECLARED", {"pid": e.data.pid})] and "background_pid" not in e.data'
	call serve --warnings-as-errors
	[ "$status" -ne 0 ]
	kill "$(field '[w["context"]["pid"] for w in e.warnings][0]')"
	declared serve mutating '' <<<'ctx:spawn{ "true" } return { effect = "noop" }'
	answers 0 serve
	expect 'e.warnings == []'
}

@test "the manifest is valid with all of these declarations" {
	note
	sign_in 'headless_supported = false, token_env_vars = { "MY_TOKEN" },'
	opener 'gui_operations = { "browser" }, headless_behavior = "skip",'
	declared set mutating 'config_write_scope = "global",' <<<'return { effect = "noop" }'
	declared serve mutating 'spawns_background_process = true, cleanup_command = "x", max_lifetime_seconds = 1,
		filesystem_side_effects = { { path = "x", type = "log" } },' <<<'return { effect = "noop" }'
	mkdir -p bin
	ln -sf "$RUNNER" bin/runner
	echo '{"schema_version": "1.0", "tool": "runner", "command": ["./bin/runner"], "timeout_seconds": 60, "manifest": ["manifest"],
		"probes": [{"name": "list", "argv": [], "kind": "read"}]}' >profile.json
	answers 0 conformance profile.json
	expect '[c["status"] for c in e.data["checks"] if c["id"] == "manifest_valid"] == ["pass"]'
}
