/*
 * confine.c: Landlock by its system calls. The headers of the machine that builds may be older
 * than the kernel that runs, so the constants are our own: <linux/landlock.h>, by ABI.
 */
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../common/xio.h"

/* The numbers are the same on every architecture. */
#define NR_CREATE_RULESET 444
#define NR_ADD_RULE 445
#define NR_RESTRICT_SELF 446
#define VERSION_FLAG 1U
#define RULE_PATH_BENEATH 1
#define RULE_NET_PORT 2

#define FS_EXECUTE (1ULL << 0)
#define FS_WRITE_FILE (1ULL << 1)
#define FS_READ_FILE (1ULL << 2)
#define FS_READ_DIR (1ULL << 3)
#define FS_REMOVE_DIR (1ULL << 4)
#define FS_REMOVE_FILE (1ULL << 5)
#define FS_MAKE_CHAR (1ULL << 6)
#define FS_MAKE_DIR (1ULL << 7)
#define FS_MAKE_REG (1ULL << 8)
#define FS_MAKE_SOCK (1ULL << 9)
#define FS_MAKE_FIFO (1ULL << 10)
#define FS_MAKE_BLOCK (1ULL << 11)
#define FS_MAKE_SYM (1ULL << 12)
#define FS_REFER (1ULL << 13)     /* 2 */
#define FS_TRUNCATE (1ULL << 14)  /* 3 */
#define FS_IOCTL_DEV (1ULL << 15) /* 5 */

#define NET_BIND_TCP (1ULL << 0)    /* 4 */
#define NET_CONNECT_TCP (1ULL << 1) /* 4 */

#define SCOPE_ABSTRACT_UNIX_SOCKET (1ULL << 0) /* 6 */
#define SCOPE_SIGNAL (1ULL << 1)               /* 6 */

struct ruleset_attr {
	uint64_t handled_fs;
	uint64_t handled_net; /* 4 */
	uint64_t scoped;      /* 6 */
};

struct __attribute__((packed)) path_attr {
	uint64_t rights;
	int32_t parent_fd;
};

struct port_attr {
	uint64_t rights, port;
};

#define READ_RIGHTS (FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)
#define CHANGE_RIGHTS                                                                                \
	(FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK |     \
	 FS_MAKE_FIFO | FS_MAKE_SYM)
#define LOCK_RIGHTS (FS_WRITE_FILE | FS_MAKE_REG | FS_TRUNCATE)
#define DEVICE_RIGHTS (FS_MAKE_CHAR | FS_MAKE_BLOCK) /* never given: a device is a way out */
#define FILE_RIGHTS (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)

/* --- what an ABI can do -------------------------------------------------------------- */

int confine_abi(void)
{
	long abi = syscall(NR_CREATE_RULESET, NULL, (size_t)0, VERSION_FLAG);

	return abi > 0 ? (int)abi : 0;
}

static uint64_t change_rights(int abi)
{
	return CHANGE_RIGHTS | (abi >= 2 ? FS_REFER : 0) | (abi >= CONFINE_ABI_TRUNCATE ? FS_TRUNCATE : 0) |
	       (abi >= 5 ? FS_IOCTL_DEV : 0);
}

/* Every ruleset forbids to link and rename between directories unless a rule allows it, whether
 * or not it handles that. And one that confines nothing else still keeps others from being traced. */
static void keep_links(int abi, struct confine_masks *m)
{
	const uint64_t kept = abi >= 2 ? FS_REFER : m->handled_fs ? 0 : FS_MAKE_DIR;

	m->give_root = kept & ~m->handled_fs;
	m->handled_fs |= kept;
}

void confine_masks(int abi, const struct confine *what, struct confine_masks *masks)
{
	struct confine_masks m = { 0 };

	if (abi >= CONFINE_ABI_FILES && what->read) {
		m.handled_fs |= READ_RIGHTS;
		m.give_read = READ_RIGHTS;
		m.give_write = READ_RIGHTS;
		m.give_lock = FS_READ_FILE;
	}
	if (abi >= CONFINE_ABI_FILES && what->write) {
		m.handled_fs |= change_rights(abi) | DEVICE_RIGHTS;
		m.give_write |= change_rights(abi);
		m.give_lock |= change_rights(abi) & LOCK_RIGHTS;
	}
	if (abi >= CONFINE_ABI_TCP && what->network)
		m.handled_net = NET_BIND_TCP | NET_CONNECT_TCP;
	if (abi >= CONFINE_ABI_SCOPES)
		m.scoped = SCOPE_SIGNAL | (what->network ? SCOPE_ABSTRACT_UNIX_SOCKET : 0);
	if (abi >= CONFINE_ABI_FILES)
		keep_links(abi, &m);
	*masks = m;
}

/* --- system calls ---------------------------------------------------------------------- */

static size_t attr_size(int abi)
{
	return abi >= CONFINE_ABI_SCOPES ? sizeof(struct ruleset_attr)
	       : abi >= CONFINE_ABI_TCP  ? offsetof(struct ruleset_attr, scoped)
	                                 : offsetof(struct ruleset_attr, handled_net);
}

int confine_open(int abi, const struct confine_masks *masks)
{
	struct ruleset_attr attr = { masks->handled_fs, masks->handled_net, masks->scoped };

	if (abi < CONFINE_ABI_FILES)
		return errno = ENOMSG, -1;
	return (int)syscall(NR_CREATE_RULESET, &attr, attr_size(abi), 0U);
}

int confine_give(int ruleset, const char *path, uint64_t rights)
{
	struct path_attr attr = { rights, xopen(path, O_PATH, 0) };
	struct stat st;
	int fd = attr.parent_fd, result = -1, why;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0) {
		attr.rights &= S_ISDIR(st.st_mode) ? ~0ULL : FILE_RIGHTS;
		result = attr.rights ? (int)syscall(NR_ADD_RULE, ruleset, RULE_PATH_BENEATH, &attr, 0U) : 0;
	}
	why = errno;
	xclose(&fd);
	errno = why;
	return result;
}

int confine_give_port(int ruleset, uint16_t port)
{
	const struct port_attr attr = { NET_CONNECT_TCP, port };

	return (int)syscall(NR_ADD_RULE, ruleset, RULE_NET_PORT, &attr, 0U);
}

int confine_enter(int ruleset)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return -1;
	return ruleset < 0 ? 0 : (int)syscall(NR_RESTRICT_SELF, ruleset, 0U);
}
