/*
 * warnings.h: the envelope's warnings as they accumulate. To raise one, use
 * warn.h, which also prints it to stderr.
 */
#ifndef RUNNER_WARNINGS_H
#define RUNNER_WARNINGS_H

#include "../common/buf.h"
#include "../common/frame.h"

#define WARNINGS_MAX 100        /* in an envelope; run_warn_dropped() gets the last place */
#define WARNINGS_OF_COMMAND 90  /* a flood of its own must not crowd out ours */

struct warnings {
	struct buf rows; /* JSON objects, comma separated; out of memory: rows.failed */
	int count;
	int dropped;
	int told; /* of an answer that has been judged already: they fail nothing (--warnings-as-errors) */
};

/* Add a row. The bytes may be anything: a malformed code becomes WARNING, the
 * message is cut to MESSAGE_MAX and cleaned, a context that is not a JSON object
 * is left out. False, and counted as dropped, when there are `most` rows already. */
bool warnings_add(struct warnings *w, struct field code, struct field message, struct field context,
                  int most);

#endif
