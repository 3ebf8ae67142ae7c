/*
 * worker.h: the worker process. It owns the script: one fresh process and one
 * fresh Lua state for every attempt. Bindings are one file each, opened by
 * require: "runner.host", "runner.ctx.proc" …; the list is in worker.c.
 *
 * A binding reports failure as `nil, message, CODE[, context]` and never raises
 * for anything but wrong argument types and cancellation; the Lua half beside
 * it (lua/NAME.lua) turns that into an error object.
 */
#ifndef RUNNER_WORKER_H
#define RUNNER_WORKER_H

#include <lua.h>

#include "../engine/launch.h"

worker_fn worker_main;

/* What this worker was told at its fork. Never NULL inside a binding. */
const struct launch *worker_launch(void);
/* Sessions that outlive the run (ctx:spawn{detach = true}). */
struct spared *worker_spared(void);
/* From here on what is forked sees those that are added later. 0 or -1. */
int worker_share_spared(void);
/* Cap of the Lua state's memory in bytes; 0: none. */
void worker_set_memory_limit(size_t bytes);

int luaopen_runner_host(lua_State *L);  /* frames, plan, time, signals, terminal facts */
int luaopen_runner_proc(lua_State *L);  /* child processes */
int luaopen_runner_json(lua_State *L);  /* Jansson in, our writer out */
int luaopen_runner_regex(lua_State *L); /* PCRE2 */
int luaopen_runner_http(lua_State *L);  /* libcurl, opened on first use */
int luaopen_runner_fs(lua_State *L);    /* files, directories, locks */
int luaopen_runner_tty(lua_State *L);   /* prompts */
int luaopen_runner_sqlite(lua_State *L); /* SQLite, opened on first use */

#endif
