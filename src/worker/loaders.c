/*
 * loaders.c: the loaders of loaders.h. Runs in the worker. What a script loads is
 * checked as its own file was: a file of another user, or in a folder that another
 * user may change, is an error, not skipped. Templates without a leading "/" are
 * removed from package.path and package.cpath, including those from LUA_PATH and
 * LUA_CPATH.
 */
#include "loaders.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdlib.h>
#include <string.h>

#include "members.h"
#include "source.h"

/* --- dofile, loadfile -------------------------------------------------------------- */

static int finish_dofile(lua_State *L, int status, lua_KContext context)
{
	(void)status, (void)context;
	return lua_gettop(L) - 1;
}

/* Upvalue: the standard function, which reads stdin. */
static int l_dofile(lua_State *L)
{
	const char *path = luaL_optstring(L, 1, NULL);

	lua_settop(L, 1);
	if (!path)
		lua_pushvalue(L, lua_upvalueindex(1));
	else if (source_load(L, path, NULL, NULL) != LUA_OK)
		return lua_error(L);
	lua_callk(L, 0, LUA_MULTRET, 0, finish_dofile);
	return finish_dofile(L, LUA_OK, 0);
}

static int l_loadfile(lua_State *L)
{
	const char *path = luaL_optstring(L, 1, NULL), *mode = luaL_optstring(L, 2, NULL);
	bool has_env = !lua_isnone(L, 3);
	int status;

	lua_settop(L, 3);
	status = path ? source_load(L, path, mode, NULL) : luaL_loadfilex(L, NULL, mode);
	if (status != LUA_OK) {
		lua_pushnil(L);
		lua_insert(L, -2);
		return 2;
	}
	if (has_env) {
		lua_pushvalue(L, 3);
		if (!lua_setupvalue(L, -2, 1))
			lua_pop(L, 1);
	}
	return 1;
}

/* --- require ------------------------------------------------------------------------- */

/* Push the next path of a list of templates, with the module's name filled in; NULL at
 * the end. */
static const char *push_candidate(lua_State *L, const char **templates, const char *name)
{
	const char *start = *templates, *end;

	while (*start == ';')
		start++;
	if (*start == '\0')
		return NULL;
	end = strchrnul(start, ';');
	*templates = end;
	lua_pushlstring(L, start, (size_t)(end - start));
	luaL_gsub(L, lua_tostring(L, -1), "?", name);
	lua_remove(L, -2);
	return lua_tostring(L, -1);
}

/* Upvalue: package. Push the field and leave it on the stack. */
static const char *push_templates(lua_State *L, const char *field)
{
	lua_getfield(L, lua_upvalueindex(1), field);
	if (lua_type(L, -1) != LUA_TSTRING)
		luaL_error(L, "'package.%s' must be a string", field);
	return lua_tostring(L, -1);
}

/* Like the standard searcher of Lua files. Upvalue: package. */
static int search_lua(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1);
	const char *templates = push_templates(L, "path");
	const char *file = luaL_gsub(L, name, ".", "/"), *path;
	int tried = 0;

	for (; (path = push_candidate(L, &templates, file)); tried++) {
		bool missing;

		luaL_checkstack(L, 4, "package.path is too long");
		if (source_load(L, path, NULL, &missing) == LUA_OK) {
			lua_insert(L, -2);
			return 2;
		}
		if (!missing)
			return luaL_error(L, "error loading module '%s' from file '%s':\n\t%s", name, path, lua_tostring(L, -1));
		lua_pop(L, 1);
		lua_pushfstring(L, "no file '%s'%s", path, "\n\t");
		lua_replace(L, -2);
	}
	lua_concat(L, tried);
	lua_pushlstring(L, lua_tostring(L, -1), lua_rawlen(L, -1) - (tried ? 2 : 0));
	return 1;
}

#ifdef RUNNER_STATIC
/* Lua of the static build opens no library: say so by name, before it looks. */
NO_RETURN static void refuse_static(lua_State *L, const char *name)
{
	lua_createtable(L, 0, 4);
	members_set_string(L, "code", "COMMAND_INVALID");
	lua_pushfstring(L, "%s is a C module, and this runner is a static build, which loads none", name);
	lua_setfield(L, -2, "message");
	members_set_string(L, "fix_required", "Run the command with the dynamic build of runner, or use a module in Lua");
	members_set_string(L, "suggestion", "The modules that runner brings are there: fs, json, cjson, yaml, runner.*");
	lua_error(L);
	abort();
}
#endif

/* Raise an error if the first C module of that name that can be opened is not trusted. */
static void check_module(lua_State *L, const char *name, const char *file)
{
	int top = lua_gettop(L);
	const char *templates = push_templates(L, "cpath"), *path;
	bool missing = true;

	while (missing && (path = push_candidate(L, &templates, file))) {
		const char *why = source_refuse_module(L, path, &missing);

		if (why)
			luaL_error(L, "error loading module '%s' from file '%s':\n\t%s", name, path, why);
		if (missing)
			lua_settop(L, top + 1);
#ifdef RUNNER_STATIC
		else
			refuse_static(L, lua_pushfstring(L, "'%s' (%s)", name, path));
#endif
	}
	lua_settop(L, top);
}

/* Upvalues: package, the standard searcher, does it look for the root of the name only? */
static int search_c(lua_State *L)
{
	const char *name = luaL_checkstring(L, 1), *file;
	size_t root = strcspn(name, ".");

	lua_settop(L, 1);
	if (!lua_toboolean(L, lua_upvalueindex(3)))
		file = luaL_gsub(L, name, ".", "/");
	else if (name[root])
		file = lua_pushlstring(L, name, root);
	else
		return 0; /* no root of its own: the previous searcher has looked */
	check_module(L, name, file);
	lua_pushvalue(L, lua_upvalueindex(2));
	lua_pushvalue(L, 1);
	lua_call(L, 1, LUA_MULTRET);
	return lua_gettop(L) - 2;
}

/* package.loadlib. Upvalue: the standard one. The system finds a name without "/". */
static int l_loadlib(lua_State *L)
{
	const char *path = luaL_checkstring(L, 1), *why = NULL;
	bool missing;

	luaL_checkstring(L, 2);
	lua_settop(L, 2);
	if (strchr(path, '/'))
		why = source_refuse_module(L, path, &missing);
	if (why) {
		lua_pushnil(L);
		lua_pushfstring(L, "%s: %s", path, why);
		lua_pushliteral(L, "open");
		return 3;
	}
	lua_settop(L, 2);
#ifdef RUNNER_STATIC
	refuse_static(L, path);
#endif
	lua_pushvalue(L, lua_upvalueindex(1));
	lua_insert(L, 1);
	lua_call(L, 2, LUA_MULTRET);
	return lua_gettop(L);
}

/* --- all of them --------------------------------------------------------------------- */

/* Stack: …, package. Keep only templates that begin with "/". */
static void keep_absolute(lua_State *L, const char *field)
{
	const char *templates, *end;
	luaL_Buffer kept;
	bool any = false;

	lua_getfield(L, -1, field);
	templates = lua_tostring(L, -1);
	luaL_buffinit(L, &kept);
	for (; templates && *templates; templates = *end ? end + 1 : end) {
		end = strchrnul(templates, ';');
		if (*templates != '/')
			continue;
		if (any)
			luaL_addchar(&kept, ';');
		luaL_addlstring(&kept, templates, (size_t)(end - templates));
		any = true;
	}
	luaL_pushresult(&kept);
	lua_setfield(L, -3, field);
	lua_pop(L, 1);
}

/* Its searchers are {preload, Lua, C, all in one}. Stack: …, package */
static void replace_searchers(lua_State *L)
{
	int package = lua_gettop(L);

	lua_getfield(L, package, "searchers");
	lua_pushvalue(L, package);
	lua_pushcclosure(L, search_lua, 1);
	lua_rawseti(L, -2, 2);
	for (int i = 3; i <= 4; i++) {
		lua_pushvalue(L, package);
		lua_rawgeti(L, -2, i);
		lua_pushboolean(L, i == 4);
		lua_pushcclosure(L, search_c, 3);
		lua_rawseti(L, -2, i);
	}
	lua_pop(L, 1);
}

void loaders_init(lua_State *L)
{
	lua_getglobal(L, LUA_LOADLIBNAME);
	keep_absolute(L, "path");
	keep_absolute(L, "cpath");
	replace_searchers(L);
	lua_getfield(L, -1, "loadlib");
	lua_pushcclosure(L, l_loadlib, 1);
	lua_setfield(L, -2, "loadlib");
	lua_pop(L, 1);
	lua_getglobal(L, "dofile");
	lua_pushcclosure(L, l_dofile, 1);
	lua_setglobal(L, "dofile");
	lua_pushcfunction(L, l_loadfile);
	lua_setglobal(L, "loadfile");
}
