#!/usr/bin/env bats
# libraries_hostile: what runner add refuses, from folders and archives, and what is left of a project when
# an update is killed at any instant or can't write.

load lib/helper

prepare() {
	known
	mkdir -p good/commands
	echo 'return { description = "x", danger_level = "safe", run = function() return { word = "one" } end }' >good/commands/greet.lua
	cat >make.py <<'PY'
# make.py FILE KIND: a tar file with a good command, and something else of that kind
import gzip, io, sys, tarfile

COMMAND = b'return { description = "x", danger_level = "safe", run = function() end }'

def entry(tar, name, data=b"x", type=tarfile.REGTYPE, link="", mode=0o644, size=None):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.mode = type, link, mode
    info.size = len(data) if type == tarfile.REGTYPE else 0
    tar.addfile(info, io.BytesIO(data) if type == tarfile.REGTYPE else None)

KINDS = {
    "parent": lambda t: entry(t, "commands/../../evil.lua"),
    "parent_elsewhere": lambda t: entry(t, "docs/../../evil.txt"),
    "absolute": lambda t: entry(t, "/tmp/evil.lua"),
    "symlink": lambda t: entry(t, "commands/evil.lua", type=tarfile.SYMTYPE, link="/etc/passwd"),
    "symlink_elsewhere": lambda t: entry(t, "docs", type=tarfile.SYMTYPE, link="/etc"),
    "hardlink": lambda t: entry(t, "lib/evil.lua", type=tarfile.LNKTYPE, link="commands/greet.lua"),
    "fifo": lambda t: entry(t, "commands/evil.lua", type=tarfile.FIFOTYPE),
    "device": lambda t: entry(t, "commands/evil.lua", type=tarfile.CHRTYPE),
    "block": lambda t: entry(t, "lib/evil", type=tarfile.BLKTYPE),
    "setuid": lambda t: entry(t, "lib/evil", mode=0o4755),
    "setgid": lambda t: entry(t, "lib/evil", mode=0o2755),
    "hidden": lambda t: entry(t, "commands/.evil.lua"),
    "hidden_folder": lambda t: entry(t, "lib/.git/config"),
    "case_twin": lambda t: entry(t, "commands/GREET.lua"),
    "case_twin_folder": lambda t: (entry(t, "lib/A/x.lua"), entry(t, "lib/a/y.lua")),
    "twice": lambda t: entry(t, "commands/greet.lua", COMMAND),
    "file_and_folder": lambda t: (entry(t, "lib/a"), entry(t, "lib/a/b.lua")),
    "newline": lambda t: entry(t, "commands/a\nb.lua"),
    "escape": lambda t: entry(t, "commands/\x1b[2Jb.lua"),
    "backslash": lambda t: entry(t, "commands/..\\evil.lua"),
    "colon": lambda t: entry(t, "commands/c:evil.lua"),
    "unicode": lambda t: entry(t, "commands/gr\u00e9et.lua"),
    "dash": lambda t: entry(t, "commands/-rf.lua"),
    "dot_end": lambda t: entry(t, "lib/x."),
    "long": lambda t: entry(t, "lib/" + "x" * 300),
    "deep": lambda t: entry(t, "lib/" + "x/" * 20 + "y"),
    "many": lambda t: [entry(t, "lib/f%d" % i, b"") for i in range(1001)],
    "many_elsewhere": lambda t: [entry(t, "docs/f%d" % i, b"") for i in range(10001)],
    "large": lambda t: entry(t, "lib/large", bytes((4 << 20) + 1)),
    "large_together": lambda t: [entry(t, "lib/f%d" % i, bytes(4 << 20)) for i in range(5)],
    "bomb": lambda t: entry(t, "docs/bomb", bytes(80 << 20)),
}
path, kind = sys.argv[1:]
if kind == "list":
    print("\n".join(KINDS))
else:
    with tarfile.open(path, "w:gz", compresslevel=1) as tar:
        entry(tar, "commands/greet.lua", COMMAND)
        KINDS[kind](tar)
PY
}

needs_libarchive() {
	tar -cf probe.tar -C good commands
	call add probe.tar --dry-run
	[[ $stdout != *"Can't load libarchive"* ]] || skip "there is no libarchive"
	[ "$status" -eq 0 ]
}

untouched() {
	[ ! -e runner.lock ]
	[ ! -e vendor ]
	[ ! -e ../evil.lua ]
	[ ! -e /tmp/evil.lua ]
}

@test "each thing that an archive may not have is LIBRARY_REFUSED, and nothing is written" {
	needs_libarchive
	local kind
	python3 make.py - list >kinds
	while read -r kind; do
		python3 make.py "$kind.tar.gz" "$kind"
		answers 4 add "$kind.tar.gz" --as bad
		echo "$kind: $(field 'e.error.message')"
		expect 'e.error.code == "LIBRARY_REFUSED" and e.error.side_effects == "none"'
		untouched
		rm "$kind.tar.gz"
	done <kinds
	[ "$(wc -l <kinds)" -gt 25 ]
}

@test "what is no archive, or half of one, is refused" {
	needs_libarchive
	tar -C good -czf whole.tar.gz commands
	head -c 60 whole.tar.gz >half.tar.gz
	tar -C good -cf whole.tar commands
	head -c 700 whole.tar >half.tar
	head -c 5000 /dev/urandom >noise.tar
	: >empty.tar
	printf 'PK\003\004' >zip.tar
	gzip -c <noise.tar >noise.tar.gz
	head -c 10240 /dev/zero >zeros.tar
	local name
	for name in half.tar.gz half.tar noise.tar empty.tar zip.tar noise.tar.gz zeros.tar commands/../make.py; do
		answers 4 add "$name" --as bad
		expect 'e.error.code == "LIBRARY_REFUSED"'
		untouched
	done
	mkfifo pipe
	answers 4 add pipe
	expect 'e.error.code == "LIBRARY_REFUSED"'
	call add /dev/zero --as zero
	[ "$status" -eq 4 ]
}

@test "each thing that a folder may not have is LIBRARY_REFUSED, and nothing is written" {
	mkdir -p lib
	local harm
	for harm in 'ln -s /etc/passwd bad/commands/x.lua' 'ln -s /etc bad/lib' 'mkfifo bad/commands/x.lua' 'touch bad/commands/.x.lua' \
		'mkdir -p bad/lib/.git' 'touch bad/commands/GREET.lua' 'cp bad/commands/greet.lua bad/lib && chmod u+s bad/lib/greet.lua' \
		'touch bad/lib/$'"'"'a\nb'"'" 'truncate -s 5M bad/lib/large' 'rm bad/commands/greet.lua' 'rm -r bad/commands' \
		'for i in {1..1001}; do : >bad/lib/f$i; done' 'ln -s /etc/passwd bad/README' \
		'mkdir -p bad/lib/1/2/3/4/5/6/7/8 && touch bad/lib/1/2/3/4/5/6/7/8/x' 'touch bad/lib/$'"'"'\xff'"'"; do
		rm -rf bad
		cp -r good bad
		[[ $harm == *"bad/lib" ]] || mkdir -p bad/lib
		eval "$harm"
		answers 4 add bad
		echo "$harm: $(field 'e.error.message')"
		expect 'e.error.code == "LIBRARY_REFUSED"'
		untouched
	done
	rm -rf bad && cp -r good bad && ln -s /etc/passwd bad/elsewhere && mkdir bad/.git
	answers 0 add bad
}

# killed SYSCALL N ARGS…: runs it and kills it at the N-th of these calls; fails where there were fewer
killed() {
	local calls=$1 n=$2
	shift 2
	env -i "${CLEAN_ENV[@]}" strace -f -qq -o trace.txt -e "trace=$calls" -e "inject=$calls:signal=SIGKILL:when=$n" \
		"$RUNNER" "$@" >/dev/null 2>&1 </dev/null || true
	grep -q 'SIGKILL' trace.txt
}

@test "an update that is killed at any rename or flush leaves the old library or the new one, whole" {
	needs_strace
	local n old=0 new=0 word=one
	answers 0 add good
	for ((n = 1; n <= 40; n++)); do
		sed -i "s/word = \"[a-z0-9]*\"/word = \"w$n\"/" good/commands/greet.lua
		killed rename,renameat,renameat2,fsync,fdatasync,unlink,unlinkat,rmdir "$n" library update || break
		answers 0 good greet
		if [ "$(field 'e.data["word"]')" = "$word" ]; then
			old=$((old + 1))
		else
			expect 'e.data["word"] == "w'"$n"'"'
			new=$((new + 1))
		fi
		answers 0 library check
		word=$(answers 0 good greet && field 'e.data["word"]')
	done
	echo "killed $((n - 1)) times: $old old, $new new"
	[ "$old" -gt 0 ]
	[ "$new" -gt 0 ]
	answers 0 library update
	answers 0 good greet
	[ "$(find vendor/good -mindepth 1 -maxdepth 1 | wc -l)" -eq 1 ]
}

@test "where nothing can be written, the error says so and the old library stays" {
	[ "$(id -u)" -ne 0 ] || command -v setpriv >/dev/null || skip "there is no setpriv"
	answers 0 add good
	sed -i 's/one/two/' good/commands/greet.lua
	chmod 755 . vendor vendor/good
	if [ "$(id -u)" -eq 0 ]; then
		call_as 65534 RUNNER_TRUST="$PWD" library update
	else
		chmod a-w . vendor vendor/good
		call library update
		chmod u+w . vendor vendor/good
	fi
	[ "$status" -ne 0 ]
	assert_envelope
	expect 'e.error.code in ("PERMISSION_DENIED", "UNAVAILABLE")'
	answers 0 good greet
	expect 'e.data["word"] == "one"'
}

@test "what others keep in vendor/ stays, whatever is added, updated and removed" {
	mkdir -p vendor/good/src vendor/good/0123
	echo theirs | tee vendor/good/README vendor/good/src/a.php vendor/good/0123/x vendor/autoload.php >/dev/null
	answers 0 add good
	sed -i 's/one/two/' good/commands/greet.lua
	answers 0 library update
	answers 0 good greet
	answers 0 library remove good
	[ "$(find vendor -type f ! -name .lock -exec cat {} + | grep -cx theirs)" -eq 4 ]
	[ "$(find vendor/good -type f | wc -l)" -eq 3 ]
}

@test "nothing is written or removed behind a link, neither vendor nor the folder of a library" {
	mkdir -p others/0123456789ab others/new-1
	echo theirs | tee others/file others/0123456789ab/file others/new-1/file >/dev/null
	mkdir vendor
	ln -s ../others vendor/good
	for flag in --dry-run --quiet; do
		call add good "$flag"
		[ "$status" -eq 4 ]
		expect 'e.error.code == "PRECONDITION" and "vendor/good is a link" in e.error.message and "--as" in e.error.fix_required'
	done
	[ ! -e runner.lock ]
	answers 0 add good --as better
	sed -i 's/better/good/' runner.lock
	answers 0 library remove good
	rm -r vendor
	ln -s others vendor
	call add good
	expect 'e.error.code == "PRECONDITION" and "vendor is a link" in e.error.message'
	[ "$(find others -type f -exec cat {} + | grep -cx theirs)" -eq 3 ]
	[ "$(find others | wc -l)" -eq 6 ]
	rm vendor
	mkdir vendor
	echo mine >vendor/good
	call add good
	expect 'e.error.code == "PRECONDITION" and "vendor/good is no folder" in e.error.message'
	[ "$(<vendor/good)" = mine ]
}
