/*
 * decimal.h: doubles as decimal text and back, exactly and independent of the locale.
 */
#ifndef RUNNER_DECIMAL_H
#define RUNNER_DECIMAL_H

#include "base.h"

#define DECIMAL_TEXT 64 /* room for any text of decimal_write() */

/* Write a finite double as the %g of the fewest digits, from 15 on, that reads back as
 * the same one (of a subnormal: from 1 on), with '.' as separator; always with a '.' or
 * an exponent. Returns its length without the NUL. */
size_t decimal_write(double v, char text[DECIMAL_TEXT]);

/* The double nearest to a number of JSON's form that starts at s, ties to even; what
 * ends it is in *end. ±inf if it is too large. */
double decimal_read(const char *s, const char **end);

#endif
