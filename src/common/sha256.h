/*
 * sha256.h: SHA-256 (FIPS 180-4), for what must not be changed unseen.
 */
#ifndef RUNNER_SHA256_H
#define RUNNER_SHA256_H

#include <stddef.h>

#define SHA256_HEX 65 /* with its NUL */

/* The digest of n bytes in lower-case hexadecimal. */
void sha256_hex(const void *bytes, size_t n, char out[SHA256_HEX]);

#endif
