/*
 * digest.c: require "runner.digest": checksums by libmd, which is opened on first use (dpkg
 * needs it, so every Debian has it). Runs in the worker.
 *
 *   text(algorithm, bytes)   the digest, lower-case hexadecimal
 *   file(algorithm, path)    … of a file's bytes, read piece by piece: of any size
 *
 * An unknown algorithm raises. Failures: nil, message, and the errno's name, or
 * "PRECONDITION" where libmd is missing.
 */
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <stdint.h>
#include <string.h>
#ifdef RUNNER_STATIC
#include <sys/types.h>
#include <md5.h>
#include <sha1.h>
#include <sha2.h>
#endif

#include "../common/xio.h"
#include "../worker/cancel.h"
#include "bindings.h"
#include "fs.h"
#include "library.h"

#define LIBRARY "libmd.so.0"
#define PIECE (64 << 10)
#define CONTEXT_BYTES 512 /* the largest of libmd.so.0, SHA2_CTX, has 208 */
#define DIGEST_MAX 64

/* The functions of one algorithm: md5(3), sha1(3), sha2(3) of libmd. */
struct digest_api {
	void (*Init)(void *context);
	void (*Update)(void *context, const uint8_t *bytes, size_t n);
	void (*Final)(uint8_t *digest, void *context);
};

#define FUNCTIONS(prefix)                                          \
	{                                                          \
		LIBRARY_SYMBOL(struct digest_api, prefix, Init),   \
		LIBRARY_SYMBOL(struct digest_api, prefix, Update), \
		LIBRARY_SYMBOL(struct digest_api, prefix, Final),  \
	}

static struct algorithm {
	const char *name;
	size_t bytes; /* of its digest */
	struct library_symbol symbols[3];
	struct digest_api api;
	void *opened;
} algorithms[] = {
	{ .name = "md5", .bytes = 16, .symbols = FUNCTIONS(MD5) },
	{ .name = "sha1", .bytes = 20, .symbols = FUNCTIONS(SHA1) },
	{ .name = "sha256", .bytes = 32, .symbols = FUNCTIONS(SHA256) },
	{ .name = "sha384", .bytes = 48, .symbols = FUNCTIONS(SHA384) },
	{ .name = "sha512", .bytes = 64, .symbols = FUNCTIONS(SHA512) },
};

struct digest {
	const struct algorithm *of;
	uint64_t context[CONTEXT_BYTES / sizeof(uint64_t)];
};

/* The algorithm that argument 1 names, ready; NULL with nil, message, code pushed. */
static const struct algorithm *open_algorithm(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);

	for (size_t i = 0; i < ARRAY_LEN(algorithms); i++) {
		struct algorithm *a = &algorithms[i];

		if (strcmp(a->name, name) != 0)
			continue;
		if (!a->opened)
			a->opened = library_open(LIBRARY, a->symbols, ARRAY_LEN(a->symbols), &a->api);
		if (a->opened)
			return a;
		lua_pushnil(L);
		lua_pushfstring(L, "Can't load libmd: %s", library_why(LIBRARY " lacks a function that runner needs"));
		lua_pushliteral(L, "PRECONDITION");
		return NULL;
	}
	luaL_argerror(L, 1, lua_pushfstring(L, "'%s' is not md5, sha1, sha256, sha384 or sha512", name));
	return NULL;
}

static void begin(struct digest *d, const struct algorithm *of)
{
	d->of = of;
	of->api.Init(d->context);
}

static int push_hex(lua_State *L, struct digest *d)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t bytes[DIGEST_MAX];
	char hex[2 * DIGEST_MAX];

	d->of->api.Final(bytes, d->context);
	for (size_t i = 0; i < d->of->bytes; i++) {
		hex[2 * i] = digits[bytes[i] >> 4];
		hex[2 * i + 1] = digits[bytes[i] & 15];
	}
	lua_pushlstring(L, hex, 2 * d->of->bytes);
	return 1;
}

static int digest_text(lua_State *L)
{
	size_t n;
	const char *text = luaL_checklstring(L, 2, &n);
	const struct algorithm *algorithm = open_algorithm(L);
	struct digest d;

	if (!algorithm)
		return 3;
	begin(&d, algorithm);
	algorithm->api.Update(d.context, (const uint8_t *)text, n);
	return push_hex(L, &d);
}

/* 0; -1 with errno. */
static int take_file(int fd, struct digest *d)
{
	uint8_t piece[PIECE];
	ssize_t n;

	while ((n = xread(fd, piece, sizeof(piece))) > 0) {
		d->of->api.Update(d->context, piece, (size_t)n);
		if (cancel_pending()) {
			errno = ECANCELED;
			return -1;
		}
	}
	return n < 0 ? -1 : 0;
}

static int digest_file(lua_State *L)
{
	const char *path = fs_path(L, 2);
	const struct algorithm *algorithm = open_algorithm(L);
	struct digest d;
	int fd, status, number;

	if (!algorithm)
		return 3;
	fd = xopen(path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return fs_fail(L, "read", path, NULL);
	begin(&d, algorithm);
	status = take_file(fd, &d);
	number = errno;
	xclose(&fd);
	errno = number;
	return status < 0 ? fs_fail(L, "read", path, NULL) : push_hex(L, &d);
}

static const luaL_Reg functions[] = {
	{ "file", digest_file },
	{ "text", digest_text },
	{ NULL, NULL },
};

int luaopen_runner_digest(lua_State *L)
{
	luaL_newlib(L, functions);
	return 1;
}
