#!/usr/bin/env bats
# The packages of the program that is built here for arm64: what says which processor they are for. `make check-arm64`
# runs it where programs of arm64 run.
# shellcheck disable=SC2034 # what stdout holds is for assert_envelope

RUNNER=${RUNNER:-$BATS_TEST_DIRNAME/../../build/static-arm64/runner}
load ../cli/lib/helper

setup_file() {
	export OUT=$BATS_FILE_TMPDIR/dist
	package deb npm sbom >"$BATS_FILE_TMPDIR/log" 2>&1 || {
		cat "$BATS_FILE_TMPDIR/log" >&2
		return 1
	}
}

# package KIND…: made by the Makefile, as users do
package() {
	make -s -C "$ROOT" static ARCH=arm64 TARGET="$*" OUT="${OUT:?}"
}

deb() { echo "$OUT"/runner_*_arm64.deb; }

# of_arm64 FILE: a static program of that processor, by its ELF header (EM_AARCH64 is 183) and for file(1)
of_arm64() {
	[ "$(od -An -tu2 -j18 -N2 "$1" | tr -d ' ')" -eq 183 ]
	[ "$(readelf -lW "$1" | grep -c 'INTERP\|DYNAMIC')" -eq 0 ]
	! command -v file >/dev/null || [[ $(file "$1") == *"64-bit LSB executable, ARM aarch64"*"statically linked, stripped" ]]
}

@test "the Debian package is for arm64, and depends on nothing" {
	dpkg-deb -I "$(deb)" >fields.txt
	grep -qx ' Architecture: arm64' fields.txt
	grep -qx ' Recommends: ca-certificates' fields.txt
	[ "$(grep -c '^ Depends:' fields.txt)" -eq 0 ]
	dpkg-deb -x "$(deb)" tree
	of_arm64 tree/usr/bin/runner
	[ -s tree/usr/share/man/man1/runner-workflow.1.gz ]
	[ -s tree/usr/share/bash-completion/completions/runner ]
	grep -q 'The C library musl is inside' tree/usr/share/doc/runner/copyright
	grep -q 'The OpenSSL Project\|The library openssl is inside' tree/usr/share/doc/runner/copyright
	[ "$(grep -c cmocka tree/usr/share/doc/runner/copyright)" -eq 0 ]
}

@test "lintian says nothing against the Debian package" {
	command -v lintian >/dev/null || skip "no lintian"
	lintian --allow-root --fail-on error,warning "$(deb)" >out.txt 2>&1 || { cat out.txt >&2 && false; }
	[ -z "$(grep -E '^(E|W):' out.txt || true)" ]
}

@test "the npm package says its processor, needs no C library, and its command is the program itself" {
	mkdir tree
	tar -xzf "$OUT"/runner-linux-arm64-*.tgz -C tree
	python3 - tree/package/package.json <<'PY'
import json, sys
p = json.load(open(sys.argv[1]))
assert (p["name"], p["os"], p["cpu"], p["bin"]) == ("runner-linux-arm64", ["linux"], ["arm64"], {"runner": "bin/runner"}), p
assert not {"libc", "scripts", "dependencies"} & set(p), p
PY
	of_arm64 tree/package/bin/runner
	command -v npm >/dev/null || skip "no npm to refuse it"
	# npm keeps it from a machine of another processor …
	status=0
	npm install --offline --no-audit --no-fund --cache "$PWD/cache" --cpu=x64 --prefix "$PWD/app" "$OUT"/runner-linux-arm64-*.tgz >out.txt 2>&1 || status=$?
	[ "$(uname -m)" = aarch64 ] || { [ "$status" -ne 0 ] && grep -q EBADPLATFORM out.txt; }
}

@test "the program of every package is the one that the SBOM names, with musl and each library once" {
	dpkg-deb --fsys-tarfile "$(deb)" | tar -xO ./usr/bin/runner >program
	tar -xzOf "$OUT"/runner-linux-arm64-*.tgz package/bin/runner | cmp - program
	python3 - "$OUT"/runner-*-linux-aarch64.spdx.json "$(sha256sum program | cut -d' ' -f1)" <<'PY'
import json, sys
d = json.load(open(sys.argv[1]))
names = [p["name"] for p in d["packages"]]
assert len(set(names)) == len(names) and {"musl", "openssl", "sqlite3", "lua5.4"} <= set(names) and "cmocka" not in names, names
assert d["packages"][0]["checksums"][0]["checksumValue"] == sys.argv[2]
assert d["packages"][0]["comment"].endswith("static, aarch64-linux")
assert all(p["checksums"][0]["checksumValue"] for p in d["packages"] if p["name"] != "musl"), names
PY
}

@test "the chunks of Lua inside are the bytes that a build for this processor has" {
	local other=$ROOT/build/lua.c
	make -s -C "$ROOT" build/lua.c
	cmp "$other" "$ROOT/build/static-arm64/lua.c"
}

@test "the program of the package runs where there is nothing else" {
	unshare -r true 2>/dev/null || skip "no user namespaces"
	dpkg-deb -x "$(deb)" tree
	mkdir -p root
	body hello <<<'return { fine = true, number = 2 ^ 0.5, bytes = ("\xff"):byte() }'
	mv commands root/
	cp tree/usr/bin/runner root/runner
	status=0
	unshare -r chroot root /runner hello >out.txt 2>err.txt </dev/null || status=$?
	stdout=$(<out.txt)
	assert_envelope
	expect 'e.data == {"fine": True, "number": 2 ** 0.5, "bytes": 255}'
}
