/*
 * base.h: the few macros that every file may use. It declares no types and no
 * functions and includes no other header of ours, so any file in any room may
 * include it.
 */
#ifndef RUNNER_BASE_H
#define RUNNER_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNNER_VERSION "0.3.0"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN_OF(a, b) ((a) < (b) ? (a) : (b))
#define MAX_OF(a, b) ((a) > (b) ? (a) : (b))

#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))
#define MUST_USE __attribute__((warn_unused_result))
#define NO_RETURN __attribute__((noreturn))
#define UNUSED __attribute__((unused))

#endif
