/*
 * block_text.c: the lines of block.h as a terminal shows them: cut to its width, in columns,
 * with clocks that go on. Runs in the supervisor.
 */
#include "block_text.h"

#include <stdlib.h>
#include <string.h>

#include "../common/json.h"
#include "block.h"
#include "columns.h"
#include "redact.h"

#define PLAIN "\033[0m"
#define DIM "\033[2m"
#define WIDTH 80       /* of a terminal that doesn't tell */
#define WIDTH_MIN 10   /* a narrower one shows less than all of a line */
#define NAME_MIN 12    /* of a mark and a name, also where little is left for a text */
#define PROGRESS_MAX 70
#define CLOCK_MAX 24
#define TURN_MS 100    /* of a spinner */

enum { MARK, NAME, CLOCK, TEXT, FIELDS };

struct row {
	struct field f[FIELDS];
	char clock[CLOCK_MAX]; /* as shown */
};

/* --- taking -------------------------------------------------------------------------- */

static void take_field(struct buf *given, const char *s, size_t n)
{
	struct buf clean = BUF_INIT;

	text_clean(&clean, s, n);
	redact_buf(&clean);
	for (size_t i = 0; i < clean.len; i++)
		if ((unsigned char)clean.data[i] < ' ')
			clean.data[i] = ' ';
	buf_add(given, clean.data, clean.len);
	buf_release(&clean);
}

void block_text_take(struct buf *given, const char *line)
{
	for (int i = 0; i < FIELDS; i++) {
		const char *end = strchr(line, BLOCK_US);
		size_t n = end ? (size_t)(end - line) : strlen(line);

		if (i > 0)
			buf_add_char(given, BLOCK_US);
		take_field(given, line, n);
		if (!end)
			break;
		line = end + 1;
	}
	buf_add_char(given, '\0');
}

/* --- clocks --------------------------------------------------------------------------- */

static void write_duration(struct buf *out, int64_t seconds)
{
	if (seconds < 60)
		buf_add_fmt(out, "%llds", (long long)seconds);
	else if (seconds < 3600)
		buf_add_fmt(out, "%lldm %02llds", (long long)(seconds / 60), (long long)(seconds % 60));
	else
		buf_add_fmt(out, "%lldh %02lldm", (long long)(seconds / 3600), (long long)(seconds / 60 % 60));
}

static void until(struct block_text *t, int64_t ms)
{
	t->next_ms = t->next_ms < 0 ? ms : MIN_OF(t->next_ms, ms);
}

/* "+MS" counts up, "-MS" down, "=MS" stands; anything else shows nothing. */
static void read_clock(struct block_text *t, struct row *row, int64_t ran_ms, int64_t passed_ms)
{
	const struct field *f = &row->f[CLOCK];
	struct buf out = BUF_INIT;
	int64_t ms = f->n > 1 ? MAX_OF(strtoll(f->s + 1, NULL, 10), 0) : 0;
	char kind = f->n > 1 ? f->s[0] : '\0';

	ms = MIN_OF(ms, DURATION_MAX_MS);
	if (kind == '+') {
		ms += ran_ms;
		write_duration(&out, ms / 1000);
		until(t, 1000 - ms % 1000);
	} else if (kind == '-') {
		ms = MAX_OF(ms - passed_ms, 0);
		buf_add_str(&out, "in ");
		write_duration(&out, (ms + 999) / 1000);
		if (ms > 0)
			until(t, (ms - 1) % 1000 + 1);
	} else if (kind == '=' && ms < 10000) {
		buf_add_fmt(&out, "%lld.%llds", (long long)(ms / 1000), (long long)(ms % 1000 / 100));
	} else if (kind == '=') {
		write_duration(&out, ms / 1000);
	}
	memcpy(row->clock, buf_cstr(&out), MIN_OF(out.len, sizeof(row->clock) - 1));
	buf_release(&out);
}

/* --- a line ----------------------------------------------------------------------------- */

/* A line that is being written, and the columns that are left on it. */
struct pen {
	struct buf *out;
	size_t left, used;
};

/* As much of the text as fits, … where something is missing. */
static void put(struct pen *p, struct field text)
{
	size_t n = columns_cut(text, p->left), w;

	if (n < text.n && p->left > 0)
		n = columns_cut(text, p->left - 1);
	buf_add(p->out, text.s, n);
	w = columns_width((struct field){ .s = text.s, .n = n });
	if (n < text.n && p->left > 0)
		buf_add_str(p->out, "…"), w++;
	p->left -= MIN_OF(w, p->left);
	p->used += w;
}

static void put_padded(struct pen *p, struct field text, size_t width)
{
	struct pen part = { p->out, MIN_OF(width, p->left), 0 };

	put(&part, text);
	for (; part.used < width && part.used < p->left; part.used++)
		buf_add_char(p->out, ' ');
	p->left -= MIN_OF(part.used, p->left);
	p->used += part.used;
}

static void put_str(struct pen *p, const char *s)
{
	put(p, (struct field){ .s = s, .n = strlen(s) });
}

/* A text that begins with a spinner (U+2800 to U+28FF) turns as long as it is shown. */
static void put_text(struct block_text *t, struct pen *p, struct field text)
{
	static const char *const spinner[] = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" };
	const unsigned char *s = (const unsigned char *)text.s;

	if (text.n >= 3 && s[0] == 0xE2 && s[1] >= 0xA0 && s[1] <= 0xA3) {
		put_str(p, spinner[t->turn % (int64_t)ARRAY_LEN(spinner)]);
		text.s += 3, text.n -= 3;
		until(t, TURN_MS);
	}
	put(p, text);
}

static const char *color_of(struct field mark)
{
	static const struct {
		char letter;
		const char *sequence;
	} colors[] = { { 'g', "\033[32m" }, { 'r', "\033[1;31m" }, { 'y', "\033[33m" }, { 'c', "\033[36m" }, { 'd', DIM } };

	for (size_t i = 0; i < ARRAY_LEN(colors) && mark.n > 0; i++)
		if (colors[i].letter == mark.s[0])
			return colors[i].sequence;
	return "";
}

static void put_mark(struct pen *p, struct field mark)
{
	const char *color = color_of(mark);

	buf_add_str(p->out, color);
	if (mark.n > 0)
		put(p, (struct field){ .s = mark.s + 1, .n = mark.n - 1 });
	buf_add_str(p->out, *color ? PLAIN : "");
}

/* The widest of a column, for padding: the mark with the name, and the clock. */
struct widths {
	size_t name, clock;
};

/* Without the letter of its colour. */
static size_t mark_width(const struct row *row)
{
	const struct field *mark = &row->f[MARK];

	return mark->n > 0 ? columns_width((struct field){ .s = mark->s + 1, .n = mark->n - 1 }) + 1 : 0;
}

/* A note has no name and no clock: its text stands behind the mark. */
static void put_row(struct block_text *t, struct pen *p, const struct row *row, const struct widths *w)
{
	struct field clock = { .s = row->clock, .n = strlen(row->clock) };

	put_mark(p, row->f[MARK]);
	put_str(p, " ");
	if (row->f[NAME].n == 0 && clock.n == 0) {
		put_text(t, p, row->f[TEXT]);
		return;
	}
	put_padded(p, row->f[NAME], MAX_OF(w->name, p->used) - p->used);
	if (w->clock > 0) {
		put_str(p, "  ");
		buf_add_str(p->out, DIM);
		put_padded(p, clock, w->clock);
		buf_add_str(p->out, PLAIN);
	}
	if (row->f[TEXT].n > 0) {
		put_str(p, "  ");
		put_text(t, p, row->f[TEXT]);
	}
}

/* --- all of them ------------------------------------------------------------------------ */

/* Returns where the next line begins. A line without fields is nothing but text. */
static const char *read_row(struct row *row, const char *line, bool *plain)
{
	*row = (struct row){ .clock = "" };
	*plain = !strchr(line, BLOCK_US);
	for (int i = *plain ? TEXT : MARK; i < FIELDS; i++) {
		size_t n = strcspn(line, "\x1f");

		row->f[i] = (struct field){ .s = line, .n = n };
		line += n;
		if (*line != BLOCK_US)
			break;
		line++;
	}
	return line + strlen(line) + 1;
}

/* How many lines there are. */
static int measure(struct block_text *t, const struct buf *given, int64_t ran_ms, int64_t passed_ms,
                   struct widths *w)
{
	int count = 0;

	for (const char *s = given->data; s && s < given->data + given->len; count++) {
		struct row row;
		bool plain;

		s = read_row(&row, s, &plain);
		read_clock(t, &row, ran_ms, passed_ms);
		w->name = MAX_OF(w->name, mark_width(&row) + columns_width(row.f[NAME]));
		w->clock = MAX_OF(w->clock, strlen(row.clock));
	}
	return count;
}

/* Two fifths of the line at most, but on a narrow one what the clock leaves. */
static size_t name_width(const struct widths *w, size_t columns)
{
	size_t beside = columns - MIN_OF(w->clock + 2, columns);

	return MIN_OF(w->name, MAX_OF(columns * 2 / 5, MIN_OF(beside, (size_t)NAME_MIN)));
}

static void end_line(struct block_text *t, const struct pen *p)
{
	buf_add_char(&t->lines, '\0');
	t->width[t->count++] = p->used;
}

static void add_rest(struct block_text *t, size_t columns, int count)
{
	struct pen p = { &t->lines, columns, 0 };
	struct buf text = BUF_INIT;

	buf_add_fmt(&text, "… %d more", count);
	put_str(&p, buf_cstr(&text));
	end_line(t, &p);
	buf_release(&text);
}

void block_text_compose(struct block_text *t, const struct buf *given, size_t columns, int most,
                        int64_t ran_ms, int64_t passed_ms)
{
	struct widths w = { 0, 0 };
	const char *s = given->data;
	int count;

	t->count = 0;
	t->next_ms = -1;
	buf_clear(&t->lines);
	columns = (columns == 0 ? WIDTH : MAX_OF(columns, (size_t)WIDTH_MIN)) - 1;
	count = measure(t, given, ran_ms, passed_ms, &w);
	w.name = name_width(&w, columns);
	while (t->count < count && t->count < (count > most ? most - 1 : most)) {
		struct pen p = { &t->lines, columns, 0 };
		struct row row;
		bool plain;

		s = read_row(&row, s, &plain);
		read_clock(t, &row, ran_ms, passed_ms);
		if (plain)
			p.left = MIN_OF(columns, (size_t)PROGRESS_MAX), put_text(t, &p, row.f[TEXT]);
		else
			put_row(t, &p, &row, &w);
		end_line(t, &p);
	}
	if (count > t->count)
		add_rest(t, columns, count - t->count);
}
