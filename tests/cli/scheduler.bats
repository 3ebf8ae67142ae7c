#!/usr/bin/env bats
# The scheduler of workflows inside a real run: Ctrl+C, limits, a worker that is
# killed. What its functions return is tested in tests/lua/task/scheduler_spec.lua.

load lib/helper

# scheduled NAME <<'LUA': a command whose run is the given body as a task; cleanup
# writes what became of the processes to `abandoned`.
scheduled() {
	{
		cat <<-'LUA'
			local scheduler = require "runner.task.scheduler"
			local function sh(script, more)
				local options = more or {}
				options.argv = { "sh", "-c", script }
				return scheduler.process(options)
			end
			return { description = "x", danger_level = "safe", grace = "20s",
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
			function() sh("setsid sleep 60 & echo a; echo a >up; wait", { name = "one" }) end,
			function() sh("exec yes", { name = "two", on_line = function() end }) end,
			function() scheduler.sleep(60000) end,
			function() scheduler.sleep(300) sh("until [ -s up ]; do sleep 0.05; done; sleep 0.5; touch marker; exec sleep 60", { name = "three" }) end,
		}
LUA
	cancel INT tree
	assert_envelope
	[ "$status" -eq 130 ]
	expect 'e.error.code == "CANCELLED" and e.warnings == []'
	[ "$elapsed_ms" -lt 15000 ]
	[ "$(grep -E '^(one|two|three) ' abandoned | cut -c1-22 | sed 's/ y*$/ /')" = "$(printf 'one stopped SIGTERM a\ntwo stopped SIGTERM \nthree stopped SIGTERM ')" ] || {
		cut -c1-80 abandoned >&2
		false
	}
	assert_no_process_left
}

@test "Ctrl+C ends what ignores TERM and what is stopped, within the grace of a cancellation" {
	scheduled deaf <<'LUA'
		scheduler.all {
			function()
				sh([[trap '' TERM
					until grep -q '^State:.T' /proc/"$(cat pid)"/status; do sleep 0.05; done
					touch marker; while :; do sleep 0.05; done]], { name = "deaf", grace_ms = 60000 })
			end,
			function() sh("echo $$ >pid; kill -STOP $$", { name = "still", grace_ms = 60000 }) end,
		}
LUA
	sed -i 's/grace = "20s"/grace = "4s"/' commands/deaf.lua
	tries 3 cancelled_deaf
	[ "$elapsed_ms" -lt 20000 ]
	assert_no_process_left
}

# Who stands still for the grace has no time to tell.
cancelled_deaf() {
	rm -f marker abandoned
	cancel INT deaf --timeout 60s
	cat abandoned # who was abandoned, should the next line fail
	assert_envelope && [ "$status" -eq 130 ] &&
		[ "$(<abandoned)" = "$(printf 'deaf stopped SIGKILL \nstill stopped SIGTERM ')" ]
}

@test "on Ctrl+C, what had completed by itself is distinguished from what was stopped" {
	scheduled half <<'LUA'
		scheduler.all {
			function() -- its program is over, the tree that it left behind is not
				sh("echo $$ >pid.done; (trap '' TERM; while :; do sleep 0.05; done) & sleep 0.2; echo done", { name = "done", grace_ms = 5000 })
			end,
			function() -- catches TERM and leaves with 0, but has not completed
				sh([[trap 'exit 0' TERM
					over() { [ -s $1 ] && ! kill -0 $(cat $1) 2>/dev/null; }
					until over pid.done && over pid.busy && [ -s up ]; do sleep 0.05; done
					sleep 0.3; touch marker; while :; do sleep 0.05; done]], { name = "polite", grace_ms = 15000 })
			end,
			function() -- talks to a task that waits in between
				sh("echo up; echo up >up; sleep 60", { name = "talk", grace_ms = 15000, on_line = function() scheduler.sleep(10) end })
			end,
			function() -- its task is still busy with the result
				sh("echo $$ >pid.busy; echo yes", { name = "busy" })
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
	assert_at_once
	[ ! -s abandoned ]
}

@test "a wait does not count as idle, a silent process does" {
	scheduled wait <<'LUA'
		scheduler.sleep(1200)
LUA
	sed -i 's/grace = "20s"/grace = "20s", idle_timeout = "500ms"/' commands/wait.lua
	tries 4 answers 0 wait
	scheduled silent <<'LUA'
		sh("sleep 60", { name = "silent" })
LUA
	sed -i 's/grace = "20s"/grace = "20s", idle_timeout = "500ms"/' commands/silent.lua
	tries 4 silent_is_ended
	assert_no_process_left
}

# (before the process has begun there is nothing to abandon)
silent_is_ended() {
	call silent
	assert_envelope && expect 'e.error.code == "TIMEOUT" and e.error.context["limit"] == "idle"' &&
		[ "$(<abandoned)" = "silent stopped SIGTERM " ]
}

@test "while the run is stopped by Ctrl+Z a process's limit stands still, a wait does not" {
	local pid before away
	scheduled paused <<'LUA'
		local host, r = require "runner.host", nil
		local began = host.now()
		-- the wait first: it has begun when the marker is there, and the run may be stopped from then on
		local results = scheduler.all {
			function() scheduler.sleep(9000) return host.now() - began end,
			function() r = sh("touch marker; until [ -e go ]; do sleep 0.05; done", { name = "p", timeout_ms = 8000 }) end,
		}
		return { ok = r.ok, timed_out = r.timed_out, slept = results[1].value }
LUA
	# a job of its own, whose shell could continue it: else it would not stop
	set -m
	env -i "${CLEAN_ENV[@]}" "$RUNNER" paused >out.txt 2>err.txt </dev/null 3>&- &
	set +m
	pid=$! before=${EPOCHREALTIME/[.,]/}
	until_true [ -e marker ]
	kill -TSTP "$pid"
	until_true is_stopped "$pid"
	sleep 8.5
	is_stopped "$pid"
	away=$(((${EPOCHREALTIME/[.,]/} - before) / 1000))
	kill -CONT "$pid"
	sleep 1 # a limit that had gone on would end the process now
	touch go
	status=0
	wait "$pid" || status=$?
	[ "$status" -eq 0 ]
	expect 'e.data.ok and not e.data.timed_out'
	# a wait that had stood still would have most of its 9,000 ms left after the pause
	expect "9000 <= e.data.slept < $away + 6000"
}

is_stopped() {
	[ "$(cut -d' ' -f3 "/proc/$1/stat")" = T ]
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
	expect 'e.error.code == "INTERNAL_ERROR" and "broken.lua:" in e.error.message'
	[[ $stderr == *"stack traceback:"* ]]
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
	until_true inner_ends_first
	assert_no_process_left
}

# Not CANCELLED: it ended by itself, before us; a tenth of a second is all that it has.
inner_ends_first() {
	rm -f envelope abandoned
	call outer --timeout 1500ms
	assert_envelope && [ "$elapsed_ms" -lt 20000 ] && cat envelope abandoned 2>/dev/null | grep -q '"code":"TIMEOUT"'
}

@test "when worker and supervisor are killed together, the trees end too" {
	scheduled lost <<'LUA'
		sh("echo $PPID >shepherd; touch marker; setsid sleep 60 & wait", { name = "lost" })
LUA
	env -i "${CLEAN_ENV[@]}" "$RUNNER" lost >out.txt 2>err.txt </dev/null 3>&- &
	local supervisor=$!
	until_true [ -e marker ]
	local worker
	worker=$(cut -d' ' -f4 "/proc/$(<shepherd)/stat")
	kill -KILL "$supervisor" "$worker"
	wait "$supervisor" || true
	until_true assert_no_process_left || assert_no_process_left
}
