/*
 * ulid.c: encodes a time and random bits as text. The caller supplies both.
 */
#include "ulid.h"

static const char digits[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

void ulid_format(uint64_t unix_ms, const uint8_t random[10], char out[ULID_LENGTH + 1])
{
	uint64_t bits = 0;
	int have = 0, at = 10;

	for (int i = 9; i >= 0; i--, unix_ms >>= 5)
		out[i] = digits[unix_ms & 31];
	for (int i = 0; i < 10; i++) {
		bits = bits << 8 | random[i];
		for (have += 8; have >= 5; have -= 5)
			out[at++] = digits[bits >> (have - 5) & 31];
	}
	out[ULID_LENGTH] = '\0';
}
