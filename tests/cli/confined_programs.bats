#!/usr/bin/env bats
# What programs of a confined command do to runner itself, to the terminal and with capabilities; and that ordinary ones work. Each
# is tried by the user nobody and by root.

load lib/helper
load lib/confine

NOBODY=65534

prepare() {
	needs 1
	[ -x "$BATS_FILE_TMPDIR/ways" ] || "${CC:-cc}" -O1 -o "$BATS_FILE_TMPDIR/ways" "$ROOT/tests/cli/lib/ways_out.c" -lrt
	cp "$BATS_FILE_TMPDIR/ways" ways
	mkdir -m 777 out
	if [ "$(id -u)" = 0 ]; then USERS=(0 "$NOBODY"); else USERS=("$(id -u)"); fi
}

# as USER ARGS…: the call of that user
as() {
	if [ "$1" = "$(id -u)" ]; then
		shift
		call "$@"
	else
		call_as "$@"
	fi
	assert_envelope
}

# both NAME BOUNDS [KEYS] <<<BODY: the command, and free-NAME, which isn't confined
both() {
	local text
	text=$(cat)
	body "free-$1" "exit_codes = {}, ${3:-}" <<<"$text"
	body "$1" "exit_codes = {}, confine = { $2 }, ${3:-}" <<<"$text"
}

nothing_is_stricter() {
	[ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ]
}

@test "no program takes its worker's channel, descriptors or memory" {
	local user
	both take 'network = false' <<-'LUA'
		local worker, supervisor = io.open "/proc/self/stat":read "l":match "^(%d+).*%) %u (%d+)"
		return { worker = worker, tried = ctx:run{ "./ways", "runner", worker, supervisor }.stdout }
	LUA
	for user in "${USERS[@]}"; do
		as "$user" take
		expect 'e.data["tried"].count("tried") == 2 and "out" not in e.data["tried"]'
		expect '"channel" in e.meta["confined"]["holds"]'
		as "$user" free-take
		if nothing_is_stricter; then
			expect 'all(e.data["worker"] + " " + way + " out" in e.data["tried"] for way in ("takes_3", "reads_3", "traces", "memory"))'
		fi
	done
}

@test "no program takes the supervisor's limits away, and the answer is there" {
	local user
	both starve 'write = {}' <<-'LUA'
		return { tried = ctx:run{ "python3", "-c", [[
		import resource, sys
		for pid in map(int, sys.argv[1:]):
		    for which in resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_CPU:
		        try:
		            resource.prlimit(pid, which, (0, 0)); print("taken")
		        except OSError as e:
		            print(e.errno)
		]], io.open "/proc/self/stat":read "l":match "^(%d+).*%) %u (%d+)" }.stdout }
	LUA
	for user in "${USERS[@]}"; do
		as "$user" PATH="/usr/bin:/bin:$PATH" starve
		expect 'e.data["tried"].split() == ["1"] * 6'
	done
}

# in_shell COMMAND: typed into a shell that has a terminal, which then reads on
in_shell() {
	python3 - "$1" "$PWD" <<-'PY'
		import os, pty, select, sys, time
		pid, fd = pty.fork()
		if pid == 0:
		    os.execve("/bin/sh", ["sh", "-i"], {"PATH": os.environ["PATH"], "PS1": "$ ", "HOME": sys.argv[2]})
		os.write(fd, (sys.argv[1] + "; echo over-$((1 + 1))\n").encode())
		seen, end, left = b"", time.monotonic() + 120, False
		while time.monotonic() < end:
		    if select.select([fd], [], [], 0.1)[0]:
		        try:
		            seen += os.read(fd, 65536)
		        except OSError:
		            break
		    if b"over-2" in seen and not left:
		        left = os.write(fd, b"\nexit\n") > 0
		os.waitpid(pid, 0)
		assert left, seen
	PY
}

@test "nothing is typed into the terminal for the shell that reads it next" {
	local user program
	both type 'write = { "out" }' 'interactive = true,' <<-'LUA'
		os.execute "./ways type 'touch out/typed\n' 3>>out/tried"
		ctx:run{ "sh", "-c", "./ways type 'touch out/typed\n' 3>>out/tried", capture = false }
		ctx:run{ "sh", "-c", "./ways type 'touch out/typed\n' 3>>out/tried", foreground = true, capture = false }
		return {}
	LUA
	for user in "${USERS[@]}"; do
		as "$user" type # makes the copy of the program, and has no terminal
		rm -f out/tried
		program=$RUNNER
		[ "$user" = "$(id -u)" ] || program="setpriv --reuid=$user --regid=$user --clear-groups ./runner-for-all"
		in_shell "env -i HOME=/nonexistent PATH=$PATH $program type --format json >out.txt"
		[ "$(sort -u out/tried | xargs)" = "pastes held types held" ]
		[ ! -e out/typed ]
		rm out/tried
		[ "$(cat /proc/sys/dev/tty/legacy_tiocsti 2>/dev/null || echo 1)" = 1 ] || continue
		in_shell "env -i HOME=/nonexistent PATH=$PATH $program free-type --format json >out.txt"
		[ -e out/typed ]
		rm out/t*
	done
}

@test "root has the capabilities that are named and no others, nor has what it starts" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	local script='sed -n "s/^Cap\(Eff\|Prm\|Bnd\|Inh\|Amb\):.0*//p" /proc/self/status; chown 12345 out/file 2>/dev/null && echo chown'
	script+='; setpriv --reuid=12345 --clear-groups true 2>/dev/null && echo setuid; python3 -c "import socket; socket.socket().bind((\"127.0.0.1\", 7))" 2>/dev/null && echo bind; true'
	touch out/file
	body none 'confine = { write = { "out" } },' <<<"return { can = ctx:run{ 'sh', '-c', [[$script]] }.stdout }"
	body some 'confine = { capabilities = { "chown", "net_bind_service" } },' <<<"return { can = ctx:run{ 'sh', '-c', [[$script]] }.stdout }"
	answers 0 none
	expect 'e.data["can"].split() == []'
	answers 0 some
	expect 'e.data["can"].split() == ["401", "401", "401", "chown", "bind"]'
	answers 0 some --schema
	expect 'e.data["confine"] == { "capabilities": ["chown", "net_bind_service"], "required": True }'
	call help some --format plain
	[[ $stdout == *"It keeps of root's capabilities chown, net_bind_service."* ]]
}

@test "an ambient capability is kept where it is named, and a set-user-ID program gains nothing" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	local script='sed -n "s/^CapEff:.0*//p" /proc/self/status; ./id -u'
	body none 'confine = { network = false },' <<<"return { can = ctx:run{ 'sh', '-c', [[$script]] }.stdout }"
	body some 'confine = { capabilities = { "net_bind_service", "chown" } },' <<<"return { can = ctx:run{ 'sh', '-c', [[$script]] }.stdout }"
	body free <<<"return { can = ctx:run{ 'sh', '-c', [[$script]] }.stdout }"
	install -m 4755 /usr/bin/id id
	call_as $NOBODY free
	[ "$(field 'e.data["can"].split()')" = "['0']" ] || skip "set-user-ID programs gain nothing here"
	local name
	for name in none some; do
		status=0
		env -i "${CLEAN_ENV[@]}" setpriv --reuid=$NOBODY --regid=$NOBODY --clear-groups --inh-caps=+net_bind_service --ambient-caps=+net_bind_service \
			./runner-for-all $name >out.txt 2>err.txt </dev/null || status=$?
		stdout=$(<out.txt)
		assert_envelope
		expect "e.data['can'].split() == { 'none': ['65534'], 'some': ['400', '65534'] }['$name']"
	done
}

@test "a confined tree ends with its supervisor, whoever the user is, and one whose processes have another user ends too" {
	local user pid
	body tree 'confine = { write = { "out" }, network = false },' \
		<<<'ctx:run{ "sh", "-c", "setsid sh -c \"sleep 610 & sleep 620\" & (sleep 630 &) ; echo x >out/marker; sleep 640" }'
	for user in "${USERS[@]}"; do
		as "$user" --version >/dev/null || true
		rm -f out/marker
		local program=("$RUNNER")
		[ "$user" = "$(id -u)" ] || program=(setpriv "--reuid=$user" "--regid=$user" --clear-groups ./runner-for-all)
		env -i "${CLEAN_ENV[@]}" "${program[@]}" tree >out.txt 2>err.txt </dev/null 3>&- &
		pid=$!
		until_true [ -e out/marker ]
		kill -9 "$pid"
		wait "$pid" || true
		until_true assert_no_process_left
	done
	[ "$(id -u)" = 0 ] || return 0
	body other 'confine = { capabilities = { "setuid", "setgid", "kill" } },' \
		<<<'ctx:run{ "setpriv", "--reuid=12345", "--regid=12345", "--clear-groups", "sh", "-c", "setsid sleep 65 & sleep 0.1" } return {}'
	answers 0 other
	assert_no_process_left
}

# each line: a program, and what it does
ORDINARY=$(cat <<'SH'
sh      nice -n 3 true && ulimit -n 64 && trap 'exit 0' TERM && kill $$
bash    set -m; sleep 0.05 & sleep 0.05 & jobs >/dev/null; wait
bash    coproc cat; echo x >&${COPROC[1]}; read -r line <&${COPROC[0]}; [ "$line" = x ]
ionice  ionice -c 3 true
taskset taskset -c 0 true
chrt    chrt -b 0 true
prlimit prlimit --nofile=64 true
timeout timeout 5 setsid true
tar     tar -czf out/a.tgz commands && tar -xzf out/a.tgz -C out
git     git init -q out/repo && cd out/repo && echo x >a && git add a && git -c user.name=a -c user.email=a@b commit -qm x && git gc -q && git clone -q . ../clone
gcc     echo 'int main(void) { return 0; }' >out/a.c && gcc -O2 -pipe -o out/a out/a.c && out/a
make    printf 'all: a b c d\n%%: ; @sleep 0.01\n' >out/Makefile && make -s -j4 -C out
perl    perl -MIPC::Open3 -e 'open3(my $in, my $out, undef, "cat"); print $in "x\n"; close $in; exit(<$out> ne "x\n")'
python3 python3 -c 'import asyncio, subprocess, threading; asyncio.run(asyncio.sleep(0)); subprocess.run(["true"], check=True); threading.Thread(target=print).start()'
python3 python3 -c 'import os, resource, time; os.nice(1); os.sched_setaffinity(0, os.sched_getaffinity(0)); resource.setrlimit(resource.RLIMIT_CORE, (0, 0))'
python3 python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.bind("out/sock"); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect("out/sock"); socket.socketpair(); socket.getaddrinfo("localhost", 80)'
python3 python3 -c 'import sqlite3; d = sqlite3.connect("out/db"); d.execute("create table t (a)"); d.commit()'
node    node -e 'require("os").networkInterfaces(); new (require("worker_threads").Worker)("", { eval: true }); require("child_process").execFileSync("true")'
strace  strace -f -o out/trace true
awk     awk 'BEGIN { "echo x" | getline a; exit a != "x" }'
ssh     ssh-keygen -q -t ed25519 -N "" -f out/key
openssl openssl rand 16 >out/random
SH
)

@test "ordinary programs work in a confined command" {
	local user name script tried=0
	body ordinary 'timeout = "120s", confine = { write = { "out" }, network = false }, args = { { "script", "string" } },' <<<\
		'local r = ctx:run{ "bash", "-c", args.script, check = false, env = { HOME = ctx.tempdir } } return { status = r.status, err = r.stderr }'
	for user in "${USERS[@]}"; do
		while read -r name script; do
			PATH=/usr/bin:/bin command -v "$name" >/dev/null || continue
			[[ $script != *"import sqlite3"* ]] || python3 -c 'import sqlite3' 2>/dev/null || continue
			rm -rf out/*
			echo "$user: $script"
			as "$user" PATH=/usr/bin:/bin ordinary --script "$script"
			expect 'e.data["status"] == 0'
			tried=$((tried + 1))
		done <<<"$ORDINARY"
	done
	[ "$tried" -ge 20 ]
}

@test "what ctx offers works in a confined command" {
	local user
	chmod 755 .
	mkdir -m 777 state
	body inner <<<'ctx:defer(function() end) return { said = ctx:run{ "echo", "x" }.stdout }'
	body offers 'exit_codes = {}, confine = { write = { "out" }, network = false },' <<-'LUA'
		local seen = {}
		ctx:lock("name"):release()
		local child = ctx:spawn{ "sh", "-c", "cat; sleep 0.05", stdin = "x" }
		ctx:run{ "sh", "-c", "cat /dev/fd/0 >/dev/stdout; echo x >/dev/stderr; echo last", stdin = "first\n", on_line = function(line) seen[#seen + 1] = line end }
		local both = ctx:parallel{ function() return ctx:call("inner") end, function() return ctx:run{ "echo", "y" } end }
		child:wait() -- what still runs at the end is warned of
		return { seen = seen, pipe = ctx:pipeline{ { "printf", "b\\na\\n" }, { "sort" } }.stdout, both = { both[1].said, both[2].stdout },
			popen = io.popen("echo p"):read("l"), temp = require("fs").write(ctx.tempdir .. "/x", "x") }
	LUA
	for user in "${USERS[@]}"; do
		rm -rf state/*
		as "$user" XDG_STATE_HOME="$PWD/state" offers
		expect 'e.ok and e.warnings == [] and "first" in e.data["seen"] and "last" in e.data["seen"]'
		expect 'e.data["pipe"] == "a\nb\n" and e.data["both"] == ["x\n", "y\n"] and e.data["popen"] == "p" and e.data["temp"] is True'
	done
}
