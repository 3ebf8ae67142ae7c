#!/usr/bin/env bats
# ctx:http inside a real run: limits, signals, hints and a missing library, as
# the caller sees them. What a request is, http_spec.lua tests.

load lib/helper

prepare() {
	command_file get <<-'LUA'
		return { description = "x", danger_level = "safe", timeout = "20s",
			args = {
				{ "url", "string", positional = true, required = true },
				{ "tries", "integer", default = 0 },
				{ "careful", "boolean", default = false },
			},
			steps = { "before", "asking" },
			run = function(args, ctx)
				ctx:step "before"
				ctx:step "asking"
				io.open("marker", "w"):close()
				local spec = { url = args.url, retry = { retries = args.tries, delay = "50ms" } }
				if args.careful then
					pcall(ctx.http, ctx, spec)
					return { caught = true }
				end
				return { status = ctx:http(spec).status }
			end }
	LUA
	# its stdout is a pipe that this shell holds: when the test ends, it ends
	exec {server}< <(exec python3 "$ROOT/tests/lua/lib/http_server.py" 2>/dev/null 3>&-)
	local name port
	while read -r -u "$server" name port; do
		case $name in
		http) base=http://127.0.0.1:$port ;;
		ready) return 0 ;;
		esac
	done
	return 1
}

clean_up() {
	exec {server}<&-
}

@test "the command's limit ends a request with the supervisor's verdict and the steps" {
	reaching marker get "$base/hang"
	assert_envelope
	[ "$status" -eq 10 ]
	[ "$elapsed_ms" -lt $((limit_ms + 8000)) ]
	expect "e.error.message == 'Command exceeded timeout of ${limit_ms}ms'"
	expect 'e.data.failed_step == "asking" and e.data.completed_steps == ["before"]'
}

@test "a signal ends a request immediately, and no pcall of the script delays it" {
	needs_library libcurl.so.4
	env -i "${CLEAN_ENV[@]}" "$RUNNER" get "$base/hang" --careful --timeout 60s >out.txt 2>err.txt </dev/null &
	local pid=$!
	until_true [ -e marker ]
	sleep 0.2 # the request is on its way
	local before=${EPOCHREALTIME/[.,]/}
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	[ $(((${EPOCHREALTIME/[.,]/} - before) / 1000)) -lt 20000 ]
	assert_envelope
	[ "$status" -eq 143 ]
	expect 'e.error.code == "CANCELLED"'
}

@test "Retry-After reaches the caller as retry_after_ms" {
	call get "$base/answer?status=429&Retry-After=7"
	assert_envelope
	[ "$status" -eq 11 ]
	expect 'e.error.code == "RATE_LIMITED" and e.error.retryable is True and e.error.retry_after_ms == 7000'
	expect 'e.error.context.status == 429'
}

@test "repetitions of a request count, and used-up ones say so" {
	call get "$base/flaky/a/2" --tries 3
	assert_envelope
	[ "$status" -eq 0 ]
	expect 'e.meta.retries == 2'
	call get "$base/flaky/b/9" --tries 1
	assert_envelope
	[ "$status" -eq 12 ]
	expect 'e.error.retryable is False and e.error.retries_exhausted == 1'
	call get "$base/flaky/c/9" --tries 3 --retries 0
	assert_envelope
	expect 'e.error.retryable is True and "retries" not in e.meta'
}

@test "a missing libcurl is a precondition that names the package" {
	dynamic_only "has it inside"
	mkdir empty
	touch empty/libcurl.so.4 empty/libcurl-gnutls.so.4
	call LD_LIBRARY_PATH="$PWD/empty" get "$base/echo"
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.error.code == "PRECONDITION" and e.error.retryable is False'
	expect '"libcurl4" in e.error.suggestion and "libcurl" in e.error.message'
}

# A libcurl that gives only one of the two handles, or none, and whose TLS library writes to a
# connection that is gone. Nothing else of it may be called then.
starved_libcurl() {
	mkdir starved
	cat >starved/libcurl.c <<-'C'
		#include <signal.h>
		#include <stdlib.h>
		static int handle;
		static void *unless(const char *variable) { return getenv(variable) ? NULL : &handle; }
		int curl_global_init(long flags) { (void)flags; return 0; }
		void *curl_easy_init(void) { return unless("NO_EASY"); }
		void *curl_multi_init(void) { return unless("NO_MULTI"); }
		void curl_easy_cleanup(void *easy) { (void)easy; raise(SIGPIPE); }
		void curl_multi_cleanup(void *multi) { (void)multi; raise(SIGPIPE); }
		const char *curl_easy_strerror(int code) { (void)code; return "out of memory"; }
		int curl_easy_getinfo(void) { return 0; }
		#define NEVER(name) void curl_##name(void) { abort(); }
		NEVER(easy_setopt) NEVER(multi_add_handle) NEVER(multi_info_read) NEVER(multi_remove_handle)
		NEVER(multi_setopt) NEVER(multi_socket_action) NEVER(slist_append) NEVER(slist_free_all)
		NEVER(version) NEVER(free) NEVER(url) NEVER(url_cleanup) NEVER(url_get) NEVER(url_set)
	C
	${CC:-cc} -shared -fPIC -w -o starved/libcurl.so.4 starved/libcurl.c
}

@test "a libcurl without memory is RESOURCE_EXHAUSTED, and its SIGPIPE ends nobody" {
	dynamic_only "has it inside"
	starved_libcurl
	local missing
	for missing in NO_EASY=1 NO_MULTI=1 'NO_EASY=1 NO_MULTI=1'; do
		# shellcheck disable=SC2086
		call LD_LIBRARY_PATH="$PWD/starved" $missing get "$base/echo"
		assert_envelope
		expect 'e.error.code == "RESOURCE_EXHAUSTED" and "Not enough resources" in e.error.message'
	done
}

# The kernel refuses to poll more descriptors than the process may have.
@test "a poll that fails ends its request at once" {
	type -P prlimit >/dev/null || skip "no prlimit"
	local connected
	connected=":$(printf %04X "${base##*:}") 01 "
	body limited 'timeout = "60s",' <<-LUA
		os.execute [[(until grep -q "$connected" /proc/net/tcp; do sleep 0.02; done
			prlimit --pid \$PPID --nofile=1:1) >/dev/null 2>&1 &]]
		ctx:http { url = "$base/hang" }
	LUA
	call limited
	assert_envelope
	expect 'e.error.code == "RESOURCE_EXHAUSTED" and "can'"'t poll"'" in e.error.message'
}

@test "a dry run reads by GET, and sends nothing that may change something" {
	needs_library libcurl.so.4
	command_file push <<-'LUA'
		return { description = "x", danger_level = "mutating", dry_run = true,
			exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
			args = { { "url", "string", positional = true, required = true } },
			run = function(args, ctx)
				local got = ctx:http { url = args.url }
				local sent = ctx:http { url = args.url, method = "POST", body = "x" }
				return { effect = "updated", got = got.body, sent = sent.body }
			end }
	LUA
	call push "$base/echo" --dry-run
	assert_envelope
	[ "$status" -eq 0 ]
	expect '"GET" in e.data.got and e.data.sent == "{}"'
	expect 'len(e.data.would) == 1 and "POST" in str(e.data.would[0])'
	call push "$base/echo"
	expect '"POST" in e.data.sent'
}
