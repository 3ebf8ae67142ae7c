#!/usr/bin/env bats
# What each --format prints of a success follows from the declaration, and is all of it: built-in commands, those that
# come with runner, and random results, in each format (docs/design.md#rows).

load lib/helper

FORMATS="tsv jsonl plain table"

# whole FORMAT: in $stdout is something; each row of jsonl is an object, each line of tsv has the fields of the first.
# An empty list that the declaration promises (EMPTY=1) may be nothing.
whole() {
	[ "$status" -eq 0 ]
	[ -s out.txt ] || [ -n "${EMPTY:-}" ]
	FORMAT=$1 python3 - <<'PY'
import json, os
lines = open("out.txt", encoding="utf-8").read().split("\n")
assert lines.pop() == "", "no newline at the end"
if os.environ["FORMAT"] == "jsonl":
    assert all(isinstance(json.loads(line), dict) for line in lines), lines
elif os.environ["FORMAT"] == "tsv":
    assert len({line.count("\t") for line in lines}) <= 1, lines
PY
}

# everything ARGS…: nothing of the JSON answer is missing in jsonl, but for what a warning names
everything() {
	answers 0 "$@" --format json
	cp out.txt json.txt
	call "$@" --format jsonl
	python3 - <<'PY'
import json
data = json.load(open("json.txt"))["data"]
rows = [json.loads(line) for line in open("out.txt")]
warned = [json.loads(line) for line in open("err.txt") if line.startswith("{")]
left = next((w["message"].split("has also ")[1].split(", ") for w in warned if w.get("code") == "FIELDS_LEFT_OUT"), [])
VOLATILE = {"duration_ms", "started", "ms", "self_ms", "detail", "machine"}


def still(v):
    if isinstance(v, dict):
        return {k: still(x) for k, x in v.items() if k not in VOLATILE}
    return [still(x) for x in v] if isinstance(v, list) else v


whole = data if isinstance(data, dict) else {"value": data}
shown = {k: v for k, v in whole.items() if k not in left}
held = next(iter(shown.values())) if len(shown) == 1 else None
as_rows = [[x if isinstance(x, dict) else {"value": x} for x in v] for v in (held, data) if isinstance(v, list)]
assert still(rows) in [still([whole])] + [still(r) for r in as_rows], (rows, data, left)
PY
}

@test "deploy, releases and rollback print all that they did, with and without removed releases" {
	mkdir -p site
	cat >runner.lua <<-LUA
		return { config = { targets = { prod = { path = "$PWD/live", keep = 1 } }, source = "site" } }
	LUA
	cp "$ROOT"/commands/*.lua commands/
	local format n=0
	for format in $FORMATS; do
		n=$((n + 1))
		echo $n >site/index.html
		call deploy --target prod --format "$format"
		whole "$format"
		grep -q created out.txt || grep -q updated out.txt
		EMPTY='' call releases --target prod --format "$format"
		whole "$format"
		call rollback --target prod --format "$format"
		[ "$status" -ne 0 ] || whole "$format"
	done
	echo last >site/index.html
	call deploy --target prod --format jsonl
	python3 -c 'import json; rows = [json.loads(l) for l in open("out.txt")]
assert len(rows) == 1 and rows[0]["target"] == "prod" and isinstance(rows[0]["removed"], list) and rows[0]["removed"], rows'
	call deploy --target prod --format plain
	[ "$(tr -cd '\t' <out.txt | wc -c)" -eq 4 ]
}

@test "every built-in command that only looks prints something in each format, and jsonl all of it" {
	known
	mkdir -p tests
	body hello <<<'return { greeting = "hi" }'
	printf 'name: w\nsteps:\n  - shell: "true"\n  - shell: "echo out"\n' >w.yaml
	printf 'return { executors = { here = { kind = "local" } }, audit = { path = "a.jsonl" }, changelog = "c.json", version = "1.1.0" }\n' >runner.lua
	echo '[{"version":"1.1.0","date":"2026-01-01","added":["x"]}]' >c.json
	call workflow run w.yaml
	call hello --detach
	local id format empty words
	id=$(field e.data.job_id)
	call job wait "$id"
	while read -r empty words; do
		# shellcheck disable=SC2086 # words of a command line
		for format in $FORMATS; do
			call RUNNER_FORMAT="$format" $words
			EMPTY=${empty#-} whole "$format"
		done
	done <<-COMMANDS
		- hello
		- help
		- help lint
		- workflow
		- changelog
		- check-permissions
		- cleanup
		- completion bash
		- completion bash -- hel
		- completion bash -- nosuch --format t
		- doctor
		empty lint
		- manifest
		- status
		- types --print workflow
		- audit list
		- audit verify
		- executor list
		- job list
		empty job logs $id
		- job status $id
		- job wait $id
		- mcp tools
		- workflow check w.yaml
		- workflow list
		- workflow logs @last
		- workflow plan w.yaml
		- workflow plan w.yaml --graph mermaid
		- workflow show @last
		- workflow wait @last
		- workflow stats
		- hello --plan
		- hello --schema
		- hello --show-config
		- hello --output-schema
		- hello --version
		- hello --validate-only
	COMMANDS
	for words in hello changelog check-permissions cleanup status "audit verify" "executor list" "mcp tools" "workflow check w.yaml" \
		"workflow show @last" "workflow stats" "workflow plan w.yaml --seed 1" lint; do
		# shellcheck disable=SC2086
		everything $words
	done
}

# 200 results by a seed of their own: of a command without a declaration, and of one that declares where its rows are.
@test "random results: each format has a row for each item of what is declared, or one" {
	command_file any <<'LUA'
return { description = "x", danger_level = "safe", args = { { "data", "json", required = true } }, run = function(args) return args.data end }
LUA
	sed 's/danger_level/rows = "r", danger_level/' commands/any.lua >commands/named.lua
	sed 's/danger_level/rows = true, danger_level/' commands/any.lua >commands/list.lua
	RUNNER=$RUNNER timeout 500 python3 - <<'PY'
import json, os, random, subprocess
chance = random.Random(7)
WORDS = ["", "a", "x\ty", "two\nlines", "\u65e5\u672c", "-1"]


def value(depth):
    kind = chance.randrange(9 if depth else 6)
    if kind < 6:
        return [None, True, 3, 0.5, chance.choice(WORDS), "w"][kind]
    if kind < 7:
        return [value(depth - 1) for _ in range(chance.randrange(4))]
    return {k: value(depth - 1) for k in chance.sample("abcdr", chance.randrange(5))}


requests, wanted = [], []
for n in range(200):
    data = value(3)
    name = chance.choice(["any", "named", "list"])
    if name == "named":
        data = {**(data if isinstance(data, dict) else {}), "r": chance.choice([None, [], [value(2) for _ in range(chance.randrange(4))]])}
    elif name == "list":
        data = chance.choice([None, [], [value(2) for _ in range(chance.randrange(4))]])
    rows = (data["r"] if name == "named" else data) if name != "any" else [data]
    for form in ("jsonl", "tsv", "plain", "table"):
        done = subprocess.run([os.environ["RUNNER"], name, "--data", json.dumps(data), "--format", form], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        about = (name, data, form, done)
        lines = done.stdout.split("\n")
        assert done.returncode == 0 and lines.pop() == "", about
        assert len(lines) == len(rows or []) + (form in ("tsv", "table") and len(lines) > 0 and lines != ["-"] * len(lines)), about
        assert name != "any" or done.stdout, about
        if form == "jsonl":
            shown = [json.loads(line) for line in lines]
            assert shown == [r if isinstance(r, dict) else {"value": r} for r in rows or []], about
        beside = name == "named" and set(data) - {"r"}
        assert ("FIELDS_LEFT_OUT" in done.stderr) == bool(beside), about
        assert all(k in done.stderr for k in beside or []), about
PY
}

@test "what a command's columns and output_schema name is a column even where no row has it; --fields chooses" {
	body shaped 'columns = { "z" }, rows = "r", args = { { "n", "integer", default = 0 } }, output_schema = { type = "object", properties = {
		r = { type = "array", items = { type = "object", properties = { a = {}, z = {} } } } } },' <<'LUA'
		local r = {}
		for i = 1, args.n do r[i] = { a = i, more = "m" } end
		return { r = r[1] and r or nil }
LUA
	call shaped --format tsv
	[ "$stdout" = $'z\ta' ]
	call shaped --n 1 --format tsv
	[ "$stdout" = $'z\ta\tmore\n\t1\tm' ]
	call shaped --n 1 --format plain
	[ "$stdout" = $'\t1\tm' ]
	call shaped --n 1 --fields a --format tsv
	[ "$stdout" = $'a\n1' ]
	[ ! -s err.txt ]
	body beside 'rows = "r",' <<<'return { r = { { a = 1 } }, total = 2 }'
	call beside --fields a,total --format tsv
	grep -q FIELDS_LEFT_OUT err.txt
	answers 0 shaped
	expect 'e.data == {"r": []}'
	answers 0 shaped --fields a
	expect 'e.data == {}'
	answers 0 shaped --n 1 --fields r
	expect 'e.data == {"r": [{"a": 1, "more": "m"}]}'
}

@test "a result that breaks its declaration of rows is INVALID_RESULT in every format" {
	body broken 'rows = "r",' <<<'return { r = "text" }'
	failing changed mutating <<<'return { effect = "updated", r = 5 }'
	sed -i 's/retry = /rows = "r", &/' commands/changed.lua
	body failing 'rows = "r",' <<<'ctx:fail("CONFLICT", "no", { data = { r = { 1 }, more = 2 } })'
	local format
	for format in json $FORMATS; do
		answers 6 failing --format "$format"
		expect 'e.data == { "r": [1], "more": 2 } and e.warnings == []'
		answers 1 broken --format "$format"
		expect 'e.error.code == "INVALID_RESULT" and e.error.side_effects == "none" and e.error.retryable is False'
		answers 1 changed --format "$format"
		expect 'e.error.code == "INVALID_RESULT" and e.error.side_effects == "complete"'
	done
}

@test "REQ-F-012 a timeout leaves stdout empty in no format, that of ids neither" {
	body slow 'primary_id_field = "id", timeout = "300ms",' <<<'ctx:sleep(60)'
	local format
	for format in id json $FORMATS; do
		answers 10 slow --format "$format"
		expect 'e.error.code == "TIMEOUT"'
	done
}
