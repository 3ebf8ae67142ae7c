#!/usr/bin/env bats
# What runner keeps for other commands is out of reach of a confined one: their locks, checkpoints and counts.

load lib/helper

prepare() {
	STATE=$BATS_TEST_TMPDIR/state
	CLEAN_ENV+=(XDG_STATE_HOME="$STATE")
	mkdir -p out "$STATE"
	echo 'return {}' >runner.lua
	have=$(python3 -c 'import ctypes; print(max(0, ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)))')
	[ "$have" -ge 3 ] || skip "this kernel's Landlock is version $have, not 3"
}

# The users that this test can be.
users() {
	if [ "$(id -u)" = 0 ]; then echo "root 65534"; else echo root; fi
}

# as USER ARGS…: call as this user, who then has the folder and the state
as() {
	local user=$1
	shift
	if [ "$user" = root ]; then
		call "$@"
	else
		chown -R "$user" "$STATE" "$BATS_TEST_TMPDIR"
		call_as "$user" "$@"
	fi
}

# attacker KEYS: `attack DIR` tries to remove, replace and rewrite each file below DIR, in Lua and by programs,
# and says which ways had an effect
attacker() {
	body attack "confine = { write = { \"out\" } }, timeout = \"120s\", args = { { \"dir\", \"string\", positional = true, required = true } }, $1" <<'LUA'
local fs, done = require "fs", {}
local function way(name, f)
	local ok, result = pcall(f)
	if ok and result then done[#done + 1] = name end
end
local function program(name, script, path)
	way(name, function() return ctx:run{ "sh", "-c", script, "sh", path, check = false }.ok end)
end
local function all(dir, visit)
	for _, name in ipairs(fs.list(dir) or {}) do
		local path = dir .. "/" .. name
		local stat = fs.lstat(path)
		if stat and stat.type == "directory" then all(path, visit) end
		if stat then visit(path, stat.type) end
	end
end
fs.write("out/forged", '{"state":{"done":3,"total":3},"calls":[],"until_ms":1}')
all(args.dir, function(path)
	way("ctx.fs.remove " .. path, function() ctx.fs.remove(path) return true end)
	way("unlink " .. path, function() return fs.unlink(path) end)
	way("os.remove " .. path, function() return os.remove(path) end)
	way("os.rename " .. path, function() return os.rename(path, "out/taken") end)
	way("rename over " .. path, function() return fs.rename("out/forged", path) end)
	program("rm " .. path, 'rm -rf "$1" && ! [ -e "$1" ]', path)
	program("mv " .. path, 'mv "$1" out/taken', path)
	program("mv aside " .. path, 'mv "$1" "$1.aside"', path)
	program("mv over " .. path, 'cp out/forged out/over && mv -f out/over "$1"', path)
	program("ln over " .. path, 'ln -f out/forged "$1"', path)
	program("ln -s over " .. path, 'ln -sfn "$PWD/out/forged" "$1"', path)
	program("ln out " .. path, 'ln "$1" out/second && cat out/forged >out/second', path)
	if not path:find "%.lock$" then
		way("ctx.fs.write " .. path, function() ctx.fs.write(path, "{}") return true end)
		way("io.open " .. path, function() return io.open(path, "w") end)
		program("cp " .. path, 'cp out/forged "$1"', path)
		program("append " .. path, 'echo x >>"$1"', path)
		program("truncate " .. path, 'truncate -s 0 "$1"', path)
		program("make " .. path, 'echo x >"$1/made.json" || mkdir "$1/made" || mkdir "${1%/*}/made"', path)
	end
end)
return { done = done }
LUA
}

# attack_on USER FOLDER: all that it could do was done in the folder that has been made for it, if any
attack_on() {
	local before own
	before=$(ls "$2")
	as "$1" attack "$2"
	own=$(comm -13 <(echo "$before") <(ls "$2"))
	expect 'e.ok'
	expect "[w for w in e.data['done'] if '${own:-none}' not in w] == []"
}

hold() {
	local program=$RUNNER prefix=()
	if [ "$1" != root ]; then
		chown -R "$1" "$STATE" "$BATS_TEST_TMPDIR"
		prefix=(setpriv "--reuid=$1" "--regid=$1" --clear-groups)
		program=$BATS_TEST_TMPDIR/runner-for-all
	fi
	rm -f holding
	env -i "${CLEAN_ENV[@]}" "${prefix[@]}" "$program" hold >hold.txt 2>&1 </dev/null 3>&- &
	holder=$!
	until_true [ -e holding ]
}

@test "the lock that another holds can't be removed, renamed, replaced or linked, and two never hold it" {
	local user
	attacker
	body hold 'timeout = "200s",' <<<'local fs, l = require "fs", ctx:lock "deploy" io.open("holding", "w"):close() while not fs.lstat("over") do ctx:sleep(0.05) end return {}'
	body take <<<'ctx:lock("deploy", { wait = 0 }) return {}'
	for user in $(users); do
		as "$user" take
		expect 'e.ok'
		hold "$user"
		attack_on "$user" "$STATE/runner/locks"
		as "$user" take
		touch over
		wait "$holder"
		expect 'e.error.code == "LOCK_HELD"'
		as "$user" take
		expect 'e.ok'
		rm over
	done
}

@test "a second name that a confined command gives a lock keeps no one from it" {
	body link 'confine = { write = {} }, args = { { "dir", "string" } },' <<<'return { made = ctx:run{ "ln", args.dir .. "/deploy.lock", args.dir .. "/x", check = false }.ok }'
	body take <<<'ctx:lock("deploy", { wait = 0 }) return {}'
	call take
	call link --dir "$STATE/runner/locks"
	call take
	expect 'e.ok'
	chmod 777 "$STATE/runner/locks"
	ln -f "$STATE/runner/locks/deploy.lock" "$STATE/runner/locks/y"
	call take
	expect 'e.error.code == "PERMISSION_DENIED" and "hard link" in e.error.message' # where others may make one
}

@test "another's checkpoint can't be forged, removed or joined, and that one goes on from its own" {
	local user
	attacker 'interruption = { resume = true },'
	body work 'interruption = { resume = true },' <<-'LUA'
		local from = ctx:restore()
		for i = from and from.done + 1 or 1, 3 do
			ctx:checkpoint{ done = i, total = 3 }
			if i == 1 and not from then ctx:fail("UNAVAILABLE", "gone") end
		end
		return { from = from and from.done or 0 }
	LUA
	for user in $(users); do
		as "$user" work
		expect 'e.error.code == "UNAVAILABLE"'
		attack_on "$user" "$STATE/runner/checkpoints"
		as "$user" work
		expect 'e.ok and e.data["from"] == 1 and e.warnings == []'
		rm -r "$STATE/runner/checkpoints"
	done
}

@test "another's breaker and counts can't be forged, and hold" {
	local user
	attacker 'rate = "100/1h",'
	body svc 'breaker = { failures = 1, window = "1h", pause = "1h" }, hosts = { ["a.invalid"] = { rate = "1/1h" } },' <<<'ctx:fail("UNAVAILABLE", "down")'
	for user in $(users); do
		as "$user" svc
		attack_on "$user" "$STATE/runner/throttle"
		as "$user" svc
		expect 'e.error.context["throttled_by"] == "breaker"'
		rm -r "$STATE/runner/throttle"
	done
}

@test "a confined command keeps its own locks, checkpoints and counts" {
	local bounds
	for bounds in 'write = {}' 'write = { "out" }, read = {}' 'read = {}' 'write = {}, network = false'; do
		rm -rf "$STATE"
		mkdir "$STATE"
		body own "confine = { $bounds }, interruption = { resume = true }, rate = \"9/1h\", breaker = { failures = 9, window = \"1h\", pause = \"1h\" }," <<-'LUA'
			ctx:lock("own"):release()
			local from = ctx:restore()
			ctx:checkpoint{ done = (from and from.done or 0) + 1, total = 2 }
			if not from then ctx:fail("UNAVAILABLE", "gone") end
			return { from = from.done }
		LUA
		call own
		expect 'e.error.code == "UNAVAILABLE" and e.warnings == []'
		call own
		expect 'e.ok and e.data == { "from": 1 } and e.warnings == [] and e.meta.throttle["rate"]["made"] == 2'
	done
}

@test "commands whose names look alike, and are long, have folders of their own" {
	local name long
	long=$(printf 'x%.0s' {1..60})
	mkdir -p commands/db
	for name in db/migrate db-migrate db_migrate "$long" "${long}y"; do
		body "$name" 'confine = { write = {} }, interruption = { resume = true },' <<<'ctx:restore() ctx:checkpoint{ done = 1 } ctx:fail("UNAVAILABLE", "gone")'
		# shellcheck disable=SC2086 # a group and a name
		call ${name/\// }
		[ "$status" -eq 12 ]
	done
	[ "$(find "$STATE/runner/checkpoints" -mindepth 1 -maxdepth 1 | wc -l)" -eq 5 ]
	[ "$(find "$STATE/runner/checkpoints" -mindepth 2 -name '*.json' | wc -l)" -eq 5 ]
	call db.migrate
	[ "$(find "$STATE/runner/checkpoints" -mindepth 1 -maxdepth 1 | wc -l)" -eq 5 ]
	mkdir elsewhere
	cp -r commands runner.lua elsewhere
	call --cwd elsewhere db-migrate
	[ "$(find "$STATE/runner/checkpoints" -mindepth 1 -maxdepth 1 | wc -l)" -eq 6 ]
}

@test "what an older version has kept in one folder for all is found, confined or not" {
	local bounds
	for bounds in '' 'confine = { write = {} },' 'confine = { write = {}, read = {} },'; do
		rm -rf "$STATE/runner"
		body work "$bounds interruption = { resume = true }, breaker = { failures = 1, window = \"1h\", pause = \"1h\" }," <<-'LUA'
			local from = ctx:restore()
			ctx:checkpoint{ done = (from and from.done or 0) + 1 }
			if not from then ctx:fail("UNAVAILABLE", "gone") end
			return { from = from.done }
		LUA
		call work
		[ "$status" -eq 12 ]
		mv "$STATE"/runner/checkpoints/*/*.json "$STATE/runner/checkpoints/"
		touch "$(echo "$STATE"/runner/checkpoints/*.json | sed 's/json$/lock/')"
		mv "$STATE"/runner/throttle/*/calls.json "$STATE/runner/throttle/$(python3 -c 'import sys; print("".join(c if c.isalnum() or c in "._-" else "%%%02X" % ord(c) for c in sys.argv[1]))' "$PWD/commands:work").json"
		rm -r "$STATE"/runner/*/*/
		call work
		expect 'e.error.context["throttled_by"] == "breaker"'
		sed -i -E 's/"until_ms":[0-9]+/"until_ms":1/' "$STATE"/runner/throttle/*/*.json
		call work
		expect 'e.ok and e.data == { "from": 1 } and e.warnings == []'
		[ -z "$(find "$STATE/runner/checkpoints" -maxdepth 1 -type f)" ]
	done
}
