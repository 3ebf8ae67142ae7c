/*
 * bundle.c: finds the project that this program carries (bundle.h): an ELF section, so that
 * strip(1) and objcopy(1) keep it, and a slot among the constants, which says that there is one and
 * which. Runs in the worker.
 */
#include "bundle.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../common/sha256.h"
#include "../common/xio.h"
#include "worker_launch.h"

#define SECTION ".runner.bundle"
#define MARK "\177runner bundle slot\177"
#define DIGEST 64

/* `runner bundle` looks for the mark in a copy of this program, and writes the digest behind it. */
static const volatile struct {
	char mark[sizeof(MARK) - 1];
	char digest[DIGEST + 1]; /* in hexadecimal; "": no project */
} slot = { MARK, "" };

bool bundle_is(void)
{
	return slot.digest[0] != '\0';
}

/* --- the section ------------------------------------------------------------------------- */

struct image {
	const unsigned char *bytes;
	size_t size;
};

static int map_self(struct image *image)
{
	int fd = xopen("/proc/self/exe", O_RDONLY, 0);
	struct stat st;
	void *at = MAP_FAILED;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(Elf64_Ehdr))
		at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	xclose(&fd);
	if (at == MAP_FAILED)
		return -1;
	*image = (struct image){ at, (size_t)st.st_size };
	return 0;
}

static bool is_within(const struct image *image, uint64_t at, uint64_t size)
{
	return at <= image->size && size <= image->size - at;
}

static bool section_at(const struct image *image, const Elf64_Ehdr *head, unsigned index, Elf64_Shdr *out)
{
	uint64_t at = head->e_shoff + (uint64_t)index * head->e_shentsize;

	if (head->e_shentsize != sizeof(*out) || index >= head->e_shnum || !is_within(image, at, sizeof(*out)))
		return false;
	memcpy(out, image->bytes + at, sizeof(*out));
	return out->sh_type == SHT_NOBITS || is_within(image, out->sh_offset, out->sh_size);
}

static bool has_name(const struct image *image, const Elf64_Shdr *names, const Elf64_Shdr *section)
{
	return section->sh_name <= names->sh_size && sizeof(SECTION) <= names->sh_size - section->sh_name &&
	       memcmp(image->bytes + names->sh_offset + section->sh_name, SECTION, sizeof(SECTION)) == 0;
}

static bool find_section(const struct image *image, Elf64_Shdr *out)
{
	Elf64_Ehdr head;
	Elf64_Shdr names;

	memcpy(&head, image->bytes, sizeof(head));
	if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
	    !section_at(image, &head, head.e_shstrndx, &names))
		return false;
	for (unsigned i = 0; i < head.e_shnum; i++)
		if (section_at(image, &head, i, out) && has_name(image, &names, out))
			return true;
	return false;
}

/* --- for Lua -------------------------------------------------------------------------------- */

static void push_digest(lua_State *L)
{
	char digest[DIGEST + 1];

	for (int i = 0; i <= DIGEST; i++)
		digest[i] = slot.digest[i];
	lua_pushlstring(L, digest, strnlen(digest, DIGEST));
}

/* bundle(): digest | nil, argv[0] | nil. What the program was called by is the caller's choice. */
static int l_bundle(lua_State *L)
{
	const struct launch *launch = worker_launch();

	if (bundle_is())
		push_digest(L);
	else
		lua_pushnil(L);
	lua_pushstring(L, launch->argv ? launch->argv[0] : NULL);
	return 2;
}

/* bundle_bytes(): the archive, whose digest is the one that the program names | nil, message */
static int l_bundle_bytes(lua_State *L)
{
	struct image image;
	Elf64_Shdr section;
	char hex[SHA256_HEX];
	bool found;

	if (map_self(&image) < 0)
		return lua_pushnil(L), lua_pushstring(L, strerror(errno)), 2;
	found = find_section(&image, &section);
	if (found)
		lua_pushlstring(L, (const char *)image.bytes + section.sh_offset, section.sh_size);
	munmap((void *)image.bytes, image.size);
	if (!found)
		return lua_pushnil(L), lua_pushliteral(L, "its section " SECTION " is gone"), 2;
	sha256_hex(lua_tostring(L, -1), lua_rawlen(L, -1), hex);
	push_digest(L);
	if (strcmp(lua_tostring(L, -1), hex) != 0)
		return lua_pushnil(L), lua_pushliteral(L, "its section " SECTION " was changed"), 2;
	lua_pop(L, 1);
	return 1;
}

/* bundle_mark(): the text in front of the digest, and the name of the section. */
static int l_bundle_mark(lua_State *L)
{
	char mark[sizeof(slot.mark)];

	for (size_t i = 0; i < sizeof(mark); i++)
		mark[i] = slot.mark[i];
	lua_pushlstring(L, mark, sizeof(mark));
	lua_pushliteral(L, SECTION);
	return 2;
}

static const luaL_Reg functions[] = {
	{ "bundle", l_bundle },
	{ "bundle_bytes", l_bundle_bytes },
	{ "bundle_mark", l_bundle_mark },
	{ NULL, NULL },
};

void bundle_register(lua_State *L)
{
	luaL_setfuncs(L, functions, 0);
}
