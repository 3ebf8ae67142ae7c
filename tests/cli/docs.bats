#!/usr/bin/env bats
# The documentation is true: its examples print what they say, its tables, names and
# links are those of the source, and the schema is the one that the program keeps.

load lib/helper

check() {
	python3 "$ROOT/tests/cli/lib/docs.py" "$@"
}

# (once more where it fails: some examples show limits, which a machine that stands still misses)
run_examples() {
	RUNNER=$RUNNER python3 "$ROOT/tests/cli/lib/docs_run.py" "$@"
}

# page NAME <<'MD': a page of this test's own.
page() {
	cat >"$1"
	run run_examples "$PWD/$1"
}

@test "every example of the README prints what it says" {
	tries 3 run_examples README.md
}

@test "every example of the guide prints what it says" {
	tries 3 run_examples docs/guide.md
}

@test "every example of the workflow pages prints what it says" {
	cd "$ROOT"
	tries 3 run_examples docs/workflows/*.md
}

@test "every example of the other pages prints what it says" {
	cd "$ROOT"
	local pages=()
	while IFS= read -r file; do
		pages+=("$file")
	done < <(find docs -name '*.md' ! -path docs/guide.md ! -path 'docs/workflows/*' | sort)
	tries 3 run_examples "${pages[@]}"
}

@test "an example that prints something else is found" {
	page wrong.md <<'MD'
```console
$ echo one
two
```
MD
	[ "$status" -eq 1 ]
	[[ $output == *"wrong.md:1: \$ echo one"* ]]
}

@test "an example whose JSON has another value, or a key too many, is found" {
	page value.md <<'MD'
```console
$ echo '{"a":1,"b":2}'
{"a":1,"b":3}
```
MD
	[ "$status" -eq 1 ]
	page key.md <<'MD'
```console
$ echo '{"a":1,"b":2}'
{"a":1}
```
MD
	[ "$status" -eq 1 ]
}

@test "a page gets the files that the pages it uses show, and no others" {
	page shown.md <<'MD'
```yaml
# shown.yaml
name: shown
```
MD
	page user.md <<'MD'
<!-- uses: shown.md -->

```console
$ cat shown.yaml
# shown.yaml
name: shown
```
MD
	[ "$status" -eq 0 ]
	page stranger.md <<'MD'
```console
$ ls shown.yaml
ls: cannot access 'shown.yaml': No such file or directory
```
MD
	[ "$status" -eq 0 ]
}

@test "volatile values, wrapped lines and omitted parts are not differences" {
	page fine.md <<'MD'
```console
$ echo '{"duration_ms":1,"b":{"c":2,"d":3}}'
{"duration_ms":7,
 "b":{"c":2, …}}
$ printf 'one\ntwo\nthree\n'
one
…
three
```
MD
	[ "$status" -eq 0 ]
}

@test "every block has a language that says whether it runs" {
	check blocks
}

@test "every json block parses" {
	check json
}

@test "every link between pages leads somewhere" {
	check links
}

@test "every section of the design that a comment cites exists, and none is cited by number" {
	check citations
}

@test "examples and changelog show the version that base.h defines" {
	check version
}

@test "the tables of codes are those of codes.def" {
	check tables
	grep -q '<!-- generated: exit-codes -->' "$ROOT/docs/reference/exit-codes.md"
	grep -q '<!-- generated: error-codes -->' "$ROOT/docs/reference/errors.md"
}

@test "the reference names every flag, key, function, variable, code, warning and envelope field" {
	check reference
}

@test "the manual names every flag, variable and exit code, and mandoc finds no error" {
	check manual
	mandoc -Tlint -W warning "$ROOT/docs/runner.1"
}

@test "the README has fewer than 150 lines" {
	[ "$(wc -l <"$ROOT/README.md")" -lt 150 ]
}

@test "the envelope's schema refuses what an envelope may not be" {
	python3 "$ROOT/tests/cli/lib/schema_refuses.py"
}

@test "every file that the page for contributors names is there" {
	local path named
	named=$(grep -oE '`(src|lua|tests|docs|\.ci)/[A-Za-z0-9_./]+`' "$ROOT/docs/CONTRIBUTING.md" | tr -d '`' | grep -vE 'NAME|ROOM')
	[ "$(wc -l <<<"$named")" -gt 30 ]
	for path in $named; do
		[ -e "$ROOT/$path" ] || { echo "CONTRIBUTING.md: no $path" >&2 && return 1; }
	done
}
