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
	body hold <<<'io.open(ctx.tempdir .. "/big", "w"):write(("x"):rep(1000)):close() io.open("marker", "w"):close() ctx:sleep(60)'
	env -i "${CLEAN_ENV[@]}" TMPDIR="$PWD/tmpdir" "$RUNNER" hold >out.txt 2>err.txt </dev/null 3>&- &
	local pid=$!
	until_true [ -e marker ]
	answers 0 TMPDIR="$PWD/tmpdir" cleanup --scope temp
	expect 'e.data["cleaned"] == []'
	kill -KILL "$pid"
	wait "$pid" || true
	freed() { call TMPDIR="$PWD/tmpdir" cleanup --scope temp && [ -z "$(ls tmpdir)" ]; }
	until_true freed
	assert_no_process_left
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

@test "REQ-O-034 generate-skills writes a document for each command, with arguments, examples and guardrails" {
	body db-wipe 'args = { { "target", "enum", values = { "a", "b" }, required = true }, { "names", "array", items = "string", variadic = true } }, hidden = false,' <<<'return {}'
	sed -i 's/"safe"/"destructive"/; s/danger_level/timeout = "none", danger_level/' commands/db-wipe.lua
	body secret 'hidden = true,' <<<'return {}'
	answers 0 generate-skills --output-dir docs/skills
	expect '[(s["path"], s.get("command")) for s in e.data["skills"]] == [("docs/skills/CONTEXT.md", None), ("docs/skills/SKILL-db-wipe.md", "db-wipe")]'
	python3 - <<-'PY'
		import json
		text = open("docs/skills/SKILL-db-wipe.md").read()
		front = dict(line.split(": ", 1) for line in text.split("---\n")[1].splitlines())
		facts = {key: json.loads(value) for key, value in front.items()}
		assert set(facts) == {"name", "description", "version", "args"}, facts
		assert facts["args"]["required"] == ["target"] and facts["args"]["properties"]["target"]["enum"] == ["a", "b"]
		assert "names" in facts["args"]["properties"]
		assert text.count("\n    runner ") >= 3 and "--confirm-destructive" in text
		assert all("\n## %s\n" % title in text for title in ("Examples", "Guardrails", "Patterns", "Anti-patterns", "Exit codes"))
	PY
	answers 0 generate-skills --skill-format json --output-dir j
	python3 -c 'import json; assert json.load(open("j/SKILL-db-wipe.json"))["name"] == "db-wipe"'
	answers 0 generate-skills --dry-run --output-dir never
	[ ! -e never ]
	answers 2 generate-skills --skill-format xml
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
