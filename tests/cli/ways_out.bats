#!/usr/bin/env bats
# More than a hundred ways out of a confined command (lib/ways_out.c), tried by the user nobody and by root, on kernels of every age:
# each is held, or meta.confined says that it isn't.

load lib/helper
load lib/confine

NOBODY=65534

prepare() {
	needs 6
	[ -x "$BATS_FILE_TMPDIR/ways" ] || "${CC:-cc}" -O1 -Wall -Wextra -o "$BATS_FILE_TMPDIR/ways" "$ROOT/tests/cli/lib/ways_out.c" -lrt
	cp "$BATS_FILE_TMPDIR/ways" ways
	chmod 755 . .. ../..
	body ways 'timeout = "300s", exit_codes = {}, confine = { write = { "in" }, network = false, required = false },' <<-LUA
		return { tried = ctx:run{ "./ways", "try", "in/victim", "$PWD/outside", "$PWD/in", check = false, timeout = "280s" }.stdout }
	LUA
}

clean_up() {
	[ -z "${victim:-}" ] || kill "$victim" 2>/dev/null || true
}

# The command before us and its programs are this user's.
be() {
	AS_USER=()
	[ "$1" = 0 ] || AS_USER=(setpriv "--reuid=$1" "--regid=$1" --clear-groups)
	[ "$1" = 0 ] || [ "$(id -u)" = 0 ] || skip "only root is two users"
	install -m 755 "$RUNNER" program
	user=$1
}

# An innocent process of the user, and a folder of its own
innocent() {
	rm -rf in outside
	mkdir -p in outside/folder
	echo x | tee outside/kept outside/removed outside/moving >outside/others
	chmod 600 outside/*ed outside/moving outside/others
	chown -R "$user" in outside 2>/dev/null || true
	[ "$(id -u)" != 0 ] || chown 12345 outside/others
	"${AS_USER[@]}" ./ways victim in/victim 3>&- &
	until_true grep -q victim- in/victim
	victim=$(cut -d' ' -f1 in/victim)
	python3 "$ROOT/tests/cli/lib/ways_out.py" victim in/victim >before
}

# … which is none the worse
assert_innocent() {
	python3 "$ROOT/tests/cli/lib/ways_out.py" victim in/victim | diff before -
	kill "$victim"
	wait "$victim"
	victim=
}

let_go() {
	kill "$victim"
	wait "$victim" || true
	victim=
}

# on_kernel TRACE… : the command is called there, and its ways are judged
on_kernel() {
	env -i "${CLEAN_ENV[@]}" ASAN_OPTIONS=detect_leaks=0 "$@" "${AS_USER[@]}" ./program ways --format json >out.txt 2>err.txt </dev/null
	python3 -c 'import json; print(json.load(open("out.txt"))["data"]["tried"], end="")' >tried
	python3 "$ROOT/tests/cli/lib/ways_out.py" confined tried out.txt
}

# kernels: with each version of Landlock up to the one here, without it, and without filters
kernels() {
	local have version
	needs_strace
	have=$(landlock)
	for version in 1 2 3 4 5 6; do
		[ "$version" -lt "$have" ] || break
		innocent
		on_kernel strace -qq -f -o /dev/null -e trace=landlock_create_ruleset -e "inject=landlock_create_ruleset:retval=$version:when=1..2"
		assert_innocent
	done
	innocent
	on_kernel strace -qq -f -o /dev/null -e trace=landlock_create_ruleset -e inject=landlock_create_ruleset:error=EOPNOTSUPP
	let_go
	innocent
	on_kernel strace -qq -f -o /dev/null -e trace=seccomp -e inject=seccomp:error=ENOSYS
	let_go
}

@test "a confined command of nobody finds none of the ways out that all others find" {
	be $NOBODY
	innocent
	"${AS_USER[@]}" ./ways try in/victim "$PWD/outside" "$PWD/in" >tried
	run python3 "$ROOT/tests/cli/lib/ways_out.py" control tried
	echo "$output"
	[ "$(xargs <<<"$output")" = "abstract_sockets capabilities processes signals sockets tcp truncate write" ]
	let_go
	innocent
	on_kernel
	assert_innocent
}

@test "a confined command of root finds none of the ways out that all others find" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	be 0
	innocent
	./ways try in/victim "$PWD/outside" "$PWD/in" >tried
	run python3 "$ROOT/tests/cli/lib/ways_out.py" control tried
	echo "$output"
	[ "$(xargs <<<"$output")" = "abstract_sockets capabilities processes signals sockets tcp truncate write" ]
	[ "$(grep -c 'out$' tried)" -gt 100 ]
	let_go
	innocent
	on_kernel
	assert_innocent
}

@test "a command that is confined by its network alone reaches no other process, and no object of one" {
	be $NOBODY
	sed -i 's/write = { "in" }, //' commands/ways.lua
	innocent
	on_kernel
	grep -q '^processes queue held' tried
	assert_innocent
}

@test "on an older kernel the ways out are those that meta says, for nobody" {
	be $NOBODY
	kernels
}

@test "on an older kernel the ways out are those that meta says, for root" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	be 0
	kernels
}
