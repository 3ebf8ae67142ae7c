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
#define LARGEST ((sqlite3_int64)4 << 20) /* SQLite starts over after 1,000 pages of 4 KiB */
#define CHUNK (64 << 10)

static const unsigned char magic[] = { 0x37, 0x7f, 0x06 }; /* the fourth byte is 0x82 or 0x83 */

/* The open file of the journal, of whatever kind; NULL: there is none. */
static sqlite3_file *journal_of(const struct sqlite_conn *c)
{
	sqlite3_file *file = NULL;
	int code = c->api->file_control(c->db, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file);

	return code == SQLITE_OK && file != NULL && file->pMethods != NULL ? file : NULL;
}

static bool is_log(sqlite3_file *file)
{
	unsigned char head[sizeof(magic) + 1];

	return file->pMethods->xRead(file, head, sizeof(head), 0) == SQLITE_OK &&
	       memcmp(head, magic, sizeof(magic)) == 0;
}

/* No number of frames takes a power of two: a log of that size has been given room, by
 * whomever, and no commit has needed more. */
static sqlite3_int64 next_size(sqlite3_int64 size)
{
	sqlite3_int64 next = SMALLEST;

	while (next < size)
		next *= 2;
	return next;
}

static void extend(sqlite3_file *file, sqlite3_int64 from, sqlite3_int64 to)
{
	static const char zeros[CHUNK];

	for (; from < to; from += CHUNK)
		if (file->pMethods->xWrite(file, zeros, (int)MIN_OF(to - from, CHUNK), from) != SQLITE_OK)
			return; /* SQLite will say so, if it needs the room */
}

void sqlite_reserve_log(const struct sqlite_conn *c)
{
	sqlite3_file *file = journal_of(c);
	sqlite3_int64 size;

	if (file == NULL || file->pMethods->xFileSize(file, &size) != SQLITE_OK)
		return;
	if (size > SMALLEST && size < LARGEST && size < next_size(size) && is_log(file))
		extend(file, size, next_size(size));
}
