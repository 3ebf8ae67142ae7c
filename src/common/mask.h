/*
 * mask.h: takes values that are secret out of texts and streams: *** stands for each place that spells one of them, as
 * it is, in base64, or as URLs and JSON write it. The one matcher for both processes; it knows no channel.
 */
#ifndef RUNNER_MASK_H
#define RUNNER_MASK_H

#include "buf.h"

#define MASK_SHOWN "***"
#define MASK_LEAST 4               /* bytes of a value that is found in other forms, too; a line's; a beginning's that is hidden */
#define MASK_MOST ((size_t)16 << 20) /* bytes of all values */

struct mask;

/* NULL: out of memory. */
struct mask *mask_new(void);
void mask_free(struct mask *m);
/* One more value; a blank one, and one that is known, counts for nothing. 0, or -1: out of memory, or too many bytes. */
int mask_add(struct mask *m, const char *value, size_t n);

/* Append the text with *** for what is secret. False: nothing is, and nothing is appended. */
bool mask_text(const struct mask *m, const char *s, size_t n, struct buf *out);
/* The same for a JSON text, in whose strings and keys it looks; of a text of
 * others, a number that is a value becomes "***", but for counts; with codes, a `code` that is an error's stays. In one of runner's own no value of less than MASK_LEAST bytes is found. */
enum mask_text_of { MASK_OF_OTHERS, MASK_OF_OTHERS_WITH_COUNTS, MASK_OF_OTHERS_WITH_CODES, MASK_OF_OURS };
bool mask_json(const struct mask *m, const char *s, size_t n, enum mask_text_of whose, struct buf *out);
/* The same for the key of an object, in which a value of less than MASK_LEAST bytes is not found, nor any in a member of runner's own. */
bool mask_key(const struct mask *m, const char *s, size_t n, struct buf *out);
/* How many bytes at the end of the text may be the beginning of a secret, and at the start the end of one: MASK_LEAST
 * or more, else 0. For texts that were cut. */
size_t mask_begun(const struct mask *m, const char *s, size_t n);
size_t mask_ended(const struct mask *m, const char *s, size_t n);

/* A text in pieces: whatever they are, what comes out is the same as for the whole. */
struct mask_stream {
	const struct mask *m;
	struct buf held; /* from where a secret may have begun … */
	size_t shown;    /* … and how much of it has come out already */
	bool within;     /* what came out last is *** */
	struct buf out;
};

/* The next piece: what may come out, valid until the next call. */
struct mask_piece {
	const char *s;
	size_t n;
};
struct mask_piece mask_stream_feed(struct mask_stream *s, const char *bytes, size_t n);
/* Nothing comes for now: what is held comes out, less than MASK_LEAST bytes as they are, more as ***. */
struct mask_piece mask_stream_rest(struct mask_stream *s);
/* There is no more. With `cut`, as above; else the text ends here, and what is held is no secret. */
struct mask_piece mask_stream_end(struct mask_stream *s, bool cut);
bool mask_stream_holds(const struct mask_stream *s);
void mask_stream_release(struct mask_stream *s);

#endif
