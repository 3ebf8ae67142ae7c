/*
 * sqlite_log.c: room in the write-ahead log. A sync of a file that has grown also writes the
 * journal of the file system, and waits for that; a sync of bytes that were there before
 * doesn't. So the log grows in doublings, of zeros, before SQLite writes its pages there. Runs
 * in the worker.
 *
 * SQLite takes zeros behind the last frame for the end of the log, as it does old frames after
 * it has started the log over (https://www.sqlite.org/fileformat2.html#walformat).
 */
#include <string.h>

#include "sqlite_conn.h"

#define SMALLEST ((sqlite3_int64)64 << 10) /* a short run isn't worth it */
#define LARGEST ((sqlite3_int64)4352 << 10) /* SQLite starts over after 1,000 pages */
#define CHUNK (64 << 10)

static const unsigned char magic[] = { 0x37, 0x7f, 0x06 }; /* the fourth byte is 0x82 or 0x83 */

/* The open log; NULL: there is none, or the journal is of another kind. */
static sqlite3_file *log_of(const struct sqlite_conn *c)
{
	sqlite3_file *file = NULL;
	unsigned char head[sizeof(magic) + 1];

	if (c->api->file_control(c->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file) != SQLITE_OK ||
	    file == NULL || file->pMethods == NULL)
		return NULL;
	if (file->pMethods->xRead(file, head, sizeof(head), 0) != SQLITE_OK ||
	    memcmp(head, magic, sizeof(magic)) != 0)
		return NULL;
	return file;
}

static void extend(sqlite3_file *file, sqlite3_int64 from, sqlite3_int64 to)
{
	static const char zeros[CHUNK];

	for (; from < to; from += CHUNK)
		if (file->pMethods->xWrite(file, zeros, (int)MIN_OF(to - from, CHUNK), from) != SQLITE_OK)
			return; /* SQLite will say so, if it needs the room */
}

void sqlite_reserve_log(struct sqlite_conn *c)
{
	sqlite3_file *file = log_of(c);
	sqlite3_int64 size = 0;

	if (file == NULL || file->pMethods->xFileSize(file, &size) != SQLITE_OK || size == c->log_size)
		return;
	c->log_size = size;
	if (size < SMALLEST || size >= LARGEST)
		return;
	extend(file, size, MIN_OF(2 * size, LARGEST));
	(void)file->pMethods->xFileSize(file, &c->log_size);
}
