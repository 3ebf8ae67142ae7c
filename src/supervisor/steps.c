/*
 * steps.c: the steps of an attempt. Kept in the supervisor, so that even after a
 * timeout or a crash the answer says how far the command got
 * (REQ-F-012, REQ-C-008; docs/design.md#partial-results).
 */
#include "steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find_or_add(struct steps *s, const char *name)
{
	for (int i = 0; i < s->count; i++)
		if (strcmp(s->row[i].name, name) == 0)
			return i;
	if (s->count == STEPS_MAX || !*name)
		return -1;
	if (!s->row && !(s->row = calloc(STEPS_MAX, sizeof(*s->row))))
		return -1;
	snprintf(s->row[s->count].name, STEP_NAME, "%s", name);
	s->row[s->count].state = STEP_PENDING;
	return s->count++;
}

void steps_release(struct steps *s)
{
	free(s->row);
	*s = (struct steps){ 0 };
}

void steps_declare(struct steps *s, const struct frame *plan)
{
	const char *name;
	char clipped[STEP_NAME];
	size_t at = 0;

	while ((name = frame_list_next(plan, F_steps, &at))) {
		snprintf(clipped, sizeof(clipped), "%s", name);
		find_or_add(s, clipped);
	}
	s->declared = s->count;
	s->resumable = frame_has(plan, F_state);
}

void steps_finish(struct steps *s)
{
	for (int i = 0; i < s->count; i++)
		if (s->row[i].state == STEP_RUNNING) {
			s->row[i].state = STEP_COMPLETED;
			s->row[i].took_ms = mono_elapsed_ms(s->row[i].since, mono_now() - s->paused);
		}
}

void steps_take(struct steps *s, const struct frame *f)
{
	char name[STEP_NAME], state[16];
	int at = find_or_add(s, frame_copy(f, F_name, name, sizeof(name)));

	if (at < 0)
		return;
	if (strcmp(frame_copy(f, F_state, state, sizeof(state)), "skipped") == 0) {
		s->row[at].state = STEP_SKIPPED;
		return;
	}
	steps_finish(s);
	s->row[at].state = STEP_RUNNING;
	s->row[at].since = mono_now() - s->paused;
}

static void write_names(const struct steps *s, enum step_state state, struct json_writer *w)
{
	for (int i = 0; i < s->count; i++)
		if (s->row[i].state == state)
			json_cstr(w, s->row[i].name);
}

void steps_names(const struct steps *s, enum step_state state, struct json_writer *w)
{
	json_begin_array(w);
	write_names(s, state, w);
	json_end_array(w);
}

const char *steps_running(const struct steps *s)
{
	for (int i = 0; i < s->count; i++)
		if (s->row[i].state == STEP_RUNNING)
			return s->row[i].name;
	return NULL;
}

void steps_members(const struct steps *s, struct json_writer *w)
{
	const char *failed = steps_running(s);

	json_key(w, "completed_steps");
	steps_names(s, STEP_COMPLETED, w);
	json_key(w, "failed_step");
	json_cstr(w, failed);
	json_key(w, "pending_steps");
	json_begin_array(w);
	write_names(s, STEP_RUNNING, w);
	write_names(s, STEP_PENDING, w);
	json_end_array(w);
	json_key(w, "skipped_steps");
	steps_names(s, STEP_SKIPPED, w);
}

/* The first declared step that is neither completed nor skipped; NULL where that is the beginning. */
static const char *resume_from(const struct steps *s)
{
	int i = 0;

	while (i < s->declared && (s->row[i].state == STEP_COMPLETED || s->row[i].state == STEP_SKIPPED))
		i++;
	return i > 0 && i < s->declared ? s->row[i].name : NULL;
}

void steps_of_failure(const struct steps *s, struct json_writer *w)
{
	const char *from = s->resumable ? resume_from(s) : NULL;

	steps_members(s, w);
	if (from) {
		json_key(w, "resume_from");
		json_cstr(w, from);
	}
}
