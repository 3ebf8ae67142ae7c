/*
 * bindings.c: bindings.def as a table. No other file knows all bindings.
 */
#include "bindings.h"

const struct binding bindings[] = {
#define BINDING(library, scripts, open, purpose) { library, scripts, open },
#include "bindings.def"
#ifdef RUNNER_STATIC
	{ NULL, "yaml", luaopen_yaml }, /* of lua-yaml: scripts can't load the installed one */
#endif
	{ NULL, NULL, NULL },
};
