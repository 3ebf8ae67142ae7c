# tasks.bash: a project that is a file of tasks, and calls of it at a terminal. Loaded after helper.bash.

prepare() {
	CLEAN_ENV+=(XDG_STATE_HOME="$BATS_TEST_TMPDIR.state")
	rmdir commands
}

# tasks <<<'NAME = { … }, …': tasks.lua has these
tasks() {
	{
		echo 'return { tasks = {'
		cat
		echo '} }'
	} >tasks.lua
}

# at_terminal KEYS ARGS…: the call at a terminal of its own (SIZE: rows x columns), where KEYS are typed behind each question;
# shown: what it shows, with the status in the last line
at_terminal() {
	env -i "${CLEAN_ENV[@]}" TERM=xterm QUESTION="${QUESTION:-[y/N] }" SIZE="${SIZE:-24x80}" PATH_OF="${PATH_OF:-}" python3 - "$RUNNER" "$@" <<-'PY' >shown
		import os, pty, sys, termios
		question = os.environ.pop("QUESTION").encode()
		os.environ["PATH"] = os.environ.pop("PATH_OF") or os.environ["PATH"]
		pid, fd = pty.fork()
		if pid == 0:
		    termios.tcsetwinsize(0, tuple(int(n) for n in os.environ.pop("SIZE").split("x")))
		    os.execv(sys.argv[1], [sys.argv[1]] + sys.argv[3:])
		text = b""
		try:
		    while chunk := os.read(fd, 4096):
		        text += chunk
		        if text.endswith(question):
		            os.write(fd, sys.argv[2].encode() + b"\n")
		except OSError:
		    pass
		print(text.decode().replace("\r", "").strip() + "\nstatus", os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	PY
}
