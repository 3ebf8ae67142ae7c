#!/bin/bash
# attack.sh WAY WORDS…: an agent with a shell calls runner, which is $R, with these words, in one of many ways, to agree to what waits:
# `approve ID`, `workflow resume ID`, … What runner answers goes to stdout. Whatever the way, it is no person: tests/cli/workflow_approve.bats.
set -u
way=$1
shift
words=$*

# in_terminal WORDS…: in a terminal of its own, in which it types y. in_shell: with a shell of its own there
in_shell() { in_terminal bash -c '"$@"; exit $?' bash "$@"; }
in_terminal() {
	python3 -c '
import os, pty, select, sys
pid, master = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
typed, out = False, b""
while True:
    ready, _, _ = select.select([master], [], [], 20)
    try:
        data = os.read(master, 4096) if ready else b""
    except OSError:
        data = b""
    if not data:
        break
    out += data
    if (b"[y/N]" in out or b"later]" in out) and not typed:
        typed = os.write(master, b"y\n")
sys.stdout.write(out.decode())
os.waitpid(pid, 0)' "$@"
}

case $way in
plain) "$R" "$@" </dev/null ;;
pty) in_terminal "$R" "$@" ;;
shell) in_shell "$R" "$@" ;;
script) script -qec "$R $words" /dev/null </dev/null ;;
naked) in_shell env -i "XDG_STATE_HOME=$XDG_STATE_HOME" "PATH=$PATH" "$R" "$@" ;;
askers) # whoever it names, it doesn't become another
	RUNNER_ASKERS='[["1:1"]]' in_shell "$R" "$@" && RUNNER_ASKERS='{"processes":["1:1"],"policies":[5]}' in_shell "$R" "$@" ;;
session) setsid -w setsid -w "$0" naked "$@" ;;
orphan) # its parents are gone, but for whoever adopts it
	rm -f orphan.done
	(setsid "$0" naked "$@" >orphan.part 2>&1; mv orphan.part orphan.done &)
	until [ -e orphan.done ]; do sleep 0.05; done
	cat orphan.done && rm orphan.done
	;;
outlives) # as jobs do, past the end of the step, and of the run
	python3 -c '
import os, resource, sys
resource.setrlimit(10, (0x2a6f622e72756e72, resource.getrlimit(10)[1]))
os.setsid()
os.execvp(sys.argv[1], sys.argv[1:])' sh -c "touch began; until [ -e run.over ]; do sleep 0.05; done; '$0' naked $words >said.outlives 2>&1; touch late" >/dev/null 2>&1 </dev/null &
	until [ -e began ]; do sleep 0.05; done
	;;
limits) (ulimit -H -x unlimited 2>/dev/null; ulimit -S -x unlimited 2>/dev/null; "$0" naked "$@") ;;
sibling) # clone(2) with CLONE_PARENT: a child of our parent
	in_terminal python3 -c '
import ctypes, os, sys, time
CLONE_PARENT, SIGCHLD = 0x8000, 17
libc = ctypes.CDLL(None)
pid = libc.syscall(56 if os.uname().machine == "x86_64" else 220, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
while os.path.exists("/proc/%d/exe" % pid) and os.access("/proc/%d/exe" % pid, os.F_OK):
    try:
        os.readlink("/proc/%d/exe" % pid)
    except OSError:
        break
    time.sleep(0.02)' "$R" "$@"
	;;
job) # of a run that waits for nobody
	id=$("$R" --detach --format json workflow run job.yaml --var way=naked --var id="$2" | grep -o 'job_[0-9A-Z]*' | head -n 1)
	"$R" job wait "$id" >/dev/null 2>&1 || true
	cat job.out
	;;
namespace) unshare --user --map-current-user --mount --pid --fork --mount-proc "$0" naked "$@" ;;
root) unshare --user --map-root-user "$0" limits "$@" ;;
time) unshare --user --map-current-user --time --fork "$0" naked "$@" ;;
boot) # in a mount namespace where the machine seems to have been booted since
	echo 11111111-2222-3333-4444-555555555555 >boot.part
	mount --bind boot.part /proc/sys/kernel/random/boot_id && mv boot.part boot && "$0" naked "$@"
	;;
proc) # … and where all of its ancestors are others
	mount -t tmpfs none /proc && mkdir -p /proc/self /proc/sys/kernel/random && echo 1 >/proc/sys/kernel/random/boot_id && "$0" naked "$@" ;;
exec) printf '{"_cmd":"approve","id":"%s"}\n' "$2" | "$R" exec --allow approve ;;
mcp)
	printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}' \
		'{"jsonrpc":"2.0","method":"notifications/initialized"}' \
		"{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"tools/call\",\"params\":{\"name\":\"approve\",\"arguments\":{\"id\":\"$2\"}}}" |
		"$R" mcp serve
	;;
write) # past runner
	python3 -c 'import sqlite3, sys
sqlite3.connect(sys.argv[1], isolation_level=None).execute("update approvals set state = \"approved\"")' "$XDG_STATE_HOME/runner/runs.db" ;;
*) echo "no such way: $way" && exit 2 ;;
esac
