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
	grep -qF '<code>each[2].say</code>' run.html
	grep -qF '<td>SUBPROCESS_FAILED</td><td class="n">2</td><td class="n">1</td>' run.html
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

@test "ten thousand steps are a page below 2 MB, the failed ones with their details" {
	many_steps
	[ "$(wc -c <run.html)" -lt 2000000 ]
	[ "$(grep -c 'it said no' run.html)" -ge 10 ]
	grep -qF 'each (10000)' run.html
	grep -qF '<code>each[9999].say</code>' run.html
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
	[ "$(grep -c '<svg class="bars"' stats.html)" -ge 2 ]
	grep -qF '<td>&lt;b&gt;</td>' stats.html
	grep -qF '1m 30s' stats.html
	grep -qF "content=\"default-src 'none'; style-src 'unsafe-inline'\"" stats.html
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
