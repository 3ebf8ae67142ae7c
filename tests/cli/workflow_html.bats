#!/usr/bin/env bats
# Pages about runs: one file for a browser, without scripts or network; what programs printed is
# text in it. tests/browser/look.py looks at them with headless Chromium, where there is one.

load lib/workflow

HOSTILE='</pre><script>alert(1)</script><img src=x onerror=alert(2)>"'"'"'&amp;'

# A run with steps side by side, a retry, a failure and a loop; what they print is hostile.
ran_badly() {
	printf '%s\033[31m\r\n' "$HOSTILE" >hostile
	workflow bad <<-'YAML'
		name: "bad <i>&name"
		commands:
		  - { id: prepare, shell: cat hostile }
		  - { id: each, foreach: [a, "<b>"], do: [ { id: say, shell: "echo ${item}" } ] }
		  - id: checks
		    parallel:
		      - { id: test, shell: cat hostile hostile }
		      - id: lint
		        shell: cat hostile >&2; exit 3
		        retry: { strategy: custom, delays: [10ms], jitter: 0 }
	YAML
	call workflow run bad.yaml
	envelope 1
}

@test "show --html writes one page: steps, attempts, outputs, logs, failures by code; nothing of it is a script" {
	ran_badly
	call workflow show @last --html run.html
	envelope 0
	expect 'e.data.path.endswith("run.html") and e.data.state == "failed" and e.data.bytes > 1000'
	[ "$(field e.data.bytes)" -eq "$(wc -c <run.html)" ]
	grep -qF "content=\"default-src 'none'; style-src 'unsafe-inline'\"" run.html
	[ "$(grep -ciE '<(script|img|iframe|object|link|base|form|a href="[^#])' run.html)" -eq 0 ]
	[ "$(grep -cE 'https?://|url\(|@import|onerror=[^a]' run.html)" -eq 0 ]
	LC_ALL=C
	[ "$(tr -d '\t\n -~\200-\377' <run.html | wc -c)" -eq 0 ]
	grep -qF '&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x onerror=alert(2)&gt;&quot;&#39;&amp;amp;' run.html
	grep -qF 'bad &lt;i&gt;&amp;name' run.html
	grep -qF '<dd>each[2].say</dd>' run.html
	grep -qF '<code>&lt;b&gt; › say</code>' run.html
	grep -qF '<td><span class="n">SUBPROCESS_FAILED</span></td><td class="n">2</td><td class="n">1</td>' run.html
	grep -qF 'stderr of attempt 2' run.html
	python3 - run.html <<-'PY'
		import sys
		from html.parser import HTMLParser
		class Nesting(HTMLParser):
		    open = []
		    def handle_starttag(self, tag, attrs):
		        if tag not in ("meta", "br"):
		            self.open.append(tag)
		    def handle_endtag(self, tag):
		        assert self.open.pop() == tag, (tag, self.getpos())
		page = Nesting()
		page.feed(open(sys.argv[1], encoding="utf-8").read())
		assert page.open == [], page.open
	PY
}

@test "a page replaces a page, and no other file" {
	ran <<<'  - shell: "true"'
	echo mine >file
	call workflow show @last --html file
	envelope 6
	expect 'e.error.code == "ALREADY_EXISTS" and e.error.side_effects == "none"'
	[ "$(<file)" = mine ]
	call workflow show @last --html page
	envelope 0
	call workflow show @last --html page
	envelope 0
	call workflow stats --html page
	envelope 0
	call workflow show @last --html nowhere/page
	[ "$status" -ne 0 ]
	assert_envelope
	expect '"nowhere/page" in e.error.message and e.error.code in ("OUTPUT_FAILED", "NOT_FOUND", "PRECONDITION")'
	call workflow show nothing --html page2
	envelope 5
	[ ! -e page2 ]
}

# many_steps: a run of ten thousand, of which ten failed, and its page
many_steps() {
	ran <<-'YAML'
		  - id: each
		    foreach: [a]
		    do: [ { id: say, shell: "echo ${item}" } ]
	YAML
	python3 - <<-'PY'
		import sqlite3
		with sqlite3.connect("state/runner/runs.db") as db:
		    def rows(table, key):
		        return [c[1] for c in db.execute(f"PRAGMA table_info({table})")], db.execute(f"SELECT * FROM {table} WHERE key = ?", (key,)).fetchone()
		    for table in ("steps", "attempts"):
		        names, row = rows(table, "each[1].say")
		        row = dict(zip(names, row))
		        for i in range(2, 10001):
		            row["key"] = f"each[{i}].say"
		            if table == "steps":
		                row.update(position=100 + i, output="x" * 3000, state="failed" if i > 9990 else "completed")
		            elif i > 9990:
		                row.update(code="SUBPROCESS_FAILED", message="it said no", status=3)
		            values = {k: v for k, v in row.items() if k != "rowid"}
		            db.execute(f"INSERT INTO {table} ({', '.join(values)}) VALUES ({', '.join('?' * len(values))})", list(values.values()))
	PY
	call workflow show @last --html run.html
	envelope 0
}

@test "ten thousand steps are a page below 1 MB, the failed ones with their details" {
	many_steps
	[ "$(wc -c <run.html)" -lt 1000000 ]
	[ "$(grep -c 'it said no' run.html)" -ge 10 ]
	grep -qF '<i>10000 items: 10 failed, 9990 completed</i>' run.html
	grep -qF '<dd>each[9999].say</dd>' run.html
	[ "$(grep -o '<span class="row">' run.html | wc -l)" -lt 400 ]
	grep -qF '… and 9690 completed more' run.html
	# a cell of the strip stands for several items, and is as bad as the worst
	grep -qF 'items 9951 to 10000: 10 failed' run.html
}

@test "a step of a thousand attempts, and hundreds of steps with many, leave a page below 1 MB" {
	ran <<<'  [ { id: a, shell: "true" } ]'
	python3 - <<-'PY'
		import sqlite3
		with sqlite3.connect("state/runner/runs.db") as db:
		    run, = db.execute("SELECT id FROM runs").fetchone()
		    for step in range(300):
		        key = "a" if step == 0 else f"a{step}"
		        if step:
		            db.execute("INSERT INTO steps (run, key, position, state, kind, started_ms, ended_ms) VALUES (?, ?, ?, 'completed', 'shell', 1, 9)", (run, key, step + 9))
		        for i in range(2, 1000 if step == 0 else 60):
		            db.execute("INSERT INTO attempts (run, key, number, round, nth, started_ms, ended_ms, code, message, delay_ms) VALUES (?, ?, ?, 1, ?, 1, 2, 'X', ?, 5)",
		                (run, key, i, i, "m" * 4000))
	PY
	call workflow show @last --html run.html
	envelope 0
	[ "$(wc -c <run.html)" -lt 1000000 ]
	grep -qF 'The last 30 of 999 attempts of a' run.html
}

@test "stats --html has the trends by day, and says so where there are no runs" {
	call workflow stats --html empty.html
	envelope 0
	grep -qF '<dt>runs</dt>' empty.html
	ran_badly
	sql "INSERT INTO attempts (run, key, number, round, nth, started_ms, ended_ms, code, delay_ms)
		SELECT run, key, 9, 2, 2, started_ms - 86400000, ended_ms - 86400000, '<b>', 90000 FROM attempts WHERE key = 'prepare'"
	call workflow stats --html stats.html
	envelope 0
	[ "$(grep -c '<figure>' stats.html)" -eq 3 ] # nothing cost anything
	grep -qF '<td>&lt;b&gt;</td>' stats.html
	grep -qF '1m 30s' stats.html
	grep -qF "content=\"default-src 'none'; style-src 'unsafe-inline'\"" stats.html
}

# A run of 200 steps: a loop of 94 items at once, of which three fail; a loop in a loop; a block that is repaired; what ends it.
# Each call of claude costs two cents.
ran_long() {
	printf 'src/part_%d.c\n' {1..94} >files
	cat >agent.sh <<-'SH'
		for prompt; do :; done
		case "$prompt" in *part_[345].c) echo "API Error: no such file" >&2; exit 1 ;; esac
		echo '{"type":"result","subtype":"success","is_error":false,"result":"read","total_cost_usd":0.02}'
	SH
	workflow long <<-'YAML'
		name: nightly
		max_cost: 30
		retry: false
		claude: { program: sh, args: [agent.sh], output: json, max_attempt_cost: 0.25 }
		commands:
		  - { id: prepare, shell: echo ready }
		  - id: review
		    foreach: { file: files }
		    parallel: 4
		    continue_on_error: true
		    do: [ { id: ask, claude: "/review ${item}" }, { id: note, shell: "true" } ]
		  - id: matrix
		    foreach: [ { id: linux, cores: 2 }, "<b>mac</b>" ]
		    do: [ { id: versions, foreach: ["5.3", "5.4"], do: [ { id: test, shell: "echo ${item}" } ] } ]
		  - id: write
		    claude: /write
		    check: { shell: "[ -e fixed ] || { echo 'one test fails' >&2; exit 1; }" }
		    repair: { steps: { shell: touch fixed } }
		  - id: publish
		    shell: "echo 'the upload was rejected' >&2; exit 4"
	YAML
	call workflow run long.yaml
	envelope 1
	expect 'e.data.steps_total == 200 and e.data.steps_by_state["failed"] == 5'
	call workflow show @last --html run.html
	envelope 0
}

@test "items that are markup, control characters or very long are text of a page, and lines of a megabyte leave it small" {
	workflow hostile <<-'YAML'
		name: hostile
		commands:
		  - id: each
		    continue_on_error: true
		    foreach: ["</title></svg><script>alert(1)</script>", "\u202Egnp.exe", "\e[31mred", "a'b\"c&d", { name: "<img src=x>" }, [1, 2], 7, true, "漢"]
		    do: [ { id: say, shell: "printf '%01000000d' 1; printf '%01000000d' 1 >&2; exit 1" } ]
		  - { id: long, foreach: "${steps.each.data}", do: [ { shell: "true" } ] }
	YAML
	call workflow run hostile.yaml
	envelope 0
	call workflow show @last --html run.html
	[ "$(wc -c <run.html)" -lt 300000 ]
	[ "$(grep -ciE '<(script|img)' run.html)" -eq 0 ]
	[ "$(grep -cE $'\u202e|\e' run.html)" -eq 0 ]
	python3 - <<-'PY'
		import html, re
		page = open("run.html", encoding="utf-8").read()
		names = [html.unescape(n) for n in re.findall(r"<code>([^<]*) › say</code>", page)]
		assert names[0] == "</title></svg><script>alert(1)</script>" and names[3:] == ["a'b\"c&d", "<img src=x>", "[1,2]", "7", "true", "漢"], names
		assert "gnp.exe" in names[1] and names[2].endswith("red"), names[1:3]
		assert max(map(len, page.split("\n"))) < 30000
	PY
}

# seen WORDS…: text that a reader of run.html sees, in this order
seen() {
	python3 - "$@" <<-'PY'
		import html, re, sys
		page = open("run.html", encoding="utf-8").read().split("</style>")[1]
		text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", " ", re.sub(r"<title>.*?</title>", " ", page))))
		at = 0
		for words in sys.argv[1:]:
		    found = text.find(words, at)
		    assert found >= 0, (words, text[at:at + 3000])
		    at = found + len(words)
	PY
}

@test "a page has what failed on top: what ended the run first, with what it printed, and a link to it" {
	ran_long
	seen 'nightly ✗ failed' 'publish SUBPROCESS_FAILED : Shell command exited with status 4: the upload was rejected' \
		'What failed' '✗ publish' '(ended the run)' 'the upload was rejected' '✗ review › src/part_3.c › ask' '(the run went on)' \
		'2 more like it: src/part_4.c , src/part_5.c' '✗ write › check.1' 'one test fails' '(was repaired)' 'Timeline' 'Steps' 'prepare'
	python3 - <<-'PY'
		import re
		page = open("run.html", encoding="utf-8").read()
		links, ids = re.findall(r'href="#(\w+)"', page), re.findall(r'\bid="(\w+)"', page)
		assert len(ids) == len(set(ids)) and set(links) <= set(ids), set(links) - set(ids)
		error = page.index('class="error"')
		assert re.match(r'class="error"><a href="#(s\d+)">publish</a>', page[error:]), page[error:error + 200]
		assert page.count("<details") > 100 and re.search(r'<details id="s\d+" open><summary>(?:(?!<details).)*<code>publish</code>', page, re.S)
	PY
}

@test "a page folds a loop into one row with a strip of its items, which are named by their values" {
	ran_long
	seen 'Steps' '! completed review 94 items: 3 failed, 91 completed' '✗ failed src/part_3.c › ask' 'src/part_4.c › ask' 'src/part_5.c › ask' \
		'✓ completed src/part_1.c' 'src/part_94.c' '✓ completed matrix 2 items: 2 completed' 'linux › versions 2 items: 2 completed' '5.3 › test' '5.4 › test' \
		'<b>mac</b> › versions' '✓ completed write' 'publish'
	[ "$(grep -c 'review\[[0-9]*\]\.ask</code>' run.html)" -eq 0 ]
	python3 - <<-'PY'
		import re
		page = open("run.html", encoding="utf-8").read()
		strip = re.search(r'<span class="strip"><svg [^>]*aria-label="94 items: 3 failed, 91 completed">(.*?)</svg>', page).group(1)
		cells = re.findall(r'<rect class="(\w+)" [^>]*height="(\d+)"><title>(.*?)</title>', strip)
		assert len(cells) == 94 and [c for c in cells if c[0] != "completed"] == [("failed", "10", f"src/part_{i}.c: failed") for i in (3, 4, 5)], cells
		assert cells[0] == ("completed", "6", "src/part_1.c: completed"), cells[0] # a colour, and a shape
		lanes = re.findall(r'<div class="lane">', page)
		assert len(lanes) == 9, len(lanes)
	PY
	call workflow show @last --steps failed
	expect '[s.get("item") for s in e.data.steps if s.key.startswith("review")] == ["src/part_3.c", "src/part_4.c", "src/part_5.c"]'
}

@test "a page says of what failed beside what ended the run that it did" {
	ran <<-'YAML'
		  - id: checks
		    parallel:
		      - { id: lint, shell: "until [ -e typed ]; do sleep 0.01; done; exit 3" }
		      - { id: types, shell: "touch typed" }
	YAML
	envelope 1
	sql "UPDATE steps SET state = 'failed', code = 'X', message = 'no' WHERE key = 'checks.types'"
	call workflow show @last --html run.html
	seen 'What failed' '✗ checks › lint' '(ended the run)' '✗ checks › types' '(failed beside others)' 'Timeline'
}

@test "a page has the steps that follow a loop, and says what was cut off" {
	workflow cut <<-'YAML'
		name: cut
		commands:
		  - id: each
		    foreach: [a, b]
		    do: [ { id: try, shell: "[ ${item} != b ]" } ]
		    on_failure: { steps: [ { id: tidy, shell: echo tidied } ], then: continue }
		  - { id: stay, shell: "touch began; until [ -e go ]; do sleep 0.02; done" }
	YAML
	begin workflow run cut.yaml
	until_true [ -e began ]
	kill -INT "$pid"
	finish
	call workflow show @last --html run.html
	seen 'cut ! interrupted' 'CANCELLED : The run was interrupted' '✗ each › b › try' '(the run went on)' '✗ stay' '(was cut off)' 'Timeline' \
		'Steps' '✗ failed each 2 items: 1 completed, 1 failed' '✗ failed b › try' 'on_failure' 'tidied' '✓ completed a › try' '! interrupted stay'
}

@test "a page has the cost of each row and of all, and a timeline with a legend and an axis" {
	ran_long
	seen 'cost $2.59 of $30.00' 'What failed' 'Timeline' 'ran failed runs waits for its next attempt its steps, below it' 'step 0' 'took cost' \
		'review' '$2.57' 'write' '$0.02' 'Steps' 'attempts took cost' 'review 94 items' '$2.57' '$0.25' 'total' '$2.59'
	[ "$(grep -c 'aria-label="Legend"' run.html)" -eq 1 ]
}

@test "a page of a run that goes on has what it has cost so far, and what runs may cost" {
	workflow slow <<-'YAML'
		name: slow
		max_cost: 3
		claude: { output: json, max_attempt_cost: 0.25 }
		commands: [ { id: one, claude: one }, { id: two, claude: two } ]
	YAML
	turns -p one "echo '{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"result\":\"x\",\"total_cost_usd\":0.02}'"
	turns -p two 'touch began; until [ -e go ]; do sleep 0.02; done'
	begin workflow run slow.yaml
	until_true [ -e began ]
	call workflow show @last --html run.html
	envelope 0
	touch go
	finish
	seen 'slow ▸ running' 'cost $0.02 of $3.00, and $0.25 that running steps may cost' 'Steps' 'one' '$0.02' '▸ running two' 'total' '$0.02'
}

@test "stats: a loop of ten thousand is one row, with its cost; a page and a text have columns for it" {
	many_steps
	sql "INSERT INTO usage (run, key, number, model, cost_micros, input_tokens, output_tokens)
		SELECT run, key, number, 'opus', 1000, 5, 2 FROM attempts"
	call workflow stats
	expect '[(s.key, s.steps, s.attempts, s.failures, s.cost_usd) for s in e.data.by_step] == [("each[].say", 10000, 10000, 10, 10.0)]'
	on_pty workflow stats
	grep -Eqx 'cost: +\$10\.00' screen
	grep -Eqx '  workflow +step +steps +attempts +failures +retries +waited +mean +longest +cost' screen
	grep -Eqx '  small +each\[\]\.say +10000 +10000 +10 +0 .* \$10\.00' screen
	call workflow stats --html stats.html
	grep -qF '<td>each[].say</td><td class="n">10000</td>' stats.html
	[ "$(wc -c <stats.html)" -lt 20000 ]
}

@test "stats --html: each chart has an axis with numbers and days; of one day it is one bar, as wide as a bar" {
	ran_badly
	call workflow stats --html stats.html
	python3 - <<-'PY'
		import re
		page = open("stats.html", encoding="utf-8").read()
		charts = re.findall(r"<figure>(.*?)</figure>", page, re.S)
		assert [re.search("<figcaption>(.*?)<", c).group(1) for c in charts] == ["Runs per day", "Retries per day", "Time waited per day"], charts
		ticks = re.findall(r'<u style="bottom:([\d.]+)%"><span>(.*?)</span></u>', charts[0])
		assert ticks == [("0.0", "0"), ("100.0", "1")], ticks
		assert re.search(r'<s style="height:100.0%"></s><b [^>]*>1</b><em>\d\d-\d\d</em>', charts[0]), charts[0]
		assert re.search(r'aria-label="Runs per day, from [\d-]{10} to [\d-]{10}: 1 in all, 1 at most"', charts[0]), charts[0]
	PY
	# days without a run have their place
	sql "INSERT INTO attempts (run, key, number, round, nth, started_ms, ended_ms)
		SELECT run, key, 9, 2, 2, started_ms - 864000000, ended_ms - 864000000 FROM attempts WHERE key = 'prepare'"
	call workflow stats --html stats.html
	[ "$(grep -o '<s style=' stats.html | wc -l)" -eq 33 ]
}

# looked_at PAGE [--quick]: look.py's answer is in PAGE.json; its pictures are in `pictures`, and in build/pictures
# for whoever wants to see them
looked_at() {
	local status=0
	timeout 200 python3 "$ROOT/tests/browser/look.py" "$1" pictures "${@:2}" >"$1.json" || status=$?
	[ "$status" -ne 77 ] || skip "there is no Chromium (.ci/deps test)"
	[ "$status" -eq 0 ]
	mkdir -p "$ROOT/build/pictures"
	cp pictures/*.png "$ROOT/build/pictures"
	python3 - "$1.json" <<-'PY'
		import json, sys
		page = json.load(open(sys.argv[1], encoding="utf-8"))
		assert page["console"] == [] and page["requests"] == [], (page["console"], page["requests"])
		assert page["scripts"] == 0 and all(beyond <= 0 for beyond in page["overflow"].values()), page["overflow"]
		assert not page["axe"], page["axe"]
	PY
}

@test "in Chromium: no message, no request, nothing wider than the window" {
	ran_badly
	call workflow show @last --html run.html
	looked_at run.html
	python3 - run.html.json <<-'PY'
		import json, sys
		page = json.load(open(sys.argv[1], encoding="utf-8"))
		assert "<script>alert(1)</script>" in page["text"] and page["title"] == "bad <i>&name: failed", page
		assert page["tabs"][0] == "a" and page["tabs"].count("summary") >= 6, page["tabs"]
	PY
	[ "$(find pictures -name 'run-*.png' | wc -l)" -eq 4 ]
	call workflow stats --html stats.html
	looked_at stats.html
}

@test "in Chromium a page of ten thousand steps opens, and nothing of it is wider than the window" {
	many_steps
	mv run.html many.html
	looked_at many.html --quick
	python3 - many.html.json <<-'PY'
		import json, os, sys
		page = json.load(open(sys.argv[1], encoding="utf-8"))
		# under 2 s where the machine has nothing else to do, with a margin for where it has
		assert page["load_ms"] < 2000 * max(3, 2 * os.getloadavg()[0] / os.cpu_count()), page["load_ms"]
		assert "10000" in page["text"] and "SUBPROCESS_FAILED" in page["text"], page["text"][:2000]
		print("# loaded in", page["load_ms"], "ms", file=sys.stderr)
	PY
}

@test "in Chromium a bar of one day is narrow, and a strip, an axis and a legend are there to be seen" {
	ran_long
	call workflow stats --html stats.html
	looked_at run.html
	python3 - run.html.json <<-'PY'
		import json, sys
		text = json.load(open(sys.argv[1], encoding="utf-8"))["text"]
		order = [text.index(words) for words in ("failed\n", "What failed", "✗ publish", "review › src/part_3.c › ask", "Timeline", "its steps, below it", "Steps")]
		assert order == sorted(order), order
	PY
	looked_at stats.html
	python3 - stats.html.json <<-'PY'
		import json, sys
		page = json.load(open(sys.argv[1], encoding="utf-8"))
		assert all(0 < bar < 100 for bar in page["bars"]["1200"]), page["bars"]
	PY
}

@test "in Chromium axe-core finds no violation" {
	ran_badly
	call workflow show @last --html run.html
	looked_at run.html
	grep -qF '"axe": null' run.html.json && skip "npm can't install axe-core here"
	[ "$(python3 -c 'import json; print(json.load(open("run.html.json"))["axe"])')" = "[]" ]
	call workflow stats --html stats.html
	looked_at stats.html
	[ "$(python3 -c 'import json; print(json.load(open("stats.html.json"))["axe"])')" = "[]" ]
}
