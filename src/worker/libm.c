/*
 * libm.c: the math library, opened when a script first calls one of its functions.
 * Runs in the worker. Loading it costs a twentieth of a short run (five mappings
 * and eleven page faults, which the fork copies), and most commands don't use it.
 * Defined here are the functions that Lua calls; they are hidden, so that a C
 * module gets the library's own.
 */
#include "libm.h"

#include <stdlib.h>

#ifdef __GLIBC__
#include <dlfcn.h>
#include <gnu/lib-names.h>
#include <math.h>
#include <stdio.h>

#include "../common/base.h"

NO_RETURN static void give_up(void)
{
	fprintf(stderr, "runner: can't load the math library: %s\n", dlerror());
	abort();
}

/* Global: a module that uses it without linking to it finds it, as in lua5.4. */
static void *library(void)
{
	static void *opened;

	if (!opened)
		opened = dlopen(LIBM_SO, RTLD_NOW | RTLD_GLOBAL);
	if (!opened)
		give_up();
	return opened;
}

void libm_open(void)
{
	(void)library();
}

static void find(const char *name, void *function)
{
	void **out = function;

	*out = dlsym(library(), name);
	if (!*out)
		give_up();
}

#pragma GCC visibility push(hidden)

#define UNARY(name)                        \
	double name(double x)              \
	{                                  \
		static double (*f)(double); \
                                           \
		if (!f)                    \
			find(#name, &f);   \
		return f(x);               \
	}

#define BINARY(name)                               \
	double name(double x, double y)            \
	{                                          \
		static double (*f)(double, double); \
                                                   \
		if (!f)                            \
			find(#name, &f);           \
		return f(x, y);                    \
	}

UNARY(acos)
UNARY(asin)
UNARY(cos)
UNARY(cosh)
UNARY(exp)
UNARY(log)
UNARY(log10)
UNARY(log2)
UNARY(sin)
UNARY(sinh)
UNARY(sqrt)
UNARY(tan)
UNARY(tanh)
BINARY(atan2)
BINARY(fmod)
BINARY(pow)

#pragma GCC visibility pop

#else
void libm_open(void)
{
}
#endif
