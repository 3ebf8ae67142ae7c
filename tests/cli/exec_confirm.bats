#!/usr/bin/env bats
# What a request of runner exec may not do: confirm itself, choose another project, reach what
# runs files, or change where its answer goes.

load lib/helper
load lib/exec

prepare() {
	command_file wipe <<'LUA'
return { description = "x", danger_level = "destructive", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	args = { { "what", "string", default = "all" } },
	run = function(args) io.open("wiped", "a"):write(args.what, "\n") return { effect = "deleted" } end }
LUA
	mkdir -p commands/db
	sed 's/"wiped"/"dropped"/' commands/wipe.lua >commands/db/drop.lua
	body echo '' <<<'return { ok = true }'
}

@test "no request confirms a destructive call, however it is spelt" {
	batch --ignore-errors --parallel 2 <<'JSON'
{"_cmd":"wipe"}
{"_cmd":"wipe","_opts":{"yes":true}}
{"_cmd":"wipe","_opts":{"confirm_destructive":true}}
{"_cmd":"wipe","_opts":{"confirm-destructive":true}}
{"_cmd":"wipe","_opts":{"confirm-destructive":"true"}}
{"_cmd":"wipe","_opts":{"runner-confirm-destructive":true}}
{"_cmd":"wipe","_opts":{"live":true}}
{"_cmd":"wipe","confirm_destructive":true}
{"_cmd":"wipe","confirmed":true}
{"_cmd":"wipe","_confirm_destructive":true}
{"_cmd":"wipe --confirm-destructive"}
{"_cmd":"--confirm-destructive wipe"}
{"_cmd":"--confirm-destructive.wipe"}
{"_cmd":"wipe.--yes"}
{"_cmd":"self.exec","_stdin":"{\"_cmd\":\"wipe\"}","allow":["wipe"]}
{"_cmd":"exec","_stdin":"{\"_cmd\":\"wipe\"}","allow":["wipe"]}
{"_cmd":"exec","_stdin":"{\"_cmd\":\"wipe\"}","_opts":{"allow":["wipe"]}}
{"_cmd":"wipe","what":"--confirm-destructive"}
{"_cmd":"wipe","_stdin":"yes\n"}
{"_cmd":"wipe","_opts":{"retries":"0 --confirm-destructive"}}
{"_cmd":"wipe","_opts":{"idempotency_key":"x","fields":"a\n--confirm-destructive"}}
{"_cmd":"wipe","_opts":{"detach":true}}
{"_cmd":"wipe","_opts":{"dry_run":false}}
JSON
	[ ! -e wiped ]
	each 'len(a) == 23 and not any(e["ok"] for e in a)'
	each 'all(e["error"]["side_effects"] == "none" and e["error"]["phase"] == "validation" for e in a)'
	each 'a[0]["error"]["code"] == "CONFIRMATION_REQUIRED" and a[0]["error"]["context"]["would_affect"]'
	each 'all("itself" in e["error"]["message"] and "--allow" in e["error"]["fix_required"] for e in a[1:4])'
	valid_lines 23
}

@test "--allow confirms the command that it names, and no other" {
	batch --allow wipe --ignore-errors <<<'{"_cmd":"wipe","what":"this"}
{"_cmd":"db.drop"}
{"_cmd":"db drop"}
{"_cmd":"wipe.more"}
{"_cmd":"echo"}'
	[ "$(<wiped)" = this ]
	[ ! -e dropped ]
	each '[e["ok"] for e in a] == [True, False, False, False, True] and a[0]["meta"]["confirmed"]'
	for name in 'db drop' db.drop; do
		batch --allow "$name" --allow echo <<<'{"_cmd":"db.drop"}
{"_cmd":"echo"}'
		[ "$status" -eq 0 ]
	done
	[ "$(wc -l <dropped)" -eq 2 ]
	batch --allow --yes <<<'{"_cmd":"echo"}'
	[ "$status" -eq 2 ]
	batch --allow '--yes' <<<'{"_cmd":"echo"}'
	[ "$status" -eq 2 ]
	batch --allow='rm -rf /' <<<'{"_cmd":"echo"}'
	[ "$status" -eq 2 ]
}

@test "an allowed call stays confirmed in its second attempt and as a job, and its children are not" {
	sed -i 's/danger_level/retry = { retries = 1, delay = 0 }, danger_level/; s/run = function(args)/run = function(args, ctx) if ctx.attempt == 1 then ctx:fail("UNAVAILABLE", "x", { retryable = true, side_effects = "none" }) end/' commands/wipe.lua
	batch --allow wipe <<<'{"_cmd":"wipe"}'
	[ "$status" -eq 0 ]
	each 'a[0]["meta"]["attempt"] == 2'
	rm wiped
	batch --allow wipe <<<'{"_cmd":"wipe","what":"later","_opts":{"detach":true}}'
	[ "$status" -eq 0 ]
	until_true [ -s wiped ]
	[ "$(<wiped)" = later ]
	command_file outer <<'LUA'
return { description = "x", danger_level = "destructive", exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	run = function(args, ctx) return ctx:call "db drop" end }
LUA
	batch --allow outer <<<'{"_cmd":"outer"}'
	[ ! -e dropped ]
	each 'a[0]["error"]["code"] == "CONFIRMATION_REQUIRED"'
}

@test "--allow is no person: one is required all the same, and a policy that wants one is kept" {
	body person 'interactive = true, requires_person = true,' <<<'io.open("ran", "w"):close()'
	batch --allow person <<<'{"_cmd":"person"}'
	[ ! -e ran ]
	each 'a[0]["error"]["code"] == "PERSON_REQUIRED"'
	echo '{ "confirm_by_flag": false }' >policy.json
	for via in flag variable; do
		status=0
		if [ $via = flag ]; then set -- --policy policy.json; else set --; export RUNNER_POLICY=$PWD/policy.json; fi
		printf '{"_cmd":"%s"}\n' echo wipe | env -i "${CLEAN_ENV[@]}" ${RUNNER_POLICY:+RUNNER_POLICY=$RUNNER_POLICY} \
			"$RUNNER" "$@" exec --allow wipe --allow echo >out.txt 2>err.txt || status=$?
		[ "$status" -eq 1 ]
		[ ! -e wiped ]
		each 'a[0]["ok"] and a[1]["error"]["code"] == "POLICY_DENIED" and a[1]["error"]["context"]["rule"] == "confirm_by_flag"'
	done
	echo '{ "deny": ["echo"], "max_timeout": "5s" }' >policy.json
	printf '{"_cmd":"%s","_opts":{"timeout":"1h"}}\n' echo wipe | env -i "${CLEAN_ENV[@]}" RUNNER_POLICY="$PWD/policy.json" \
		"$RUNNER" exec --ignore-errors --allow wipe >out.txt 2>err.txt || true
	each 'a[0]["error"]["code"] == "POLICY_DENIED" and a[1]["ok"] and a[1]["meta"]["timeout_ms"] <= 5000'
}

@test "a command that is a dry run by default runs only where exec was told, and the request asks" {
	sed -i 's/danger_level/safe_default = true, danger_level/' commands/wipe.lua
	batch --ignore-errors <<<'{"_cmd":"wipe"}
{"_cmd":"wipe","_opts":{"live":true}}'
	[ ! -e wiped ]
	each 'a[0]["meta"]["dry_run"] and a[1]["error"]["code"] == "PERMISSION_DENIED"'
	batch --allow wipe <<<'{"_cmd":"wipe"}
{"_cmd":"wipe","_opts":{"live":true}}'
	[ "$(wc -l <wiped)" -eq 1 ]
}

@test "a built-in command that does not only read is refused unless it is allowed, and exec always" {
	echo 'steps: [{ shell: "touch ran" }]' >w.yaml
	echo 'io.open("ran", "w"):close() return {}' >evil.lua
	batch --ignore-errors <<<'{"_cmd":"workflow.run","file":"w.yaml"}
{"_cmd":"self.workflow.run","file":"w.yaml"}
{"_cmd":"workflow.run.w"}
{"_cmd":"workflow.resume","id":"run_1"}
{"_cmd":"lint","files":["evil.lua"]}
{"_cmd":"conformance","profile":"x"}
{"_cmd":"exec","_stdin":"{}"}
{"_cmd":"new","name":"mine"}
{"_cmd":"mcp.install","client":"claude-code","write":true,"allow":["wipe"]}
{"_cmd":"workflow.prune","keep":0}
{"_cmd":"job.cancel","id":"job_1"}'
	[ ! -e ran ]
	[ ! -e commands/mine.lua ]
	[ ! -e .mcp.json ]
	each 'len(a) == 11 and all(e["error"]["code"] == "PERMISSION_DENIED" for e in a)'
	valid_lines 11
	batch <<<'{"_cmd":"help"}
{"_cmd":"manifest"}
{"_cmd":"self.workflow.list"}
{"_cmd":"job.list"}
{"_cmd":"status"}'
	[ "$status" -eq 0 ]
	batch --allow 'workflow run' --allow exec --ignore-errors <<<'{"_cmd":"workflow.run","file":"w.yaml"}
{"_cmd":"exec","_stdin":"{}"}'
	[ -e ran ]
	each '[e["ok"] for e in a] == [True, False]'
	body lint '' <<<'return { mine = true }' # a name that no file can take
	body doctor '' <<<'return { mine = true }'
	body exec '' <<<'return { mine = true }'
	status=0
	echo '{"_cmd":"exec"}' | env -i "${CLEAN_ENV[@]}" "$RUNNER" self exec >out.txt 2>err.txt || status=$?
	each 'a[0]["data"] == {"mine": True}'
}

@test "an alias of a built-in command is refused as that command is, and one of a command is its name" {
	cat >runner.lua <<'LUA'
return { aliases = { fl = "flame", make = { "new", "--force" }, go = "self flame wipe", ex = "exec", look = "status", say = "echo" } }
LUA
	batch --ignore-errors --allow fl --allow wipe <<<'{"_cmd":"fl","words":["wipe","--confirm-destructive"]}
{"_cmd":"fl.wipe","words":["--confirm-destructive"]}
{"_cmd":"go","words":["--confirm-destructive"]}
{"_cmd":"ex","_stdin":"{}"}
{"_cmd":"make","name":"mine"}
{"_cmd":"look"}
{"_cmd":"say"}'
	[ ! -e wiped ]
	[ ! -e commands/mine.lua ]
	each '[e["ok"] or e["error"]["code"] for e in a] == ["PERMISSION_DENIED"] * 5 + [True, True]'
}

@test "no request changes its place, its answer's form, or what runner keeps from others" {
	mkdir -p other/commands
	cp commands/echo.lua other/commands/
	batch --ignore-errors <<<'{"_cmd":"echo","_opts":{"cwd":"other"}}
{"_cmd":"echo","_opts":{"config":"x"}}
{"_cmd":"echo","_opts":{"no-config":true}}
{"_cmd":"echo","_opts":{"context":"x"}}
{"_cmd":"echo","_opts":{"format":"text"}}
{"_cmd":"echo","_opts":{"output":"file"}}
{"_cmd":"echo","_opts":{"stream":true}}
{"_cmd":"echo","_opts":{"raw-payload":"{}"}}
{"_cmd":"echo","_opts":{"input_file":"w"}}
{"_cmd":"echo","_opts":{"unmask":true}}
{"_cmd":"echo","_opts":{"policy":"x"}}
{"_cmd":"echo","_opts":{"no_injection_protection":true}}
{"_cmd":"echo","_opts":{"nonsense":true}}
{"_cmd":"echo","_opts":{"a b":true}}
{"_cmd":"echo","_opts":{"":true}}'
	each 'len(a) == 15 and all(e["error"]["code"] == "DISPATCH_PARSE_ERROR" and "_opts" in e["error"]["message"] for e in a)'
	[ ! -e file ]
}
