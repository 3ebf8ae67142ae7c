"""What each libc call of runner can fail with, and which calls can't fail. Run as a
program, it checks that nothing is missing: everything that the binary imports from libc
is either in shim.c's tables or among those that can't fail.

calls.py    RUNNER names the binary
"""
import errno
import os
import shutil
import subprocess
import sys

import harness

SHORT = 0

# several calls share a row; SHORT: it does less than it was asked for
ERRNOS = {
    "fork clone posix_spawn": "EAGAIN ENOMEM", "pipe2": "EMFILE ENFILE", "socket socketpair": "EMFILE ENOBUFS",
    "sendmsg recvmsg": "ENOBUFS ECONNRESET",
    "signalfd": "EMFILE ENOMEM", "ppoll poll __poll_chk": "EINTR ENOMEM", "waitpid waitid wait4": "EINTR",
    "sigwaitinfo sigtimedwait nanosleep usleep": "EINTR", "sigqueue": "EAGAIN", "kill": "EPERM", "getpgid getsid": "ESRCH",
    "prlimit setrlimit sched_setscheduler": "EPERM", "fsync fdatasync": "EIO ENOSPC", "flock": "EINTR ENOLCK",
    "inotify_init1 inotify_add_watch": "EMFILE ENOMEM", "memfd_create": "EMFILE ENOMEM", "recv": "EINTR ECONNRESET",
    "rename renameat": "EIO ENOSPC", "symlink symlinkat mkdir mkdirat mkfifo": "ENOSPC EIO", "mkstemp64": "EMFILE ENOSPC",
    "unlink unlinkat rmdir remove": "EIO EACCES", "readlink readlinkat stat lstat fstatat": "EIO ENOMEM",
    "access": "EIO EACCES", "fstat": "EIO", "chmod fchmod fchown futimens ftruncate": "EIO EPERM", "getxattr": "ENOTSUP",
    "lseek fseeko64 ftello64": "EINVAL", "dup2": "EINTR EMFILE", "setsid setpgid": "EPERM", "chdir fchdir": "EIO",
    "getsockopt setsockopt getsockname getpeername": "ENOBUFS", "getpwuid_r": "EIO ENOENT", "getaddrinfo": "EIO", "accept4": "EMFILE ECONNABORTED", "bind listen": "EADDRINUSE",
    "epoll_create1 timerfd_create": "EMFILE ENOMEM", "epoll_ctl": "ENOMEM ENOSPC", "timerfd_settime": "EINVAL",
    "fopencookie": "ENOMEM", "posix_fallocate": "ENOSPC EINTR",
    "posix_openpt": "EMFILE ENOSPC", "grantpt": "EACCES", "unlockpt ptsname_r": "ENOTTY",
    "sigaction": "EINVAL", "execve": "ENOMEM EACCES", "getrandom": "EINTR ENOSYS",
    "read": "EINTR EIO SHORT", "pread": "EIO SHORT", "write pwrite": "EINTR EIO ENOSPC SHORT", "send": "EINTR ECONNRESET SHORT",
    "pwritev2": "EAGAIN EIO EOPNOTSUPP", "opendir fdopendir": "EMFILE ENOMEM", "fdopen realpath": "ENOMEM",
    "fopen fopen64 freopen64 tmpfile64 open openat": "EMFILE EINTR EACCES", "getcwd": "ENOENT ENOMEM",
    "malloc calloc realloc mmap munmap mprotect setenv setvbuf": "ENOMEM", "dlopen": "ENOMEM",
    "posix_spawn_file_actions_init posix_spawn_file_actions_adddup2 posix_spawnattr_init": "ENOMEM",
    "fcntl": "EMFILE EINVAL", "ioctl tcgetattr tcsetattr": "EIO", "tcgetpgrp": "ENOTTY", "syscall": "ENOSYS EMFILE",
    "prctl": "EINVAL", "close closedir": "EINTR EIO", "readdir": "EIO",
    "fread fgets fgetc getc __uflow": "EIO", "fwrite fputs fputc __vfprintf_chk fflush fclose": "EIO ENOSPC",
}
ERRNO_OF = {call: [SHORT if name == "SHORT" else getattr(errno, name) for name in row.split()]
            for calls, row in ERRNOS.items() for call in calls.split()}

# what can go on failing for the rest of a run
LASTING = set("malloc calloc realloc mmap mprotect fork clone posix_spawn pipe2 socket socketpair sendmsg recvmsg signalfd open openat "
              "fopen fopen64 opendir fdopendir fdopen dlopen fcntl dup2 ppoll poll mkdir mkdirat symlink rename renameat fsync write "
              "pwrite read execve getrandom syscall setrlimit prlimit sched_setscheduler fwrite fflush".split())

CANNOT_FAIL = {
    "computes from what it is given": """
        __ctype_b_loc __ctype_tolower_loc __ctype_toupper_loc __errno_location __explicit_bzero_chk __isoc99_sscanf __isoc23_sscanf
        __isoc23_strtol __isoc23_strtoll __isoc23_strtoull
        __libc_current_sigrtmax __libc_current_sigrtmin __memcpy_chk __memmove_chk __memset_chk __snprintf_chk __sprintf_chk __stpcpy_chk __strcpy_chk
        __strncat_chk __strncpy_chk __vsnprintf_chk cfgetispeed cfgetospeed difftime frexp getenv ldexp localeconv memchr
        memcmp memcpy memmem memmove mempcpy memrchr memset mktime qsort sigaddset sigdelset sigemptyset sigfillset sigismember snprintf stpcpy
        strchr strchrnul strcmp strcoll strcpy strcspn strerror strftime strlen strncasecmp strncmp strncpy strnlen strpbrk strrchr strspn
        gai_strerror gnu_get_libc_version strstr strtod strtol strtoll strtoul strtoull setlocale gmtime_r localtime_r""",
    "leaves, or never comes back": """
        __assert_fail __longjmp_chk __stack_chk_fail _exit _setjmp abort exit __libc_start_main __cxa_atexit
        __cxa_finalize raise""",
    "asks the kernel for what it always knows": """
        alarm clock clock_gettime getauxval geteuid getpgrp getpid getppid getrlimit getrusage gettimeofday getuid isatty umask
        sched_getscheduler sysconf time""",
    "fails only for a wrong argument": """
        pthread_sigmask setitimer sigprocmask sigpending signal unsetenv posix_spawnattr_setflags posix_spawnattr_setsigdefault
        dlsym""",
    "gives something back": "free dlclose posix_spawn_file_actions_destroy posix_spawnattr_destroy",
    "is about a stream or directory that is open": """
        clearerr dirfd feof ferror fileno flockfile funlockfile rewinddir ungetc dlerror pthread_mutex_lock
        pthread_mutex_unlock sched_yield""",
    "is advice": "madvise posix_madvise tcflush",
    "is linked by Lua's own os.execute and io.popen, which src/worker/shell.c replaces": "popen pclose system",
}


def imported(binary):
    """What it takes from libc."""
    told = subprocess.run(["nm", "-D", "--undefined-only", "--with-symbol-versions", binary], check=True,
                          capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in told.splitlines() if "@GLIBC_" in line}


def defined(library):
    told = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].split("@")[0] for line in told.splitlines()}


def main():
    shim = harness.build("shim.c", "-fno-builtin")
    fine = {name for names in CANNOT_FAIL.values() for name in names.split()}
    calls, shimmed = imported(shutil.which(harness.RUNNER)), defined(shim)
    shutil.rmtree(os.path.dirname(shim))
    assert {"read", "signalfd", "posix_spawn"} <= calls, f"these are not the imports of a runner: {sorted(calls)}"
    problems = [f"{name}: shim.c can't make it fail, and CANNOT_FAIL in calls.py doesn't say why"
                for name in sorted(calls - shimmed - fine)]
    problems += [f"{name}: shim.c fails what CANNOT_FAIL in calls.py says can't fail" for name in sorted(shimmed & fine)]
    print("\n".join(problems) or f"{len(calls & shimmed)} calls can be made to fail, {len(calls & fine)} can't fail")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
