/*
 * library.c: opens a library and looks its functions up. Runs in the worker; it
 * knows no library in particular.
 */
#include "library.h"

#include <string.h>

#ifdef RUNNER_STATIC

void *library_open(const char *name, const struct library_symbol *symbols, size_t count, void *api)
{
	static char linked;

	(void)name;
	for (size_t i = 0; i < count; i++)
		memcpy((char *)api + symbols[i].offset, &symbols[i].linked, sizeof(void *));
	return &linked;
}

void library_close(void *library)
{
	(void)library;
}

const char *library_why(const char *lacking)
{
	return lacking;
}

#else
#include <dlfcn.h>

static bool resolve(void *library, const struct library_symbol *symbols, size_t count, void *api)
{
	for (size_t i = 0; i < count; i++) {
		void *address = dlsym(library, symbols[i].name);

		if (address == NULL)
			return false;
		memcpy((char *)api + symbols[i].offset, &address, sizeof address);
	}
	return true;
}

void *library_open(const char *name, const struct library_symbol *symbols, size_t count, void *api)
{
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL || resolve(library, symbols, count, api))
		return library;
	dlclose(library);
	return NULL;
}

void library_close(void *library)
{
	dlclose(library);
}

const char *library_why(const char *lacking)
{
	const char *why = dlerror();

	return why != NULL ? why : lacking;
}

#endif
