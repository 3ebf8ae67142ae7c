/*
 * channel.c: frames to the supervisor, from C and from Lua. Runs in the worker;
 * it knows the table of frames and nothing of what they mean.
 */
#include "channel.h"

#include <errno.h>
#include <lauxlib.h>
#include <string.h>

#include "../common/frame.h"
#include "../common/rest.h"
#include "../common/xio.h"
#include "../engine/os.h"
#include "masker.h"
#include "picture.h"
#include "profile.h"
#include "scratch.h"
#include "worker_launch.h"

#define ANSWER_MS 1000
#define SECRETS_MS 30000 /* … of what may not be passed over */

static struct buf held = BUF_INIT; /* frames to send with the next one */

/* The last field of a frame, if it is long: it is written from where it is. */
struct last {
	enum field_id id;
	const char *s;
	size_t n; /* 0: there is none */
};

/* Write one encoded frame. 0, or -1 when no process reads. */
static int send_frame(const struct buf *frame)
{
	int status;

	if (held.len == 0)
		return xwrite_all(worker_launch()->frame_fd, frame->data, frame->len);
	buf_add(&held, frame->data, frame->len);
	status = held.failed ? -1 : xwrite_all(worker_launch()->frame_fd, held.data, held.len);
	buf_clear(&held);
	return status;
}

void channel_fail(const char *code, const char *message)
{
	struct buf out = BUF_INIT;
	size_t start = frame_begin(&out, FRAME_RESULT);

	frame_add_int(&out, F_ok, 0);
	frame_add_bytes(&out, F_code, code, strlen(code));
	frame_add_bytes(&out, F_message, message, strlen(message));
	if (frame_end(&out, start) == 0)
		send_frame(&out);
	buf_release(&out);
}

void channel_hold(int change)
{
	struct buf out = BUF_INIT;
	size_t start = frame_begin(&out, FRAME_HOLD);

	frame_add_int(&out, F_change, change);
	if (frame_end(&out, start) == 0)
		send_frame(&out);
	buf_release(&out);
}

/* Wait for the byte by which the supervisor answers: one that can't must not hold the command. '\0': there is none. */
static char await_answer(int64_t ms)
{
	struct pollfd answer = { .fd = worker_launch()->frame_fd, .events = POLLIN };
	mono_t until = mono_add_ms(mono_now(), ms);
	int ready;
	char byte = '\0';

	do
		ready = rest_poll(&answer, 1, until, NULL);
	while (ready < 0 && errno == EINTR && mono_now() < until);
	if (ready == 1)
		(void)!xread(answer.fd, &byte, 1);
	return byte;
}

int channel_terminal(int change, const void *bytes, size_t n)
{
	struct buf out = BUF_INIT;
	size_t start = frame_begin(&out, FRAME_TERMINAL);
	int status;

	if (change)
		frame_add_int(&out, F_change, change);
	else
		frame_add_bytes(&out, F_text, bytes, n);
	status = frame_end(&out, start) == 0 ? send_frame(&out) : -1;
	buf_release(&out);
	if (change && status == 0)
		await_answer(ANSWER_MS);
	return status;
}

static int send_secret(const void *value, size_t n, bool last)
{
	struct buf out = BUF_INIT;
	size_t start = frame_begin(&out, FRAME_SECRETS);
	int status;

	if (last)
		frame_add_int(&out, F_change, 1);
	else
		frame_add_bytes(&out, F_text, value, n);
	status = frame_end(&out, start) == 0 ? send_frame(&out) : -1;
	if (out.data)
		explicit_bzero(out.data, out.len);
	buf_release(&out);
	return status;
}

int channel_secret(const void *value, size_t n)
{
	return worker_launch()->supervisor == 0 ? 0 : send_secret(value, n, false);
}

int channel_secrets_end(void)
{
	mono_t until = mono_add_ms(mono_now(), SECRETS_MS);
	char answer;

	if (worker_launch()->supervisor == 0) /* a test of ours */
		return 0;
	if (send_secret(NULL, 0, true) < 0)
		return -1;
	do /* one for TERMINAL may have come late */
		answer = await_answer(SECRETS_MS);
	while (answer == '\0' && mono_now() < until);
	return answer == '+' ? 0 : -1;
}

void channel_warn_busy(const struct rest_cause *cause)
{
	struct buf out = BUF_INIT, context = BUF_INIT;
	size_t start = frame_begin(&out, FRAME_WARN);

	rest_describe(cause, "worker", &context);
	frame_add_bytes(&out, F_code, REST_CODE, strlen(REST_CODE));
	frame_add_bytes(&out, F_message, REST_MESSAGE, strlen(REST_MESSAGE));
	frame_add_bytes(&out, F_context, context.data, context.len);
	if (frame_end(&out, start) == 0)
		send_frame(&out);
	buf_release(&out);
	buf_release(&context);
}

void channel_printed(const char *place)
{
	struct buf out = BUF_INIT;
	size_t start = frame_begin(&out, FRAME_WARN);

	frame_add_bytes(&out, F_code, PRINTED_CODE, strlen(PRINTED_CODE));
	frame_add_bytes(&out, F_message, place, strlen(place));
	if (frame_end(&out, start) == 0)
		send_frame(&out);
	buf_release(&out);
}

void channel_guard(void)
{
	static bool asked;
	const struct launch *launch = worker_launch();
	struct buf out = BUF_INIT;
	size_t start;

	if (asked || launch->supervisor == 0)
		return;
	asked = true;
	os_mark(launch->mark); /* best effort */
	start = frame_begin(&out, FRAME_GUARD);
	if (!launch->guarded && frame_end(&out, start) == 0 && send_frame(&out) == 0)
		await_answer(ANSWER_MS);
	buf_release(&out);
}

int channel_detach(pid_t pid)
{
	struct buf out = BUF_INIT;
	size_t start = frame_begin(&out, FRAME_DETACH);
	int status;

	frame_add_int(&out, F_pid, pid);
	status = frame_end(&out, start) == 0 ? send_frame(&out) : -1;
	buf_release(&out);
	return status;
}

static void add_list(lua_State *L, struct buf *out, enum field_id id)
{
	struct buf *list = scratch_push(L);

	for (lua_Integer i = 1; i <= (lua_Integer)lua_rawlen(L, -2); i++) {
		size_t n;
		const char *s;

		lua_rawgeti(L, -2, i);
		s = luaL_checklstring(L, -1, &n);
		buf_add(list, s, strlen(s) + 1);
		lua_pop(L, 1);
	}
	frame_add_bytes(out, id, list->data, list->len);
	scratch_release(list);
	lua_pop(L, 1);
}

/* Stack: …, value. Add it as the field's type requires; the first one that is long becomes the last. */
static void add_field(lua_State *L, struct buf *out, enum field_id id, enum field_type type, struct last *last)
{
	size_t n;
	const char *s;

	switch (type) {
	case FIELD_INT:
		frame_add_int(out, id, lua_isboolean(L, -1) ? lua_toboolean(L, -1)
		                                            : luaL_checkinteger(L, -1));
		return;
	case FIELD_LIST:
		luaL_checktype(L, -1, LUA_TTABLE);
		add_list(L, out, id);
		return;
	default:
		s = scratch_text(L, -1, &n);
		if (n < FRAME_LONG || last->n > 0)
			frame_add_bytes(out, id, s, n);
		else
			*last = (struct last){ id, s, n };
	}
}

/* A lost PLAN or WARN would change the answer, so a failed send must not go
 * unnoticed. The script sees an ordinary error. */
static int raise_unsent(lua_State *L)
{
	return luaL_error(L, "can't reach the supervisor: %s", strerror(errno));
}

void channel_send(lua_State *L, const struct buf *frame)
{
	errno = ENOMEM;
	if (frame->failed || send_frame(frame) < 0)
		raise_unsent(L);
}

static int send_or_hold(const struct buf *frame, const struct last *last, bool hold)
{
	if (!hold && last->n == 0)
		return send_frame(frame);
	if (!hold)
		return send_frame(frame) < 0 ? -1 : xwrite_all(worker_launch()->frame_fd, last->s, last->n);
	buf_add(&held, frame->data, frame->len);
	buf_add(&held, last->s, last->n);
	return held.failed ? -1 : 0;
}

/* send(kind, fields[, more]): true | nil, message when it is too large. A text may be a buffer (scratch.h). `more` is
 * true when another frame follows before any code but ours runs: both go in one
 * write, which wakes the supervisor once. Raises for an unknown kind or field, which
 * is a bug of ours. */
static int l_send(lua_State *L)
{
	int kind = frame_kind_find(luaL_checkstring(L, 1));
	bool more = lua_toboolean(L, 3);
	struct last last = { .n = 0 };
	struct buf *out;
	size_t start;

	luaL_argcheck(L, kind > 0, 1, "no such frame");
	lua_settop(L, 2);
	if (kind == FRAME_STEP || kind == FRAME_PROGRESS)
		picture_begin(L);
	out = scratch_push(L);
	start = frame_begin(out, (enum frame_kind)kind);
	for (lua_pushnil(L); lua_istable(L, 2) && lua_next(L, 2); lua_pop(L, 1)) {
		enum field_type type;
		int id = frame_field_find((enum frame_kind)kind, lua_tostring(L, -2), &type);

		if (id < 0)
			return luaL_error(L, "frame %s has no field %s", lua_tostring(L, 1),
			                  lua_tostring(L, -2));
		add_field(L, out, (enum field_id)id, type, &last);
	}
	if (last.n > 0)
		frame_add_last(out, last.id, last.n);
	errno = ENOMEM;
	if (out->failed)
		return raise_unsent(L);
	if (frame_end_ahead(out, start, last.n) < 0) {
		scratch_release(out);
		lua_pushnil(L);
		lua_pushliteral(L, "the frame is too large");
		return 2;
	}
	if (send_or_hold(out, &last, more) < 0)
		return raise_unsent(L);
	scratch_release(out);
	if (profile_on())
		profile_sent(L, kind);
	lua_pushboolean(L, 1);
	return 1;
}

static int l_hold(lua_State *L)
{
	channel_hold((int)luaL_checkinteger(L, 1));
	return 0;
}

static const luaL_Reg functions[] = {
	{ "hold", l_hold },
	{ "send", l_send },
	{ NULL, NULL },
};

void channel_register(lua_State *L)
{
	luaL_setfuncs(L, functions, 0);
	masker_register(L);
}
