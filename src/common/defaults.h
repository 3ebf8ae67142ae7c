/*
 * defaults.h: defaults.def as constants.
 */
#ifndef RUNNER_DEFAULTS_H
#define RUNNER_DEFAULTS_H

enum {
#define DEFAULT(name, value) DEFAULT_##name = (value),
#include "defaults.def"
};

enum {
#define BOUND(name, most) BOUND_##name = (most),
#include "defaults.def"
};

#endif
