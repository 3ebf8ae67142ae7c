/*
 * http_file.c: the bodies of http_transfer.h as files: a response that is written to one, a request that
 * is read from one, both of any size. Runs in the worker; knows no Lua.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/xio.h"
#include "http_transfer.h"

int transfer_to_file(struct transfer *t, const char *path)
{
	t->out = xopen(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0666);
	if (t->out >= 0)
		return 0;
	t->out = 0;
	t->file_errno = errno;
	return -1;
}

static size_t on_read(char *bytes, size_t size, size_t n, void *user)
{
	struct transfer *t = user;
	ssize_t got = xread(t->in, bytes, size * n);

	if (got >= 0)
		return (size_t)got;
	t->file_errno = errno;
	return CURL_READFUNC_ABORT;
}

/* libcurl starts over when a connection that it kept turns out to be gone. */
static int on_seek(void *user, curl_off_t offset, int origin)
{
	struct transfer *t = user;

	return lseek(t->in, (off_t)offset, origin) < 0 ? CURL_SEEKFUNC_FAIL : CURL_SEEKFUNC_OK;
}

int transfer_from_file(struct transfer *t, const char *path)
{
	const struct curl_api *curl = t->curl;
	struct stat st;

	t->in = xopen(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (t->in < 0 || fstat(t->in, &st) < 0 || !S_ISREG(st.st_mode)) {
		t->file_errno = t->in < 0 ? errno : S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
		t->in = t->in < 0 ? 0 : t->in;
		return -1;
	}
	transfer_set_long(t, CURLOPT_UPLOAD, 1);
	transfer_set_long(t, CURLOPT_FORBID_REUSE, 1);
	transfer_set_size(t, CURLOPT_INFILESIZE_LARGE, (size_t)st.st_size);
	curl->easy_setopt(t->easy, CURLOPT_READFUNCTION, on_read);
	curl->easy_setopt(t->easy, CURLOPT_READDATA, t);
	curl->easy_setopt(t->easy, CURLOPT_SEEKFUNCTION, on_seek);
	curl->easy_setopt(t->easy, CURLOPT_SEEKDATA, t);
	return 0;
}

bool transfer_writes(const struct transfer *t)
{
	long status = 0;

	if (t->out > 0)
		t->curl->easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	return status >= 200 && status < 300;
}

size_t transfer_write(struct transfer *t, const char *bytes, size_t n)
{
	if (xwrite_all(t->out, bytes, n) < 0) {
		t->file_errno = errno;
		return 0;
	}
	t->written += n;
	return n;
}

void transfer_close_files(struct transfer *t)
{
	int *fds[] = { &t->out, &t->in };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		if (*fds[i] > 0)
			xclose(fds[i]);
		*fds[i] = 0;
	}
}
