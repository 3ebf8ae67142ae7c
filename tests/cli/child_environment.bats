#!/usr/bin/env bats
# The environment of what a command starts: nothing waits for a key, opens an editor, speaks
# another language or paints, whatever the caller's environment says.

load lib/helper

prepare() {
	body env <<'LUA'
local found = {}
for name, value in ctx:run{ "env" }.stdout:gmatch "([%w_]+)=([^\n]*)" do found[name] = value end
return found
LUA
	body all <<'LUA'
local lines = {}
for line in ctx:run{ "env" }.stdout:gmatch "[^\n]+" do lines[#lines + 1] = line end
return { lines = lines }
LUA
	body shell <<'LUA'
local pipe = io.popen "echo $PAGER,$EDITOR,$LC_ALL"
local said = pipe:read "l"
pipe:close()
os.execute "echo $PAGER,$EDITOR,$LC_ALL >said.txt"
return { popen = said, execute = io.open("said.txt"):read "l" }
LUA
	body kept 'preserve_locale = true,' <<'LUA'
return { locale = ctx:run{ "sh", "-c", "echo $LC_ALL,$LANG" }.stdout }
LUA
}

@test "what the caller has set already is there once, and all else stays as it is" {
	answers 0 PAGER=less LANG=de_DE PAGE=1 PAGERS=2 EMPTY= all
	expect 'sorted(line for line in e.data.lines if line.split("=")[0] in ("PAGER", "LANG", "PAGE", "PAGERS", "EMPTY")) == ["EMPTY=", "LANG=C.UTF-8", "PAGE=1", "PAGER=cat", "PAGERS=2"]'
	env -i "$RUNNER" all --format json >bare.json
	grep -q '"PAGER=cat"' bare.json
}

@test "REQ-F-010 children see no pager: PAGER and GIT_PAGER are cat" {
	answers 0 PAGER=less GIT_PAGER=less env
	expect 'e.data.PAGER == "cat" and e.data.GIT_PAGER == "cat"'
}

@test "REQ-F-046 LESS, MORE and MANPAGER never wait for a key" {
	answers 0 LESS=-S MORE=-d MANPAGER=less env
	expect 'e.data.LESS == "-F -X -R" and e.data.MORE == "" and e.data.MANPAGER == "cat"'
}

@test "REQ-F-055 no editor opens where nobody is" {
	answers 0 EDITOR=vi VISUAL=vi GIT_EDITOR=vi env
	expect 'e.data.EDITOR == "true" and e.data.VISUAL == "true" and e.data.GIT_EDITOR == "true"'
	RUNNER=$RUNNER TOKEN=$TOKEN timeout 150 python3 "$ROOT/tests/cli/lib/terminal.py" children_of_a_person_keep_the_editor
}

@test "REQ-F-050 update notices are off where nobody looks" {
	answers 0 env
	expect 'e.data.CI == e.data.NO_UPDATE_NOTIFIER == e.data.HOMEBREW_NO_AUTO_UPDATE == e.data.PIP_DISABLE_PIP_VERSION_CHECK == "1"'
}

@test "REQ-F-008 whatever switches colours off reaches children as NO_COLOR" {
	local switch
	for switch in NO_COLOR= CI=1 GITHUB_ACTIONS=true JENKINS_URL=http://j TERM=dumb; do
		answers 0 "$switch" env
		expect 'e.data.NO_COLOR == "1"'
	done
	answers 0 env --no-color
	expect 'e.data.NO_COLOR == "1"'
	answers 0 TERM=xterm env
	expect '"NO_COLOR" not in e.data'
}

@test "REQ-F-066 children speak the same language everywhere, unless the command keeps the caller's" {
	answers 0 LC_ALL=de_DE.UTF-8 LANG=de_DE.UTF-8 env
	expect 'e.data.LC_ALL == "C.UTF-8" and e.data.LANG == "C.UTF-8"'
	answers 0 LC_ALL=de_DE.UTF-8 LANG=fr_FR.UTF-8 kept
	expect 'e.data.locale == "de_DE.UTF-8,fr_FR.UTF-8\n"'
}

@test "REQ-F-053 Python writes at once" {
	answers 0 env
	expect 'e.data.PYTHONUNBUFFERED == "1"'
}

@test "REQ-F-025 TOOL_TRACE_ID reaches children, as does RUNNER_TRACE_ID under that name" {
	answers 0 TOOL_TRACE_ID=t-1 env
	expect 'e.data.TOOL_TRACE_ID == "t-1"'
	answers 0 RUNNER_TRACE_ID=r-1 env
	expect 'e.data.TOOL_TRACE_ID == "r-1"'
}

@test "REQ-F-025 every log line of a traced call names the trace" {
	body talk 'retry = { retries = 1, delays = { "1ms" } },' <<-'LUA'
		ctx:log("info", "one") ctx:warn("SLOW_DISK", "two") if ctx.attempt == 1 then ctx:fail("UNAVAILABLE", "again") end return {}
	LUA
	call TOOL_TRACE_ID='t "1"' talk --format plain --verbose
	[ "$status" -eq 0 ]
	python3 - <<-'PY'
		import json
		lines = [json.loads(line) for line in open("err.txt")]
		assert len(lines) >= 4 and {line["event"] for line in lines} >= {"log", "warning", "retry.failed"}, lines
		assert all(line["trace_id"] == 't "1"' for line in lines), lines
	PY
	call talk --format plain --verbose
	run grep -c trace_id err.txt
	[ "$output" -eq 0 ]
}

@test "every way to start a program inherits it" {
	answers 0 PAGER=less EDITOR=vi shell
	expect 'e.data.popen == e.data.execute == "cat,true,C.UTF-8"'
}

@test "a spec's own env wins" {
	body own <<-'LUA'
		return { pager = ctx:run{ "sh", "-c", "echo $PAGER", env = { PAGER = "less" } }.stdout }
	LUA
	answers 0 own
	expect 'e.data.pager == "less\n"'
}
