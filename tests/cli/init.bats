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
	sed "s/BASE/${PWD##*/}/" | diff - effect
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
