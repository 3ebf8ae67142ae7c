#!/usr/bin/env bats
# The channel between a command and its supervisor: what another process writes into it, or the command itself
# beside the library, changes no answer and reaches no file.

load lib/helper

prepare() {
	cat >forge.py <<-PY
		import ctypes, os, re, struct, sys
		root = "$ROOT/src/common/"
		kinds = ["NONE"] + re.findall(r"^FRAME\((\w+),", open(root + "frame.def").read(), re.M)
		fields = re.findall(r"F_(\w+)", re.search(r"enum field_id \{(.*?)FIELD_ID_COUNT", open(root + "frame.h").read(), re.S)[1])
	PY
	cat >>forge.py <<-'PY'
		def frame(kind, **values):
		    body = b""
		    for name, v in values.items():
		        v = struct.pack("<q", v) if isinstance(v, int) else v.encode()
		        body += struct.pack("<BI", fields.index(name), len(v)) + v
		    return b"RF" + struct.pack("<BBI", kinds.index(kind), 1, len(body)) + body
		libc = ctypes.CDLL(None, use_errno=True)
		def stolen():  # each socket of the worker
		    worker = os.getppid()
		    pidfd = libc.syscall(434, worker, 0)
		    for fd in map(int, os.listdir(f"/proc/{worker}/fd")):
		        try:
		            if os.readlink(f"/proc/{worker}/fd/{fd}").startswith("socket:"):
		                mine = libc.syscall(438, pidfd, fd, 0)
		                if mine >= 0:
		                    yield mine
		        except OSError:
		            pass
		taken = list(stolen())
		if not taken:
		    print("nothing taken")
		    sys.exit(0)
		for fd in taken:
		    os.write(fd, eval(sys.argv[1]))
		sys.exit(1)
	PY
}

# of_child FRAME: what a command answers whose program writes that frame into the channel, and fails
of_child() {
	body victim <<<"local r = ctx:run{ 'python3', 'forge.py', [==[$1]==], check = false }
		if r.stdout:find 'nothing taken' then return { nothing = true } end
		ctx:fail('CONFLICT', 'its program has failed')"
	call victim
	assert_envelope
	[ -z "$(grep -F '"nothing":true' out.txt || true)" ] || skip "no process may take a descriptor of its parent here"
}

@test "a program that writes a result into the command's channel makes a crash of it, not a success" {
	of_child 'frame("RESULT", ok=1, data="{\"deployed\":true}")'
	expect 'e.ok is False and e.error.code == "COMMAND_CRASHED" and e.data is None'
	expect '"wrote into its channel" in e.error.message'
}

@test "whatever frame a program sends, nothing of it counts" {
	local sent
	echo mine >ledger.jsonl
	for sent in 'frame("META", name="run", data="\"run_FORGED\"")' "frame(\"AUDIT\", text=\"$PWD/ledger.jsonl\")" \
		'frame("RETRY", event="repeat")' 'frame("WARN", code="FORGED", message="x")' 'frame("STEP", name="forged", state="running")' \
		'frame("EXIT", name="CONFLICT", exit_code=0)' 'b"RF"' 'b"\0" * 9'; do
		of_child "$sent"
		expect 'e.ok is False and e.error.code == "COMMAND_CRASHED" and "retries" not in e.meta' || { echo "$sent" >&2 && false; }
		[ -z "$(grep -i forged out.txt err.txt || true)" ]
	done
	[ "$(<ledger.jsonl)" = mine ]
}

@test "a command that names a ledger from within run has nothing written to it" {
	echo 'alias ls=ls' >bashrc
	cp bashrc before
	body claim <<<"require 'runner.host'.send('AUDIT', { text = '$PWD/bashrc' }) return {}"
	answers 0 claim
	cmp bashrc before
	body fails <<<"require 'runner.host'.send('AUDIT', { text = '$PWD/bashrc', rows = 1 }) error 'x'"
	call fails
	assert_envelope
	cmp bashrc before
}

@test "of two answers neither is believed" {
	body twice <<<"require 'runner.host'.send('RESULT', { ok = 1, data = '{\"n\":1}' })
		ctx:fail('CONFLICT', 'no')"
	call twice
	assert_envelope
	expect 'e.ok is False and e.error.code == "COMMAND_CRASHED" and e.data is None'
}

@test "frames that come as fast as they can are all taken, without a rest between them" {
	body floods 'timeout = "60s",' <<<"local s = { n = ('x'):rep(59000) } for i = 1, 2000 do ctx:progress(s) end return {}"
	answers 0 floods
	expect 'e.warnings == [] and e.meta["duration_ms"] < 15000'
}
