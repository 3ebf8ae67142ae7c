/*
 * mask_spelling.c: URL encoders, JSON, JSON in a string of JSON, HTML. Which characters an encoder leaves as they are differs, and doesn't
 * matter here: any mixture of spellings is found.
 */
#include "mask_spelling.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "json.h"

struct spellings {
	struct mask_spelling *of;
	int count;
};

static void add(struct spellings *all, const char *text, size_t taken)
{
	struct mask_spelling *one = &all->of[all->count++];

	one->n = (unsigned char)strlen(text);
	one->taken = (unsigned char)taken;
	memcpy(one->text, text, one->n);
}

/* Hex digits of one case, then of the other where there is a letter. */
static void add_hex(struct spellings *all, const char *text, size_t taken)
{
	char upper[sizeof(all->of->text)] = "";

	add(all, text, taken);
	for (size_t i = 0; i < sizeof(upper) - 1 && text[i]; i++)
		upper[i] = (char)(text[i] > 'f' ? text[i] : toupper((unsigned char)text[i]));
	if (strcmp(text, upper) != 0)
		add(all, upper, taken);
}

/* As a string of JSON has it, and as one does in which that stands. */
static void add_json_text(struct spellings *all, const char *text, size_t taken)
{
	char twice[sizeof(all->of->text)], *to = twice;

	add_hex(all, text, taken);
	for (; *text; text++) {
		if (*text == '\\' || *text == '"')
			*to++ = '\\';
		*to++ = *text;
	}
	*to = '\0';
	add_hex(all, twice, taken);
}

static void add_json(struct spellings *all, const char *s, size_t n)
{
	static const char plain[] = "\"\\/\b\f\n\r\t", escaped[] = "\"\\/bfnrt";
	size_t length = utf8_length(s, n);
	const char *at = *s ? strchr(plain, *s) : NULL;
	char text[32];
	uint32_t c;

	if (at)
		add_json_text(all, (char[]){ '\\', escaped[at - plain], '\0' }, 1);
	if (length == 0)
		return;
	c = utf8_code_point(s, length);
	if (c < 0x10000)
		snprintf(text, sizeof(text), "\\u%04x", (unsigned)c);
	else
		snprintf(text, sizeof(text), "\\u%04x\\u%04x", (unsigned)(0xd7c0 + (c >> 10)), (unsigned)(0xdc00 + (c & 0x3ff)));
	add_json_text(all, text, length);
}

static void add_html(struct spellings *all, char c)
{
	static const struct {
		char c;
		const char *text;
	} names[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '"', "&#34;" }, { '\'', "&#39;" },
		          { '\'', "&#x27;" } };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].c == c)
			add(all, names[i].text, 1);
}

int mask_spell(const char *s, size_t n, bool base64, struct mask_spelling out[MASK_SPELLINGS])
{
	struct spellings all = { out, 1 };
	unsigned char c = (unsigned char)*s;
	char text[8];

	out[0] = (struct mask_spelling){ { *s }, 1, 1 };
	if (mask_is_plain(*s))
		return 1;
	snprintf(text, sizeof(text), "%%%02x", c);
	add_hex(&all, text, 1);
	if (c == ' ')
		add(&all, "+", 1);
	if (base64)
		add(&all, c == '+' ? "-" : "_", 1);
	add_json(&all, s, n);
	add_html(&all, *s);
	return all.count;
}
