#!/usr/bin/env bats
# The built-in commands about what is on this machine and what agents keep of a project: status,
# cleanup, changelog, generate-skills.

load lib/helper

# What a run of another test has left in the common TMPDIR is swept by these, and counted.
prepare() {
	mkdir "$BATS_TEST_TMPDIR.tmp"
	CLEAN_ENV+=(TMPDIR="$BATS_TEST_TMPDIR.tmp")
}

leaves() {
	body build 'filesystem_side_effects = { { path = ".cache/x", type = "cache", ttl_seconds = 60 }, { path = "out.log", type = "log" },
		{ path = "tmp", type = "temp" }, { path = "token", type = "credential" }, { path = "result", type = "output" } },' <<<'return {}'
	mkdir -p .cache/x/deep tmp
	printf 12345 >.cache/x/deep/file
	printf 123 >out.log
	printf 1 >tmp/a
	touch token result
}

@test "REQ-O-028 REQ-C-011 status shows declared files with sizes, and what runner keeps" {
	leaves
	mkdir state
	answers 0 XDG_STATE_HOME="$PWD/state" status
	expect "e.data['project_root'] == '$PWD' and e.data['commands'] == {'count': 1, 'broken': []}"
	expect "[(r['path'], r['type'], r['size_bytes'], r['exists']) for r in e.data['side_effects']][:2] == [
		('$PWD/.cache/x', 'cache', 5, True), ('$PWD/out.log', 'log', 3, True)]"
	expect 'e.data["state_files"] == [] and e.data["current_context"] is None'
	body lock <<<'ctx:lock("x") return {}'
	answers 0 XDG_STATE_HOME="$PWD/state" lock
	answers 0 XDG_STATE_HOME="$PWD/state" status --show-state-files
	expect "[r['path'] for r in e.data['state_files']] == ['$PWD/state/runner/locks', '$PWD/state/runner/projects'] and set(e.data) == {'version', 'state_files'}"
	answers 0 XDG_STATE_HOME="$PWD/state" status --show-side-effects
	expect 'set(e.data) == {"version", "side_effects"}'
}

@test "REQ-O-028 status succeeds whatever is broken" {
	known
	echo 'return {' >runner.lua
	echo 'error "x"' >commands/bad.lua
	answers 0 status
	expect '"problem" in e.data'
	echo 'return {}' >runner.lua
	answers 0 status
	expect 'e.data["commands"]["broken"] == ["bad"]'
}

@test "REQ-O-027 cleanup removes caches, logs and temporary files, nothing else, and counts bytes" {
	leaves
	answers 0 cleanup --dry-run
	expect 'e.data["effect"] == "would_delete" and len(e.data["would"]) == 3'
	[ -e .cache/x/deep/file ]
	[ -e out.log ]
	[ -e tmp/a ]
	answers 0 cleanup --scope logs
	expect "e.data['cleaned'] == [{'path': '$PWD/out.log', 'type': 'log', 'bytes_freed': 3}] and e.data['total_bytes_freed'] == 3"
	expect 'e.data["effect"] == "deleted"'
	answers 0 cleanup --min-age 1h
	expect 'e.data["effect"] == "noop"'
	answers 0 cleanup
	expect 'sorted(r["type"] for r in e.data["cleaned"]) == ["cache", "temp"] and e.data["total_bytes_freed"] == 6'
	[ ! -e .cache/x ]
	[ ! -e tmp ]
	[ -e token ]
	[ -e result ]
	answers 0 cleanup
	expect 'e.data == {"cleaned": [], "total_bytes_freed": 0, "effect": "noop"}'
}

@test "REQ-O-027 a declared path that holds the project, the home or a link is no reason to lose them" {
	mkdir -p home/inner target
	touch target/kept home/inner/kept
	ln -s ../target home/link
	body wrong "filesystem_side_effects = { { path = '.', type = 'temp' }, { path = '..', type = 'temp' }, { path = '/', type = 'temp' },
		{ path = '~', type = 'temp' }, { path = '$PWD/home', type = 'cache' }, { path = 'commands', type = 'cache' }, { path = 'home/link', type = 'temp' } }," <<<'return {}'
	answers 0 HOME="$PWD/home" cleanup
	expect '{w["code"] for w in e.warnings} == {"CLEANUP_REFUSED"}'
	[ -e target/kept ]
	[ -e home/inner/kept ]
	[ -e commands/wrong.lua ]
	[ ! -L home/link ]
}

@test "REQ-O-027 REQ-F-043 cleanup removes what a killed run left, and not what a living one uses" {
	mkdir tmpdir
	body hold 'timeout = "1h",' <<<'io.open(ctx.tempdir .. "/big", "w"):write(("x"):rep(1000)):close() io.open("marker", "w"):close() ctx:sleep "1h"'
	env -i "${CLEAN_ENV[@]}" TMPDIR="$PWD/tmpdir" "$RUNNER" hold >out.txt 2>err.txt </dev/null 3>&- &
	local pid=$!
	until_true [ -e marker ]
	answers 0 TMPDIR="$PWD/tmpdir" cleanup --scope temp
	expect 'e.data["cleaned"] == []'
	kill -KILL "$pid"
	wait "$pid" || true
	freed() { call TMPDIR="$PWD/tmpdir" cleanup --scope temp && [ -z "$(ls tmpdir)" ]; }
	until_true freed
	until_true assert_no_process_left # its guard sees that it was the last
}

@test "REQ-O-029 changelog shows the project's entries, and --since only what came after" {
	echo 'return { changelog = "changelog.json" }' >runner.lua
	cat >changelog.json <<-'JSON'
		[{"version": "1.10.0", "date": "2026-02-01", "breaking": true, "added": ["a"], "removed": ["b"]},
		 {"version": "1.9.0", "changed": ["c"]}, {"version": "1.2"}]
	JSON
	answers 0 changelog
	expect '[r["version"] for r in e.data["entries"]] == ["1.10.0", "1.9.0", "1.2"]'
	expect 'e.data["entries"][0] == {"version": "1.10.0", "date": "2026-02-01", "breaking": True, "added": ["a"], "changed": [], "removed": ["b"]}'
	answers 0 changelog --since 1.9.0
	expect '[r["version"] for r in e.data["entries"]] == ["1.10.0"]'
	answers 0 changelog --since 2
	expect 'e.data["entries"] == []'
	answers 2 changelog --since x
	local wrong
	for wrong in '' '{' '{}' '[1]' '[{"date": "x"}]' '"x"' 'null'; do
		echo "$wrong" >changelog.json
		answers 4 changelog
		expect 'e.error["fix_required"]'
	done
	rm changelog.json
	answers 5 changelog
	echo 'return {}' >runner.lua
	answers 4 changelog
}

# calls_of PAGE…: the calls to copy, without what is said of them
calls_of() {
	sed -n 's/^    runner //p' "$@" | sed 's/  #.*//'
}

@test "REQ-O-034 generate-skills writes an index and a page for each group, with calls that are valid as they stand" {
	known
	echo 'return { name = "My Shop!", version = "2.1.0", description = "Sells things." }' >runner.lua
	args() { echo "args = { $1 },"; }
	body db/show "$(args '{ "table_name", "string", positional = true, required = true, pattern = "^[a-z]+/[a-z]+$" }, { "since", "duration" }')" <<<'return {}'
	body db/list "list = true, $(args '{ "kind", "enum", values = { "b", "c" }, default = "b" }')" <<<'return {}'
	body db/import 'stdin = { type = "json" },' <<<'return {}'
	body db/wipe "$(args '{ "target", "enum", values = { "a", "b" }, required = true }, { "names", "array", items = "string", variadic = true, min_length = 2 }')" 'examples = { { description = "Wipe it", command = "runner db wipe --target a x y --confirm-destructive" }, { description = "Gone", command = "runner db wipe --tagret a" } },' <<<'return {}'
	body db/reset 'safe_default = true,' <<<'return {}'
	body sign "$(args '{ "api_key", "string", secret = true, required = true }, { "at", "string", required = true, pattern = "^[0-9]{4}-[0-9]{2}-[0-9]{2}$" }')" <<<'return {}'
	body rules "$(args '{ "a", "integer", min = 7 }, { "b", "json" }')" 'requires = { { one_of = { "a", "b" } } },' <<<'return {}'
	body odd "$(args '{ "n", "array", items = "integer", min_length = 3, min = 5, required = true }, { "for", "duration", min = "2h", required = true },
		{ "j", "json", required = true, schema = { type = "object", required = { "a" }, properties = { a = { enum = { "x" } } } } }')" <<<'return {}'
	body late "$(args '{ "value", "string", default = function() error "never" end }')" <<<'return {}'
	body secret 'hidden = true,' <<<'return {}'
	sed -i 's/"safe"/"destructive"/; s/danger_level/timeout = "none", danger_level/' commands/db/wipe.lua commands/db/reset.lua
	answers 0 generate-skills
	expect '[(s["path"], s.get("commands")) for s in e.data["skills"]] == [(".claude/skills/my-shop/db.md", ["db import", "db list", "db reset", "db show", "db wipe"]), (".claude/skills/my-shop/_commands.md", ["late", "odd", "rules", "sign"]), (".claude/skills/my-shop/SKILL.md", None)]'
	expect 'all(s["bytes"] == len(open(s["path"]).read().encode()) for s in e.data["skills"])'
	cd .claude/skills/my-shop
	python3 - <<-'PY'
		import json
		text = open("SKILL.md").read()
		front = dict(line.split(": ", 1) for line in text.split("---\n")[1].splitlines())
		assert front["name"] == "my-shop" and json.loads(front["metadata"])["version"] == "2.1.0", front
		told = json.loads(front["description"])
		assert told.startswith("Sells things. ") and "db, late, odd, rules, sign" in told and len(told) <= 1024, told
		assert len(text.encode()) <= 1500 and "wipe (destroys)" in text and "!" not in text and "CAPITALS" in text and "secret" not in text
	PY
	local name line words
	for name in 'db show' 'db list' 'db import' 'db wipe' 'db reset' rules sign odd; do
		[ "$(calls_of ./*.md | grep -c "^$name\b")" -eq 2 ] || {
			echo "$name"
			calls_of ./*.md
			false
		}
	done
	[ "$(calls_of _commands.md | grep '^late')" = $'late --value VALUE\nlate --value VALUE --timeout 30s' ]
	[ "$(calls_of db.md | grep '^db wipe')" = $'db wipe --target a x y --dry-run\ndb wipe --target a --dry-run' ]
	run grep -e '^    runner .*--confirm-destructive' -e '^    runner .*--live' -r .
	[ "$status" -eq 1 ]
	[ "$(calls_of db.md | grep '^db reset' | grep -c dry-run)" -eq 2 ]
	cd ../../..
	echo '{}' >INPUT_FILE
	CLEAN_ENV+=(API_KEY=x)
	calls_of .claude/skills/my-shop/*.md >calls.txt
	while read -r line; do
		eval "words=($line)"
		call "${words[@]}" --validate-only
		[ "$status" -eq 0 ]
	done <calls.txt
}

@test "a page says what must be given and in which form, calls nothing without saying what, and takes no word for a value" {
	known
	args() { echo "args = { $1 },"; }
	body q/replay "$(args '{ "name", "string" }')" <<<'return {}'
	body q/purge "$(args '{ "force", "boolean" }, { "name", "string" }, { "within", "duration" }')" <<<'return {}'
	body q/prune "$(args '{ "all", "boolean" }')" <<<'return {}'
	body q/go '' <<<'return {}'
	body q/long "$(args '{ "text", "string", min_length = 65 }')" <<<'return {}'
	body q/many "$(args '{ "names", "array", items = "string", min_length = 1000000000 }')" <<<'return {}'
	body q/odd "$(args '{ "key", "string", pattern = "^zz[0-9]$" }')" <<<'return {}'
	body q/put "$(args '{ "id", "string", required = true, min_length = 5 }, { "to", "path" }, { "at", "string", pattern = "^[0-9]{2}:[0-9]{2}$" }, { "tags", "array", items = "string", default = { "x" } },
		{ "mode", "string", default = "fast" }, { "wet", "boolean", default = true }, { "n", "integer", default = 3 }')" <<<'return {}'
	body q/show "$(args '{ "name", "string", max_length = 2 }')" <<<'return {}'
	sed -i 's/"safe"/"mutating"/; s/danger_level/timeout = "none", danger_level/' commands/q/*.lua
	sed -i 's/"mutating"/"destructive"/' commands/q/purge.lua
	sed -i 's/"mutating"/"safe"/' commands/q/show.lua
	answers 0 generate-skills --output-dir s
	cd s/*/
	[ "$(calls_of q.md)" = "$(printf 'q %s\n' go 'go --dry-run' 'help q long' 'help q many' 'help q odd' 'prune --dry-run' 'prune --all --dry-run' 'purge --name NAME --dry-run' \
		'purge --name NAME --within 10m --dry-run' 'put ID_ID' 'put ID_ID --to TO --at 10:00' 'replay --name NAME' 'replay --name NAME --dry-run' show 'show --name NA' |
		sed 's/^q help/help/; s/put ID_ID/put --id ID_ID/')" ]
	[ "$(grep -e '^- ' q.md | grep -v '(text)$' | sort -u)" = "$(printf -- '- `--%s\n' 'all` (yes or no: the flag alone)' 'at` (text, as 10:00)' 'force` (yes or no: the flag alone)' 'id` (**required**; text)' \
		'key` (text)' 'names` (text; repeated for several)' 'mode` (text; default fast)' 'n` (whole number; default 3)' 'tags` (text; repeated for several; default ["x"])' 'to` (path)' 'wet` (yes unless `--no-wet`)' \
		'within` (duration, as 10m)' | grep -v '(text)$' | sort -u)" ]
	grep -q "Changes something\*: a dry run isn't needed first" q.md
}

@test "generate-skills renews what it wrote, and touches nothing else" {
	known
	echo 'return { name = "shop" }' >runner.lua
	body db/a '' <<<'return {}'
	body db/b '' <<<'return {}'
	body c '' <<<'return {}'
	answers 0 generate-skills --dry-run
	[ ! -e .claude ]
	answers 0 generate-skills --output-dir s
	echo mine >s/shop/notes.md
	ln -s ../../runner.lua s/shop/link.md
	rm -r commands/db
	answers 0 generate-skills --output-dir s
	[ "$(ls s/shop)" = $'SKILL.md\n_commands.md\nlink.md\nnotes.md' ]
	[ "$(cat s/shop/notes.md)" = mine ]
	for name in skill/a skill/b SKILL/a SKILL/b; do body "$name" '' <<<'return {}'; done
	answers 0 generate-skills --output-dir s
	[ "$(ls s/shop)" = $'SKILL.md\n_SKILL.md\n_commands.md\n_skill.md\nlink.md\nnotes.md' ]
	grep -q '^# shop: 5 commands' s/shop/SKILL.md
	echo '# my own' >s/shop/SKILL.md
	answers 6 generate-skills --output-dir s
	expect 'e.error["code"] == "ALREADY_EXISTS" and "--output-dir" in e.error["fix_required"]'
	[ "$(cat s/shop/SKILL.md)" = '# my own' ]
	rm s/shop/SKILL.md
	ln -s ../../runner.lua s/shop/SKILL.md
	answers 6 generate-skills --output-dir s
	[ "$(cat runner.lua)" = 'return { name = "shop" }' ]
}

@test "REQ-O-034 the index of a skill has at most 1,500 bytes, however many commands and whatever they are called" {
	known
	local long
	long=$(printf 'ä%.0s' {1..200})
	for size in 1 30 307; do
		rm -rf commands .claude
		lua5.4 "$ROOT/tests/search/commands.lua" "$PWD" "$size"
		echo "return { name = '$long', description = '$long $long' }" >runner.lua
		answers 0 generate-skills
		[ "$(wc -c <.claude/skills/commands/SKILL.md)" -le 1500 ]
		expect "sum(len(s.get('commands', [])) for s in e.data['skills']) == $size"
	done
	grep -q 'workspace.md: 5$' .claude/skills/commands/SKILL.md
	rm -rf commands .claude runner.lua
	mkdir commands
	for ((i = 0; i < 130; i++)); do
		long=$(printf 'group%03d-%050d' "$i" 0)
		body "$long/a" '' <<<'return {}'
		cp "commands/$long/a.lua" "commands/$long/b.lua"
	done
	for ((i = 0; i < 70; i++)); do cp "commands/$long/a.lua" "commands/alone$i.lua"; done
	answers 0 generate-skills
	[ "$(wc -c <.claude/skills/*/SKILL.md)" -le 1500 ]
	grep -q 'more pages are here' .claude/skills/*/SKILL.md
	[ -e ".claude/skills/$(ls .claude/skills)/_commands.3.md" ]
	expect "sum(len(s.get('commands', [])) for s in e.data['skills']) == 330"
}

@test "a project's own status, cleanup or changelog goes before the built-in one" {
	local name
	for name in status cleanup changelog generate-skills; do
		body "$name" <<<'return { own = true }'
		answers 0 "$name"
		expect 'e.data == {"own": True}'
	done
	answers 0 self status
	expect '"side_effects" in e.data'
}

# tidied: a run has removed $file (it takes 5 ms at most for that: a later one may have to)
tidied() {
	answers 0 TMPDIR="$PWD/tmpdir" other
	[ ! -e "$file" ]
}

@test "REQ-F-043 a file for the caller outlives the run, is its user's alone, and the answer says how to remove it" {
	mkdir tmpdir
	body report <<-'LUA'
		local path = ctx.tempdir .. "/it's a report.json"
		ctx.fs.write(path, "{}", 420)
		local first = ctx:hand_out(path)
		ctx.fs.write(path, "[]")
		return { output_file = first, other = ctx:hand_out(path), tempdir = ctx.tempdir }
	LUA
	body other <<<'return ctx.tempdir'
	umask 0
	answers 0 TMPDIR="$PWD/tmpdir" report
	local file
	file=$(field e.data.output_file)
	[ "$(<"$file")" = '{}' ]
	[ "$(<"$(field e.data.other)")" = '[]' ]
	[ "$(stat -c %a "$file")" = 600 ]
	[ "$(stat -c %a "$(dirname "$file")")" = 700 ]
	[ ! -e "$(field e.data.tempdir)" ]
	expect 'e.data.cleanup.auto_cleanup_after_seconds == 300'
	# another run leaves it alone until its time is over
	answers 0 TMPDIR="$PWD/tmpdir" other
	[ -e "$file" ]
	answers 0 TMPDIR="$PWD/tmpdir" report
	sh -c "$(field e.data.cleanup.command)"
	[ ! -e "$(field e.data.output_file)" ]
	[ -e "$file" ]
	touch -d '-301 seconds' "$(dirname "$file")"
	until_true tidied
	[ -z "$(ls tmpdir)" ]
}

@test "files for a caller that are too many for one run's tidying go with the runs after it" {
	mkdir -p tmpdir/runner-out-01ARZ3NDEKTSV4RRFFQ69G5FAV
	local file=tmpdir/runner-out-01ARZ3NDEKTSV4RRFFQ69G5FAV
	seq -f "$file/%g" 5000 | xargs touch
	touch -d '-301 seconds' "$file"
	body other <<<'return ctx.tempdir'
	until_true tidied
	[ -z "$(ls tmpdir)" ]
}

@test "ctx:hand_out takes files only, and moves nothing in a dry run" {
	local wrong
	for wrong in nil '"nosuch"' ctx.tempdir '{}' '"/dev/null"'; do
		body bad <<<"return ctx:hand_out($wrong)"
		answers 1 bad
		expect '"hand_out" in e.error.message'
	done
	ln -s /etc/passwd link
	body bad <<<'return ctx:hand_out("link")'
	answers 1 bad
	body dry 'danger_level = "mutating", dry_run = true, exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },' \
		<<<'return { effect = "created", file = ctx:hand_out("mine") }'
	echo kept >mine
	answers 0 dry --dry-run
	[ -e mine ]
	expect 'e.data.file == "mine"'
}
