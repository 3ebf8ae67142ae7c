/*
 * frame.h: the wire format between a worker and its supervisor. It knows the
 * table in frame.def, but not what the frames mean.
 *
 * A frame is a header of 8 bytes (magic 'R' 'F', kind u8, version u8, payload
 * length u32 LE) and a payload of fields (field id u8, length u32 LE, bytes).
 * Field ids are shared by all frames: the same name has the same type.
 */
#ifndef RUNNER_FRAME_H
#define RUNNER_FRAME_H

#include "buf.h"

#define PRINTED_CODE "print" /* of a WARN that is none: where print was called */

#define FRAME_HEADER 8
#define FRAME_LONG ((size_t)64 << 10) /* bytes of a field, or of what is missing of a frame: not worth a copy */

enum frame_kind {
	FRAME_NONE = 0,
#define FRAME(name, cap) FRAME_##name,
#include "frame.def"
	FRAME_KIND_COUNT
};

enum field_type { FIELD_INT, FIELD_STR, FIELD_JSON, FIELD_LIST };

/* One id for each distinct field name. Keep in sync with the FIELD() rows: a unit
 * test compares them by name and type. */
enum field_id {
	F_attempt, F_attempt_timeout_ms, F_change, F_code, F_command, F_context,
	F_cpu_ms, F_danger_level, F_data, F_delay_ms, F_delays, F_detail, F_digest, F_errors,
	F_event, F_exit_code, F_exit_table, F_fix_command, F_fix_required, F_format,
	F_grace_ms, F_idle_timeout_ms, F_interactive, F_jitter, F_jitter_ppm,
	F_level, F_max_attempts, F_max_bytes, F_max_delay_ms, F_maybe, F_memory_bytes, F_message, F_name,
	F_no_color, F_ok,
	F_on, F_open_files, F_output, F_phase, F_pid, F_processes, F_quiet, F_redirect, F_retries, F_retries_exhausted,
	F_retries_given, F_retry_after_ms, F_retry_strategy, F_retryable, F_rows,
	F_schema_version, F_seed, F_side_effects, F_state, F_stdin, F_steps,
	F_strategy, F_suggestion, F_text, F_timeout_ms, F_unmask, F_verbose,
	F_warnings_as_errors,
	FIELD_ID_COUNT
};

/* The kind with that name, -1 if there is none. */
int frame_kind_find(const char *name);
/* Field `name` of that frame: its id, with its type in *type; -1 if there is none. */
int frame_field_find(enum frame_kind kind, const char *name, enum field_type *type);

/* --- encoding: begin, add fields in any order, end -------------------------- */

/* Start a frame at the end of `out`; returns the offset to hand to frame_end. */
size_t frame_begin(struct buf *out, enum frame_kind kind);
void frame_add_int(struct buf *out, enum field_id id, int64_t v);
void frame_add_bytes(struct buf *out, enum field_id id, const void *s, size_t n);
/* A field whose bytes the caller adds to `out` between these two: where they begin, to hand to frame_end_field(). */
size_t frame_begin_field(struct buf *out, enum field_id id);
void frame_end_field(struct buf *out, size_t start);
/* Write the length. 0, or -1 (and the frame is removed from `out`) when it exceeds
 * its cap or memory ran out. */
int frame_end(struct buf *out, size_t start);
/* In place of these two where the last field is long: its n bytes are written behind `out`, by the caller. */
void frame_add_last(struct buf *out, enum field_id id, size_t n);
int frame_end_ahead(struct buf *out, size_t start, size_t n);

/* --- decoding ---------------------------------------------------------------- */

struct field {
	const char *s; /* points into the decoder's buffer: valid until the next frame_feed() */
	size_t n;
	int64_t i;
};

struct frame_decoder {
	struct buf in;
	size_t taken; /* bytes of `in` already consumed */
	size_t missing; /* bytes of the frame that has begun; 0: unknown */
};

struct frame {
	enum frame_kind kind;
	struct frame_decoder *from;
	uint64_t has; /* bit per field id */
	struct field f[FIELD_ID_COUNT];
};

#define FRAME_DECODER_INIT { BUF_INIT, 0, 0 }

enum frame_status {
	FRAME_READY,     /* *out is the next frame */
	FRAME_WANT_MORE, /* feed more bytes */
	FRAME_OVERSIZE,  /* the announced length exceeds the cap; *out has the kind */
	FRAME_BROKEN,    /* not our format, an unknown kind or field, or out of memory */
};

/* Append received bytes. 0, or -1 when out of memory. */
int frame_feed(struct frame_decoder *d, const void *bytes, size_t n);
/* The same without a copy, while much of a frame is missing: where its next bytes belong, at most *n of them.
 * frame_fed() says how many came. NULL, with *n as it was: use frame_feed(). */
char *frame_room(struct frame_decoder *d, size_t *n);
void frame_fed(struct frame_decoder *d, size_t n);
/* Take the next frame. After OVERSIZE or BROKEN every call returns the same. */
enum frame_status frame_next(struct frame_decoder *d, struct frame *out);
void frame_decoder_release(struct frame_decoder *d);

/* Accessors with defaults. Strings are views, or NUL-terminated copies of at most
 * cap - 1 bytes (frame_copy). */
bool frame_has(const struct frame *f, enum field_id id);
int64_t frame_int(const struct frame *f, enum field_id id, int64_t otherwise);
struct field frame_str(const struct frame *f, enum field_id id); /* n = 0, s = "" when absent */
const char *frame_copy(const struct frame *f, enum field_id id, char *out, size_t cap);
/* Set *out to the bytes of a field. A long one is not copied but taken from the decoder: the frame must not be
 * looked at again. */
void frame_move(const struct frame *f, enum field_id id, struct buf *out);
/* Walk a LIST: *at starts at 0; returns each string, NULL at the end. */
const char *frame_list_next(const struct frame *f, enum field_id id, size_t *at);

#endif
