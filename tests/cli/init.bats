#!/usr/bin/env bats
# runner init: a tasks.lua to start from, and from the files of just, make, task and npm (docs/from-just-make-task-npm.md).
# Each file here shows every feature that its importer knows; what the tasks do is compared with what the file says.

bats_require_minimum_version 1.5.0

load lib/helper

prepare() {
	CLEAN_ENV+=(XDG_STATE_HOME="$BATS_TEST_TMPDIR.state" PATH="$PWD/bin:$PATH" EFFECT="$PWD/effect")
	rmdir commands
	mkdir bin
	local name
	for name in cargo git upload; do
		printf '#!/bin/sh\nprintf "%%s" "${0##*/}" >>"$EFFECT"\nfor w; do printf " [%%s]" "$w" >>"$EFFECT"; done\necho >>"$EFFECT"\n' >"bin/$name"
		chmod +x "bin/$name"
	done
}

# effect_of TASK… <<'WORDS': what programs a task starts, in order
effect_of() {
	rm -f effect
	call "$@"
	assert_envelope
	[ "$status" -eq 0 ]
	touch effect
	sed "s/BASE/${PWD##*/}/g" | diff - effect
}

# says TEXT: a warning of the last call has it
says() {
	grep -qF -- "$1" out.txt || { echo "not said: $1"; false; }
}

lints() {
	call self lint
	assert_envelope
	expect 'e.ok and e.data.problems == []'
}

@test "init writes a file to start from, and replaces none" {
	call init
	assert_envelope
	expect 'e.data == {"effect": "created", "path": "tasks.lua", "tasks": 1, "suggestion": e.data.suggestion}'
	lints
	call hello Ada
	[ "$stderr" = "Hello, Ada" ]
	echo mine >tasks.lua
	call init
	assert_envelope
	expect 'e.error.code == "ALREADY_EXISTS"'
	[ "$(cat tasks.lua)" = mine ]
	call init --force
	expect 'e.ok'
	grep -q hello tasks.lua
}

@test "a file that can't be read or isn't one of these is refused, and nothing is written" {
	local name
	call init --from nothere/justfile
	[ "$status" -eq 2 ]
	echo x >build.gradle
	call init --from build.gradle
	[ "$status" -eq 2 ]
	expect '"justfile" in e.error.errors[0].suggestion'
	echo '{"name": "x"}' >package.json
	call init --from package.json
	[ "$status" -eq 2 ]
	echo '{' >package.json
	call init --from package.json
	[ "$status" -eq 2 ]
	printf 'version: "3"\nincludes: { a: ./a }\n' >Taskfile.yml
	call init --from Taskfile.yml
	[ "$status" -eq 2 ]
	expect '"includes" in e.error.errors[0].message'
	printf 'tasks: [\n' >Taskfile.yml
	call init --from Taskfile.yml
	[ "$status" -eq 2 ]
	[ ! -e tasks.lua ]
}

just_file() {
	cat >justfile <<-'JUST'
		set dotenv-load
		version := "1.2.3"
		out := "dist dir" / version
		sha := `echo abc`
		flags := "--color 'a b'"
		user := env("NOBODY_HAS_IT", "nobody")
		export LEVEL := "high"
		bad := replace("a", "b", "c")
		alias b := build

		default:
		    @just --list

		# Build it
		[group: 'build']
		build target mode="debug" *rest: (say "first") clean
		    @cargo build {{target}} --mode={{mode}} {{rest}} {{version}} "{{out}}" '{{sha}}' {{flags}}
		    cd / && cargo pwd "$PWD"
		    -cargo "$(basename "$PWD")" && false
		    cargo {{ if mode == "debug" { "slow" } else { "fast" } }} {{uppercase(mode)}} {{user}} "$LEVEL"

		clean: && after
		    cargo clean
		after:
		    cargo after
		say text:
		    cargo say "{{text}}"

		# Check style
		lint *ARGS:
		    cargo lint {{ARGS}}

		[confirm("Really?"), private]
		drop:
		    cargo drop
		nothing:
		wipe: nearly
		nearly: drop
		passes target: (all_of (f"{{target}}!") target "c d")
		all_of first *rest:
		    cargo {{first}} {{rest}}

		[positional-arguments]
		pos a *b:
		    cargo "$1" "$2" "$#" {{b}}

		py name="x":
		    #!/usr/bin/env python3
		    import os, subprocess
		    subprocess.run(["cargo", "{{name}}", 'v{{version}}'])

		bashed *args:
		    #!/usr/bin/env bash
		    set -euo pipefail
		    a=({{args}})
		    cargo "${#a[@]}" "${a[-1]}"

		[working-directory: 'bin']
		inside:
		    cargo "${PWD##*/}"
		hole:
		    cargo {{bad}} {{invocation_directory()}}
		[windows]
		win:
		    dir
	JUST
}

@test "a justfile becomes tasks that do the same; what can't be said is said, item by item" {
	just_file
	call init --from justfile
	assert_envelope
	expect 'e.data.effect == "created" and e.data.changed == len(e.warnings) and all(w["code"] == "IMPORT_CHANGED" for w in e.warnings)'
	says 'justfile:1: dotenv: write `return { dotenv = true }` into runner.lua'
	says "default: left out: runner alone lists the tasks"
	says "bad: left out, because of replace()"
	says "lint: runner lint is this task"
	says "hole: not imported, because of bad"
	says "win: left out: it is for another system"
	lints
	effect_of build x <<-'WORDS'
		cargo [say] [first]
		cargo [clean]
		cargo [after]
		cargo [build] [x] [--mode=debug] [1.2.3] [dist dir/1.2.3] [abc] [--color] [a b]
		cargo [pwd] [/]
		cargo [BASE]
		cargo [slow] [DEBUG] [nobody] [high]
	WORDS
	effect_of b 'x; cargo hacked' 'r' -- '$(cargo hacked)' 'two words' <<-'WORDS'
		cargo [say] [first]
		cargo [clean]
		cargo [after]
		cargo [build] [x;] [cargo] [hacked] [--mode=r] [$(cargo hacked)] [two words] [1.2.3] [dist dir/1.2.3] [abc] [--color] [a b]
		cargo [pwd] [/]
		cargo [BASE]
		cargo [fast] [R] [nobody] [high]
	WORDS
	effect_of lint -- a 'b c' <<<'cargo [lint] [a] [b c]'
	effect_of pos 1 '2 2' 3 <<<'cargo [1] [2 2] [3] [2] [2] [3]'
	effect_of py "it's" <<<"cargo [it's] [v1.2.3]"
	effect_of bashed 1 '2 2' <<<'cargo [2] [2 2]'
	effect_of passes 'a b' <<<'cargo [a] [b!] [a b] [c d]'
	effect_of nothing </dev/null
	effect_of inside <<<'cargo [bin]'
	call wipe
	[ "$status" -ne 0 ]
	effect_of wipe --confirm-destructive <<<'cargo [drop]'
	call hole
	[ "$status" -eq 1 ]
	[[ $stderr == *"hole of justfile was not imported: see tasks.lua"* ]]
	call
	expect '"drop" not in e.data.commands and "b" in e.data.aliases'
}

@test "the shell of a justfile, its export and its lines are what they are there" {
	cat >justfile <<-'JUST'
		set shell := ["bash", "-euo", "pipefail", "-c"]
		set export
		name := "a b"
		all $x y:
		    [[ $name == "a b" ]] && cargo "$x" "$y" '{{y}}' '{{{{x}}'
		    x=1
		    cargo "$x"; cargo second
		piped:
		    false | cargo piped
		    cargo never
	JUST
	call init --from justfile
	expect 'e.ok and e.warnings == []'
	lints
	effect_of all 1 "2'" <<-'WORDS'
		cargo [1] [2'] [2'] [{{x}}]
		cargo [1]
		cargo [second]
	WORDS
	rm -f effect
	call piped
	[ "$status" -eq 1 ]
	[ "$(cat effect)" = 'cargo [piped]' ]
}

# Lines that end their shell, move it, set what is in it, or are read otherwise from one that is in front of them.
@test "no line ends, moves or changes the shell of those behind it, however it is written" {
	local line n=0
	local -a lines=('exit' 'exit 0' '\exit 0' '"exit" 0' "'exit' 0" 'e"x"it 0' 'command exit 0' 'command -p exit 0' 'eval exit 0' "eval 'cd /'"
		'$(echo exit) 0' '`echo exit` 0' '$EXIT' '${EXIT}' '"$EXIT"' 'exec true' 'exec >/dev/null' 'X=1 exit 0' '>/dev/null exit 0'
		'2>&1 exit 0' '! exit 1' '{ exit 0; }' 'if true; then exit 0; fi' 'true && exit 0' 'false || exit 0' 'true & exit 0' 'time exit 0'
		'true | true; exit 0' 'case x in x) exit 0 ;; esac' 'for a in 1; do exit 0; done' 'while exit 0; do :; done'
		'until exit 0; do :; done' ': "it'"'"'s"; exit 0; : "it'"'"'s"' ': \"; exit 0; : \"' ': "\""; exit 0' ': "$(echo "'"'"'")"; exit 0; : "'"'"'"'
		'trap "exit 0" EXIT' 'f() { exit 0; }; f' 'cargo() { :; }' 'function_cargo () { exit 0; }; function_cargo' 'alias cargo=true' 'unset EFFECT'
		'cd /' 'command cd /' 'CDPATH= cd /' '"cd" /' 'pwd >/dev/null; cd /' 'export EFFECT=/dev/null' 'EFFECT=/dev/null' 'readonly EFFECT'
		'read EFFECT <justfile' 'read EFFECT <justfile || true' 'for EFFECT in /dev/null; do true; done' ': "${UNSET:=/}"' ': $((EFFECT=1))'
		'unset PATH' 'PATH=' 'PATH=/nowhere :' 'getopts a EFFECT' 'set +e' 'set -f' 'umask 777' 'ulimit -f 0' 'cat <<EOF' 'cat <<-EOF >/dev/null'
		'true ); exit 0; ( true' 'true; ); exit 0; (' ': "a' ": 'a" ': $(true' ': `true'
		': "$(echo "a b" "$(echo c)")"; exit 0' ': "$(echo "(" )"; exit 0; : ")"' 'case x in x) true ;; esac; exit 0' '. ./exits' '. "./exits"' 'hash -r; exit 0' 'true # it'"'"'s' '[ x = x ] && exit 0')
	echo 'exit 0' >exits
	: >justfile
	printf 'version: "3"\nenv: { EXIT: exit }\ntasks:\n' >Taskfile.yml
	echo 'export EXIT := "exit"' >justfile
	for line in "${lines[@]}"; do
		n=$((n + 1))
		printf 't%d:\n    %s\n    cargo "%d"\nover%d:\n    -%s\n    cargo "%d"\n' "$n" "$line" "$n" "$n" "$line" "$n" >>justfile
		printf '  t%d:\n    cmds:\n      - |-\n        %s\n      - cargo "%d"\n' "$n" "$line" "$n" >>Taskfile.yml
	done
	{
		printf 'pasted:\n    {{ if "a" == "a" { "exit 0" } else { "" } }}\n    cargo pasted\n'
		printf 'open:\n    while false\n    do\n    cargo open\n    done\n    cargo open\n'
		printf 'given cmd:\n    {{cmd}}\n    cargo given\n'
	} >>justfile
	call init --from justfile
	expect 'e.ok'
	effect_of pasted <<<'cargo [pasted]'
	for line in exit 'exit 0'; do # the value is one word, of which there may be no command
		call given "$line"
		[ "$status" -ne 0 ] || grep -qx 'cargo \[given\]' effect
	done
	call open
	[ "$status" -ne 0 ]
	goes_on
	call init --from Taskfile.yml --force
	expect 'e.ok'
	goes_on
}

# Each task goes as far as its last line, or fails.
goes_on() {
	local i name seen=0
	for ((i = 1; i <= n; i++)); do
		for name in "t$i" "over$i"; do
			grep -q "^	$name = " tasks.lua || continue
			seen=$((seen + 1))
			rm -f effect
			call "$name"
			if [ "$status" -eq 0 ] || [ "$name" = "over$i" ]; then
				grep -qx "cargo \[$i\]" effect || { echo "cut short: $name: ${lines[i - 1]}"; cat out.txt; return 1; }
			fi
		done
	done
	[ "$seen" -ge "$n" ]
}

@test "the targets of a Makefile are calls of make, with what they are for" {
	sed 's/^>/\t/' >Makefile <<-'MAKE'
		VERSION ?= 1
		define TEXT
		no: target
		endef
		-include local.mk
		.PHONY: all build clean lib/x
		all: build ## Build it all
		##@ Build
		# Build the program
		build: ; @cargo build $(VERSION)
		docs: private CFLAGS += -g
		notes:
		>@cargo notes
		$(warning no: such)
		ifneq (,a:b)
		endif
		lib/x:
		>@cargo x
		out.o: in.c
		>cc in.c
		%.o: %.c
		>cc $<
		$(NAME): ; cc
		help: ; @echo
		clean:: ; @cargo clean
		Makefile:
	MAKE
	call init --from Makefile
	assert_envelope
	diff - tasks.lua <<'LUA'
-- Tasks, from Makefile: runner NAME runs one, runner help NAME describes it.
-- include local.mk: its targets are left out; make knows them
local vars = { "vars", "string", variadic = true, pattern = [[^(?!(SHELL|MAKEFLAGS|MAKEFILES)\b)\w[\w.-]*\s*[:+?]?=[\w./:@%+=, -]*$]],
	description = "Variables of make: NAME=VALUE" }

return {
	tasks = {
	all = { "Build it all", args = { vars }, run = { "make", "all" } },

	-- Build
	build = { "Build the program", args = { vars }, run = { "make", "build" } },
	notes = { "notes", args = { vars }, run = { "make", "notes" } },
	["lib-x"] = { "lib-x", args = { vars }, run = { "make", "lib/x" } },
	["help-task"] = { "help-task",
		-- help: it is 'help-task' here, since runner help is a command of runner's own
		args = { vars }, run = { "make", "help" } },
	clean = { "clean", args = { vars }, run = { "make", "clean" } },
	},
}
LUA
	lints
	call build VERSION=2
	assert_envelope
	[ "$(cat effect)" = 'cargo [build] [2]' ]
	call build 'VERSION=$(shell touch hacked)'
	[ "$status" -eq 2 ]
	[ ! -e hacked ]
}

@test "the scripts of a package.json are tasks, those in front and behind with them" {
	mkdir -p node_modules/.bin
	printf '#!/bin/sh\ncargo local "$@"\n' >node_modules/.bin/tool
	printf '#!/bin/sh\ncargo node "$2" >/dev/null; echo 1.0\n' >bin/node
	chmod +x node_modules/.bin/tool bin/node
	cat >package.json <<-'JSON'
		{
		  "name": "x", "version": "1.0", "config": { "port": "8" },
		  "scripts": {
		    "prebuild": "cargo before",
		    "build": "tool a | cat && cargo built",
		    "postbuild": "cargo after",
		    "test:unit": "false; cargo $npm_package_version $npm_package_config_port \"$npm_config_x\"",
		    "all": "npm run build"
		  }
		}
	JSON
	call init --from package.json
	assert_envelope
	says 'package.json:7: npm_config_x: npm takes it'
	says 'npm run: scripts that call it need package.json'
	lints
	effect_of build -- --x 'a b' <<-'WORDS'
		cargo [before]
		cargo [local] [a]
		cargo [built] [--x] [a b]
		cargo [after]
	WORDS
	effect_of test unit <<-'WORDS'
		cargo [node] [require("./package.json")["version"]]
		cargo [node] [require("./package.json")["config"]["port"]]
		cargo [1.0] [1.0] []
	WORDS
}

@test "a Taskfile becomes tasks that do the same; what can't be said is said, item by item" {
	mkdir -p web
	touch in.txt
	cat >Taskfile.yml <<-'YAML'
		version: "3"
		dotenv: [".env"]
		includes: { docs: ./docs }
		vars:
		  NAME: tool
		  SHA: { sh: echo abc }
		  OUT: "{{.ROOT_DIR}}/out"
		  MODE: '{{if .NOBODY_HAS_IT}}ci{{else}}dev{{end}}'
		env:
		  LEVEL: high
		  COMMIT: { sh: echo c0ffee }
		tasks:
		  default:
		    cmds: [task --list]
		  build:
		    desc: Build it
		    aliases: [b]
		    deps: [gen]
		    vars: { FLAGS: "-a -b", TARGET: '{{.TARGET | default "linux"}}' }
		    cmds:
		      - cargo build {{.NAME}} {{.SHA}} {{.FLAGS}} '{{.TARGET}}' {{.MODE}} "$LEVEL" "$COMMIT" {{.CLI_ARGS}}
		      - cd web && cargo "$(basename "$PWD")"
		      - cmd: "false"
		        ignore_error: true
		      - cmd: cargo other
		        platforms: [windows]
		      - for: [x, "y z"]
		        cmd: cargo loop "{{.ITEM}}"
		      - cargo "$(basename "$PWD")"
		  gen:
		    internal: true
		    sources: [in.txt]
		    cmd: cargo gen
		  all: { cmds: [{ task: release }] }
		  release:
		    prompt: Really?
		    cmds:
		      - cargo first
		      - task: build
		        vars: { TARGET: arm }
		      - cargo last
		  check:
		    requires: { vars: [{ name: KIND, enum: [a, b] }] }
		    preconditions:
		      - { sh: test -e in.txt, msg: "no in.txt" }
		    status: ["test -e done-{{.KIND}}"]
		    env: { DEEP: "1{{.KIND}}" }
		    dir: web
		    cmds:
		      - defer: cargo cleanup
		      - '[[ {{.KIND}} == a ]] && cargo check {{.KIND}} "$DEEP" {{.OUT}}'
		  docs:*:
		    cmds: [cargo]
		  hello: { vars: { WHO: '{{.CLI_ARGS | default "world"}}' }, cmd: 'cargo hello "{{.WHO}}"' }
		  odd: cargo {{.X | splitList ","}}
		  lint:
		    platforms: [darwin]
		    cmds: [cargo]
	YAML
	call init --from Taskfile.yml
	assert_envelope
	says 'Taskfile.yml:2: dotenv: write'
	says "Taskfile.yml:3: includes.docs: left out"
	says "default: left out: runner alone lists the tasks"
	says "build: a command for another system is left out"
	says "docs:*: left out"
	says "odd: not imported"
	says "lint: left out: it is for another system"
	lints
	effect_of build -- r 's t' <<-'WORDS'
		cargo [gen]
		cargo [build] [tool] [abc] [-a] [-b] [linux] [dev] [high] [c0ffee] [r] [s t]
		cargo [web]
		cargo [loop] [x]
		cargo [loop] [y z]
		cargo [BASE]
	WORDS
	effect_of release --confirm-destructive <<-'WORDS'
		cargo [first]
		cargo [build] [tool] [abc] [-a] [-b] [arm] [dev] [high] [c0ffee]
		cargo [web]
		cargo [loop] [x]
		cargo [loop] [y z]
		cargo [BASE]
		cargo [last]
	WORDS
	call all
	[ "$status" -eq 2 ]
	expect 'e.error.code == "CONFIRMATION_REQUIRED"'
	effect_of hello <<<'cargo [hello] [world]'
	effect_of hello -- you <<<'cargo [hello] [you]'
	call check
	[ "$status" -eq 2 ]
	call check --kind c
	[ "$status" -eq 2 ]
	call check --kind a
	[ "$status" -eq 1 ]
	[[ $stderr == *"no in.txt"* ]]
	touch web/in.txt
	effect_of check --kind a <<-WORDS
		cargo [check] [a] [1a] [$PWD/out]
		cargo [cleanup]
	WORDS
	touch web/done-a
	effect_of check --kind a </dev/null
	call odd
	[ "$status" -eq 1 ]
}

# fails_before EFFECT TASK…: the task fails, and has done no more than that
fails_before() {
	rm -f effect
	local wanted="$1"
	shift
	call "$@"
	assert_envelope
	[ "$status" -ne 0 ]
	touch effect
	[ "$(cat effect)" = "$wanted" ]
}

@test "what fails there fails here: chains, commands in values, guards in front of calls" {
	cat >justfile <<-'JUST'
		export PRICE := '$5'
		export V := `exit ${FAILS:-0}`
		MAKEFLAGS := "-n"
		alias test := bad
		chain:
		    false && true
		    cargo never
		neg:
		    ! true
		    cargo never
		inline:
		    cargo {{`exit 6`}}
		param p=`exit 5`:
		    cargo never
		rest *p=`exit 5`:
		    cargo never
		err:
		    cargo {{error("no")}}
		bad:
		    exit 3
		same X x:
		    cargo {{X}} {{x}}
	JUST
	call init --from justfile
	expect 'e.ok'
	lints
	effect_of same 1 2 <<<'cargo [1] [2]'
	local task
	for task in chain neg inline param rest err bad test; do
		fails_before "" $task
	done
	CLEAN_ENV+=(FAILS=3)
	fails_before "" same 1 2
	grep -qF 'PRICE = "$$5"' tasks.lua
	run -1 grep -q 'MAKEFLAGS = ' tasks.lua
	mkdir a b
	cat >Taskfile.yml <<-'YAML'
		version: "3"
		env: { EV: { sh: "true" } }
		tasks:
		  say: cargo say
		  mid: cargo mid
		  thrice: { cmds: [{ task: say }, { task: mid }, { task: say }] }
		  guarded: { preconditions: ["false"], cmds: [{ task: say }] }
		  iffed: { cmds: [{ task: say, if: "false" }] }
		  depif: { deps: [{ task: say, if: "false" }] }
		  chain: { cmds: ["false && true", cargo never] }
		  neg: { cmds: ["! true", cargo never] }
		  each: { cmds: [{ for: [a, b], cmd: 'cd {{.ITEM}} && cargo "$(basename "$PWD")"' }] }
		  notfirst: { cmds: [{ for: [x, a], cmd: "test -d {{.ITEM}} && cargo {{.ITEM}}" }] }
		  brackets: { cmds: ["( cargo a ) && ( cargo b )"] }
		  fresh: { status: ["false && true", "true"], cmds: [cargo fresh] }
		  comment: { preconditions: ["false # why"], cmds: [cargo never] }
		  env: { env: { E: { sh: "exit 3" } }, cmds: [cargo never] }
	YAML
	call init --from Taskfile.yml --force
	expect 'e.ok'
	lints
	for task in guarded iffed depif chain neg notfirst comment env; do
		fails_before "" "$task"
	done
	effect_of thrice <<<$'cargo [say]\ncargo [mid]\ncargo [say]'
	effect_of each <<<$'cargo [a]\ncargo [b]'
	effect_of brackets <<<$'cargo [a]\ncargo [b]'
	effect_of fresh <<<'cargo [fresh]'
}

@test "a file's name is no code, nor a value of make; what can't be read for certain is refused" {
	local name=$'x\nos.execute("touch hacked")--.just'
	printf 'a:\n    cargo a\n' >"$name"
	call init --from "$name"
	expect 'e.ok'
	lints
	[ ! -e hacked ]
	printf '.PHONY: build\nbuild:\n\t@cargo $(CC)\n-n:\n\t@cargo never\n' >Makefile
	touch GNUmakefile
	call init --from Makefile --force
	says "-n: left out"
	effect_of build 'CC=gcc -O2' <<<'cargo [gcc] [-O2]'
	for name in 'CC=x; touch hacked' SHELL=/bin/false MAKEFLAGS=-n .SHELLFLAGS=x; do
		call build "$name"
		[ "$status" -eq 2 ]
	done
	[ ! -e hacked ]
	mkfifo pipe.just
	call init --from pipe.just --force
	[ "$status" -eq 2 ]
	printf 'tasks:\n  a: x\n  a: y\n' >Taskfile.yml
	call init --from Taskfile.yml --force
	[ "$status" -eq 2 ]
	printf "set working-directory := '../x'\na:\n  cargo\n" >justfile
	call init --from justfile --force
	[ "$status" -eq 2 ]
	echo '{"scripts": {"paren": "(cargo in)", "loop": "for f in a b; do cargo $f; done"}}' >package.json
	call init --from package.json --force
	effect_of paren <<<'cargo [in]'
	effect_of loop <<<$'cargo [a]\ncargo [b]'
	echo '{"scripts": {"empty": " ", "after": "echo it"}}' >package.json
	call init --from package.json --force
	lints
	answers 0 empty
	printf '{\n  "scripts": {"a": "x",}\n}' >package.json
	call init --from package.json --force
	expect 'e.error.errors[0]["message"].startswith("package.json:2:24: it can'"'"'t be read as JSON: ")'
	printf '{\n  "scripts": {"a": "\\u0000"}\n}' >package.json
	call init --from package.json --force
	expect '"package.json:2:21: " in e.error.errors[0]["message"] and "NUL" in e.error.errors[0]["message"]'
	for name in init generate-skills new "workflow new" "workflow import"; do
		# shellcheck disable=SC2086
		call $name --help
		expect 'e.data["exit_codes"]["6"] == "ALREADY_EXISTS"'
	done
	echo '{"scripts": {}}' >package.json
	call init --from package.json --force
	says "none were found"
}

@test "a recipe that several want with the same values runs once, and variables reach programs only where they are exported" {
	cat >justfile <<'JUST'
PORT := "3000"
NOW := `echo now`
export SEEN := PORT + "s"

d x:
    @echo "d {{x}}"
a v: (d v)
    @echo "a {{v}}"
b v="q": (d v) (a v)
    @echo "b {{v}}"
top w: (a w) (b w) (d "else")
    @sh -c 'echo "[$PORT] [$NOW] [$SEEN]"'; echo {{PORT}} {{NOW}} {{w}}
caps SEEN2 PORT2="1": 
    @echo {{SEEN2}} {{PORT}}
JUST
	call init --from justfile
	expect 'e.ok and e.warnings == []'
	call PORT=9 NOW=8 top z
	[ "$stderr" = "$(printf 'd z\na z\nb z\nd else\n[9] [8] [3000s]\n3000 now z')" ]
	call b
	[ "$stderr" = "$(printf 'd q\na q\nb q')" ]
	call caps 1
	[ "$stderr" = "1 3000" ]
	call self lint
	expect 'e.ok and e.data.warnings == []'
}

@test "a name that is a path, or that begins with signs, becomes one of ours" {
	printf 'version: "3"\ntasks:\n  ../x: {cmds: ["echo x"]}\n  __two: {cmds: ["echo two"]}\n  a: {deps: ["../x", __two, -y-, "_:z"], cmds: ["echo a"]}\n  -y-: {cmds: ["echo y"]}\n  "_:z": {cmds: ["echo z"]}\n' >Taskfile.yml
	call init --from Taskfile.yml
	expect 'e.ok and e.data.tasks == 5'
	call self lint
	expect 'e.ok'
	call a
	expect 'e.ok'
	grep -q 'x | x' err.txt
}

@test "a value that another shell or language would read as code is in no task; as an argument of its own it is" {
	local line n=0
	local -a code=('sh -c "cargo {{x}}"' "sh -c 'cargo {{x}}'" 'sh -c {{x}}' 'sh -ec "cargo {{x}}"' '/bin/bash -lc "cargo {{x}}"' 'bash -o pipefail -c "a {{x}}"'
		'sudo -u me bash -c "cargo {{x}}"' "python3 -c 'print(\"{{x}}\")'" 'python3.11 -W ignore -c "{{x}}"' 'perl -ne "{{x}}" f' 'perl -e"{{x}}"'
		'node --eval "f({{x}})"' 'node -p {{x}}' 'node --eval="{{x}}"' 'ruby -e "puts {{x}}"' 'eval "cargo {{x}}"' 'if eval {{x}}; then true; fi'
		'A=1 eval {{x}}' 'command eval cargo {{x}}' 'ssh host "cd {{x}}"' 'ssh -p 22 -t host cd {{x}}' 'su -c "cargo {{x}}"' 'su - me -c "cargo {{x}}"'
		'find . | xargs sh -c "cargo {{x}}"' 'xargs -n1 sh -c "cargo {{x}}" <f' 'echo {{x}} | sh' 'echo "{{x}}" | bash -s' 'echo {{x}} | xargs -I_ sh -c _'
		'true && sh -c "cargo {{x}}"' 'y=$(sh -c "cargo {{x}}")' 'echo "$(sh -c "cargo {{x}}")"' 'sh -c "$(cat {{x}})"' 'bash <<<"{{x}}"'
		'trap "rm {{x}}" EXIT' '{{tool}} -c "cargo {{x}}"' 'cargo; cargo | ssh host rm {{x}}' 'sh -c "cargo {{uppercase(x)}}"')
	local -a data=('sh -c "cargo one" {{x}}' "sh -c 'cargo \"\$1\"' sh {{x}}" 'python3 run.py -c {{x}}' 'python3 -m pytest -c {{x}}' 'ssh {{x}}' 'ssh -p 22 {{x}} true'
		'sh run.sh {{x}}' 'cargo -c {{x}}' 'cargo {{x}} | tee f' 'cargo {{x}} | python3 read.py' 'sh -c "cargo {{tool}}"' 'cargo {{x}}; sh -c "cargo"'
		'cargo "sh -c" {{x}}' 'echo x # sh -c {{x}}' 'sh -c "cargo"; cargo {{x}}' 'bash -c "cargo {{justfile_directory()}}"' 'git eval {{x}}')
	echo 'tool := "sh"' >justfile
	for line in "${code[@]}"; do
		n=$((n + 1))
		printf 'code%d x:\n    %s\n' "$n" "$line" >>justfile
	done
	printf 'remote x:\n    #!/bin/sh\n    ssh host <<END\n    rm {{x}}\n    END\n' >>justfile
	printf 'here x:\n    #!/bin/sh\n    cat <<END\n    rm {{x}}\n    END\n' >>justfile
	for line in "${data[@]}"; do
		printf 'data%d x:\n    %s\n' "$((++n))" "$line" >>justfile
	done
	call init --from justfile
	expect 'e.ok'
	python3 - "${#code[@]}" <<-'PY'
		import json, re, sys
		codes = int(sys.argv[1])
		warnings = json.load(open("out.txt"))["warnings"]
		refused = {w["message"].split(": ")[1] for w in warnings if "reads as code" in w["message"]}
		wanted = {"remote"} | {"code%d" % (i + 1) for i in range(codes)}
		assert refused == wanted, (wanted - refused, refused - wanted)
	PY
	call code1 'a; touch stolen'
	[ "$status" -eq 1 ]
	[ ! -e stolen ]
	printf 'version: "3"\ntasks:\n  a: { cmds: ["sh -c \x27cargo {{.X}}\x27"] }\n  b: { cmds: ["cargo {{.X}}"] }\n' >Taskfile.yml
	call init --from Taskfile.yml --force
	expect '["a" in w.message for w in e.warnings if "reads as code" in w.message] == [True]'
	echo '{"scripts": {"remote": "ssh host uptime", "node": "node -e \"1\"", "open": "sh -c"}}' >package.json
	call init --from package.json --force
	[ "$(grep -c '"$@"' tasks.lua)" -eq 1 ]
	grep -q 'node -e "1" "$@"' tasks.lua
}

# --- nothing is lost without a word --------------------------------------------------------------

# notes_of FILE: the warnings of its import, a line each
notes_of() {
	call init --from "$1" --force
	expect 'e.ok'
	python3 -c 'import json; print("\n".join(w["message"] for w in json.load(open("out.txt"))["warnings"]))' >notes
}

# does_not_do TASK…: it fails, and no program was started
does_not_do() {
	rm -f effect
	call "$@"
	assert_envelope
	[ "$status" -ne 0 ]
	[ ! -e effect ] || { cat effect; false; }
}

@test "a value that can't be had is never the empty text: lists, maps, defaults, functions, computed variables" {
	cat >Taskfile.yml <<-'YAML'
		version: "3"
		vars:
		  LIST: [g1, g2]
		  MAP: { map: { a: 1 } }
		  REF: { ref: .LIST }
		  REGION: '{{.REGION | default "eu"}}'
		  UP: '{{.NOBODY_HAS_IT | default "x" | upper}}'
		  SHA: { sh: echo abc }
		  TAG: '{{.TAG | default .SHA}}'
		  ODD: '{{.LIST | join ","}}'
		  EMPTY:
		tasks:
		  own: { vars: { H: [h1, "h 2"] }, cmds: [{ for: { var: H }, cmd: 'cargo "{{.ITEM}}"' }] }
		  global: { cmds: [{ for: { var: LIST, as: X }, cmd: 'cargo {{.X}}' }] }
		  calls: { vars: { H: [h1, h2] }, cmds: [{ for: { var: H }, task: one, vars: { X: '{{.ITEM}}' } }] }
		  words: { vars: { C: "a b,c" }, cmds: [{ for: { var: C, split: "," }, cmd: 'cargo "{{.ITEM}}"' }] }
		  one: cargo {{.X}}
		  set: cargo {{.REGION}} {{.UP}} "{{.EMPTY}}"
		  list: cargo {{.LIST}}
		  map: cargo {{.MAP}}
		  ref: { cmds: [{ for: { var: REF }, cmd: "cargo {{.ITEM}}" }] }
		  maps: { vars: { H: { map: { a: 1 } } }, cmds: [{ for: { var: H }, cmd: "cargo {{.ITEM}}" }] }
		  mapcalls: { vars: { H: { map: { a: 1 } } }, cmds: [{ for: { var: H }, task: one }] }
		  odd: cargo {{.ODD}}
		  env: { env: { E: { map: { a: 1 } } }, cmd: cargo "$E" }
		  dir: { dir: "{{.LIST}}", cmd: cargo }
		  split: { vars: { C: { sh: echo a } }, cmds: [{ for: { var: C, split: "ab" }, cmd: "cargo {{.ITEM}}" }] }
		  nested: 'cargo {{.REGION | default .TAG}} {{.TAG}} "{{.NOBODY_HAS_IT | default "}"}}"'
		  false: { vars: { F: false, Z: 0, T: true }, cmds: ['cargo {{if .F}}f{{else}}n{{end}} {{if .Z}}z{{end}} {{if .T}}t{{end}} {{.F | default "d"}} {{.F}}'] }
		  loops: { cmds: [{ for: [a, b], cmd: 'cargo {{.ITEM}}', if: 'test {{.ITEM}} = b' }, { for: [c], cmd: "false", ignore_error: true }, cargo end] }
	YAML
	notes_of Taskfile.yml
	lints
	effect_of own <<<$'cargo [h1]\ncargo [h 2]'
	effect_of global <<<$'cargo [g1]\ncargo [g2]'
	effect_of calls <<<$'cargo [h1]\ncargo [h2]'
	effect_of words <<<$'cargo [a b]\ncargo [c]'
	effect_of set <<<'cargo [eu] [X] []'
	effect_of nested <<<'cargo [eu] [abc] [}]'
	effect_of false <<<'cargo [n] [t] [d] [false]'
	effect_of loops <<<$'cargo [b]\ncargo [end]'
	CLEAN_ENV+=(REGION=us)
	effect_of set <<<'cargo [us] [X] []'
	local task
	for task in list map ref maps mapcalls odd env dir split; do
		does_not_do "$task"
		grep -q ": $task: not imported" notes
	done
	cat >justfile <<-'JUST'
		name := "n"
		out := x'$NOBODY/out'
		path := join("a", "b", "c d")
		other := env("NOBODY_HAS_IT", path)
		many := uppercase("a", "b")
		joined:
		    cargo "{{path}}" "{{other}}"
		bad_many:
		    cargo {{many}}
		[env("A", name + "x")]
		[env("B", `echo b`)]
		good:
		    cargo "$A" "$B"
		[env("A", replace("a", "b", "c"))]
		bad_env:
		    cargo "$A"
		bad_out:
		    cargo {{out}}
		[working-directory('b' + 'in')]
		inside:
		    cargo "${PWD##*/}"
		[arg("x", pattern="[a-c]" + "+")]
		shaped x:
		    cargo {{x}}
		[arg("x", min="2")]
		bad_arg x="":
		    cargo {{x}}
		bad_default *x="a; b":
		    cargo {{x}}
		split *x="-v --race":
		    cargo {{x}}
		computed *x=`echo -v --race`:
		    cargo {{x}}
	JUST
	notes_of justfile
	effect_of joined <<<'cargo [a/b/c d] [a/b/c d]'
	effect_of good <<<'cargo [nx] [b]'
	effect_of inside <<<'cargo [bin]'
	effect_of shaped abc <<<'cargo [abc]'
	call shaped d
	[ "$status" -eq 2 ]
	effect_of split <<<'cargo [-v] [--race]'
	effect_of split a 'b c' <<<'cargo [a] [b c]'
	effect_of computed <<<'cargo [-v] [--race]'
	for task in bad_env bad_out bad_arg bad_default bad_many; do
		does_not_do "$task"
		grep -q ": $task: not imported" notes
	done
}

# Every key that the format has, one at a time in a file that has no other: it changes the tasks, or is said.
@test "no key of a Taskfile or a justfile is lost without a word" {
	cat >keys.py <<-'PY'
		import json, re, subprocess, sys
		runner, failed = sys.argv[1], []

		def imported(name, text):
		    open(name, "w").write(text)
		    envelope = json.loads(subprocess.run([runner, "init", "--from", name, "--force"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE).stdout)
		    assert envelope["ok"], (text, envelope)
		    return open("tasks.lua").read(), [w["message"] for w in envelope["warnings"]]

		def check(name, form, rows, nothing):
		    for key, row in rows.items():
		        plain = imported(name, form(row[1] if isinstance(row, tuple) else ""))[0]
		        tasks, notes = imported(name, form(row[0] if isinstance(row, tuple) else row))
		        said = any(re.search(r"(^|\W)%s(\W|$)" % re.escape(key), n) for n in notes)
		        if not said and tasks == plain and key not in nothing:
		            failed.append("%s: %s: lost" % (name, key))
		        if said and key in nothing:
		            failed.append("%s: %s: said, and changes nothing" % (name, key))

		one = "version: '3'\n%stasks:\n  other: { cmd: echo other }\n  a: { cmd: echo a }\n"
		check("Taskfile.yml", lambda t: one % (t + "\n"), {
		    "output": "output: group", "method": "method: none", "includes": "includes: { x: ./x }", "set": "set: [nounset]", "shopt": "shopt: [globstar]",
		    "vars": "vars: { A: b }", "env": "env: { A: b }", "silent": "silent: true", "dotenv": "dotenv: [.env]", "run": "run: once", "interval": "interval: 1s",
		    "use_gitignore": "use_gitignore: true", "nonsense": "nonsense: 1"}, {"output", "silent", "interval", "method"})
		task = "version: '3'\ntasks:\n  other: { cmd: echo other }\n  a:\n    sources: [x.c]\n    cmd: echo a {{.V}}\n%s"
		check("Taskfile.yml", lambda t: task % (t and "    " + t + "\n"), {
		    "aliases": "aliases: [b]", "deps": "deps: [other]", "desc": "desc: It", "dir": "dir: web", "dotenv": "dotenv: [.env]", "env": "env: { A: b }",
		    "failfast": "failfast: false", "generates": "generates: [y]", "if": "if: test -e x", "ignore_error": "ignore_error: true",
		    "interactive": "interactive: true", "internal": "internal: true", "label": "label: x", "method": "method: timestamp",
		    "platforms": "platforms: [windows]", "preconditions": "preconditions: [test -e x]", "prefix": "prefix: x", "prompt": "prompt: sure?",
		    "requires": "requires: { vars: [V] }", "run": "run: once", "set": "set: [pipefail]", "shopt": "shopt: [globstar]", "silent": "silent: true",
		    "status": "status: [test -e x]", "summary": "summary: It", "vars": "vars: { V: x }", "watch": "watch: true", "use_gitignore": "use_gitignore: true",
		    "timeout": "timeout: 3s", "nonsense": "nonsense: 1"}, {"label", "prefix", "silent"})
		for value in ["allexport", "a", "noexec", "noglob", "nounset", "u", "xtrace", "pipefail", "vi"]:
		    check("Taskfile.yml", lambda t: task % (t and "    " + t + "\n"), {value: "set: [%s]" % value}, set())
		check("Taskfile.yml", lambda t: task % (t and "    " + t + "\n"), {"method": "method: none", "prompt": ("prompt: [a, b]", "prompt: [a]")}, set())
		command = "version: '3'\ntasks:\n  other: { cmd: 'echo {{.V}}' }\n  a: { cmds: [{ %s%s }, echo z] }\n"
		keys = {"if": "if: 'false'", "ignore_error": "ignore_error: true", "platforms": "platforms: [windows]", "silent": "silent: true", "for": "for: [x, y]",
		    "timeout": "timeout: 3s", "set": "set: [pipefail]", "shopt": "shopt: [globstar]", "vars": "vars: { V: x }", "nonsense": "nonsense: 1"}
		check("Taskfile.yml", lambda t: command % ("cmd: echo a", t and ", " + t), keys, {"silent"})
		check("Taskfile.yml", lambda t: command % ("task: other", t and ", " + t), keys, {"silent"})
		check("Taskfile.yml", lambda t: command % ("defer: echo a", t and ", " + t), keys, {"silent"})
		del keys["for"]
		check("Taskfile.yml", lambda t: command % ("for: [x, y], cmd: echo a", t and ", " + t), keys, {"silent"})
		check("Taskfile.yml", lambda t: command % ("for: [x, y], task: other", t and ", " + t), keys, {"silent"})
		keys["for"] = "for: [x, y]"
		deps = "version: '3'\ntasks:\n  other: { cmd: 'echo {{.V}}' }\n  a: { deps: [{ task: other%s }], cmds: [echo z] }\n"
		check("Taskfile.yml", lambda t: deps % (t and ", " + t), {k: keys[k] for k in ("vars", "for", "timeout", "silent", "if", "ignore_error", "nonsense")}, {"silent"})
		for form in ["[x]", "{ map: { a: 1 } }", "{ ref: .B }", "{ sh: echo x }", "{ value: x, secret: true }", "{ value: x }"]:
		    check("Taskfile.yml", lambda t: task % ("    vars: { V: %s }\n" % (t or "q")), {form: form}, set())

		recipe = "%s\nother:\n    echo other\n%s\na x='':\n    echo {{x}}\n"
		check("justfile", lambda t: recipe % ("", t), {
		    "arg": "[arg('x', help='it')]", "cache": "[cache]", "confirm": "[confirm]", "continue": "[continue]", "default": "[default]", "doc": "[doc('it')]",
		    "env": "[env('A', 'b')]", "exit-message": "[exit-message]", "extension": "[extension('.sh')]", "group": "[group('g')]", "linux": "[linux]",
		    "macos": "[macos]", "windows": "[windows]", "freebsd": "[freebsd]", "metadata": "[metadata('x')]", "no-cd": "[no-cd]",
		    "no-exit-message": "[no-exit-message]", "no-quiet": "[no-quiet]", "parallel": "[parallel]", "positional-arguments": "[positional-arguments]",
		    "private": "[private]", "script": "[script]", "shell": "[shell]", "timestamp": "[timestamp]", "unix": "[unix]",
		    "working-directory": "[working-directory('web')]", "nonsense": "[nonsense]"},
		    {"linux", "unix", "exit-message", "no-exit-message", "no-quiet", "metadata", "parallel"})
		check("justfile", lambda t: recipe % (t, ""), {
		    "default-list": "set default-list", "default-script": "set default-script", "dotenv-command": "set dotenv-command := 'x'",
		    "dotenv": "set dotenv-load", "export": "set export", "fallback": "set fallback", "guards": "set guards", "ignore-comments": "set ignore-comments",
		    "lazy": "set lazy", "lists": "set lists", "minimum-version": "set minimum-version := '1.0'", "no-cd": "set no-cd", "no-exit-message": "set no-exit-message",
		    "positional-arguments": "set positional-arguments", "quiet": "set quiet", "shell": "set shell := ['bash', '--login', '-o', 'pipefail', '-c']",
		    "tempdir": "set tempdir := '/tmp'", "unstable": "set unstable", "windows-shell": "set windows-shell := ['x']",
		    "windows-powershell": "set windows-powershell", "working-directory": "set working-directory := 'web'", "indentation": "set indentation := '  '",
		    "dotenv-override": "set dotenv-override", "dotenv-required": "set dotenv-required", "allow-duplicate-recipes": "set allow-duplicate-recipes",
		    "allow-duplicate-variables": "set allow-duplicate-variables", "unexport": "unexport X", "import": "import 'x'", "mod": "mod x"},
		    {"export", "ignore-comments", "no-exit-message", "quiet", "tempdir", "unstable", "windows-shell", "windows-powershell", "lists", "lazy",
		     "allow-duplicate-recipes", "allow-duplicate-variables"} - {"lists", "lazy"})
		check("justfile", lambda t: "set script-interpreter := ['bash', '-u']\n".replace("bash", t or "sh") + "[script]\na:\n    echo a\n", {"bash": "bash"}, set())
		sys.exit("\n".join(failed) or 0)
	PY
	python3 keys.py "$RUNNER"
}

@test "a call of the tool's own program is rewritten with a name alone; words, options and confirmed ones are said" {
	cat >justfile <<-'JUST'
		build:
		    cargo build
		[confirm("sure?")]
		clean:
		    cargo clean
		_low-x:
		    cargo low
		whole:
		    just build
		    @just _low-x
		options:
		    just build --dry-run
		words:
		    just build clean
		set:
		    just build x=1
		chain:
		    cd / && just build
		unknown:
		    just nothing
		asks:
		    just clean
		body:
		    #!/bin/sh
		    just build
		    just build --help
	JUST
	notes_of justfile
	[ "$(grep -c '^	*runner ' tasks.lua)" -eq 3 ]
	[ "$(grep -c 'just: a call of just in the script is left as it is' notes)" -eq 6 ]
	grep -q 'runner clean: it asks to be confirmed' notes
	[ "$(grep -c '>/dev/null' tasks.lua)" -eq 0 ]
	CLEAN_ENV+=(PATH="$PWD/bin:${RUNNER%/*}:$PATH")
	effect_of whole <<<$'cargo [build]\ncargo [low]'
	does_not_do asks
	[[ $stderr == *"'clean' is destructive and was not confirmed"* ]]
	cat >Taskfile.yml <<-'YAML'
		version: "3"
		tasks:
		  build: cargo build
		  docs:api: cargo api
		  whole: { cmds: [task build, task docs:api] }
		  options: { cmds: [task build --dry] }
		  words: { cmds: [task build docs:api] }
		  set: { cmds: [task build X=1] }
		  dashes: { cmds: [task build -- --help] }
		  block: { cmds: ["cargo a\ntask build"] }
	YAML
	notes_of Taskfile.yml
	[ "$(grep -c '^	*runner ' tasks.lua)" -eq 2 ]
	[ "$(grep -c 'task: a call of task in the script is left as it is' notes)" -eq 5 ]
	effect_of whole <<<$'cargo [build]\ncargo [api]'
}

@test "steps with a confirmed one among them are needs, in their order; what can't be that is refused" {
	cat >justfile <<-'JUST'
		build:
		    cargo build
		[confirm("sure?")]
		clean x="":
		    cargo clean {{x}}
		release v: build && (clean v)
		    cargo release {{v}}
		twice: build && clean build
		    cargo twice
		through: && release_all
		    cargo through
		words *w: && (many w)
		    cargo words {{w}}
		[confirm("many?")]
		many *w:
		    cargo many {{w}}
		mode := "m"
		now := `echo now`
		known x=mode: (clean x)
		late x=now: (clean x)
		rest *x="a b": (many x)
		release_all: (release "1")
	JUST
	notes_of justfile
	lints
	does_not_do release 2
	[ "$status" -eq 2 ]
	effect_of release 2 --confirm-destructive <<<$'cargo [build]\ncargo [release] [2]\ncargo [clean] [2]'
	effect_of through --confirm-destructive <<<$'cargo [through]\ncargo [build]\ncargo [release] [1]\ncargo [clean] [1]'
	effect_of words a 'b c' --confirm-destructive <<<$'cargo [words] [a] [b c]\ncargo [many] [a] [b c]'
	effect_of words --confirm-destructive <<<$'cargo [words]\ncargo [many]'
	effect_of known --confirm-destructive <<<'cargo [clean] [m]'
	does_not_do late --confirm-destructive
	does_not_do rest --confirm-destructive
	[ "$(grep -c "because of the default of x, which others can't be given" notes)" -eq 2 ]
	does_not_do twice --confirm-destructive
	grep -q "twice: not imported: it runs 'clean', which asks to be confirmed, beside what runs twice" notes
	cat >Taskfile.yml <<-'YAML'
		version: "3"
		tasks:
		  build: cargo build
		  lint: cargo lint
		  wipe: { prompt: [sure?, really?], cmd: 'cargo wipe {{.X}}' }
		  all: { cmds: [{ task: build }, { task: wipe, vars: { X: '{{.CLI_ARGS}}' } }, cargo end] }
		  plain: { cmds: [{ task: build }, { task: wipe, vars: { X: a } }, cargo end] }
		  sides: { deps: [build, lint], cmds: [cargo one, { task: wipe }] }
	YAML
	notes_of Taskfile.yml
	lints
	effect_of plain --confirm-destructive <<<$'cargo [build]\ncargo [wipe] [a]\ncargo [end]'
	does_not_do all --confirm-destructive
	grep -q "all: not imported: it runs 'wipe', which asks to be confirmed, beside a value that is computed" notes
	does_not_do sides --confirm-destructive
	grep -q "beside tasks at once" notes
	grep -q 'confirm = "sure? really?"' tasks.lua
}

@test "what go-task's caller gives reaches every task, and its environment goes before the file's" {
	cat >Taskfile.yml <<-'YAML'
		version: "3"
		env: { PORT: 8080, WHO: { sh: echo computed }, ODD: "a}b'\"$" }
		tasks:
		  push: cargo push {{.ENV}} {{.CLI_ARGS}}
		  must: { requires: { vars: [KIND] }, cmd: 'cargo must {{.KIND}}' }
		  deploy: { cmds: [{ task: push }, 'cargo deploy {{.ENV}}', { task: fixed, vars: { X: 1 } }] }
		  fixed: { vars: { X: own }, cmd: 'cargo {{.X}}' }
		  needs: { deps: [push] }
		  deep: { deps: [{ task: needs }, must] }
		  late: { vars: { ENV: '{{.ENV | default "dev"}}' }, cmds: [{ task: push }, 'cargo {{.ENV}}'] }
		  hides: { vars: { ENV: prod }, cmds: [{ task: push }, 'cargo {{.ENV}}'] }
		  both: { vars: { ENV: '{{.ENV | default "dev"}}' }, cmds: [{ task: push }, { task: push, vars: { ENV: '{{.ENV}}' } }] }
		  env: { env: { PORT: 1, OWN: o }, cmds: ['cargo "$PORT" "$WHO" "$ODD" "$OWN" {{.PORT}}'] }
		  file: { cmds: ['cargo "$PORT"'] }
	YAML
	notes_of Taskfile.yml
	effect_of deploy --env prod -- -x 'a b' <<<$'cargo [push] [prod] [-x] [a b]\ncargo [deploy] [prod]\ncargo [own]'
	effect_of needs --env prod a <<<'cargo [push] [prod] [a]'
	call deep --env prod
	[ "$status" -eq 2 ]
	effect_of late --env prod <<<$'cargo [push] [prod]\ncargo [prod]'
	effect_of late <<<$'cargo [push]\ncargo [dev]'
	effect_of hides <<<$'cargo [push]\ncargo [prod]'
	grep -q "ENV: what the caller gives as this reaches 'push' there, and doesn't here" notes
	does_not_do both
	effect_of env <<<"cargo [1] [computed] [a}b'\"\$] [o] [8080]"
	CLEAN_ENV+=(PORT=9 WHO=me OWN=mine ENV=theirs)
	effect_of env <<<"cargo [9] [me] [a}b'\"\$] [mine] [8080]"
	effect_of file <<<'cargo [9]'
	effect_of push <<<'cargo [push] [theirs]'
}

@test "what a variable computes is computed where the file is, whatever directory its task has" {
	mkdir -p web/deep
	cat >justfile <<-'JUST'
		here := `basename "$PWD"`
		[working-directory('web/deep')]
		inside p=`basename "$PWD"`:
		    cargo {{here}} {{p}} {{`basename "$PWD"`}} {{path_exists("justfile")}} "${PWD##*/}"
		[no-cd]
		outside:
		    cargo {{here}}
		[no-cd]
		inline:
		    cargo {{`pwd`}}
	JUST
	notes_of justfile
	effect_of inside <<<'cargo [BASE] [BASE] [BASE] [true] [deep]'
	does_not_do outside
	does_not_do inline
	printf "set working-directory := 'web'\nhere := \`basename \"\$PWD\"\`\n[working-directory('./deep/')]\na:\n    cargo {{here}} \"\${PWD##*/}\"\n" >justfile
	notes_of justfile
	effect_of a <<<'cargo [web] [deep]'
	cat >Taskfile.yml <<-'YAML'
		version: "3"
		vars: { HERE: { sh: 'basename "$PWD"' }, SUB: web }
		tasks:
		  a: { dir: web, vars: { OWN: { sh: 'basename "$PWD"' } }, cmds: ['cargo {{.HERE}} {{.OWN}} "${PWD##*/}" {{.ROOT_DIR}}'] }
		  b: { dir: '{{.ROOT_DIR}}/web', vars: { OWN: { sh: 'basename "$PWD"' } }, cmds: ['cargo {{.HERE}} {{.OWN}} "${PWD##*/}"'] }
	YAML
	notes_of Taskfile.yml
	effect_of a <<<"cargo [BASE] [web] [web] [$PWD]"
	effect_of b <<<'cargo [BASE] [web] [web]'
}

@test "options of a shell stay, and a script that asks or reads says so" {
	local shell wanted
	while IFS='|' read -r shell wanted; do
		printf 'set shell := [%s]\na:\n    cargo a\n' "$shell" >justfile
		notes_of justfile
		grep -qF "interpreter = \"$wanted\"" tasks.lua || { echo "$shell: $(grep interpreter tasks.lua)"; false; }
	done <<-'SHELLS'
		"bash", "--login", "-c"|bash --login -e
		"bash", "-o", "pipefail", "-c"|bash -eo pipefail
		"bash", "-euo", "pipefail", "-c"|bash -euo pipefail
		"bash", "-o", "errexit", "-uc"|bash -o errexit -u
		"zsh", "-cu"|zsh -eu
		"bash", "-O", "extglob", "-ec"|bash -O extglob -e
		"sh", "-c"|sh -e
	SHELLS
	cat >justfile <<-'JUST'
		asks:
		    read -p "sure? " x; test "$x" = y
		reads:
		    cat | upload
		heredoc:
		    #!/bin/sh
		    cat >out <<END
		    END
		loops:
		    while read -r x; do echo "$x"; done <justfile
		says:
		    echo read this
	JUST
	notes_of justfile
	[ "$(grep -c 'interactive = true' tasks.lua)" -eq 1 ]
	grep -q '^	asks = .*interactive = true' tasks.lua
	[ "$(grep -c 'stdin = true' tasks.lua)" -eq 1 ]
	lints
	mkdir -p sub/packages/a
	echo '{}' | tee sub/package.json >sub/packages/a/none
	echo '{"scripts": {"a": "cd $INIT_CWD", "b": "npm test"}}' >sub/packages/a/package.json
	notes_of sub/packages/a/package.json
	grep -qF '"$PWD/node_modules/.bin:$PWD/../../node_modules/.bin:$PATH"' sub/packages/a/tasks.lua
	grep -q 'INIT_CWD: npm sets it' notes
	grep -q 'npm run: scripts that call it' notes
	printf '.PHONY: a\na: ; @cargo upper\n' >Makefile
	printf '.PHONY: a\na: ; @cargo lower\n' >makefile
	notes_of Makefile
	effect_of a <<<'cargo [upper]'
	notes_of makefile
	effect_of a <<<'cargo [lower]'
}
