/*
 * bindings.c: bindings.def as a table. No other file knows all bindings.
 */
#include "bindings.h"

const struct binding bindings[] = {
#define BINDING(library, scripts, open, purpose) { library, scripts, open },
#include "bindings.def"
	{ NULL, NULL, NULL },
};
