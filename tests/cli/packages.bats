#!/usr/bin/env bats
# What .ci/package makes of a build: each package is built, unpacked or installed, used and removed.

load lib/helper

# Those of the checkout's own build; others have no way to be installed.
setup_file() {
	serve_envelopes
	export OUT=$BATS_FILE_TMPDIR/dist
	is_packed && can_pack || return 0
	KINDS="deb dist sbom"
	! command -v npm >/dev/null || KINDS+=" npm"
	export KINDS
	# shellcheck disable=SC2086 # words
	package $KINDS >"$BATS_FILE_TMPDIR/log" 2>&1 || {
		cat "$BATS_FILE_TMPDIR/log" >&2
		return 1
	}
}

is_packed() {
	case $(realpath "$RUNNER") in
	"$(realpath "$ROOT")/build/runner") PACKED=build ;;
	"$(realpath "$ROOT")/build/static/runner") PACKED=build/static ;;
	*) return 1 ;;
	esac
}

can_pack() {
	dpkg-deb --version >/dev/null 2>&1
}

prepare() {
	is_packed || skip "another build is tested"
	can_pack || skip "needs dpkg-deb"
}

# package KIND…
package() {
	is_packed
	BUILD=$PACKED OUT=${OUT:?} "$ROOT/.ci/package" "$@"
}

deb() { echo "$OUT"/runner_*.deb; }

@test "the Debian package is what lintian wants: no error, no warning, nothing overridden" {
	command -v lintian >/dev/null || skip "no lintian"
	lintian --allow-root --fail-on error,warning --no-tag-display-limit "$(deb)" >out.txt 2>&1 || { cat out.txt >&2 && false; }
	[ -z "$(grep -E '^(E|W|O):' out.txt || true)" ]
}

@test "the Debian package depends on what is linked, and recommends what is opened on use" {
	dpkg-deb -f "$(deb)" >fields.txt
	if is_static; then
		[ -z "$(grep '^Depends:' fields.txt || true)" ]
		grep -qx 'Recommends: ca-certificates' fields.txt
	else
		grep -qE '^Depends: libc6 \(>= 2\.[0-9]+\), ?libmd0$' fields.txt
		grep -qE '^Recommends: libcurl4[^,]* \(>= [^)]+\), libsqlite3-0 \(>= [^)]+\), libarchive13, lua-yaml, ca-certificates$' fields.txt
	fi
	[[ $(dpkg-deb -f "$(deb)" Version) == "$("$RUNNER" --version)"* ]]
	[ "$(dpkg-deb -f "$(deb)" Architecture)" = "$(dpkg --print-architecture)" ]
	# no script of ours runs as root
	dpkg-deb --ctrl-tarfile "$(deb)" | tar -t | grep -vE '^\./(control|md5sums)?$' >other.txt || true
	[ ! -s other.txt ]
}

@test "the packages are for the processor that the program inside is for" {
	local machine=x86_64 debian=amd64 node=x64
	dpkg-deb --fsys-tarfile "$(deb)" | tar -xO ./usr/bin/runner >program
	case $(od -An -tu2 -j18 -N2 program | tr -d ' ') in # e_machine of elf(5)
	62) ;;
	183) machine=aarch64 debian=arm64 node=arm64 ;;
	*) false ;;
	esac
	[[ $(deb) == *"_$debian.deb" ]]
	dpkg-deb -I "$(deb)" | grep -qx " Architecture: $debian"
	if [[ $KINDS == *npm* ]]; then
		tar -xzOf "$OUT"/runner-linux-"$node"-*.tgz package/package.json >package.json
		grep -q "\"os\": \[\"linux\"\], \"cpu\": \[\"$node\"\]" package.json
	fi
	[ -s "$(echo "$OUT"/runner-*-linux-"$machine".tar.gz)" ]
}

@test "the packages of one build are the same bytes, whenever and wherever they are made" {
	local file
	# shellcheck disable=SC2086 # words
	OUT=$PWD/again TZ=Asia/Tokyo TMPDIR=$PWD HOME=/proc package $KINDS >log.txt 2>&1 # (no home that can be written)
	for file in "$OUT"/*; do
		cmp "$file" "again/${file##*/}"
	done
}

# inside COMMAND: in a copy of this system that is gone afterwards. What was written is in
# over/upper while it lasts.
inside() {
	local as_root=()
	[ "$(id -u)" -eq 0 ] || as_root=(--map-root-user)
	mkdir over
	cat >inside.sh <<-'SH'
		mount -t tmpfs tmpfs over && mkdir over/upper over/work over/root &&
			mount -t overlay overlay -o lowerdir=/,upperdir=over/upper,workdir=over/work over/root &&
			mount -t proc proc over/root/proc && mount --rbind /dev over/root/dev && mount -t tmpfs tmpfs over/root/tmp || exit 77
		cp runner.deb used.sh over/root/tmp/
		chroot over/root sh -e /tmp/used.sh || exit
		umount -l over/root/tmp over/root/proc over/root/dev
		find over/upper \( -type f -o -type l -o -type c -o -name '*runner*' \) ! -path '*/var/lib/dpkg/*' \
			! -path '*/var/log/*' ! -path '*/var/cache/*' -printf '/%P\n'
	SH
	unshare "${as_root[@]}" --mount true || return 77
	unshare "${as_root[@]}" --mount --pid --fork sh inside.sh
}

@test "the Debian package is installed, used, removed and purged, and nothing of it stays" {
	command -v dpkg >/dev/null || skip "no dpkg"
	cp "$(deb)" runner.deb
	cat >used.sh <<-'SH'
		export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/tmp/home DEBIAN_FRONTEND=noninteractive
		mkdir -p /tmp/home
		cd /tmp
		# (a machine of ours may lack what it recommends, and may have an older one)
		rm -rf /usr/local/share/runner /usr/local/bin/runner
		dpkg --no-triggers --force-unsafe-io -i runner.deb >&2
		command -v runner >&2
		runner --version --verbose | grep -q '^commit: '
		runner help health --format json | grep -q '"usage":"runner health <url>"'
		mkdir commands
		echo 'return { description = "x", danger_level = "safe", run = function() return { fine = true } end }' >commands/hello.lua
		runner hello | grep -q '"fine":true'
		test -s /usr/share/bash-completion/completions/runner
		dpkg -L runner | grep -qx /usr/share/man/man1/runner-workflow.1.gz
		test -s /usr/share/zsh/vendor-completions/_runner
		test -s /usr/share/fish/vendor_completions.d/runner.fish
		(cd / && grep ' usr/' /var/lib/dpkg/info/runner.md5sums | md5sum --quiet -c) >&2
		dpkg --no-triggers --force-unsafe-io -r runner >&2
		test ! -e /usr/bin/runner
		dpkg --no-triggers --force-unsafe-io -P runner >&2
		test ! -e /usr/share/runner
		test ! -e /usr/share/doc/runner
	SH
	status=0
	inside >left.txt 2>err.txt || status=$?
	[ "$status" -ne 77 ] || skip "no file system over another here: $(tail -n 1 err.txt)"
	[ "$status" -eq 0 ] || { cat err.txt >&2 && false; }
	grep -v '^/usr/local/' left.txt >ours.txt || true
	[ ! -s ours.txt ] || { cat ours.txt >&2 && false; }
}

@test "the tarballs have checksums that hold, and hold what they say" {
	local version
	version=$("$RUNNER" --version)
	(cd "$OUT" && sha256sum --quiet -c SHA256SUMS && [ "$(wc -l <SHA256SUMS)" -eq "$(find . -name 'runner*' | wc -l)" ])
	mkdir -p elsewhere
	tar -xzf "$OUT/runner-$version-linux-$(uname -m).tar.gz" -C elsewhere
	cd elsewhere/runner-*
	[ -s LICENSE ]
	RUNNER=$PWD/bin/runner call help health --format json
	[ "$status" -eq 0 ]
	mandoc share/man/man1/runner.1 >/dev/null
	grep -q 'University of Cambridge' share/doc/runner/copyright
	grep -q 'PUC-Rio' share/doc/runner/copyright
}

@test "the source's tarball is the commit, and knows which one it is" {
	{ [ -e "$ROOT/.git" ] && git -C "$ROOT" rev-parse -q --verify HEAD; } >/dev/null 2>&1 || skip "no repository"
	tar -xzf "$OUT/runner-$("$RUNNER" --version).tar.gz"
	cd runner-*
	git -C "$ROOT" ls-tree -r --name-only HEAD | sort >../listed.txt
	find . -type f -o -type l | cut -c3- | sort >../found.txt
	cmp ../listed.txt ../found.txt
	.ci/commit ../commit.h
	[ "$(cat ../commit.h)" = "#define RUNNER_COMMIT \"$(git -C "$ROOT" rev-parse HEAD)\"" ]
}

@test "the SBOM is SPDX 2.3: what is inside, what is opened, and how they hang together" {
	local linkage=dynamic
	! is_static || linkage=static
	python3 - "$OUT"/runner-*.spdx.json "$("$RUNNER" --version)" $linkage <<'PY'
import json, re, sys

d = json.load(open(sys.argv[1]))
assert (d["spdxVersion"], d["dataLicense"], d["SPDXID"]) == ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"), d
assert d["name"] and re.match(r"https?://[^#\s]+$", d["documentNamespace"])
assert re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$", d["creationInfo"]["created"])
assert all(re.match(r"(Tool|Organization|Person): ", c) for c in d["creationInfo"]["creators"])
ids = {"SPDXRef-DOCUMENT"}
for p in d["packages"]:
    assert re.match(r"SPDXRef-[A-Za-z0-9.-]+$", p["SPDXID"]) and p["SPDXID"] not in ids, p
    ids.add(p["SPDXID"])
    assert p["name"] and p["versionInfo"] and p["downloadLocation"] == "NOASSERTION" and p["filesAnalyzed"] is False, p
    for ref in p.get("externalRefs", []):
        assert re.match(r"pkg:deb/debian/[a-z0-9.+-]+@[A-Za-z0-9.%-]+\?arch=\w+$", ref["referenceLocator"]), ref
main = d["packages"][0]
assert main["name"] == "runner" and main["versionInfo"] == sys.argv[2] and len(main["checksums"][0]["checksumValue"]) == 64
names = {p["name"]: p["SPDXID"] for p in d["packages"]}
static = sys.argv[3] == "static"
inside = {"lua5.4", "lua-cjson", "pcre2", "sqlite3", "curl", "openssl", "lua-yaml", "libyaml", "libmd", "libarchive", "zlib", "musl"}
linked = {"Lua", "lua-cjson", "PCRE2", "SQLite", "libcurl", "lua-yaml", "libmd", "glibc"}
assert (inside if static else linked) <= set(names), names
kinds = {}
for r in d["relationships"]:
    assert {r["spdxElementId"], r["relatedSpdxElement"]} <= ids, r
    kinds[r["relatedSpdxElement"] if r["spdxElementId"] == main["SPDXID"] else r["spdxElementId"]] = r["relationshipType"]
assert kinds["SPDXRef-DOCUMENT"] == "DESCRIBES"
if static:
    assert all(kinds[names[name]] == "STATIC_LINK" for name in inside), kinds
else:
    assert kinds[names["Lua"]] == "STATIC_LINK" and kinds[names["glibc"]] == "DYNAMIC_LINK"
    assert kinds[names["SQLite"]] == "RUNTIME_DEPENDENCY_OF", kinds
assert set(kinds) == ids - {main["SPDXID"]}, kinds
PY
	# the program that is described is the one in every package
	dpkg-deb --fsys-tarfile "$(deb)" | tar -xO ./usr/bin/runner >program
	grep -q "$(sha256sum program | cut -d' ' -f1)" "$OUT"/runner-*.spdx.json
	[[ $KINDS != *npm* ]] || tar -xzOf "$OUT"/runner-linux-*.tgz package/bin/runner | cmp - program
}

@test "npm and the tarball hold the static program, the Debian package the dynamic one, unless a build is named" {
	unset MAKEFLAGS MAKELEVEL BUILD
	packs() { make -C "$ROOT" -n "$@" 2>/dev/null | grep -o "BUILD=[a-z/]* CC=.* .ci/package [a-z]*" | sed 's/ CC=.* / /'; }
	[ "$(packs npm)" = "BUILD=build/static npm" ]
	[ "$(packs dist)" = "BUILD=build/static dist" ]
	[ "$(packs deb)" = "BUILD=build deb" ]
	[ "$(packs npm BUILD=build)" = "BUILD=build npm" ]
}

@test "the npm package installs offline, and its command is the program itself" {
	command -v npm >/dev/null || skip "no npm"
	npm install --offline --silent --no-audit --no-fund --cache "$PWD/cache" --prefix "$PWD/app" "$OUT"/runner-linux-*.tgz
	[ "$(readlink -f app/node_modules/.bin/runner)" = "$(readlink -f app/node_modules/runner-linux-*/bin/runner)" ]
	[ "$(head -c 4 app/node_modules/.bin/runner)" = $'\177ELF' ]
	RUNNER=$PWD/app/node_modules/.bin/runner
	call help health --format json
	expect 'e.data["usage"] == "runner health <url>"'
	body hello <<<'return { fine = true }'
	answers 0 hello
	# no shell, no Node.js: one program is started
	env -i "${CLEAN_ENV[@]}" HOME="$PWD" strace -f -qq -e trace=execve -o trace.txt "$RUNNER" hello >out.txt 2>err.txt </dev/null ||
		skip "strace can't trace here"
	[ "$(grep -c 'execve(' trace.txt)" -eq 1 ]
	npm uninstall --offline --silent --cache "$PWD/cache" --prefix "$PWD/app" "runner-linux-$(node -p process.arch)"
	[ ! -e app/node_modules/.bin/runner ]
}
