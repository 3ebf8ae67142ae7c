/*
 * fuzz_duration.c: what reads as a duration is in range, rounds as the header
 * says, and its own spelling reads back as the same.
 */
#include "fuzz.h"

#include <math.h>

#include "../../src/common/mono.h"

#define TEN_YEARS_MS (3652.5 * 24 * 3600 * 1000)

/* The value as strtod() sees it, in ms; only for what duration_parse() took. */
static double model_ms(const char *text)
{
	static const struct {
		const char *name;
		double ms;
	} units[] = { { "ms", 1 }, { "s", 1e3 }, { "m", 6e4 }, { "h", 36e5 }, { "d", 864e5 }, { "", 1e3 } };
	char *end;
	double v = strtod(text, &end);

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strcmp(end, units[i].name) == 0)
			return v * units[i].ms;
	return -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char text[64], spelt[32];
	int64_t ms = -7, again = -7;
	bool fits = size < sizeof(text) && !memchr(data, 0, size);

	if (duration_parse((const char *)data, size, &ms) < 0)
		return 0;
	HOLDS(ms >= 0 && (double)ms <= TEN_YEARS_MS);
	duration_format(ms, spelt);
	HOLDS(strlen(spelt) < sizeof(spelt) && duration_parse(spelt, strlen(spelt), &again) == 0 && again == ms);
	if (!fits || (size == 4 && memcmp(data, "none", 4) == 0))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	/* digits beyond the eleventh are dropped: up to 0.001 ms of a day */
	HOLDS(fabs(model_ms(text) - (double)ms) <= 0.501 + 1e-9 * (double)ms || ms == 1);
	HOLDS((ms == 0) == (model_ms(text) == 0));
	return 0;
}
