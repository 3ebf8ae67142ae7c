#!/usr/bin/env bats
# libraries: runner add copies a library of commands into a project, and runner.lock holds it to what was
# added. What a library may not have is in libraries_hostile.bats.

load lib/helper

# library DIR WORD: a library whose command `greet` says the word that its lib/ has
library() {
	mkdir -p "$1/commands/db" "$1/lib"
	cat >"$1/commands/greet.lua" <<'LUA'
local words = require "words"
return { description = "Greet from a library", danger_level = "safe", run = function(_, ctx) return { word = words, root = ctx.root } end }
LUA
	echo 'return { description = "Migrate", danger_level = "safe", run = function(_, ctx) return ctx:call "tools greet" end }' \
		>"$1/commands/db/migrate.lua"
	echo "return '$2'" >"$1/lib/words.lua"
	echo 'never copied' >"$1/Makefile"
	echo 'a readme' >"$1/README.md"
}

prepare() {
	known
	library "$PWD/shared/tools-1.2" one
	echo 'return { description = "Own", danger_level = "safe", run = function() return { own = true } end }' >commands/own.lua
}

archive_or_skip() {
	call add "$1" --as probe
	[[ $stdout != *"Can't load libarchive"* ]] || skip "there is no libarchive"
	[ "$status" -eq 0 ]
}

@test "a folder is added under its name without the version, and its commands are a group" {
	answers 0 add shared/tools-1.2
	expect 'e.data["effect"] == "created" and e.data["library"] == "tools" and e.data["source"] == "shared/tools-1.2"'
	expect 'e.data["commands"] == ["tools db migrate", "tools greet"] and e.data["files"] == 4'
	answers 0 tools greet
	expect 'e.data["word"] == "one" and e.meta["command"] == "tools.greet"'
	[ "$(field 'e.data["root"]')" = "$PWD" ]
	answers 0 tools db migrate
	expect 'e.data["word"] == "one"'
	[ -z "$(find vendor -name Makefile)" ]
	call help
	expect 'e.data["commands"]["tools greet"] == "Greet from a library"'
	answers 0 manifest
	expect '"tools.greet" in str(e.data)'
}

@test "a tar file, plain or gzipped, with a folder at its top or without, is what its folder is" {
	tar -C shared -czf tools.tar.gz tools-1.2
	tar -C shared/tools-1.2 -cf bare.tar .
	archive_or_skip tools.tar.gz
	answers 0 add tools.tar.gz
	local digest
	digest=$(field 'e.data["digest"]')
	answers 0 tools greet
	expect 'e.data["word"] == "one"'
	for source in bare.tar shared/tools-1.2; do
		answers 0 add "$source" --as other
		[ "$(field 'e.data["digest"]')" = "$digest" ]
	done
	expect 'e.data["effect"] == "noop"'
}

@test "--dry-run says what would be added, and writes nothing" {
	answers 0 add shared/tools-1.2 --dry-run
	expect 'e.data["effect"] == "would_create" and len(e.data["would"]) == 2'
	[ ! -e runner.lock ]
	[ ! -e vendor ]
	answers 0 add shared/tools-1.2
	cp runner.lock before
	answers 0 library remove tools --dry-run
	expect 'e.data["effect"] == "would_delete"'
	echo "return 'two'" >shared/tools-1.2/lib/words.lua
	answers 0 library update --dry-run
	expect 'e.data["libraries"][0]["changed"] == ["lib/words.lua"]'
	cmp runner.lock before
	answers 0 tools greet
}

@test "adding does not run what is added" {
	echo 'io.open("/tmp/never-'"$TOKEN"'", "w"):close() return {}' >shared/tools-1.2/commands/greet.lua
	answers 0 add shared/tools-1.2
	[ ! -e "/tmp/never-$TOKEN" ]
	answers 0 add shared/tools-1.2
	answers 0 library update
	[ ! -e "/tmp/never-$TOKEN" ]
}

@test "a file that was changed, added or removed is LIBRARY_CHANGED with the command that mends it" {
	answers 0 add shared/tools-1.2
	local dir
	dir=$(echo vendor/tools/*)
	for harm in "echo '-- x' >>$dir/commands/db/migrate.lua" "rm $dir/README.md" "touch $dir/commands/new.lua" \
		"ln -sf /etc/hostname $dir/lib/words.lua" "rm -r $dir" "mkdir $dir/commands/a && touch $dir/commands/a/.hidden"; do
		eval "$harm"
		answers 4 tools greet
		expect 'e.error.code == "LIBRARY_CHANGED" and e.error.fix_command == "runner library update tools --locked"'
		expect 'e.error.side_effects == "none" and len(e.error.context["changed"] + e.error.context["missing"] + e.error.context["added"]) > 0'
		answers 4 library check
		expect 'e.data["libraries"][0]["state"] == "changed"'
		answers 0 library list
		expect 'e.data[0]["state"] == "changed"'
		answers 0 own
		answers 0 library update tools --locked
		expect 'e.data["effect"] == "updated"'
		answers 0 library check
		answers 0 tools greet
	done
	[ "$(find vendor/tools -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ]
}

@test "update takes the new files, --locked only those of the lock, --from another place" {
	answers 0 add shared/tools-1.2
	answers 0 library update
	expect 'e.data["effect"] == "noop"'
	library "$PWD/shared/tools-1.2" two
	answers 6 library update tools --locked
	expect 'e.error.code == "CONFLICT"'
	answers 0 tools greet
	expect 'e.data["word"] == "one"'
	answers 0 library update
	expect 'e.data["libraries"][0]["changed"] == ["lib/words.lua"] and e.data["libraries"][0]["added"] == []'
	answers 0 tools greet
	expect 'e.data["word"] == "two"'
	mkdir sub
	library "$PWD/newer" three
	(cd sub && env -i "${CLEAN_ENV[@]}" "$RUNNER" library update tools --from ../newer >/dev/null)
	grep -q '"source": "newer"' runner.lock
	answers 0 tools greet
	expect 'e.data["word"] == "three"'
	[ "$(find vendor/tools -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ]
}

@test "remove takes the library out, and nothing else" {
	answers 0 add shared/tools-1.2
	answers 0 add shared/tools-1.2 --as other
	answers 0 library remove tools
	expect 'e.data["effect"] == "deleted"'
	[ ! -e vendor/tools ]
	answers 2 tools greet
	expect 'e.error.code == "COMMAND_NOT_FOUND"'
	answers 0 other greet
	answers 5 library remove tools
	answers 5 library update othr
	expect '"other" in e.error.suggestion'
}

@test "a library can't take the name of a command, a group or a built-in command" {
	for name in own add lint self help; do
		answers 2 add shared/tools-1.2 --as "$name"
		expect 'e.error.errors[0]["field"] == "as"'
	done
	for name in 'a/b' '../x' '.x' '' 'a b'; do
		call add shared/tools-1.2 --as "$name"
		[ "$status" -eq 2 ]
	done
	answers 0 add shared/tools-1.2
	echo "return 'two'" >shared/tools-1.2/lib/words.lua
	answers 6 add shared/tools-1.2
	expect 'e.error.code == "ALREADY_EXISTS" and "library update tools" in e.error.fix_required'
	[ ! -e runner.lock.tmp ]
}

@test "the project's own command goes before that of a library, and a library before the user's folders" {
	answers 0 add shared/tools-1.2
	mkdir -p config/runner/commands/tools commands/tools
	echo 'return { description = "x", danger_level = "safe", run = function() return { word = "the user" } end }' >config/runner/commands/tools/greet.lua
	answers 0 XDG_CONFIG_HOME="$PWD/config" tools greet
	expect 'e.data["word"] == "one"'
	sed 's/the user/own/' config/runner/commands/tools/greet.lua >commands/tools/greet.lua
	answers 0 XDG_CONFIG_HOME="$PWD/config" tools greet
	expect 'e.data["word"] == "own"'
	answers 0 tools db migrate
	expect 'e.data["word"] == "own"'
}

@test "hooks of the project surround the commands of its libraries" {
	answers 0 add shared/tools-1.2
	echo 'return { groups = { tools = { before = function(_, call) error("not " .. call.command) end } } }' >runner.lua
	answers 1 tools greet
	expect '"not tools.greet" in e.error.message'
}

@test "a command of a library that nobody named is not found, with its siblings" {
	answers 0 add shared/tools-1.2
	answers 2 tools gret
	expect '"tools greet" in e.error.suggestion'
	for words in 'tools db/migrate' 'tools ../greet' 'tools .'; do
		# shellcheck disable=SC2086
		answers 2 $words
		expect 'e.error.code == "COMMAND_NOT_FOUND"'
	done
}

@test "a broken runner.lock stops the commands of libraries, and no others" {
	answers 0 add shared/tools-1.2
	cp runner.lock good
	local text
	for text in '' '{' 'null' '[]' '{"version": 2, "libraries": {}}' '{"version": 1}' '{"version": 1, "libraries": {"tools": 1}}' \
		'{"version": 1, "libraries": {"a/b": {"source": "x", "digest": "00", "files": {}}}}' \
		"$(sed 's|"commands/greet.lua"|"../../../commands/own.lua"|' good)" "$(sed 's/"digest": "./"digest": "x/' good)"; do
		printf %s "$text" >runner.lock
		answers 4 tools greet
		expect 'e.error.code == "COMMAND_INVALID" and "runner.lock" in e.error.message'
		answers 0 own
		call help
		[ "$status" -eq 0 ]
		call add shared/tools-1.2 --as more
		[ "$status" -eq 4 ]
	done
	cp good runner.lock
	chmod o+w runner.lock
	answers 4 tools greet
	expect '"world-writable" in e.error.message'
	chmod o-w runner.lock
	chmod o+w vendor
	answers 4 tools greet
	chmod o-w vendor
	answers 0 tools greet
}

@test "a bundle has the libraries of its project, and a changed one is not packed" {
	answers 0 add shared/tools-1.2
	answers 0 bundle -o mytool
	mkdir elsewhere
	(cd elsewhere && env -i "${CLEAN_ENV[@]}" HOME="$PWD" ../mytool tools greet >../out.json)
	grep -q '"word":"one"' out.json
	echo x >>"$(echo vendor/tools/*/README.md)"
	answers 4 bundle -o mytool
	expect 'e.error.code == "LIBRARY_CHANGED"'
}

@test "lists run no file of the libraries of an unknown project" {
	echo 'io.open("loaded", "w") return { description = "Loud", danger_level = "safe", run = print }' >shared/tools-1.2/commands/loud.lua
	answers 0 add shared/tools-1.2
	local env=() entry
	for entry in "${CLEAN_ENV[@]}"; do [[ $entry == RUNNER_TRUST=* ]] || env+=("$entry"); done
	CLEAN_ENV=("${env[@]}" XDG_STATE_HOME="$PWD/state")
	rm -f loaded
	answers 0 help
	expect 'e.data["commands"]["tools greet"] == "Greet from a library" and "io.open" in e.data["unread"]["tools loud"]'
	[ ! -e loaded ]
	answers 0 tools greet
	answers 0 help
	expect 'e.data["commands"]["tools loud"] == "Loud"'
	[ -e loaded ]
}

@test "four calls that add at once all succeed, and the lock has all four" {
	local i pids=()
	for i in 1 2 3 4; do
		env -i "${CLEAN_ENV[@]}" "$RUNNER" add shared/tools-1.2 --as "lib$i" >"out$i.json" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i"; done
	answers 0 library check
	expect '[row["library"] for row in e.data["libraries"]] == ["lib1", "lib2", "lib3", "lib4"]'
}

@test "without a project there is nothing to add to" {
	rm -r commands
	answers 4 add shared/tools-1.2
	expect 'e.error.code == "PRECONDITION" and "no project" in e.error.message'
	mkdir commands
	answers 2 add .
	expect 'e.error.errors[0]["field"] == "path" and "library of its own" in e.error.message'
	answers 5 add nowhere
	answers 2 add
}
