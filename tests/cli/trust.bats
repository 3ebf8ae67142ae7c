#!/usr/bin/env bats
# Whose code is run: whatever a script loads is looked at as its own file is, so that
# nobody else's Lua or C runs with the caller's rights.

load lib/helper

prepare() {
	mkdir -p lib
	body uses '' <<<'return { said = require("shared").said }'
	echo 'return { said = "lib" }' >lib/shared.lua
}

needs_root() {
	[ "$(id -u)" -eq 0 ] || skip "needs root for chown"
}

# refused TEXT ARGS…: the call fails and its error or its detail has the text
refuses() {
	local text=$1
	shift
	call "$@"
	[ "$status" -ne 0 ]
	assert_envelope
	[[ $stdout == *"$text"* ]]
}

@test "a module in lib/ of another owner, or that everybody may write, is refused" {
	needs_root
	call uses
	[ "$status" -eq 0 ]
	chmod o+w lib/shared.lua
	refuses "it is world-writable" uses
	chmod o-w lib/shared.lua
	chown 12345 lib/shared.lua
	refuses "it is owned by neither you nor root" uses
}

@test "lib/ itself, folders in it, and the folder that holds commands/ are looked at" {
	needs_root
	chmod 777 lib
	refuses "/lib is refused: it is world-writable" uses
	chmod 755 lib
	mkdir -p lib/a/b
	mv lib/shared.lua lib/a/b/
	body nested '' <<<'return { said = require("a.b.shared").said }'
	call nested
	[ "$status" -eq 0 ]
	chmod 777 lib/a
	refuses "/lib/a is refused: it is world-writable" nested
	chmod 755 lib/a
	chmod 777 .
	refuses "is refused: it is world-writable" nested
	chmod 755 .
	chown 12345 .
	refuses "is refused: it is owned by neither you nor root" nested
}

@test "nothing comes from the working directory, whatever LUA_PATH says" {
	mkdir elsewhere
	echo 'return { said = "cwd" }' >elsewhere/planted.lua
	body planted '' <<'LUA'
		local ok, why = pcall(require, "planted")
		return { ok = ok, why = tostring(why), path = package.path, cpath = package.cpath }
LUA
	cp -r commands elsewhere/
	cd elsewhere
	for path in './?.lua' '?.lua;;' ';;./?.lua' 'a/?.lua;./?.lua' ''; do
		call LUA_PATH="$path" LUA_CPATH="${path//lua/so}" planted
		[ "$status" -eq 0 ]
		expect 'not e.data["ok"] and "not found" in e.data["why"]'
		expect 'all(p.startswith("/") for p in (e.data["path"] + ";" + e.data["cpath"]).strip(";").split(";") if p)'
	done
	call LUA_PATH="$PWD/?.lua;;" planted
	expect 'e.data["ok"] and e.data["path"].count("/usr/") >= 1'
}

@test "a message of a module that is not there names every file that was tried" {
	body missing '' <<<'require "none.such"'
	call LUA_PATH="/a/?.lua;/b/?/init.lua" missing
	[ "$status" -eq 1 ]
	[[ $stdout == *"module 'none.such' not found"*"no file '/a/none/such.lua'"*"no file '/b/none/such/init.lua'"* ]]
	[[ $stdout == *"$PWD/lib/none/such.lua"* ]]
}

@test "dofile and loadfile refuse what require refuses, and are as ever otherwise" {
	needs_root
	printf '\xef\xbb\xbf#!/usr/bin/lua\nreturn debug.getinfo(1, "lS").currentline, ...' >part.lua
	echo 'return x' >env.lua
	echo 'return +' >broken.lua
	body parts '' <<'LUA'
		local line = dofile "part.lua"
		local none, why = loadfile "none.lua"
		local broken, syntax = loadfile "broken.lua"
		local _, mode = loadfile("part.lua", "b")
		return { line = line, none = none == nil, why = why, broken = broken == nil, syntax = syntax, mode = mode,
			env = loadfile("env.lua", "t", { x = 5 })(), inside = coroutine.wrap(function() return dofile "yields.lua" end)() }
LUA
	echo 'return coroutine.yield(7)' >yields.lua
	call parts
	[ "$status" -eq 0 ]
	expect 'e.data["line"] == 2 and e.data["env"] == 5 and e.data["inside"] == 7'
	expect 'e.data["none"] and e.data["why"] == "cannot open none.lua: No such file or directory"'
	expect 'e.data["broken"] and e.data["syntax"].startswith("broken.lua:1:")'
	expect '"attempt to load a text chunk" in e.data["mode"]'
	chown 12345 part.lua
	refuses "part.lua: it is owned by neither you nor root" parts
	chown 0 part.lua
	mkfifo pipe
	body fifo '' <<<'dofile "pipe"'
	refuses "it is not a regular file" fifo
}

@test "a shared _file beside a command is looked at as the command is" {
	needs_root
	echo 'return { said = "shared" }' >commands/_shared.lua
	body sharing '' <<<'return dofile(debug.getinfo(1, "S").source:match("^@(.*/)") .. "_shared.lua")'
	call sharing
	expect 'e.data["said"] == "shared"'
	chown 12345 commands/_shared.lua
	refuses "_shared.lua: it is owned by neither you nor root" sharing
}

@test "a C module of another owner is not loaded, by require or by package.loadlib" {
	dynamic_only "loads none at all"
	needs_root
	printf '#include <lua.h>\nint luaopen_evil(lua_State *L) { lua_pushinteger(L, 1); return 1; }\nint luaopen_evil_sub(lua_State *L) { lua_pushinteger(L, 2); return 1; }\n' >evil.c
	# shellcheck disable=SC2046 # words
	cc -shared -fPIC $(pkg-config --cflags lua5.4) -o evil.so evil.c
	body loads '' <<'LUA'
		package.cpath = os.getenv "HERE" .. "/?.so"
		local direct, why, what = package.loadlib(os.getenv "HERE" .. "/evil.so", "luaopen_evil")
		local ok, root = pcall(require, "evil")
		local sub_ok, sub = pcall(require, "evil.sub")
		return { direct = direct ~= nil, why = why, what = what, ok = ok, root = tostring(root), sub_ok = sub_ok, sub = tostring(sub) }
LUA
	call HERE="$PWD" loads
	[ "$status" -eq 0 ]
	expect 'e.data["direct"] and e.data["ok"] and e.data["sub_ok"] and e.data["sub"] == "2"'
	chown 12345 evil.so
	call HERE="$PWD" loads
	[ "$status" -eq 0 ]
	expect 'not e.data["direct"] and e.data["what"] == "open" and "neither you" in e.data["why"]'
	expect 'not e.data["ok"] and "neither you" in e.data["root"]'
	expect 'not e.data["sub_ok"] and "neither you" in e.data["sub"]'
}

@test "nor by runner itself, which needs one for workflow files" {
	dynamic_only "has it inside"
	needs_root
	printf '#include <lua.h>\n#include <stdio.h>\nint luaopen_yaml(lua_State *L) { fclose(fopen("marker", "w")); lua_newtable(L); return 1; }\n' >evil.c
	# shellcheck disable=SC2046 # words
	cc -shared -fPIC $(pkg-config --cflags lua5.4) -o yaml.so evil.c
	printf 'name: x\nsteps:\n  - id: a\n    shell: "true"\n' >x.yaml
	call LUA_CPATH="$PWD/?.so" workflow check x.yaml
	[ -e marker ]
	rm marker
	chown 12345 yaml.so
	call LUA_CPATH="$PWD/?.so" workflow check x.yaml
	[ "$status" -ne 0 ]
	[ ! -e marker ]
}

@test "RUNNER_PATH and RUNNER_LUA lead to no folder of another user" {
	needs_root
	mkdir -p more/cmds
	mv commands/uses.lua more/cmds/other.lua
	sed -i 's/require("shared").said/1/' more/cmds/other.lua
	call RUNNER_PATH="$PWD/more/cmds" other
	[ "$status" -eq 0 ]
	for folder in more/cmds more; do
		chmod 777 $folder
		refuses "$folder is refused: it is world-writable" RUNNER_PATH="$PWD/more/cmds" other
		chmod 755 $folder
	done
	cp -r "$ROOT/lua" library
	call RUNNER_LUA="$PWD/library" RUNNER_PATH="$PWD/more/cmds" other
	[ "$status" -eq 0 ]
	chown 12345 library
	refuses "library is refused" RUNNER_LUA="$PWD/library" RUNNER_PATH="$PWD/more/cmds" other
	chown 0 library
	chown 12345 library/boot.lua
	refuses "it is owned by neither you nor root" RUNNER_LUA="$PWD/library" RUNNER_PATH="$PWD/more/cmds" other
}

@test "RUNNER_TRUST admits the checkout of one other owner, and nothing else" {
	needs_root
	echo 'return { name = "x" }' >runner.lua
	mkdir outside
	mv lib/shared.lua outside/
	ln -s ../outside/shared.lua lib/shared.lua
	body plain '' <<<'return { said = "plain" }'
	chown -hR 12345 .
	refuses "neither you nor root" plain
	expect '"RUNNER_TRUST" in e.error.fix_required'
	for dir in "$PWD" "$PWD/" "$PWD/../${PWD##*/}"; do
		call RUNNER_TRUST="$dir" plain
		[ "$status" -eq 0 ]
		call RUNNER_TRUST="$dir" uses
		[ "$status" -eq 0 ]
	done
	refuses "neither you nor root" RUNNER_TRUST=relative plain
	refuses "neither you nor root" RUNNER_TRUST="${PWD%/*}" plain
	refuses "neither you nor root" RUNNER_TRUST="$PWD/lib" plain
	chown 23456 commands/plain.lua
	refuses "neither you nor root" RUNNER_TRUST="$PWD" plain
	chown 12345 commands/plain.lua
	chmod o+w commands/plain.lua
	refuses "it is world-writable" RUNNER_TRUST="$PWD" plain
}

@test "a library file outside of what is trusted is found out behind a link" {
	needs_root
	mkdir -p "$BATS_TEST_TMPDIR/../outside-$$"
	echo 'return { said = "outside" }' >"$BATS_TEST_TMPDIR/../outside-$$/shared.lua"
	ln -sf "$BATS_TEST_TMPDIR/../outside-$$/shared.lua" lib/shared.lua
	chown -hR 12345 . "$BATS_TEST_TMPDIR/../outside-$$"
	refuses "neither you nor root" RUNNER_TRUST="$PWD" uses
	rm -r "$BATS_TEST_TMPDIR/../outside-$$"
}
