/*
 * library.h: a library opened on first use, and its functions as a table of
 * pointers: linking it would cost every run. Used by the archive, digest,
 * http and sqlite bindings. The static build (RUNNER_STATIC) has the libraries inside: the same tables
 * are filled with the addresses of what is linked.
 */
#ifndef RUNNER_LIBRARY_H
#define RUNNER_LIBRARY_H

#include <stddef.h>

#include "../common/base.h"

struct library_symbol {
	const char *name;
	size_t offset; /* of its pointer in the table */
#ifdef RUNNER_STATIC
	void *linked;
#endif
};

/* A row of symbols: LIBRARY_SYMBOL(struct curl_api, curl_, easy_init) */
#ifdef RUNNER_STATIC
#define LIBRARY_SYMBOL(table, prefix, name) { #prefix #name, offsetof(table, name), (void *)prefix##name }
#define LIBRARY_LINKED "built-in" /* for --version --verbose */
#else
#define LIBRARY_LINKED "on use"
#define LIBRARY_SYMBOL(table, prefix, name) { #prefix #name, offsetof(table, name) }
#endif

/* Open `name` and fill `api`. The handle, for library_close(); NULL, with nothing left open,
 * when it is not there or lacks one of the functions. */
void *library_open(const char *name, const struct library_symbol *symbols, size_t count, void *api);

void library_close(void *library);

/* The reason of the last failure: the loader's, or `lacking`, the message for a missing
 * function. Static memory. */
const char *library_why(const char *lacking);

#endif
