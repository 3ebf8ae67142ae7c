#!/usr/bin/env bats
# What a run reads of its surroundings is settled when it begins, and a resume that finds
# something else says so.

load lib/workflow

# began NAME=value… : a run of `commands` on stdin whose first step waits for go: it has failed
began() {
	workflow reads
	call "$@" workflow run reads.yaml
	[ "$status" -eq 1 ] || { cat out.txt err.txt; return 1; }
	touch go
}

# changed NAME RULES: one warning names it, and says which value rules
changed() {
	expect "[(w['context']['name'], w['context']['rules']) for w in e.warnings if w['code'] == 'ENVIRONMENT_CHANGED'] == [('$1', '$2')]"
}

unchanged() {
	expect '[w for w in e.warnings if w["code"] == "ENVIRONMENT_CHANGED"] == []'
}

# Every place of a file that can name a variable of the environment.
places() {
	cat <<-'TEXT'
		shell	{ shell: 'echo "${env.TARGET}" >>effects' }
		prompt	{ claude: "deploy to ${env.TARGET}" }
		model	{ claude: x, model: "${env.TARGET}" }
		env	{ shell: 'echo $AIM >>effects', env: { AIM: "${env.TARGET}" } }
		script	{ shell: 'echo $TARGET >>effects; : "${env.TARGET}"' }
		program	{ claude: "x", args: ["${env.TARGET}"] }
		condition	{ shell: 'echo staging >>effects', when: "env.TARGET == 'staging'" }
		unlike	{ shell: 'echo "${env.TARGET}" >>effects', when: "'at ${env.TARGET}' != 'at prod'" }
		arguments	{ runner: show, args: { text: "${env.TARGET}" } }
		loop	{ foreach: ["${env.TARGET}"], do: [{ shell: 'echo "${item}" >>effects' }] }
		inside	{ foreach: [a], do: [{ parallel: [{ shell: 'echo "${env.TARGET}" >>effects' }] }] }
		directory	{ shell: 'basename "$PWD" >>../effects', working_dir: "${env.TARGET}" }
		output	{ shell: 'echo x', output_file: "${env.TARGET}/out" }
		hook	{ shell: 'false', on_failure: { steps: [{ shell: 'echo "${env.TARGET}" >>effects' }], then: continue } }
	TEXT
}

@test "wherever a file names it, a resumed run has the value that it began with, and says so" {
	mkdir staging prod
	command_file show <<-'LUA'
		return { description = "x", danger_level = "safe", args = { { "text", "string" } }, run = function(args)
			local f = io.open("effects", "a") f:write(args.text, "\n") f:close()
		end }
	LUA
	local name step
	while IFS=$'\t' read -r name step <&4; do
		rm -rf go effects claude/calls/* staging/out prod/out
		began TARGET=staging <<-YAML
			name: reads
			commands:
			  - shell: "[ -e go ]"
			  - $step
		YAML
		call TARGET=prod workflow resume @last
		envelope 0
		changed TARGET start
		expect 'not any(v in e.warnings[0]["message"] for v in ("staging", "prod"))' # a name is enough
		case $name in
		prompt | model | program) grep -q staging claude/calls/1/argv && grep -q '^TARGET=staging' claude/calls/1/env ;;
		output) [ -e staging/out ] ;;
		*) [ "$(<effects)" = staging ] || { echo "$name: $(<effects)"; return 1; } ;;
		esac
		[ "$(cat claude/calls/*/argv 2>/dev/null | grep -c prod)" -eq 0 ]
		[ ! -e prod/out ]
	done 4< <(places)
}

@test "the workflow's own env, env_files and defaults of variables are those of the beginning" {
	echo FROM=staging >staging.env
	echo FROM=prod >prod.env
	began TARGET=staging <<-'YAML'
		name: reads
		vars: { aim: "to ${env.TARGET}" }
		env: { AIM: "${env.TARGET}" }
		env_files: ["${env.TARGET}.env"]
		commands:
		  - shell: "[ -e go ]"
		  - shell: 'echo "$AIM $FROM ${aim}" >>effects'
	YAML
	call TARGET=prod workflow resume @last
	envelope 0
	changed TARGET start
	[ "$(<effects)" = 'staging staging to staging' ]
}

@test "what is the same says nothing; what is gone is kept, and said" {
	began TARGET=staging <<-'YAML'
		name: reads
		commands:
		  - shell: "[ -e go ]"
		  - shell: 'echo "${env.TARGET}" >>effects; [ -e further ]'
		  - shell: 'echo "${env.TARGET}" >>effects'
	YAML
	call TARGET=staging workflow resume @last
	envelope 1
	unchanged
	touch further
	call workflow resume @last
	envelope 0
	changed TARGET start
	expect '"is not set now" in e.warnings[0]["message"]'
	effects staging staging staging
}

@test "a variable that was not set stays unset for conditions; a text that failed for it gets it" {
	began <<-'YAML'
		name: reads
		commands:
		  - shell: "[ -e go ]"
		  - { shell: "echo deployed >>effects", when: "env.DEPLOY == 'yes'" }
		  - shell: 'echo "${env.TARGET}" >>effects'
		  - shell: '[ -e further ]'
		  - shell: 'echo "${env.TARGET}" >>effects'
	YAML
	call workflow resume @last
	envelope 4
	expect 'e.error.code == "PRECONDITION"'
	unchanged
	call TARGET=staging workflow resume @last # as its suggestion says
	envelope 1
	changed TARGET now
	touch further
	call DEPLOY=yes TARGET=prod workflow resume @last
	envelope 0
	expect '[(w["context"]["name"], w["context"]["rules"]) for w in e.warnings] == [("DEPLOY", "start"), ("TARGET", "start")]'
	effects staging staging
}

@test "nothing that may be a secret is stored or shown: it is read again, without a word" {
	local first=(API_TOKEN=first-0123456789 PLAIN=sk-ant-first0123456789abcdef DECLARED=first-declared)
	local second=(API_TOKEN=second-0123456789 PLAIN=sk-ant-second0123456789abcdef DECLARED=second-declared)
	began "${first[@]}" DB=postgres://app:first-pass@staging/db <<-'YAML'
		name: reads
		vars: { token: "${env.API_TOKEN}", declared: "${env.DECLARED}", db: "${env.DB}" }
		secrets: [DECLARED]
		commands:
		  - shell: "[ -e go ]"
		  - shell: 'echo "${env.API_TOKEN} ${token} $API_TOKEN" >>effects'
		  - shell: 'echo "${env.PLAIN} ${env.DECLARED} ${declared}" >>effects'
		  - shell: 'echo "${env.DB} ${db}" >>effects; [ -e further ]'
	YAML
	call "${second[@]}" DB=postgres://app:second-pass@staging/db workflow resume @last
	envelope 1
	unchanged
	touch further
	call "${second[@]}" DB=postgres://app:second-pass@prod/db workflow resume @last
	envelope 0
	changed DB now # to another host: that is said, and the password isn't
	diff effects - <<-'TEXT'
		second-0123456789 second-0123456789 second-0123456789
		sk-ant-second0123456789abcdef second-declared second-declared
		postgres://app:second-pass@staging/db postgres://app:second-pass@staging/db
		postgres://app:second-pass@prod/db postgres://app:second-pass@prod/db
	TEXT
	[ "$(grep -rlE '(first|second)-(0123|decl|pass)|sk-ant-(first|second)' state out.txt err.txt | wc -l)" -eq 0 ]
}

# Values with a secret that only their form tells of.
forms() {
	cat <<-'TEXT'
		Server=db;User Id=sa;Password=hunterSECRET;
		Authorization: Bearer hunterSECRET
		Bearer hunterSECRET
		Basic hunterSECRET
		root:hunterSECRET@tcp(db)/x
		postgres://app:hunterSECRET@host/db
		postgres://app:p@hunterSECRET/word@host/db
		https://x/cb?token=hunterSECRET
		https://x/cb?a=1&sig=hunterSECRET
		session=hunterSECRET
		{"password": "hunterSECRET"}
		curl --token hunterSECRET
	TEXT
}

@test "a secret that only the form of a value tells of is neither stored nor shown, whichever way it is read" {
	local form
	while IFS= read -r form <&4; do
		rm -rf go state effects
		began PLAIN="${form/SECRET/First}" <<-'YAML'
			name: reads
			vars: { dsn: "${env.PLAIN}", list: ["${env.PLAIN}"] }
			commands:
			  - shell: "[ -e go ]"
			  - { shell: 'printf "%s\n" "${env.PLAIN}" "${dsn}" "$PLAIN" "${list.0}" >>effects', when: "env.PLAIN != ''" }
		YAML
		[ "$(grep -rlF hunterFirst state out.txt err.txt | wc -l)" -eq 0 ] || { echo "$form"; grep -rlF hunterFirst state out.txt err.txt; return 1; }
		call PLAIN="${form/SECRET/Second}" workflow resume @last
		envelope 0
		unchanged
		[ "$(grep -cxF "${form/SECRET/Second}" effects)" -eq 4 ]
		[ "$(grep -rlE 'hunter(First|Second)' state out.txt err.txt | wc -l)" -eq 0 ] || { echo "$form"; return 1; }
	done 4< <(forms)
}

@test "PWD is no password: it is settled" {
	began "PWD=$PWD" <<-'YAML'
		name: reads
		commands: [{ shell: "[ -e go ]" }, { shell: 'echo "${env.PWD}" >>effects' }]
	YAML
	call "PWD=$PWD/there" workflow resume @last
	envelope 0
	changed PWD start
	effects "$PWD"
}

@test "what scripts read is kept as a digest that another run doesn't have" {
	local i
	for i in 1 2; do
		rm -f go
		began PIN=4711 <<<'{ name: reads, commands: [{ shell: "[ -e go ]" }, { shell: "echo $PIN >>effects" }] }'
		sql "select json_extract(surroundings, '\$.scripts.PIN') from runs order by created_ms desc limit 1" >"digest$i"
	done
	[ -s digest1 ]
	[ "$(<digest1)" != "$(<digest2)" ]
	call PIN=4712 workflow resume @last
	envelope 0
	changed PIN now
}

@test "what scripts and environment files say by themselves is that of the resume, which says so" {
	echo FROM=staging >here.env
	began TARGET=staging <<-'YAML'
		name: reads
		env_files: here.env
		commands:
		  - shell: "[ -e go ]"
		  - shell: 'OWN=1; echo "$TARGET $FROM $OWN" >>effects'
	YAML
	echo FROM=prod >here.env
	call TARGET=prod OWN=2 workflow resume @last
	envelope 0
	expect "[(w['context']['name'], w['context']['rules']) for w in e.warnings] == [('$PWD/here.env', 'now'), ('TARGET', 'now')]"
	[ "$(<effects)" = 'prod prod 1' ]
}

@test "a variable that --var sets is not read from the environment" {
	workflow reads <<-'YAML'
		name: reads
		vars: { aim: "${env.TARGET}" }
		commands: [{ shell: "[ -e go ]" }, { shell: 'echo "${aim}" >>effects' }]
	YAML
	call TARGET=staging workflow run reads.yaml --var aim=here
	envelope 1
	touch go
	call TARGET=prod workflow resume @last
	envelope 0
	unchanged
	effects here
}

@test "a placed step has the value that the run began with" {
	mkdir shared
	cat >runner.lua <<-LUA
		return { executors = { here = { kind = "local", directory = "$PWD/shared" } } }
	LUA
	began TARGET=staging <<-'YAML'
		name: reads
		commands:
		  - shell: "[ -e go ]"
		  - { on: here, foreach: [a], do: [{ shell: 'echo "${env.TARGET}" >>effects', when: "env.TARGET == 'staging'" }] }
	YAML
	call TARGET=prod workflow resume @last
	envelope 0
	changed TARGET start
	effects staging
}

@test "a variable that was not set stays unset for the conditions of placed steps" {
	mkdir shared
	cat >runner.lua <<-LUA
		return { executors = { here = { kind = "local", directory = "$PWD/shared" } } }
	LUA
	began <<-'YAML'
		name: reads
		commands:
		  - shell: "[ -e go ]"
		  - { on: here, foreach: [a], do: [{ shell: "echo deployed >>effects", when: "env.DEPLOY == 'yes'" }, { shell: "echo over >>effects" }] }
	YAML
	call DEPLOY=yes workflow resume @last
	envelope 0
	changed DEPLOY start
	effects over
}

@test "a run that an earlier version began is resumed with what there is now" {
	began TARGET=staging <<-'YAML'
		name: reads
		commands: [{ shell: "[ -e go ]" }, { shell: 'echo "${env.TARGET}" >>effects' }]
	YAML
	sql 'update runs set surroundings = NULL'
	call TARGET=prod workflow resume @last
	envelope 0
	unchanged
	effects prod
}
