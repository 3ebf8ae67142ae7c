# shellcheck shell=bash
# A person at a terminal that was there before what asks (tests/fault/person.py), who calls runner and agrees to what it asks.

is_later() {
	[ "$(cut -d ' ' -f 22 /proc/self/stat)" -gt "$1" ]
}

begin_person() {
	mkfifo alive
	exec 8<>alive
	python3 "$BATS_TEST_DIRNAME/../fault/person.py" person.socket <alive >/dev/null 2>&1 3>&- 8>&- # it stays, as nobody's child
	until_true is_later "$(cut -d ' ' -f 22 /proc/self/stat)" # else it is no older than what asks: the kernel counts in ticks
}

end_person() {
	exec 8>&-
}

# people, person WORDS…: their calls (or what begins with /), one for each line of stdin, at once; they agree to what they are asked. It waits for the end.
people() {
	env -i "${CLEAN_ENV[@]}" python3 -c '
import json, os, socket, sys, time
def begin(words):
    s = socket.socket(socket.AF_UNIX)
    s.connect("person.socket")
    f = s.makefile("rw")
    env = dict(os.environ, XDG_STATE_HOME=os.path.abspath("state"))
    print(json.dumps({"argv": words.split() if words[0] == "/" else [sys.argv[1], *words.split()], "cwd": os.getcwd(), "env": env}), file=f, flush=True)
    return s, f
calls = [begin(line) for line in sys.stdin]
pids = [int(f.readline()) for _, f in calls]
ends = time.monotonic() + 100
while any(os.path.exists("/proc/%d" % pid) for pid in pids):
    assert time.monotonic() < ends, "they go on"
    time.sleep(0.01)' "$RUNNER"
}

person() {
	people <<<"$*"
}
