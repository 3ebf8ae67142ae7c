/*
 * ways_out.c: ways by which a program reaches what it may not. Each is tried by a process of its own, and says "RING NAME out",
 * or "RING NAME held ERRNO"; RING is the name in meta.confined by which the page promises it.
 *
 * ways_out victim FILE     an innocent process: writes the numbers of all that it has to FILE, and waits
 * ways_out try FILE OUTSIDE INSIDE
 * ways_out runner PID…     the channel and the memory of these
 * ways_out type TEXT       into the terminal, for its next reader; tells descriptor 3
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/netlink.h>
#include <mqueue.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#define NO_USER 1234567890

static struct { int pid, port, udp, shm, msg, sem; char name[64]; long word; } v; /* of the victim */
static const char *outside, *inside;
static char room[PATH_MAX], other_room[PATH_MAX];
static long victims_word = 42;

static const char *out(const char *name) { return snprintf(room, sizeof(room), "%s/%s", outside, name), room; }
static const char *in(const char *name) { return snprintf(other_room, sizeof(other_room), "%s/%s", inside, name), other_room; }
static const char *proc(int pid, const char *name) { return snprintf(room, sizeof(room), "/proc/%d/%s", pid, name), room; }

static bool opens(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC, 0600);

	return fd >= 0 && close(fd) == 0;
}

/* --- files ------------------------------------------------------------------------------------- */

static bool create(void) { return opens(out("made"), O_WRONLY | O_CREAT); }
static bool append(void) { return opens(out("kept"), O_WRONLY | O_APPEND); }
static bool cut(void) { return truncate(out("kept"), 0) == 0; }
static bool cut_open(void) { return opens(out("kept"), O_RDONLY | O_TRUNC); }
static bool removes(void) { return unlink(out("removed")) == 0; }
static bool removes_folder(void) { return rmdir(out("folder")) == 0; }
static bool moves_out(void) { return opens(in("x"), O_CREAT | O_WRONLY) && rename(in("x"), out("moved")) == 0; }
static bool moves_in(void) { return rename(out("moving"), in("moving")) == 0; }
static bool exchanges(void) { return opens(in("x"), O_CREAT | O_WRONLY) && syscall(SYS_renameat2, AT_FDCWD, in("x"), AT_FDCWD, out("kept"), 2) == 0; }
static bool links_in(void) { return link(out("kept"), in("hard")) == 0; }
static bool links_out(void) { return symlink("/", out("link")) == 0; }
static bool folder(void) { return mkdir(out("made-folder"), 0700) == 0; }
static bool fifo(void) { return mkfifo(out("fifo"), 0600) == 0; }
static bool device(void) { return mknod(in("null"), S_IFCHR | 0600, 0x103) == 0; }
static bool nameless(void) { return opens(outside, O_TMPFILE | O_WRONLY); }
static bool by_link(void) { return symlink(out("kept"), in("link")) == 0 && opens(in("link"), O_WRONLY); }
static bool shared_memory(void) { return opens("/dev/shm/ways-out", O_CREAT | O_WRONLY) && unlink("/dev/shm/ways-out") == 0; }
static bool sysctl_file(void) { return opens("/proc/sys/kernel/domainname", O_WRONLY); }
static bool group_file(void) { return opens("/sys/fs/cgroup/cgroup.procs", O_WRONLY); }
static bool score(void) { return opens(proc(v.pid, "oom_score_adj"), O_WRONLY); }
static bool root_of_victim(void) { return snprintf(room, sizeof(room), "/proc/%d/root%s/kept", v.pid, outside), opens(room, O_WRONLY); }

static bool again_by_proc(void)
{
	int fd = open(out("kept"), O_RDONLY);

	return fd >= 0 && opens(proc(getpid(), (snprintf(other_room, sizeof(other_room), "fd/%d", fd), other_room)), O_WRONLY);
}

static bool socket_file(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	return snprintf(a.sun_path, sizeof(a.sun_path), "%s/sock", outside) > 0 && bind(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, sizeof(a)) == 0;
}

static bool by_handle(void)
{
	union { struct file_handle h; char bytes[sizeof(struct file_handle) + 128]; } u = { .h.handle_bytes = 128 };
	int mount_id, at = open(outside, O_RDONLY | O_DIRECTORY);

	return name_to_handle_at(AT_FDCWD, out("kept"), &u.h, &mount_id, 0) == 0 && open_by_handle_at(at, &u.h, O_WRONLY) >= 0;
}

static bool mounts(void) { return mount("none", inside, "tmpfs", 0, NULL) == 0 && umount(inside) == 0; }
static bool binds(void) { return mount(outside, inside, NULL, MS_BIND, NULL) == 0 && umount(inside) == 0; }

/* --- sockets ------------------------------------------------------------------------------------- */

static struct sockaddr_in at_port(int port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
}

static bool connects(int type, int protocol)
{
	struct sockaddr_in a = at_port(v.port);

	return connect(socket(AF_INET, type, protocol), (void *)&a, sizeof(a)) == 0;
}

static bool binds_port(int type, int protocol)
{
	struct sockaddr_in a = at_port(0);

	return bind(socket(AF_INET, type, protocol), (void *)&a, sizeof(a)) == 0;
}

static bool tcp(void) { return connects(SOCK_STREAM, 0); }
static bool tcp_bind(void) { return binds_port(SOCK_STREAM, 0); }
static bool tcp_listen(void) { return listen(socket(AF_INET, SOCK_STREAM, 0), 5) == 0; }
static bool tcp6_listen(void) { return listen(socket(AF_INET6, SOCK_STREAM, 0), 5) == 0; }
static bool mptcp(void) { return connects(SOCK_STREAM, 262); }
static bool mptcp_bind(void) { return binds_port(SOCK_STREAM, 262); }
static bool mptcp_listen(void) { return listen(socket(AF_INET, SOCK_STREAM, 262), 5) == 0; }
static bool udp_bind(void) { return binds_port(SOCK_DGRAM, 0); }
static bool any_raw(void) { return socket(AF_INET, SOCK_RAW, 1) >= 0; }
static bool packets(void) { return socket(AF_PACKET, SOCK_RAW, 0) >= 0; }
static bool netlink_user(void) { return socket(AF_NETLINK, SOCK_RAW, NETLINK_USERSOCK) >= 0; }
static bool netlink_generic(void) { return socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC) >= 0; }
static bool netlink_events(void) { return socket(AF_NETLINK, SOCK_RAW, NETLINK_KOBJECT_UEVENT) >= 0; }
static bool ping(void) { return socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP) >= 0; }
static bool high_bits(void) { return syscall(SYS_socket, 0x700000000L + AF_INET, SOCK_STREAM, 0) >= 0; }

static bool fastopen(void)
{
	struct sockaddr_in a = at_port(v.port);

	return sendto(socket(AF_INET, SOCK_STREAM, 0), "x", 1, MSG_FASTOPEN | MSG_NOSIGNAL, (void *)&a, sizeof(a)) == 1;
}

static bool udp(void)
{
	struct sockaddr_in a = at_port(v.udp);

	return sendto(socket(AF_INET, SOCK_DGRAM, 0), "x", 1, 0, (void *)&a, sizeof(a)) == 1;
}

static bool other_families(void)
{
	for (int family = 0; family < 64; family++)
		for (int type = 1; type <= 5; type++)
			if (family != AF_UNIX && family != AF_NETLINK && (socket(family, type, 0) >= 0 || errno != EACCES))
				return true;
	return false;
}

static bool pairs(void)
{
	int ends[2];

	for (int family = 2; family < 64; family++)
		if (socketpair(family, SOCK_STREAM, 0, ends) == 0 || errno != EACCES)
			return true;
	return false;
}

static bool abstract(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	size_t n = strlen(v.name);

	memcpy(a.sun_path + 1, v.name, n);
	return connect(socket(AF_UNIX, SOCK_STREAM, 0), (void *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)) == 0;
}

/* Sends by a ring what no system call of ours names. */
static bool by_ring(void)
{
	char parameters[120] = { 0 };

	return syscall(425, 4, parameters) >= 0;
}

#ifdef __x86_64__
static bool by_x32(void) { return syscall(0x40000000 | SYS_socket, AF_INET, SOCK_STREAM, 0) >= 0; }
static bool by_i386(void)
{
	int result;

	__asm__ volatile("int $0x80" : "=a"(result) : "a"(359), "b"(AF_INET), "c"(SOCK_STREAM), "d"(0) : "memory");
	return result >= 0 || (errno = -result, false);
}
#endif

/* --- other processes -------------------------------------------------------------------------------- */

static bool signals(void) { return kill(v.pid, SIGURG) == 0; }
static bool signals_thread(void) { return syscall(SYS_tgkill, v.pid, v.pid, SIGURG) == 0; }
static bool signals_queued(void) { return sigqueue(v.pid, SIGURG, (union sigval){ 0 }) == 0; }
static bool signals_by_fd(void) { return syscall(424, (int)syscall(434, v.pid, 0), SIGURG, NULL, 0) == 0; }
static bool signals_as_owner(void) /* of a socket that has something to read */
{
	struct timespec moment = { 0, 200000000 };
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) < 0 || fcntl(ends[0], F_SETOWN, v.pid) < 0 || fcntl(ends[0], F_SETSIG, SIGUSR1) < 0 ||
	    fcntl(ends[0], F_SETFL, O_ASYNC) < 0 || write(ends[1], "x", 1) != 1)
		return false;
	nanosleep(&moment, NULL);
	return opens(in("signalled"), O_RDONLY);
}

static bool limit_at(struct rlimit *l)
{
	*l = (struct rlimit){ 0, 0 }; /* may be set whatever it is */
	return syscall(SYS_prlimit64, v.pid, RLIMIT_CORE, l, NULL) == 0;
}
static bool limits(void) { struct rlimit l; return limit_at(&l); }
static bool limits_round(void) /* at an address whose lower half is 0 */
{
	void *at = mmap((void *)0x500000000, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	return at != MAP_FAILED && limit_at(at);
}
static bool limits_wide(void) /* with a number that only a register of 64 bits holds */
{
	struct rlimit l = { 0, 0 };

	return syscall(SYS_prlimit64, 0x100000000L + v.pid, RLIMIT_CORE, &l, NULL) == 0;
}
/* 19: allowed whatever it is now. Of users, one that has no process: all others of ours would be bystanders. */
static bool priority(void) { return setpriority(PRIO_PROCESS, (id_t)v.pid, 19) == 0; }
static bool priority_group(void) { return setpriority(PRIO_PGRP, (id_t)getpgid(v.pid), 19) == 0; }
static bool priority_user(void) { return setpriority(PRIO_USER, NO_USER, 19) == 0 || errno == ESRCH; }
static bool scheduler(void) { return syscall(SYS_sched_setscheduler, v.pid, SCHED_BATCH, &(struct sched_param){ 0 }) == 0; }
static bool parameter(void) { return syscall(SYS_sched_setparam, v.pid, &(struct sched_param){ 0 }) == 0; }
static bool attribute(void)
{
	struct { uint32_t size, policy; uint64_t flags; int32_t nice; uint32_t priority; uint64_t deadline[3]; } a = { .size = 48, .nice = 19 };

	return syscall(SYS_sched_setattr, v.pid, &a, 0) == 0;
}
static bool processors(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	return sched_setaffinity(v.pid, sizeof(one), &one) == 0;
}
static bool io_class(void) { return syscall(SYS_ioprio_set, 1, v.pid, 3 << 13) == 0; }
static bool io_class_user(void) { return syscall(SYS_ioprio_set, 3, NO_USER, 3 << 13) == 0 || errno == ESRCH; }
static bool pages(void) { return syscall(SYS_migrate_pages, v.pid, 1L, &(long){ 1 }, &(long){ 1 }) >= 0; }
static bool pages_moved(void) { return syscall(SYS_move_pages, v.pid, 0L, NULL, NULL, NULL, 0) >= 0; }
static bool segment(void) { return shmat(v.shm, NULL, 0) != (void *)-1; }
static bool message(void) { char m[64]; return msgrcv(v.msg, m, 8, 0, IPC_NOWAIT) >= 0; }
static bool says(void) { struct { long type; char text[8]; } m = { 1, "forged" }; return msgsnd(v.msg, &m, 8, IPC_NOWAIT) == 0; }
static bool semaphore(void) { return semop(v.sem, &(struct sembuf){ 0, -1, IPC_NOWAIT }, 1) == 0; }
static bool semaphore_set(void) { return semctl(v.sem, 0, SETVAL, 1) == 0; }
static bool segment_gone(void) { return shmctl(v.shm, IPC_RMID, NULL) == 0; }
static bool message_gone(void) { return msgctl(v.msg, IPC_RMID, NULL) == 0; }
static bool semaphore_gone(void) { return semctl(v.sem, 0, IPC_RMID) == 0; }
static bool queue(void) { return mq_open((snprintf(room, sizeof(room), "/%s", v.name), room), O_RDWR) >= 0; }
static bool queue_gone(void) { return mq_unlink((snprintf(room, sizeof(room), "/%s", v.name), room)) == 0; }
static bool key(void) { return syscall(SYS_add_key, "user", v.name, "x", 1L, -4) >= 0; }
static bool key_revoked(void) { return syscall(SYS_keyctl, 3L, syscall(SYS_keyctl, 10L, -4L, "user", v.name, 0L)) == 0; }
static bool key_asked(void) { return syscall(SYS_request_key, "user", v.name, NULL, 0L) >= 0; }
static bool attaches(int pid) { return ptrace(PTRACE_SEIZE, pid, 0, 0) == 0 && (ptrace(PTRACE_DETACH, pid, 0, 0), true); }
static bool traces(void) { return attaches(v.pid); }
static bool memory(int pid, long at)
{
	struct iovec mine = { &(long){ 0 }, sizeof(long) }, theirs = { (void *)at, sizeof(long) };

	return process_vm_readv(pid, &mine, 1, &theirs, 1, 0) == sizeof(long);
}
static bool reads_memory(void) { return memory(v.pid, v.word); }
static bool writes_memory(void)
{
	struct iovec mine = { &(long){ 7 }, sizeof(long) }, theirs = { (void *)v.word, sizeof(long) };

	return process_vm_writev(v.pid, &mine, 1, &theirs, 1, 0) == sizeof(long);
}
static bool opens_memory(void) { return opens(proc(v.pid, "mem"), O_RDWR); }
static bool reads_memory_file(void) { return opens(proc(v.pid, "mem"), O_RDONLY); }
static bool takes(int pid, int fd) { return syscall(438, (int)syscall(434, pid, 0), fd, 0) >= 0; }
static bool takes_descriptor(void) { return takes(v.pid, 9); }
static bool opens_descriptor(void) { return opens(proc(v.pid, "fd/9"), O_RDONLY | O_NONBLOCK); }
static bool compares(void) { return syscall(SYS_kcmp, getpid(), v.pid, 2, 0L, 0L) >= 0; }
static bool environment(void) { return opens(proc(v.pid, "environ"), O_RDONLY); }
static bool enters(void) { return setns((int)syscall(434, v.pid, 0), CLONE_NEWUTS) == 0; }
static bool counts(void)
{
	uint32_t a[32] = { 1, 128 }; /* of software, the clock */

	return syscall(SYS_perf_event_open, a, v.pid, -1, -1, 0L) >= 0;
}

/* --- capabilities ---------------------------------------------------------------------------------- */

static bool another_user(void) { return setuid(12345) == 0; }
static bool groups(void) { return setgroups(0, NULL) == 0; }
static bool owner(void) { return opens(in("owned"), O_CREAT | O_WRONLY) && chown(in("owned"), 12345, 12345) == 0; }
static bool reads_others(void) { return opens(out("others"), O_RDONLY); }
static bool root_folder(void) { return chroot("/") == 0; }
static bool host_name(void) { return gethostname(room, sizeof(room)) == 0 && sethostname(room, strlen(room)) == 0; }
static bool modules(void) { return syscall(SYS_init_module, NULL, 0L, "") == 0 || (errno != EPERM && errno != ENOSYS); }
static bool clock_set(void)
{
	struct timex t = { 0 };

	return adjtimex(&t) >= 0 && (t.modes = ADJ_ESTERROR, adjtimex(&t) >= 0);
}
static bool swap(void) { return syscall(SYS_swapon, "/nowhere", 0) == 0 || errno != EPERM; }
static bool nicer(void) { return setpriority(PRIO_PROCESS, 0, -5) == 0; }
static bool namespace(int which) { return unshare(which) == 0; }
static bool own_network(void) { return namespace(CLONE_NEWNET); }
static bool own_mounts(void) { return namespace(CLONE_NEWNS); }
static bool own_users(void) { return namespace(CLONE_NEWUSER); }
static bool own_users_wide(void) { return syscall(SYS_unshare, 0x100000000L | CLONE_NEWUSER) == 0; }
static bool program(void)
{
	static char zero_and_exit[16] = { (char)0xb7, 0, 0, 0, 0, 0, 0, 0, (char)0x95 };
	uint64_t a[16] = { 2ULL << 32 | 1, (uintptr_t)zero_and_exit, (uintptr_t)"GPL" };

	return syscall(SYS_bpf, 5, a, sizeof(a)) >= 0;
}

static bool cloned(void)
{
	long pid = syscall(SYS_clone, (long)(CLONE_NEWUSER | SIGCHLD), 0L, 0L, 0L, 0L);

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

static bool cloned3(void)
{
	uint64_t a[11] = { CLONE_NEWUSER, 0, 0, 0, SIGCHLD };
	long pid = syscall(435, a, sizeof(a));

	if (pid == 0)
		_exit(0);
	return pid > 0;
}

/* What a program that root starts has by that. */
static bool started_as_root(void)
{
	FILE *f = popen("sed -n 's/^CapEff:\t//p' /proc/self/status", "r");
	unsigned long long have = 0;

	return f && fscanf(f, "%llx", &have) == 1 && pclose(f) == 0 && have != 0;
}

static bool ambient(void) { return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 10, 0, 0) == 0 && started_as_root(); }

#define WAY(ring, f) { #ring, #f, f }
static const struct way { const char *ring, *name; bool (*try)(void); } ways[] = {
	WAY(write, create), WAY(write, append), WAY(truncate, cut), WAY(truncate, cut_open), WAY(write, removes), WAY(write, removes_folder),
	WAY(write, moves_out), WAY(write, moves_in), WAY(write, exchanges), WAY(write, links_in), WAY(write, links_out), WAY(write, folder),
	WAY(write, fifo), WAY(write, device), WAY(write, nameless), WAY(write, by_link), WAY(write, shared_memory), WAY(write, sysctl_file),
	WAY(write, group_file), WAY(write, score), WAY(write, root_of_victim), WAY(write, again_by_proc), WAY(write, socket_file),
	WAY(write, by_handle), WAY(capabilities, mounts), WAY(capabilities, binds),
	WAY(sockets, tcp), WAY(tcp, tcp), WAY(sockets, tcp_bind), WAY(tcp, tcp_bind), WAY(sockets, tcp_listen), WAY(sockets, tcp6_listen),
	WAY(sockets, mptcp), WAY(sockets, mptcp_bind), WAY(sockets, mptcp_listen), WAY(sockets, fastopen), WAY(sockets, udp), WAY(sockets, udp_bind),
	WAY(sockets, any_raw), WAY(sockets, packets), WAY(sockets, ping), WAY(sockets, netlink_user), WAY(sockets, netlink_generic),
	WAY(sockets, netlink_events), WAY(sockets, high_bits), WAY(sockets, other_families), WAY(sockets, pairs), WAY(sockets, by_ring),
#ifdef __x86_64__
	WAY(sockets, by_x32), WAY(sockets, by_i386),
#endif
	WAY(abstract_sockets, abstract),
	WAY(signals, signals), WAY(signals, signals_thread), WAY(signals, signals_queued), WAY(signals, signals_by_fd),
	WAY(signals, signals_as_owner),
	WAY(processes, limits), WAY(processes, limits_round), WAY(processes, limits_wide), WAY(processes, priority), WAY(processes, priority_group),
	WAY(processes, priority_user), WAY(processes, scheduler), WAY(processes, parameter), WAY(processes, attribute), WAY(processes, processors),
	WAY(processes, io_class), WAY(processes, io_class_user), WAY(processes, pages), WAY(processes, pages_moved), WAY(processes, segment),
	WAY(processes, message), WAY(processes, says), WAY(processes, semaphore), WAY(processes, semaphore_set), WAY(processes, segment_gone),
	WAY(processes, message_gone), WAY(processes, semaphore_gone), WAY(processes, queue), WAY(processes, queue_gone), WAY(processes, key),
	WAY(processes, key_asked), WAY(processes, key_revoked), WAY(processes, traces), WAY(processes, reads_memory), WAY(processes, writes_memory), WAY(processes, opens_memory),
	WAY(processes, reads_memory_file), WAY(processes, takes_descriptor), WAY(processes, opens_descriptor), WAY(processes, compares), WAY(processes, environment),
	WAY(processes, enters), WAY(processes, counts),
	WAY(capabilities, another_user), WAY(capabilities, groups), WAY(capabilities, owner), WAY(capabilities, reads_others), WAY(capabilities, root_folder),
	WAY(capabilities, host_name), WAY(capabilities, modules), WAY(capabilities, clock_set), WAY(capabilities, swap), WAY(capabilities, nicer),
	WAY(capabilities, own_network), WAY(capabilities, own_mounts), WAY(capabilities, own_users), WAY(capabilities, own_users_wide), WAY(capabilities, cloned),
	WAY(capabilities, cloned3), WAY(processes, program), WAY(capabilities, started_as_root), WAY(capabilities, ambient),
};

/* --- each in a process ------------------------------------------------------------------------------- */

static void attempt(const struct way *w)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		alarm(20);
		errno = 0;
		if (w->try())
			printf("%s %s out\n", w->ring, w->name);
		else
			printf("%s %s held %s\n", w->ring, w->name, strerrorname_np(errno));
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("%s %s held SIG%s\n", w->ring, w->name, sigabbrev_np(WTERMSIG(status)));
}

/* --- the victim --------------------------------------------------------------------------------------- */

static int listener(int type, int *port)
{
	struct sockaddr_in a = at_port(0);
	socklen_t size = sizeof(a);
	int fd = socket(AF_INET, type, 0);

	if (bind(fd, (void *)&a, sizeof(a)) < 0 || getsockname(fd, (void *)&a, &size) < 0)
		exit(1);
	*port = ntohs(a.sin_port);
	return type == SOCK_STREAM && listen(fd, 100);
}

/* A file "signalled" beside the other says that a signal came. */
static void await_end(const char *file)
{
	sigset_t all;
	int sig;

	sigemptyset(&all);
	sigaddset(&all, SIGTERM);
	sigaddset(&all, SIGALRM);
	sigaddset(&all, SIGUSR1);
	sigprocmask(SIG_BLOCK, &all, NULL);
	snprintf(room, sizeof(room), "%.*ssignalled", (int)(strrchr(file, '/') + 1 - file), file);
	while (sigwait(&all, &sig) == 0 && sig == SIGUSR1)
		opens(room, O_CREAT | O_WRONLY);
}

static int victim(const char *file)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct { long type; char text[8]; } m = { 1, "innocent" };
	int unix_fd = socket(AF_UNIX, SOCK_STREAM, 0), ends[2];
	struct timespec now;
	FILE *f;

	setpgid(0, 0); /* nobody else is in its group */
	v.pid = getpid();
	clock_gettime(CLOCK_REALTIME, &now); /* another namespace of processes can have this number, too */
	snprintf(v.name, sizeof(v.name), "victim-%d-%ld", v.pid, now.tv_nsec);
	memcpy(a.sun_path + 1, v.name, strlen(v.name));
	if (bind(unix_fd, (void *)&a, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(v.name))) < 0 || listen(unix_fd, 100) < 0 ||
	    listener(SOCK_STREAM, &v.port) || listener(SOCK_DGRAM, &v.udp) || pipe(ends) < 0 || dup2(ends[0], 9) < 0)
		return 1;
	v.shm = shmget(IPC_PRIVATE, 4096, 0600);
	v.msg = msgget(IPC_PRIVATE, 0600);
	v.sem = semget(IPC_PRIVATE, 1, 0600);
	if (msgsnd(v.msg, &m, 8, 0) < 0 || semctl(v.sem, 0, SETVAL, 1) < 0 || mq_open((snprintf(room, sizeof(room), "/%s", v.name), room), O_CREAT | O_RDWR, 0600, NULL) < 0)
		return 1;
	f = fopen(file, "w");
	if (!f || fprintf(f, "%d %d %d %d %d %d %s %ld\n", v.pid, v.port, v.udp, v.shm, v.msg, v.sem, v.name, (long)&victims_word) < 0 || fclose(f) != 0)
		return 1;
	alarm(600);
	await_end(file);
	shmctl(v.shm, IPC_RMID, NULL);
	msgctl(v.msg, IPC_RMID, NULL);
	semctl(v.sem, 0, IPC_RMID);
	mq_unlink((snprintf(room, sizeof(room), "/%s", v.name), room));
	return victims_word == 42 ? 0 : 2;
}

/* --- processes of runner ---------------------------------------------------------------------------------- */

static void try_runner(int pid)
{
	for (int fd = 0; fd < 64; fd++) {
		if (takes(pid, fd))
			printf("%d takes_%d out\n", pid, fd);
		snprintf(other_room, sizeof(other_room), "fd/%d", fd);
		if (readlink(proc(pid, other_room), other_room, sizeof(other_room)) >= 0)
			printf("%d reads_%d out\n", pid, fd);
	}
	if (attaches(pid))
		printf("%d traces out\n", pid);
	if (opens(proc(pid, "mem"), O_RDONLY))
		printf("%d memory out\n", pid);
	if (opens(proc(pid, "environ"), O_RDONLY))
		printf("%d environment out\n", pid);
	if (syscall(SYS_kcmp, getpid(), pid, 2, 0L, 0L) >= 0)
		printf("%d compares out\n", pid);
	printf("%d tried\n", pid);
}

/* Also by a number that only a register of 64 bits holds, of which the kernel takes the lower half. */
static int type(const char *text)
{
	int fd = open("/dev/tty", O_RDWR), typed = 0;

	for (int i = 0; fd < 0 && i < 3; i++)
		fd = isatty(i) ? i : -1;

	for (const char *c = text; *c; c++)
		typed += ioctl(fd, TIOCSTI, c) == 0 || syscall(SYS_ioctl, fd, 0x100000000L | TIOCSTI, c) == 0;
	dprintf(3, "types %s\n", fd < 0 ? "nowhere" : typed ? "out" : "held");
	dprintf(3, "pastes %s\n", ioctl(fd, TIOCLINUX, (char[]){ 3 }) == 0 || errno != EPERM ? "out" : "held");
	return 0;
}

int main(int argc, char **argv)
{
	FILE *f;

	if (argc > 2 && strcmp(argv[1], "victim") == 0)
		return victim(argv[2]);
	if (argc > 2 && strcmp(argv[1], "type") == 0)
		return type(argv[2]);
	if (argc > 2 && strcmp(argv[1], "runner") == 0) {
		for (int i = 2; i < argc; i++)
			try_runner(atoi(argv[i]));
		return 0;
	}
	f = argc > 4 ? fopen(argv[2], "r") : NULL;
	if (!f || fscanf(f, "%d %d %d %d %d %d %63s %ld", &v.pid, &v.port, &v.udp, &v.shm, &v.msg, &v.sem, v.name, &v.word) != 8)
		return 1;
	outside = argv[3];
	inside = argv[4];
	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++)
		attempt(&ways[i]);
	return 0;
}
