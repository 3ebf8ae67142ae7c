#!/usr/bin/env bats
# The scheduler of workflows inside a real run: Ctrl+C, limits, a worker that is
# killed. What its functions return is tested in tests/lua/scheduler_spec.lua.

load helper

# scheduled NAME <<'LUA': a command whose run is the given body as a task; cleanup
# writes what became of the processes to `abandoned`.
scheduled() {
	{
		cat <<-'LUA'
			local scheduler = require "runner.workflow.scheduler"
			local function sh(script, more)
				local options = more or {}
				options.argv = { "sh", "-c", script }
				return scheduler.process(options)
			end
			return { description = "x", danger_level = "safe", grace = "4s",
				cleanup = function()
					local out = io.open("abandoned", "w")
					for _, one in ipairs(scheduler.abandoned()) do
						local r = one.result
						out:write(("%s %s %s %s\n"):format(one.options.name, one.stopped and "stopped" or "completed",
							r.ok and "ok" or r.signal or r.status, r.stdout:gsub("%s", "")))
					end
					out:close()
				end,
				run = function(args, ctx) return scheduler.run(function()
		LUA
		cat
		echo 'end) end }'
	} | command_file "$1"
}

@test "Ctrl+C ends every process of every task and all that descends from them" {
	scheduled tree <<'LUA'
		scheduler.all {
			function() sh("setsid sleep 60 & echo a; wait", { name = "one" }) end,
			function() sh("exec yes", { name = "two", on_line = function() end }) end,
			function() scheduler.sleep(60000) end,
			function() scheduler.sleep(300) sh("touch marker; exec sleep 60", { name = "three" }) end,
		}
LUA
	cancel INT tree
	assert_envelope
	[ "$status" -eq 130 ]
	expect 'e.error.code == "CANCELLED" and e.warnings == []'
	[ "$elapsed_ms" -lt 2000 ]
	[ "$(sed 's/\(y\)*$//' abandoned)" = "$(printf 'one stopped SIGTERM a\ntwo stopped SIGTERM \nthree stopped SIGTERM ')" ] || {
		cut -c1-80 abandoned >&2
		false
	}
	assert_no_process_left
}

@test "Ctrl+C ends what ignores TERM and what is stopped, within the grace of a cancellation" {
	scheduled deaf <<'LUA'
		scheduler.all {
			function() sh("trap '' TERM; touch marker; while :; do sleep 0.05; done", { name = "deaf", grace_ms = 60000 }) end,
			function() sh("kill -STOP $$", { name = "still", grace_ms = 60000 }) end,
		}
LUA
	cancel INT deaf --timeout 60s
	assert_envelope
	[ "$status" -eq 130 ]
	[ "$elapsed_ms" -lt 4000 ]
	[ "$(<abandoned)" = "$(printf 'deaf stopped SIGKILL \nstill stopped SIGTERM ')" ]
	assert_no_process_left
}

@test "what had completed by itself when Ctrl+C came is told apart from what was stopped" {
	scheduled half <<'LUA'
		scheduler.all {
			function() -- its program is over, the tree that it left behind is not
				sh("(trap '' TERM; while :; do sleep 0.05; done) & sleep 0.2; echo done", { name = "done", grace_ms = 5000 })
			end,
			function() -- catches TERM and leaves with 0, but has not completed
				sh("trap 'exit 0' TERM; sleep 1; touch marker; while :; do sleep 0.05; done", { name = "polite" })
			end,
			function() -- talks to a task that waits in between
				sh("echo up; sleep 60", { name = "talk", on_line = function() scheduler.sleep(10) end })
			end,
			function() -- its task is still busy with the result
				sh("echo yes", { name = "busy" })
				while true do end
			end,
		}
LUA
	cancel INT half --timeout 60s
	assert_envelope
	[ "$status" -eq 130 ]
	[ "$(<abandoned)" = "$(printf 'done completed ok done\npolite stopped ok \ntalk stopped SIGTERM up\nbusy completed ok yes')" ] || {
		cat abandoned >&2
		false
	}
	assert_no_process_left
}

@test "Ctrl+C during a wait ends the wait at once" {
	scheduled nap <<'LUA'
		scheduler.sleep(60000, function() io.open("marker", "w"):close() end)
LUA
	cancel INT nap --timeout 60s
	assert_envelope
	[ "$status" -eq 130 ]
	[ "$elapsed_ms" -lt 10000 ]
	[ ! -s abandoned ]
}

@test "a wait is no silence to the idle timeout, a silent process is" {
	scheduled wait <<'LUA'
		scheduler.sleep(900)
LUA
	sed -i 's/grace = "4s"/grace = "4s", idle_timeout = "300ms"/' commands/wait.lua
	call wait
	[ "$status" -eq 0 ]
	scheduled silent <<'LUA'
		sh("sleep 60", { name = "silent" })
LUA
	sed -i 's/grace = "4s"/grace = "4s", idle_timeout = "300ms"/' commands/silent.lua
	call silent
	assert_envelope
	expect 'e.error.code == "TIMEOUT" and e.error.context["limit"] == "idle"'
	[ "$(<abandoned)" = "silent stopped SIGTERM " ]
	assert_no_process_left
}

@test "while the run is stopped by Ctrl+Z a process's limit stands still, a wait does not" {
	scheduled paused <<'LUA'
		local host, r = require "runner.host", nil
		local began = host.now()
		local results = scheduler.all {
			function() r = sh("touch marker; for i in 1 2 3 4 5 6 7 8; do sleep 0.05; done", { name = "p", timeout_ms = 1500 }) end,
			function() scheduler.sleep(1000) return host.now() - began end,
		}
		return { ok = r.ok, timed_out = r.timed_out, slept = results[2].value }
LUA
	env -i "${CLEAN_ENV[@]}" "$RUNNER" paused >out.txt 2>err.txt </dev/null 3>&- &
	local pid=$! status=0
	for _ in $(seq 100); do
		[ -e marker ] && break
		sleep 0.02
	done
	kill -TSTP "$pid"
	sleep 2
	[ "$(cut -d' ' -f3 "/proc/$pid/stat")" = T ]
	kill -CONT "$pid"
	wait "$pid" || status=$?
	[ "$status" -eq 0 ]
	expect 'e.data.ok and not e.data.timed_out'
	expect '2000 <= e.data.slept < 2900' # not a second more than it had been away
}

@test "an error in a task is the error of the run, with its place and traceback" {
	scheduled broken <<'LUA'
		scheduler.all {
			function() sh("sleep 0.1") end,
		}
		local nothing = nil
		return nothing.field
LUA
	call broken
	assert_envelope
	expect 'e.error.code == "INTERNAL_ERROR" and "broken.lua:" in e.error.message and "traceback" in e.error.detail'
	[ ! -s abandoned ]
}

@test "a nested runner under a step believes the deadline that it inherits" {
	body inner <<'LUA'
		ctx:sleep(60)
LUA
	scheduled outer <<LUA
		local r = scheduler.process { argv = { "$RUNNER", "inner", "--timeout", "50s" }, name = "nested" }
		io.open("envelope", "w"):write(r.stdout):close()
LUA
	call outer --timeout 1500ms
	assert_envelope
	cat envelope abandoned | grep -q '"code":"TIMEOUT"' # not CANCELLED: it ended by itself, before us
	[ "$elapsed_ms" -lt 4000 ]
	assert_no_process_left
}

@test "when worker and supervisor are killed together, the trees end too" {
	scheduled lost <<'LUA'
		sh("echo $PPID >shepherd; touch marker; setsid sleep 60 & wait", { name = "lost" })
LUA
	env -i "${CLEAN_ENV[@]}" "$RUNNER" lost >out.txt 2>err.txt </dev/null 3>&- &
	local supervisor=$!
	for _ in $(seq 100); do
		[ -e marker ] && break
		sleep 0.05
	done
	local worker
	worker=$(cut -d' ' -f4 "/proc/$(<shepherd)/stat")
	kill -KILL "$supervisor" "$worker"
	wait "$supervisor" || true
	for _ in $(seq 100); do
		[ -z "$(processes_left)" ] && break
		sleep 0.05
	done
	assert_no_process_left
}
