/*
 * tested.c: the test's clock in the standard library, and the hook that notes lines (tested.h). Runs
 * in the worker of a call that a test makes, and in no other.
 */
#include "tested.h"

#include <lauxlib.h>
#include <lualib.h>
#include <string.h>

#include "../engine/test_page.h"

/* --- time ------------------------------------------------------------------------------ */

static lua_Integer now_s(void)
{
	struct timespec wall;

	wall_now(&wall);
	return (lua_Integer)wall.tv_sec;
}

/* Call the standard function, the upvalue, with all arguments. */
static int pass_on(lua_State *L)
{
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
	return lua_gettop(L);
}

static int l_time(lua_State *L)
{
	if (!lua_isnoneornil(L, 1))
		return pass_on(L);
	lua_pushinteger(L, now_s());
	return 1;
}

static int l_date(lua_State *L)
{
	if (lua_isnoneornil(L, 2)) {
		lua_settop(L, 1);
		if (lua_isnil(L, 1)) {
			lua_pushliteral(L, "%c");
			lua_replace(L, 1);
		}
		lua_pushinteger(L, now_s());
	}
	return pass_on(L);
}

static void replace(lua_State *L, const char *name, lua_CFunction with)
{
	lua_getfield(L, -1, name);
	lua_pushcclosure(L, with, 1);
	lua_setfield(L, -2, name);
}

/* --- lines ------------------------------------------------------------------------------ */

static bool is_below(const char *path, const char *root)
{
	size_t n = strlen(root);

	return n > 0 && strncmp(path, root, n) == 0 && path[n] == '/';
}

/* The row of a path; NULL: its lines are not noted. */
static struct test_file *row_of(const char *path)
{
	struct test_page *page = test_page();

	if (!is_below(path, page->root) || strlen(path) >= TEST_PAGE_PATH)
		return NULL;
	for (int i = 0; i < TEST_PAGE_FILES; i++) {
		struct test_file *file = &page->files[i];

		if (file->path[0] == '\0')
			strcpy(file->path, path); /* attempts come one after another */
		if (strcmp(file->path, path) == 0)
			return file;
	}
	return NULL;
}

/* The source of a function stays where it is as long as the function: comparing the pointer alone could
 * mistake a new chunk for a dead one, so the path is compared, too. */
static void note_line(lua_State *L, lua_Debug *ar)
{
	static struct test_file *row;
	int line = ar->currentline;

	if (!lua_getinfo(L, "S", ar) || ar->source[0] != '@' || line < 1 || line > TEST_PAGE_LINES)
		return;
	if (!row || strcmp(row->path, ar->source + 1) != 0)
		row = row_of(ar->source + 1);
	if (row)
		row->ran[(line - 1) / 8] |= (uint8_t)(1 << (line - 1) % 8);
}

void tested_init(lua_State *L)
{
	lua_getglobal(L, LUA_OSLIBNAME);
	replace(L, "time", l_time);
	replace(L, "date", l_date);
	lua_pop(L, 1);
	if (test_page()->root[0])
		lua_sethook(L, note_line, LUA_MASKLINE, 0);
}
