/*
 * shim_calls.h: the libc calls that shim.c can make fail, in tables by the way each
 * reports a failure. sweep.py says with which errno, and which calls can't fail.
 */
#ifndef SHIM_CALLS_H
#define SHIM_CALLS_H

#include <dirent.h>
#include <netdb.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#ifndef __GLIBC__ /* what only glibc names (nobody calls it elsewhere) */
#define __SOCKADDR_ARG struct sockaddr *
#define __CONST_SOCKADDR_ARG const struct sockaddr *
#define __rlimit_resource_t int
#define PRLIMIT_RESOURCE int
int __poll_chk(struct pollfd *p, nfds_t n, int t, size_t room);
#undef fopen64 /* (its other names with 64 are what it calls them without) */
FILE *fopen64(const char *path, const char *mode);
int __uflow(FILE *f);
ssize_t pwritev2(int fd, const struct iovec *v, int n, off_t at, int flags);
int __vfprintf_chk(FILE *f, int flag, const char *format, va_list ap);
#else
#define PRLIMIT_RESOURCE enum __rlimit_resource
#endif

/* CALL(result, name, (parameters), (arguments)): fails as -1 with errno */
#define PLAIN_CALLS \
	CALL(pid_t, fork, (void), ()) \
	CALL(int, pipe2, (int fd[2], int flags), (fd, flags)) \
	CALL(int, socket, (int d, int t, int p), (d, t, p)) \
	CALL(int, socketpair, (int d, int t, int p, int fd[2]), (d, t, p, fd)) \
	CALL(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags)) \
	CALL(ssize_t, recvmsg, (int fd, struct msghdr *m, int flags), (fd, m, flags)) \
	CALL(int, signalfd, (int fd, const sigset_t *s, int flags), (fd, s, flags)) \
	CALL(int, __poll_chk, (struct pollfd *p, nfds_t n, int t, size_t room), (p, n, t, room)) \
	CALL(int, epoll_create1, (int flags), (flags)) \
	CALL(int, epoll_ctl, (int fd, int operation, int of, struct epoll_event *e), (fd, operation, of, e)) \
	CALL(int, timerfd_create, (clockid_t c, int flags), (c, flags)) \
	CALL(int, timerfd_settime, (int fd, int flags, const struct itimerspec *t, struct itimerspec *o), (fd, flags, t, o)) \
	CALL(int, accept4, (int fd, __SOCKADDR_ARG a, socklen_t *n, int flags), (fd, a, n, flags)) \
	CALL(int, bind, (int fd, __CONST_SOCKADDR_ARG a, socklen_t n), (fd, a, n)) \
	CALL(int, listen, (int fd, int n), (fd, n)) \
	CALL(int, getsockname, (int fd, __SOCKADDR_ARG a, socklen_t *n), (fd, a, n)) \
	CALL(int, getpeername, (int fd, __SOCKADDR_ARG a, socklen_t *n), (fd, a, n)) \
	CALL(int, posix_openpt, (int flags), (flags)) \
	CALL(int, grantpt, (int fd), (fd)) \
	CALL(int, unlockpt, (int fd), (fd)) \
	CALL(pid_t, waitpid, (pid_t pid, int *status, int options), (pid, status, options)) \
	CALL(pid_t, wait4, (pid_t pid, int *status, int options, struct rusage *u), (pid, status, options, u)) \
	CALL(int, waitid, (idtype_t t, id_t id, siginfo_t *i, int options), (t, id, i, options)) \
	CALL(int, kill, (pid_t pid, int s), (pid, s)) \
	CALL(int, sigqueue, (pid_t pid, int s, const union sigval v), (pid, s, v)) \
	CALL(int, sigwaitinfo, (const sigset_t *s, siginfo_t *i), (s, i)) \
	CALL(int, sigtimedwait, (const sigset_t *s, siginfo_t *i, const struct timespec *t), (s, i, t)) \
	CALL(int, nanosleep, (const struct timespec *t, struct timespec *left), (t, left)) \
	CALL(int, usleep, (useconds_t n), (n)) \
	CALL(pid_t, getpgid, (pid_t pid), (pid)) \
	CALL(pid_t, getsid, (pid_t pid), (pid)) \
	CALL(int, prlimit, (pid_t p, PRLIMIT_RESOURCE k, const struct rlimit *n, struct rlimit *o), (p, k, n, o)) \
	CALL(int, setrlimit, (__rlimit_resource_t k, const struct rlimit *n), (k, n)) \
	CALL(int, sched_setscheduler, (pid_t pid, int policy, const struct sched_param *p), (pid, policy, p)) \
	CALL(int, fsync, (int fd), (fd)) \
	CALL(int, fdatasync, (int fd), (fd)) \
	CALL(int, flock, (int fd, int operation), (fd, operation)) \
	CALL(int, inotify_init1, (int flags), (flags)) \
	CALL(int, inotify_add_watch, (int fd, const char *path, uint32_t mask), (fd, path, mask)) \
	CALL(int, memfd_create, (const char *name, unsigned flags), (name, flags)) \
	CALL(ssize_t, recv, (int fd, void *b, size_t n, int flags), (fd, b, n, flags)) \
	CALL(int, rename, (const char *from, const char *to), (from, to)) \
	CALL(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to)) \
	CALL(int, symlink, (const char *to, const char *path), (to, path)) \
	CALL(int, symlinkat, (const char *to, int fd, const char *path), (to, fd, path)) \
	CALL(int, mkdir, (const char *path, mode_t mode), (path, mode)) \
	CALL(int, mkfifo, (const char *path, mode_t mode), (path, mode)) \
	CALL(int, mkdirat, (int fd, const char *path, mode_t mode), (fd, path, mode)) \
	CALL(int, mkstemp64, (char *path), (path)) \
	CALL(int, unlink, (const char *path), (path)) \
	CALL(int, unlinkat, (int fd, const char *path, int flags), (fd, path, flags)) \
	CALL(int, rmdir, (const char *path), (path)) \
	CALL(int, remove, (const char *path), (path)) \
	CALL(ssize_t, readlink, (const char *path, char *b, size_t n), (path, b, n)) \
	CALL(ssize_t, readlinkat, (int fd, const char *path, char *b, size_t n), (fd, path, b, n)) \
	CALL(ssize_t, getxattr, (const char *path, const char *name, void *b, size_t n), (path, name, b, n)) \
	CALL(int, access, (const char *path, int mode), (path, mode)) \
	CALL(int, stat, (const char *path, struct stat *st), (path, st)) \
	CALL(int, lstat, (const char *path, struct stat *st), (path, st)) \
	CALL(int, fstat, (int fd, struct stat *st), (fd, st)) \
	CALL(int, fstatat, (int fd, const char *p, struct stat *st, int flags), (fd, p, st, flags)) \
	CALL(int, chmod, (const char *path, mode_t mode), (path, mode)) \
	CALL(int, fchmod, (int fd, mode_t mode), (fd, mode)) \
	CALL(int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group)) \
	CALL(int, futimens, (int fd, const struct timespec t[2]), (fd, t)) \
	CALL(int, ftruncate, (int fd, off_t n), (fd, n)) \
	CALL(off_t, lseek, (int fd, off_t at, int whence), (fd, at, whence)) \
	CALL(ssize_t, pwritev2, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags)) \
	CALL(int, dup2, (int from, int to), (from, to)) \
	CALL(int, setsid, (void), ()) \
	CALL(int, setpgid, (pid_t pid, pid_t group), (pid, group)) \
	CALL(int, chdir, (const char *path), (path)) \
	CALL(int, fchdir, (int fd), (fd)) \
	CALL(int, getsockopt, (int fd, int level, int name, void *v, socklen_t *n), (fd, level, name, v, n)) \
	CALL(int, setsockopt, (int fd, int level, int name, const void *v, socklen_t n), (fd, level, name, v, n)) \
	CALL(int, sigaction, (int s, const struct sigaction *a, struct sigaction *o), (s, a, o)) \
	CALL(int, execve, (const char *p, char *const *a, char *const *e), (p, a, e)) \
	CALL(int, setenv, (const char *name, const char *value, int over), (name, value, over)) \
	CALL(int, tcgetattr, (int fd, struct termios *t), (fd, t)) \
	CALL(int, tcsetattr, (int fd, int when, const struct termios *t), (fd, when, t)) \
	CALL(pid_t, tcgetpgrp, (int fd), (fd)) \
	CALL(ssize_t, getrandom, (void *b, size_t n, unsigned flags), (b, n, flags)) \
	CALL(int, munmap, (void *at, size_t n), (at, n)) \
	CALL(int, mprotect, (void *at, size_t n, int protection), (at, n, protection)) \
	CALL(int, setvbuf, (FILE *f, char *b, int mode, size_t n), (f, b, mode, n)) \
	CALL(int, fseeko64, (FILE *f, off64_t at, int whence), (f, at, whence)) \
	CALL(off64_t, ftello64, (FILE *f), (f))

/* CALL(name, (parameters), (arguments with a shorter `n`)): fail or do less */
#define COUNTED_CALLS \
	CALL(read, (int fd, void *b, size_t n), (fd, b, n)) \
	CALL(write, (int fd, const void *b, size_t n), (fd, b, n)) \
	CALL(pwrite, (int fd, const void *b, size_t n, off_t at), (fd, b, n, at)) \
	CALL(pread, (int fd, void *b, size_t n, off_t at), (fd, b, n, at)) \
	CALL(send, (int fd, const void *b, size_t n, int flags), (fd, b, n, flags))

/* CALL(result, name, (parameters), (arguments)): fails as NULL with errno */
#define POINTER_CALLS \
	CALL(DIR *, opendir, (const char *path), (path)) \
	CALL(DIR *, fdopendir, (int fd), (fd)) \
	CALL(FILE *, fopen, (const char *path, const char *mode), (path, mode)) \
	CALL(FILE *, fopen64, (const char *path, const char *mode), (path, mode)) \
	CALL(FILE *, freopen64, (const char *path, const char *mode, FILE *f), (path, mode, f)) \
	CALL(FILE *, tmpfile64, (void), ()) \
	CALL(FILE *, fdopen, (int fd, const char *mode), (fd, mode)) \
	CALL(FILE *, fopencookie, (void *cookie, const char *mode, cookie_io_functions_t io), (cookie, mode, io)) \
	CALL(char *, getcwd, (char *b, size_t n), (b, n)) \
	CALL(char *, realpath, (const char *path, char *b), (path, b))

/* CALL(name, (parameters), (arguments)): fails by returning the errno */
#define ERRNO_CALLS \
	CALL(posix_spawn, \
	     (pid_t *p, const char *s, const posix_spawn_file_actions_t *f, const posix_spawnattr_t *t, char *const *a, \
	      char *const *e), \
	     (p, s, f, t, a, e)) \
	CALL(posix_spawn_file_actions_init, (posix_spawn_file_actions_t * f), (f)) \
	CALL(posix_spawn_file_actions_adddup2, (posix_spawn_file_actions_t * f, int from, int to), (f, from, to)) \
	CALL(posix_spawnattr_init, (posix_spawnattr_t * t), (t)) \
	CALL(ptsname_r, (int fd, char *b, size_t n), (fd, b, n)) \
	CALL(posix_fallocate, (int fd, off_t at, off_t n), (fd, at, n)) \
	CALL(getpwuid_r, (uid_t id, struct passwd *p, char *b, size_t n, struct passwd **found), (id, p, b, n, found)) \
	CALL(getaddrinfo, (const char *name, const char *port, const struct addrinfo *want, struct addrinfo **list), \
	     (name, port, want, list))

/* CALL(result, name, (parameters), (arguments), failure): also marks the stream `f` */
#define STREAM_CALLS \
	CALL(size_t, fread, (void *b, size_t size, size_t n, FILE *f), (b, size, n, f), 0) \
	CALL(size_t, fwrite, (const void *b, size_t size, size_t n, FILE *f), (b, size, n, f), 0) \
	CALL(char *, fgets, (char *b, int n, FILE *f), (b, n, f), NULL) \
	CALL(int, fgetc, (FILE *f), (f), EOF) \
	CALL(int, getc, (FILE *f), (f), EOF) \
	CALL(int, __uflow, (FILE *f), (f), EOF) \
	CALL(int, fputs, (const char *text, FILE *f), (text, f), EOF) \
	CALL(int, fputc, (int c, FILE *f), (c, f), EOF) \
	CALL(int, fflush, (FILE *f), (f), EOF) \
	CALL(int, __vfprintf_chk, (FILE *f, int flag, const char *format, va_list ap), (f, flag, format, ap), -1)

/* CALL(name, (parameters), (arguments)): does its work, and fails */
#define CLOSING_CALLS \
	CALL(close, (int fd), (fd)) \
	CALL(closedir, (DIR *dir), (dir)) \
	CALL(fclose, (FILE *f), (f))

/* Those with a body of their own. */
#define OTHER_CALLS \
	NAME(malloc) NAME(calloc) NAME(realloc) NAME(open) NAME(openat) NAME(fcntl) NAME(ioctl) NAME(syscall) \
	NAME(prctl) NAME(mmap) NAME(readdir) NAME(dlopen) NAME(clone) NAME(ppoll) NAME(poll)

#endif
