#!/usr/bin/env bats
# Hostile commands under everything that can happen to a run: hostile.py is the table
# and does the work, once for the whole file; each test here looks at its rows.

setup_file() {
	export TOLD=$BATS_FILE_TMPDIR/rows.tap
	python3 "$BATS_TEST_DIRNAME/hostile.py" >"$TOLD" 2>&1 || true
}

# rows COMMAND: each of its rows holds (a skipped one is shown).
rows() {
	grep "^ok [0-9]* - $1, .*# skip" "$TOLD" | sed 's/^ok [0-9]*/# skipped/' >&3 || true
	if grep -A 3 "^not ok [0-9]* - $1, " "$TOLD" >&2; then return 1; fi
	grep -q "^ok [0-9]* - $1, " "$TOLD" || {
		tail -n 20 "$TOLD" >&2
		return 1
	}
}

@test "a loop in Lua" {
	rows "a loop in Lua"
}

@test "a loop that catches every error" {
	rows "a loop that catches every error"
}

@test "a loop inside C" {
	rows "a loop inside C"
}

@test "a blocking read of stdin" {
	rows "a blocking read of stdin"
}

@test "a blocking open of a FIFO" {
	rows "a blocking open of a FIFO"
}

@test "a blocking read of a socket" {
	rows "a blocking read of a socket"
}

@test "a worker that ignores every signal" {
	rows "a worker that ignores every signal"
}

@test "a worker that blocks every signal" {
	rows "a worker that blocks every signal"
}

@test "a worker that blocks every signal by system call" {
	rows "a worker that blocks every signal by system call"
}

@test "a blind worker with blind daemons" {
	rows "a blind worker with blind daemons"
}

@test "a blind worker that respawns" {
	rows "a blind worker that respawns"
}

@test "a blind worker with a nested subreaper" {
	rows "a blind worker with a nested subreaper"
}

@test "a worker that closes every descriptor" {
	rows "a worker that closes every descriptor"
}

@test "half a frame and then silence" {
	rows "half a frame and then silence"
}

@test "a worker that stops itself" {
	rows "a worker that stops itself"
}

@test "a child" {
	rows "a child"
}

@test "a child of ctx:run" {
	rows "a child of ctx:run"
}

@test "a child of ctx:run that is deaf" {
	rows "a child of ctx:run that is deaf"
}

@test "a grandchild" {
	rows "a grandchild"
}

@test "a daemon" {
	rows "a daemon"
}

@test "a daemon that ignores every signal" {
	rows "a daemon that ignores every signal"
}

@test "a daemon that blocks every signal" {
	rows "a daemon that blocks every signal"
}

@test "a crowd of 500 processes" {
	rows "a crowd of 500 processes"
}

@test "children that stop themselves" {
	rows "children that stop themselves"
}

@test "a process that respawns every 2 ms" {
	rows "a process that respawns every 2 ms"
}

@test "a process that respawns as fast as it can" {
	rows "a process that respawns as fast as it can"
}

@test "a nested subreaper with daemons" {
	rows "a nested subreaper with daemons"
}

@test "an endless flood on stdout" {
	rows "an endless flood on stdout"
}

@test "an endless flood on stderr" {
	rows "an endless flood on stderr"
}

@test "an endless flood of progress" {
	rows "an endless flood of progress"
}

@test "an endless flood of log lines" {
	rows "an endless flood of log lines"
}

@test "an endless flood of warnings" {
	rows "an endless flood of warnings"
}

@test "a cleanup that hangs" {
	rows "a cleanup that hangs"
}

@test "a cleanup that fails" {
	rows "a cleanup that fails"
}

@test "a cleanup that leaves" {
	rows "a cleanup that leaves"
}

@test "a cleanup that hangs in a child" {
	rows "a cleanup that hangs in a child"
}

@test "a segmentation fault" {
	rows "a segmentation fault"
}

@test "an abort" {
	rows "an abort"
}

@test "a division by zero" {
	rows "a division by zero"
}

@test "an illegal instruction" {
	rows "an illegal instruction"
}

@test "a stack overflow in C" {
	rows "a stack overflow in C"
}

@test "a stack overflow in Lua" {
	rows "a stack overflow in Lua"
}

@test "a recursion from Lua through C" {
	rows "a recursion from Lua through C"
}

@test "half a frame and then death" {
	rows "half a frame and then death"
}

@test "memory exhaustion under a limit" {
	rows "memory exhaustion under a limit"
}

@test "an error that is a table" {
	rows "an error that is a table"
}

@test "an error that is nil" {
	rows "an error that is nil"
}

@test "an error that is a userdata" {
	rows "an error that is a userdata"
}

@test "an error that raises again in __tostring" {
	rows "an error that raises again in __tostring"
}

@test "an error that is a coroutine" {
	rows "an error that is a coroutine"
}

@test "a survivor that holds stderr" {
	rows "a survivor that holds stderr"
}

@test "a daemon behind a crash" {
	rows "a daemon behind a crash"
}

@test "a respawning process behind a success" {
	rows "a respawning process behind a success"
}

@test "1 GB on stdout" {
	rows "1 GB on stdout"
}

@test "1 GB on stderr" {
	rows "1 GB on stderr"
}

@test "1 GB of progress" {
	rows "1 GB of progress"
}

@test "1 GB of log lines" {
	rows "1 GB of log lines"
}

@test "1 GB as the result" {
	rows "1 GB as the result"
}

@test "400 MB as the result" {
	rows "400 MB as the result"
}

@test "400 MB of small results" {
	rows "400 MB of small results"
}

@test "a result a million levels deep" {
	rows "a result a million levels deep"
}

@test "an error that is its own cause" {
	rows "an error that is its own cause"
}

@test "an error as large as memory" {
	rows "an error as large as memory"
}

@test "a script without memory for its own error" {
	rows "a script without memory for its own error"
}

@test "every row of the table has its test here" {
	local name
	while read -r name; do
		grep -qxF "@test \"$name\" {" "$BATS_TEST_FILENAME" || {
			echo "no test: $name" >&2
			return 1
		}
	done < <(sed -n 's| # skip.*||; s/^\(not \)\{0,1\}ok [0-9]* - \(.*\), .*/\2/p' "$TOLD" | sort -u)
}
