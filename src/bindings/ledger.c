/*
 * ledger.c: require "runner.ledger": the audit ledger of a project (src/engine/ledger.h).
 *
 *   append(path, object, sync)   true; nil, message
 *   digest(text)                 SHA-256 in lower-case hexadecimal
 *   user()                       the number of the real user, and the name that it has; nil: none
 */
#include "../engine/ledger.h"

#include <lauxlib.h>
#include <pwd.h>
#include <unistd.h>

#include "../common/sha256.h"
#include "bindings.h"

static int append(lua_State *L)
{
	size_t n;
	const char *path = luaL_checkstring(L, 1), *object = luaL_checklstring(L, 2, &n), *why;

	if (ledger_append(path, object, n, lua_toboolean(L, 3), &why) == 0)
		return lua_pushboolean(L, 1), 1;
	lua_pushnil(L);
	lua_pushstring(L, why);
	return 2;
}

static int digest(lua_State *L)
{
	char hex[SHA256_HEX];
	size_t n;
	const char *text = luaL_checklstring(L, 1, &n);

	sha256_hex(text, n, hex);
	lua_pushstring(L, hex);
	return 1;
}

/* By the kernel: no variable of the environment has a part in it. */
static int user(lua_State *L)
{
	char text[4096];
	struct passwd entry, *found = NULL;

	lua_pushinteger(L, (lua_Integer)getuid());
	if (getpwuid_r(getuid(), &entry, text, sizeof(text), &found) == 0 && found)
		lua_pushstring(L, found->pw_name);
	else
		lua_pushnil(L);
	return 2;
}

static const luaL_Reg functions[] = {
	{ "append", append },
	{ "digest", digest },
	{ "user", user },
	{ NULL, NULL },
};

int luaopen_runner_ledger(lua_State *L)
{
	luaL_newlib(L, functions);
	return 1;
}
