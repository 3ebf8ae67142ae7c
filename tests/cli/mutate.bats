#!/usr/bin/env bats
# tests/mutate, which asks whether the other tests are able to fail: what it changes, what it
# makes of the answers, and that no mutant gets out of its jail. The program isn't run here:
# a project of two functions stands in for it.

load lib/helper

MUTATE=$ROOT/tests/mutate
bystander=

clean_up() {
	[ -z "$bystander" ] || kill "$bystander"
}

# operators FILE: "OP LINE OLD → NEW" for each mutant of a file
operators() {
	PYTHONPATH=$MUTATE PYTHONDONTWRITEBYTECODE=1 python3 - "$1" <<'PY'
import sys
import operators
found = operators.mutants(sys.argv[1], open(sys.argv[1], encoding="utf-8").read())
for mutant in sorted(sum(found.values(), []), key=lambda m: (m.line, m.op, m.start, m.new)):
    print(mutant.op, mutant.line, " ".join(mutant.old.split()), "→", mutant.new.strip())
PY
}

@test "every operator finds its places in C, and none in comments, strings and #if" {
	cat >sample.c <<'C'
#if 5 < 6 && 1
#define LIMIT 7 /* 8 == 9 */
#endif
int f(int a, char *b)
{
	if (a >= 2 && !b)
		return a->c;
	g(b,
	  "3 < 4");
	return 0;
}
C
	operators sample.c >found.txt
	diff - found.txt <<'EXPECTED'
cmp 6 >= → <
cmp 6 >= → >
const 6 2 → 1
const 6 2 → 3
if 6 a >= 2 && !b → 0
logic 6 && → ||
not 6 ! → 
return 7 a->c → 0
return 7 a->c → 1
call 8 g(b, "3 < 4"); → ;
const 10 0 → 1
return 10 0 → 1
EXPECTED
}

@test "every operator finds its places in Lua, and none in comments and strings" {
	cat >sample.lua <<'LUA'
-- 1 < 2 and not 3
local M = { "4 == 5", [[6 or 7]] }
function M.f(a)
	if not a or a ~= 8 then
		M.g(a)
		return true
	end
	return M.g(a, function() end)
end
LUA
	operators sample.lua >found.txt
	diff - found.txt <<'EXPECTED'
cmp 4 ~= → ==
const 4 8 → 7
const 4 8 → 9
if 4 not a or a ~= 8 → false
logic 4 or → and
not 4 not → 
call 5 M.g(a) → 
return 6 true → false
EXPECTED
}

@test "a seed draws the same mutants each time, another one others, none of them twice" {
	SEED=7 COUNT=40 "$MUTATE/run" list >seven
	SEED=7 COUNT=40 "$MUTATE/run" list >again
	SEED=8 COUNT=40 "$MUTATE/run" list >eight
	[ "$(wc -l <seven)" -eq 40 ]
	cmp seven again
	[ -z "$(cut -d' ' -f2 seven | sort | uniq -d)" ]
	[ "$(cat seven eight | cut -d' ' -f2 | sort -u | wc -l)" -gt 70 ]
}

# A project with the targets that tests/mutate makes, and one test program that speaks TAP.
project() {
	mkdir -p project/src/common project/tests/unit
	cp -r "$MUTATE" project/tests/
	: >project/tests/mutate/equivalent.tsv
	cat >project/Makefile <<'MAKE'
all testhost:
unit: build/unit/test_sample
build/%.o: src/%.c
	@mkdir -p $(@D) && cc -O2 -c -o $@ $<
build/unit/test_sample: tests/unit/test_sample.c build/common/sample.o
	@mkdir -p $(@D) && cc -o $@ $^
MAKE
	git -C project -c init.defaultBranch=main init -q
}

# mutate: in the project, every mutant that it has
mutate() {
	(cd project && DIR=$BATS_TEST_TMPDIR/work COUNT=1000 WORKERS=1 PATIENCE=2 tests/mutate/run) >out.txt 2>&1 ||
		! grep -q 'none is run without' out.txt || skip "no namespaces: $(head -c 200 out.txt)"
}

@test "a mutant that a test finds is dead, one that nothing finds is shown, the same code is left out" {
	project
	cat >project/src/common/sample.c <<'C'
int least(int n)
{
	return n > 10 ? 10 : n;
}
int unseen(int n)
{
	return n;
}
C
	cat >project/tests/unit/test_sample.c <<'C'
#include <stdio.h>
int least(int n);
int main(void)
{
	int good = least(11) == 10 && least(-3) == -3;
	printf("1..1\n%s 1 - the least\n", good ? "ok" : "not ok");
	return !good;
}
C
	mutate
	# n >= 10 ? 10 : n is the same
	grep -q "useless .*sample.c:3 cmp '>' → '>='  same code" out.txt
	grep -q "dead .*sample.c:3 cmp '>' → '<='  tests/unit/test_sample.c the least" out.txt
	grep -q "survived .*sample.c:7 return 'n' → '0'" out.txt
	grep -q '^-.return n;$' out.txt
	grep -q '^+.return 0;$' out.txt
	grep -Eq '^src/common +[0-9]+ +[0-9]+ +[0-9.]+$' out.txt
	# what was tried is not tried again, and what is explained is no survivor
	printf 'src/common/sample.c\treturn n;\treturn 0;\tnobody calls it\n' >project/tests/mutate/equivalent.tsv
	mutate
	[ "$(grep -c '^ *[0-9]*/[0-9]* ' out.txt)" -eq 0 ]
	grep -q '^left out: .* 1 explained, 0 not tried' out.txt
	[ "$(grep -c '^+.return 0;$' out.txt)" -eq 0 ]
}

@test "a mutant that hangs is dead; one that kills and deletes hurts nobody" {
	mkdir precious
	echo mine >precious/file
	sleep 1000 3>&- &
	bystander=$!
	project
	cat >project/src/common/sample.c <<'C'
int tame(void)
{
	return 1;
}
int wait_for(volatile int *n)
{
	while (*n)
		*n = *n - 1;
	return *n;
}
C
	cat >project/tests/unit/test_sample.c <<C
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int tame(void);
int wait_for(volatile int *n);
int main(void)
{
	volatile int n = 3;
	if (!tame()) {
		system("rm -rf $PWD/precious $PWD/work/*");
		return kill(-1, SIGKILL) == 0;
	}
	wait_for(&n);
	puts("1..1\nok 1 - it ends");
	return 0;
}
C
	mutate
	grep -Eq "dead .*sample.c:3 (const|return) '1' → '0'" out.txt
	grep -q "dead .*sample.c:8 const '1' → '0'  tests/unit/test_sample.c no end within" out.txt
	[ "$(cat precious/file)" = mine ]
	[ -s work/results.jsonl ]
	kill -0 "$bystander"
}

@test "a test that fails without a mutant finds none by passing" {
	project
	cat >project/src/common/sample.c <<'C'
int seen(int n)
{
	return n;
}
C
	cat >project/tests/unit/test_sample.c <<'C'
#include <stdio.h>
int seen(int n);
int main(void)
{
	printf("1..1\n%s 1 - wrong\n", seen(1) == 0 ? "ok" : "not ok");
	return seen(1);
}
C
	mutate
	grep -q "without a mutant: status 1" out.txt
	grep -q '^# not ok 1 - wrong$' out.txt
	grep -q "survived .*sample.c:3 return 'n' → '0'" out.txt
}

@test "what fails without a mutant, but not twice, counts as passed" {
	PYTHONPATH=$MUTATE PYTHONDONTWRITEBYTECODE=1 python3 - <<'PY'
import trial
answers = [(["1..1", "not ok 1 - by chance"], 1, None), (["1..1", "ok 1 - by chance"], 0, None)]
bench = trial.Bench.__new__(trial.Bench)
bench.jail = bench.tree = None
trial.run_suite = lambda *_: answers.pop(0)
base = bench.measure("tests/unit/test_sample.c")
assert (base.status, base.failed, base.complete) == (0, [], True), base
PY
}

@test "what was measured without a mutant counts while no source has changed" {
	project
	printf 'int seen(int n)\n{\n\treturn n;\n}\n' >project/src/common/sample.c
	printf '#include <stdio.h>\nint main(void) { puts("1..1\\nok 1 - x"); return 0; }\n' >project/tests/unit/test_sample.c
	local before
	mutate
	before=$(grep '"sources"' work/base.json)
	mutate
	[ "$(grep '"sources"' work/base.json)" = "$before" ]
	echo '/* changed */' >>project/src/common/sample.c
	mutate
	[ "$(grep -c '"sources"' work/base.json)" -eq 1 ]
	[ "$(grep '"sources"' work/base.json)" != "$before" ]
}
