/*
 * test_bed.h: what proc_spec.c takes of the binding for tests (test_bed.c).
 */
#ifndef RUNNER_TEST_BED_H
#define RUNNER_TEST_BED_H

#include <lua.h>

/* The descriptor of the page at that index; -1: closed. Raises for other types. */
int test_bed_descriptor(lua_State *L, int index);

/* The end of the terminal at that index that a program gets. Raises for other types. */
int test_bed_terminal(lua_State *L, int index);

#endif
