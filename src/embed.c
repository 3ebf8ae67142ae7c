/*
 * embed.c: a build tool that compiles Lua files to chunks and writes them as one
 * C table. It keeps line numbers and function names, which tracebacks show, and
 * drops the names of locals and upvalues: half of all strings to load.
 *
 *   embed OUT.c lua/boot.lua lua/commands/help.lua …
 *
 * A chunk is named by its path without the first folder and its extension. Files below
 * lua/types, and those that are not Lua, are data and are embedded unchanged.
 */
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sink {
	FILE *out;
	size_t size;
};

static void write_bytes(struct sink *sink, const unsigned char *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		fprintf(sink->out, "%u,%s", bytes[i], (sink->size + i) % 24 == 23 ? "\n" : "");
	sink->size += n;
}

/* --- a chunk without its local names: the order of ldump.c (Lua 5.4) ---------------- */

#define HEADER_SIZE 31 /* signature, version, format, data, sizes, two numbers */

struct chunk {
	const unsigned char *at; /* the next byte; lengths in it are trusted, since Lua wrote them */
	struct sink *sink;       /* NULL: read without writing */
};

static void copy_bytes(struct chunk *c, size_t n)
{
	if (c->sink)
		write_bytes(c->sink, c->at, n);
	c->at += n;
}

/* 7 bits a byte, most significant first; the high bit marks the last byte. */
static size_t copy_size(struct chunk *c)
{
	const unsigned char *start = c->at;
	size_t v = 0, n = 0;

	do
		v = v << 7 | (start[n] & 0x7f);
	while (!(start[n++] & 0x80));
	copy_bytes(c, n);
	return v;
}

static void copy_string(struct chunk *c)
{
	size_t size = copy_size(c); /* of the string, plus 1; 0: none */

	copy_bytes(c, size ? size - 1 : 0);
}

static void copy_constant(struct chunk *c)
{
	unsigned char type = *c->at & 0x0f;

	if (type == LUA_TNUMBER) {
		copy_bytes(c, 1 + sizeof(lua_Number));
		return;
	}
	copy_bytes(c, 1);
	if (type == LUA_TSTRING)
		copy_string(c);
}

/* Replace a list of names, each followed by `sizes` numbers, with an empty list. */
static void skip_names(struct chunk *c, int sizes)
{
	static const unsigned char none = 0x80;
	struct chunk unseen = { c->at, NULL };

	for (size_t n = copy_size(&unseen); n > 0; n--) {
		copy_string(&unseen);
		for (int i = 0; i < sizes; i++)
			copy_size(&unseen);
	}
	c->at = unseen.at;
	write_bytes(c->sink, &none, 1);
}

static void copy_function(struct chunk *c)
{
	copy_string(c); /* source */
	copy_size(c);   /* lines */
	copy_size(c);
	copy_bytes(c, 3); /* parameters, vararg, stack */
	copy_bytes(c, copy_size(c) * 4); /* instructions */
	for (size_t n = copy_size(c); n > 0; n--)
		copy_constant(c);
	copy_bytes(c, copy_size(c) * 3); /* upvalues */
	for (size_t n = copy_size(c); n > 0; n--)
		copy_function(c);
	copy_bytes(c, copy_size(c)); /* line steps */
	for (size_t n = 2 * copy_size(c); n > 0; n--)
		copy_size(c); /* absolute lines */
	skip_names(c, 2); /* local variables, and where each is in scope */
	skip_names(c, 0); /* upvalues */
}

/* --- the table ------------------------------------------------------------------------ */

static int add_bytes(lua_State *L, const void *bytes, size_t n, void *data)
{
	(void)L;
	return fwrite(bytes, 1, n, data) != n;
}

/* Write the function on the stack as a chunk. 0, or -1 when its format is unknown. */
static int write_chunk(lua_State *L, struct sink *sink)
{
	char *whole = NULL;
	size_t size = 0;
	FILE *dump = open_memstream(&whole, &size);
	struct chunk c = { NULL, sink };

	if (!dump)
		return -1;
	lua_dump(L, add_bytes, dump, 0);
	fclose(dump);
	c.at = (const unsigned char *)whole;
	if (size > HEADER_SIZE && whole[4] == 0x54) {
		copy_bytes(&c, HEADER_SIZE + 1); /* and the number of upvalues */
		copy_function(&c);
	}
	size -= (size_t)(c.at - (const unsigned char *)whole);
	free(whole);
	return size == 0 ? 0 : -1;
}

/* Write the bytes of a file unchanged. 0 or -1. */
static int write_file(const char *path, struct sink *sink)
{
	unsigned char bytes[4096];
	FILE *in = fopen(path, "rb");
	size_t n;
	int bad;

	if (!in)
		return -1;
	while ((n = fread(bytes, 1, sizeof(bytes), in)) > 0)
		write_bytes(sink, bytes, n);
	bad = ferror(in);
	fclose(in);
	return bad ? -1 : 0;
}

static int embed_data(FILE *out, const char *path, size_t *size)
{
	struct sink sink = { out, 0 };

	if (write_file(path, &sink) < 0) {
		perror(path);
		return -1;
	}
	*size = sink.size;
	return 0;
}

static int embed_file(lua_State *L, FILE *out, const char *path, size_t *size)
{
	struct sink sink = { out, 0 };

	if (strncmp(path, "lua/types/", strlen("lua/types/")) == 0 || strcmp(strrchr(path, '.'), ".lua") != 0)
		return embed_data(out, path, size);
	if (luaL_loadfilex(L, path, "t") != LUA_OK) {
		fprintf(stderr, "%s\n", lua_tostring(L, -1));
		return -1;
	}
	if (write_chunk(L, &sink) < 0) {
		fprintf(stderr, "%s: can't read its chunk: is this Lua 5.4?\n", path);
		return -1;
	}
	lua_settop(L, 0);
	*size = sink.size;
	return 0;
}

/* The name of a chunk: its bytes are not ended by a NUL. */
static int name_of(const char *path, const char **name)
{
	const char *slash = strchr(path, '/');

	*name = slash ? slash + 1 : path;
	return (int)(strrchr(*name, '.') - *name);
}

/* What a plain run loads, whose chunks are side by side: each 64 KiB of the binary that are read cost a fault.
 * tests/cli/borders.bats compares. */
static const char *const first[] = {
	"boot", "core/attempt", "core/rules", "ctx/context", "declare/arguments", "declare/command", "declare/values",
	"project/args", "project/loader", "project/locate", "project/plan", "project/settings",
};

static bool is_first(const char *path)
{
	const char *name;
	size_t n = (size_t)name_of(path, &name);

	for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
		if (strlen(first[i]) == n && memcmp(first[i], name, n) == 0)
			return true;
	return false;
}

struct place {
	size_t at, size;
};

/* 0 or -1 */
static int embed_files(lua_State *L, FILE *out, char **paths, int count, struct place *places)
{
	size_t at = 0;

	for (int others = 0; others < 2; others++) {
		for (int i = 0; i < count; i++) {
			if (is_first(paths[i]) == (others > 0))
				continue;
			if (embed_file(L, out, paths[i], &places[i].size) < 0)
				return -1;
			places[i].at = at;
			at += places[i].size;
		}
	}
	return 0;
}

/* The table has offsets and no pointers: those would have to be relocated at every start. */
static void write_table(FILE *out, char **paths, int count, const struct place *places)
{
	size_t name_at = 0;
	const char *name;

	fputs("};\nconst char embedded_names[] =\n", out);
	for (int i = 0; i < count; i++) {
		int n = name_of(paths[i], &name);
		fprintf(out, "\t\"%.*s\\0\"\n", n, name);
	}
	fputs("\t;\nstruct embedded_chunk { unsigned name, at, size; };\n"
	      "extern const struct embedded_chunk embedded_chunks[];\n"
	      "extern const size_t embedded_chunk_count;\n"
	      "const struct embedded_chunk embedded_chunks[] = {\n", out);
	for (int i = 0; i < count; i++) {
		fprintf(out, "\t{ %zu, %zu, %zu },\n", name_at, places[i].at, places[i].size);
		name_at += (size_t)name_of(paths[i], &name) + 1;
	}
	fprintf(out, "};\nconst size_t embedded_chunk_count = %d;\n", count);
}

/* Sort by module name, as modules.c searches: the '.' of an extension sorts before every
 * character that may continue a module's name. */
static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int main(int argc, char **argv)
{
	lua_State *L = luaL_newstate();
	FILE *out = argc > 2 ? fopen(argv[1], "w") : NULL;
	static struct place places[1024];

	if (!L || !out || argc > (int)(sizeof(places) / sizeof(places[0]))) {
		fputs("usage: embed OUT.c FILE.lua …\n", stderr);
		return 2;
	}
	qsort(argv + 2, (size_t)argc - 2, sizeof(*argv), by_name);
	fputs("/* generated by embed */\n#include <stddef.h>\n"
	      "extern const unsigned char embedded_bytes[];\nextern const char embedded_names[];\n"
	      "const unsigned char embedded_bytes[] = {\n", out);
	if (embed_files(L, out, argv + 2, argc - 2, places) < 0)
		return remove(argv[1]), 1;
	write_table(out, argv + 2, argc - 2, places);
	lua_close(L);
	return fclose(out) == 0 ? 0 : 1;
}
