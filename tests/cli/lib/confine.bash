# shellcheck shell=bash
# confine.bash: what the kernel here can hold of a confinement.

# The version of Landlock: the system calls have the same numbers everywhere.
landlock() {
	python3 -c 'import ctypes; print(max(0, ctypes.CDLL(None).syscall(444, None, ctypes.c_size_t(0), 1)))'
}

needs() {
	local have
	have=$(landlock)
	[ "$have" -ge "$1" ] || skip "this kernel's Landlock is version $have, not $1"
}
