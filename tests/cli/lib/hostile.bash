# hostile: commands at their worst, for whatever makes calls (exec, mcp serve).

# others: processes with our token, but for the test's own
others() {
	local file pid n=0
	for file in /proc/[0-9]*/environ; do
		pid=${file#/proc/} pid=${pid%/environ}
		[ "$pid" = $$ ] || [ "$pid" = "$BASHPID" ] || ! grep -qz "^TOKEN=$TOKEN\$" "$file" 2>/dev/null || n=$((n + 1))
	done
	echo $n
}

none_left() {
	[ "$(others)" -eq 0 ]
}

# hostile_commands: one for each way to be at its worst, and one that is fine
hostile_commands() {
	body ok '' <<<'return { fine = true }'
	body hang 'timeout = "300ms", grace = "200ms",' <<<'while true do end'
	body flood 'timeout = "5m",' <<<'for i = 1, 40000 do io.write(("x"):rep(500), "\n") io.stderr:write("y\n") end return { fine = true }'
	body fork 'timeout = "500ms", grace = "200ms",' <<<'for i = 1, 20 do os.execute "setsid sh -c \"trap : TERM; while :; do sleep 60; done\" &" end ctx:sleep "1h"'
	body killed '' <<<'os.execute "kill -KILL $PPID"'
	body stopped 'timeout = "300ms", grace = "200ms",' <<<'os.execute "kill -STOP $PPID"'
	body three '' <<<'os.exit(3)'
	body zero '' <<<'os.exit(0)'
	body garbage '' <<<'io.write("{\"ok\":true}\n\0\xff{") return { fine = true }'
	body orphan '' <<<'os.execute "kill -KILL $(awk \"/PPid/ { print \\$2 }\" /proc/$PPID/status)" ctx:sleep "1h"'
	body huge '' <<<'return { text = ("x"):rep(17 << 20) }'
	body large '' <<<'return { text = ("x"):rep(1 << 20) }'
	body memory 'limits = { memory = "64MiB" },' <<<'local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1e6) .. i end'
	body bad '' <<<'return {'
}
