/*
 * ledger.c: appends to a ledger. One write(2) under a lock, which is taken back where it was
 * incomplete.
 */
#include "ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/rest.h"
#include "../common/xio.h"

#define LOCK_TRIES 400
#define LOCK_PAUSE_MS 5

static const char end_mark[] = ",\"hash\":\"";
#define MARK_LEN (sizeof(end_mark) - 1)
#define TAIL_LEN (MARK_LEN + SHA256_HEX - 1 + 3) /* with "} and a newline */

static const char *refuse(int fd, struct stat *st)
{
	if (fstat(fd, st) < 0)
		return strerror(errno);
	if (!S_ISREG(st->st_mode))
		return "it is not a regular file";
	if (st->st_uid != geteuid())
		return "it is not owned by you";
	return st->st_mode & (S_IWGRP | S_IWOTH) ? "others can write to it" : NULL;
}

/* No process holds it longer than one write takes, unless they are stopped. */
static const char *lock(int fd)
{
	for (int i = 0; flock(fd, LOCK_EX | LOCK_NB) < 0; i++) {
		if ((errno != EWOULDBLOCK && errno != EINTR) || i == LOCK_TRIES)
			return errno == EWOULDBLOCK ? "another process holds its lock" : strerror(errno);
		poll(NULL, 0, LOCK_PAUSE_MS);
	}
	return NULL;
}

/* The digest of the last row; zeros where there is none, or none that is whole. False: the file
 * ends within a line. */
static bool read_last(int fd, off_t size, char prev[SHA256_HEX])
{
	char tail[TAIL_LEN];
	ssize_t n = size >= (off_t)sizeof(tail) ? pread(fd, tail, sizeof(tail), size - (off_t)sizeof(tail)) : 0;
	char last = '\n';

	memset(prev, '0', SHA256_HEX - 1);
	prev[SHA256_HEX - 1] = '\0';
	if (n == (ssize_t)sizeof(tail) && memcmp(tail, end_mark, MARK_LEN) == 0 &&
	    memcmp(tail + sizeof(tail) - 3, "\"}\n", 3) == 0)
		memcpy(prev, tail + MARK_LEN, SHA256_HEX - 1);
	return size == 0 || (pread(fd, &last, 1, size - 1) == 1 && last == '\n');
}

static void compose(struct buf *line, const char *object, size_t n, const char *prev, bool begins_line)
{
	char hash[SHA256_HEX];
	size_t from = begins_line ? 0 : 1;

	if (!begins_line)
		buf_add_char(line, '\n');
	buf_add(line, object, n - 1);
	buf_add_fmt(line, ",\"prev\":\"%s\"", prev);
	if (line->failed)
		return;
	sha256_hex(line->data + from, line->len - from, hash);
	buf_add_fmt(line, "%s%s\"}\n", end_mark, hash);
}

static const char *append(int fd, off_t size, const struct buf *line, bool sync)
{
	ssize_t n;

	do
		n = write(fd, line->data, line->len);
	while (n < 0 && rest_again());
	if (n == (ssize_t)line->len && (!sync || fdatasync(fd) == 0))
		return NULL;
	if (n >= 0 && n < (ssize_t)line->len)
		errno = ENOSPC;
	const char *why = strerror(errno);
	if (n > 0 && ftruncate(fd, size) < 0)
		return "a row is incomplete, since it could not be taken back";
	return why;
}

static const char *append_row(const char *path, int fd, const char *object, size_t n, bool sync)
{
	struct buf line = BUF_INIT;
	char prev[SHA256_HEX];
	struct stat st;
	const char *why = refuse(fd, &st);

	if (!why)
		why = lock(fd);
	if (!why && fstat(fd, &st) < 0)
		why = strerror(errno);
	if (why)
		return why;
	compose(&line, object, n, prev, read_last(fd, st.st_size, prev));
	why = line.failed ? "not enough memory" : append(fd, st.st_size, &line, sync);
	buf_release(&line);
	return why || !sync || st.st_size > 0 || xsync_folder(path) == 0 ? why : strerror(errno);
}

const char *ledger_problem(const char *line, size_t n, char last[SHA256_HEX])
{
	static const char prev_mark[] = "\"prev\":\"";
	char hash[SHA256_HEX], prev[sizeof(prev_mark) + SHA256_HEX];
	size_t body = n - TAIL_LEN, prev_len = (size_t)snprintf(prev, sizeof(prev), "%s%s\"", prev_mark, last);

	if (n < TAIL_LEN || memcmp(line + body, end_mark, MARK_LEN) != 0 || memcmp(line + n - 3, "\"}\n", 3) != 0)
		return "it is no whole row";
	sha256_hex(line, body, hash);
	memcpy(last, line + body + MARK_LEN, SHA256_HEX - 1);
	if (memcmp(hash, last, SHA256_HEX - 1) != 0)
		/* zeros: what a power loss has left of a row that was not on the disk yet */
		return memchr(line, '\0', n) ? "it is no whole row" : "it was changed";
	return body >= prev_len && memcmp(line + body - prev_len, prev, prev_len) == 0 ? NULL :
	                                                                                 "rows before it were removed, added or changed";
}

int ledger_append(const char *path, const char *object, size_t n, bool sync, const char **why)
{
	int fd;

	if (n < 3 || n > LEDGER_LINE_MAX || object[0] != '{' || object[n - 1] != '}' || memchr(object, '\n', n))
		return *why = "the row is no JSON object of one line, or too long", -1;
	fd = xopen(path, O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	*why = fd < 0 ? strerror(errno) : append_row(path, fd, object, n, sync);
	xclose(&fd);
	return *why ? -1 : 0;
}
