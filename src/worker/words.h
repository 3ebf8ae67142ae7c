/*
 * words.h: the words of a command line in Lua, however many they are. Part of require "runner.host".
 *
 * A shell's glob gives thousands of them. As a table of strings they would be read, hashed and kept twice
 * (argv, and argv without the command's name) before the argument that takes them gets its own. So more than
 * WORDS_AS_TABLE are a view of argv where the kernel has put it: a userdata with #words, words[i], ipairs and
 * whatever of `table` only reads.
 */
#ifndef RUNNER_WORDS_H
#define RUNNER_WORDS_H

#include <lua.h>

#define WORDS_AS_TABLE 100

/* Push words[0..count) as a table of strings, or a view where they are more; `words` outlives the state. */
void words_push(lua_State *L, char *const *words, int count);

/* Add have_flag, take_words and words_behind to the table on top of the stack. */
void words_register(lua_State *L);

#endif
