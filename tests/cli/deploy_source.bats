#!/usr/bin/env bats
# What deploy takes as a source and what it refuses: archives and trees that lead out
# of themselves, broken ones, odd modes.

load lib/deploy

@test "a missing source is NOT_FOUND, any other file a failed precondition" {
	call deploy --target prod nowhere
	assert_envelope
	[ "$status" -eq 5 ]
	echo text >site.zip
	call deploy --target prod site.zip
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.error.fix_required'
	[ ! -e www ]
}

@test "an archive with paths out of itself is refused before anything is touched" {
	mkdir pack
	(cd pack && tar -czPf ../dots.tar.gz ../site/index.html && tar -czPf ../root.tgz /etc/hostname)
	local archive
	for archive in dots.tar.gz root.tgz; do
		call deploy --target prod "$archive"
		assert_envelope
		[ "$status" -eq 4 ]
		expect '"points outside" in e.error.message and e.error.side_effects == "none"'
	done
	[ ! -e www ]
}

@test "a source that contains its target, or something that can't be copied, is refused" {
	sed -i 's|www/prod|site/www|' runner.lua
	call deploy --target prod
	assert_envelope
	[ "$status" -eq 4 ]
	expect 'e.error.message == "site contains the target itself" and e.error.fix_required'
	rm -r site/www
	sed -i 's|site/www|www/prod|' runner.lua
	mkfifo site/pipe
	deploy
	[ "$status" -eq 4 ]
	expect '"not a file, directory or link" in e.error.message and e.error.message.endswith("/site/pipe")'
}

@test "folders nested too deep are refused, and the target is not blocked by what was unpacked" {
	(cd site && mkdir -p "$(printf 'd/%.0s' {1..600})")
	tar -czf deep.tgz -C site .
	local source
	for source in deep.tgz site; do
		call deploy --target prod "$source"
		assert_envelope
		[ "$status" -eq 4 ]
		[ ! -e www/prod/current ]
	done
	rm -r site/d
	call deploy --target prod site
	[ "$status" -eq 0 ]
	[ "$(find www/prod/releases -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ]
}

@test "a bad path is found at any place in a long archive" {
	local name=file-with-quite-a-long-name-so-that-the-list-is-longer-than-any-buffer
	mkdir -p long/before long/later
	(cd long/before && seq -f "$name-%g" 7000 | xargs touch)
	(cd long/later && seq -f "$name-%g" 7000 | xargs touch)
	(cd long && tar -czPf ../long.tgz before ../site/index.html later)
	call deploy --target prod long.tgz
	[ "$status" -eq 4 ]
	expect '"points outside" in e.error.message'
}

@test "a link that leads out of the release is refused in directories and archives" {
	deploy
	local to
	for to in /etc/passwd ../../../../secret nowhere; do
		ln -sfn "$to" site/link
		deploy
		[ "$status" -eq 4 ]
		tar -czf site.tgz -C site .
		deploy site.tgz
		[ "$status" -eq 4 ]
		expect '"link" in e.error.message and e.error.side_effects == "none"'
	done
	live one
	ln -sfn css/style.css site/link
	deploy
	[ "$status" -eq 0 ]
	[ "$(readlink www/prod/current/link)" = css/style.css ]
}

@test "a link that leads out by way of another link is refused" {
	mkdir -p site/a/b
	ln -s ../.. site/a/b/top
	ln -s a/b/top/../secret site/link
	echo secret >secret
	deploy
	[ "$status" -eq 4 ]
}

@test "a broken archive and a fifo are refused, and nothing of them stays" {
	deploy
	head -c 300 /dev/urandom >bad.tar.gz
	deploy bad.tar.gz
	[ "$status" -eq 4 ]
	expect '"unpacked" in e.error.message'
	mkfifo site/fifo
	deploy
	[ "$status" -eq 4 ]
	tar -czf fifo.tgz -C site .
	deploy fifo.tgz
	[ "$status" -eq 4 ]
	live one
}

@test "a file that may not be read is named, and nothing stays" {
	[ "$(id -u)" -ne 0 ] || skip "root may read everything"
	deploy
	site two
	chmod 0 site/index.html
	deploy
	[ "$status" -eq 4 ]
	expect '"index.html" in e.error.message and e.error.side_effects == "none"'
}

@test "a source inside of which the target lies is refused" {
	echo 'return { commands = "'"$ROOT"'/commands", config = { targets = { prod = { path = "site/www" } } } }' >runner.lua
	call deploy --target prod site
	assert_envelope
	[ "$status" -eq 4 ]
	[ ! -e site/www/current ]
}

@test "folders that nobody may write deploy and are pruned like others" {
	chmod 500 site/css
	deploy
	local n
	for n in two three four; do
		chmod 700 site/css
		site "$n"
		chmod 500 site/css
		deploy
		[ "$status" -eq 0 ]
	done
	[ "$(find www/prod/releases -mindepth 1 -maxdepth 1 | wc -l)" -eq 2 ]
	chmod -R u+w site www
}

# Its supervisor has yet to end it, and its lock is gone with the worker.
@test "a tar that has lost its worker writes into no other release" {
	mkdir bin one
	echo stray >one/stray
	tar -czf one.tgz -C one .
	tar -czf two.tgz -C site .
	cat >bin/tar <<-SH
		#!/bin/sh
		case "\$*" in
		*-xz*one.tgz*)
			touch stuck
			until [ -e go ]; do sleep 0.01; done
			$(command -v tar) "\$@"
			touch written
			exit ;;
		*-xz*two.tgz*)
			touch go
			until [ -e written ]; do sleep 0.01; done ;;
		esac
		exec $(command -v tar) "\$@"
	SH
	chmod +x bin/tar
	CLEAN_ENV+=(PATH="$PWD/bin:$PATH")
	local first worker
	env -i "${CLEAN_ENV[@]}" "$RUNNER" deploy --target prod one.tgz >first.txt 2>/dev/null </dev/null 3>&- &
	first=$!
	until_true [ -e stuck ]
	worker=$(cut -d" " -f1 "/proc/$first/task/$first/children")
	kill -STOP "$first"
	kill -KILL "$worker"
	call deploy --target prod two.tgz
	kill -KILL "$first"
	assert_envelope
	[ "$status" -eq 0 ]
	diff -r site www/prod/current/
}

# only_programs NAME…: PATH has these alone
only_programs() {
	local name
	mkdir -p only
	for name; do ln -sf "$(command -v "$name")" only/; done
	CLEAN_ENV+=(PATH="$PWD/only")
}

@test "a directory is deployed without any program, and an archive by a tar that has no options of GNU" {
	tar -czf site.tar.gz -C site .
	only_programs sh gzip
	call deploy --target prod
	assert_envelope
	expect 'e.data["effect"] == "created"'
	call deploy --target prod site.tar.gz
	[ "$status" -eq 4 ]
	expect '"tar is not in PATH" in e.error.message and e.error.fix_required.startswith("Install tar")'
	printf '#!/bin/sh\ncase " $* " in *" --"[!n]*|*" --no-same-owner"*) echo "tar: unrecognized option" >&2; exit 1 ;; esac\nexec %s "$@"\n' \
		"$(command -v tar)" >only/tar
	chmod +x only/tar
	call deploy --target prod site.tar.gz
	assert_envelope
	expect 'e.data["effect"] == "noop"'
	echo two >site/index.html
	tar -czf site.tar.gz -C site .
	call deploy --target prod site.tar.gz
	expect 'e.data["effect"] == "updated"'
	diff -r site www/prod/current/
}

@test "a release has another name as soon as a name, a mode, a link or a content is another" {
	local names=() change
	for change in true 'chmod 700 site/index.html' 'ln -s index.html site/link' 'ln -sfn css site/link' 'mkdir site/empty' \
		'mv site/index.html site/index.htm' 'echo more >>site/css/style.css'; do
		bash -c "$change"
		deploy
		[ "$status" -eq 0 ]
		names+=("$(field 'e.data["release"]')")
	done
	[ "$(printf '%s\n' "${names[@]}" | sort -u | wc -l)" -eq 7 ]
}
