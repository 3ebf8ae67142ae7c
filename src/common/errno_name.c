/*
 * errno_name.c: the one table of errno names. Runs in both processes. Pure.
 */
#include "errno_name.h"

#include <errno.h>
#include <stddef.h>

#include "base.h"

#define NAME(e) { e, #e }
static const struct {
	int number;
	const char *name;
} names[] = {
	NAME(E2BIG),        NAME(EACCES),       NAME(EADDRINUSE),   NAME(EAGAIN),      NAME(EBADF),
	NAME(EBUSY),        NAME(ECANCELED),    NAME(ECHILD),       NAME(ECONNREFUSED), NAME(ECONNRESET),
	NAME(EDEADLK),      NAME(EDOM),         NAME(EDQUOT),       NAME(EEXIST),      NAME(EFAULT),
	NAME(EFBIG),        NAME(EHOSTUNREACH), NAME(EILSEQ),       NAME(EINPROGRESS), NAME(EINTR),
	NAME(EINVAL),       NAME(EIO),          NAME(EISDIR),       NAME(ELOOP),       NAME(EMFILE),
	NAME(EMLINK),       NAME(ENAMETOOLONG), NAME(ENETUNREACH),  NAME(ENFILE),      NAME(ENODEV),
	NAME(ENOENT),       NAME(ENOEXEC),      NAME(ENOLCK),       NAME(ENOMEM),      NAME(ENOSPC),
	NAME(ENOSYS),       NAME(ENOTCONN),     NAME(ENOTDIR),      NAME(ENOTEMPTY),   NAME(ENOTSUP),
	NAME(ENOTTY),       NAME(ENXIO),        NAME(EPERM),        NAME(EPIPE),       NAME(ERANGE),
	NAME(EROFS),        NAME(ESPIPE),       NAME(ESRCH),        NAME(ESTALE),      NAME(ETIMEDOUT),
	NAME(ETXTBSY),      NAME(EXDEV),
};
#undef NAME

const char *errno_name(int number)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].number == number)
			return names[i].name;
	return NULL;
}
