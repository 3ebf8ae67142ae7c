"""What the tasks of a project do: their programs, files and output, from each folder, beside a table of what they must do.

  ported.py TABLE PROJECT RUNNER…   PROJECT is the folder with the tasks; RUNNER is how a call begins

Every program is a stub that notes its name, words, directory and variables. A block of the table is "$ WORDS", then one line
for each program, "> TEXT" for each line of output, "- FILE" for each file that is gone and "= FILE SUM" for each that is new or changed. With a
comment in front, programs run in any order, and their lines are sorted. A table is written with WRITE=1 in the environment, by whatever RUNNER is: just itself has made that of its own recipes.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import zlib

NAMES = """cargo git sd mdbook rustup changeling shellcheck cc man just node ruby python3 perl nu forbid go mockery
golangci-lint gotestsum gorelease goreleaser pnpm sleepit""".split()
SHOWN = ["JUST_LOG", "CGO_ENABLED", "GOBIN", "GOLDIE_UPDATE", "GOLDIE_TEMPLATE", "DOCS_CHANNEL", "DOCS_LOCAL"]
FOLDERS = [".", "website", "src/deep"]

STUB = r"""#!/bin/sh
{
	printf '%s' "${0##*/}"
	case ${0##*/}$1 in
	node*|ruby*|python3*|perl*|nu*) sed -n '/[^ ]/s/^/ |/p' "$1" | grep -v '^ |#!' | sed 's/ *$//' | tr -d '\n' ;;
	*) for word; do printf ' [%s]' "$word"; done ;;
	esac
	here=$(pwd -P)
	[ "$here" = "$TOP" ] || printf ' in %s' "${here#"$TOP"/}"
	for name in SHOWN; do
		eval "value=\${$name-}"
		[ -z "$value" ] || printf ' %s=%s' "$name" "$value"
	done
	echo
} | sed "s|$TOP|TOP|g" >>"$LOG"
case ${0##*/}\ $* in
"git rev-parse --abbrev-ref HEAD") echo "${BRANCH:-feature}" ;;
"git describe --tags --abbrev=0") echo v3.50.0 ;;
"git clone "*) mkdir -p tmp/release && printf 'version = "1.2.3"\n' >tmp/release/Cargo.toml && echo text >tmp/release/README.md ;;
"git log "*) echo "- a change" ;;
"git tag -d "*) exit 1 ;;
"go run ./cmd/release --version "*) echo 3.51.0 ;;
"go version "*) exit 1 ;;
"cargo lrun -- --man") echo manual ;;
"cargo lbuild") mkdir -p target/debug && printf '#!/bin/sh\nexec just "$@"\n' >target/debug/just && chmod +x target/debug/just ;;
"just --completions "*) echo completions ;;
cc*) cksum <"$1" >>"$LOG"; printf '#!/bin/sh\ncat "%s"\n' "$(pwd)/$1" >"$3"; chmod +x "$3" ;;
esac
"""


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
    os.chmod(path, mode)


def files(top):
    out = {}
    for folder, names, found in os.walk(top):
        if ".git" in names:
            names.remove(".git")
        for name in found:
            path = os.path.join(folder, name)
            with open(path, "rb") as f:
                out[os.path.relpath(path, top)] = zlib.crc32(f.read())
    return out


def project(source, place):
    """A project with the stubs, where the words of one call find all that they need."""
    top, stubs = place + "/top", place + "/stubs"
    shutil.copytree(source, top)
    for name in [".git/HEAD", "README.md", "CHANGELOG.md", "src/a.rs", "src/b.rs", "src/deep/c.rs", "www/install.sh", "main.go", "go.mod",
                 "internal/fingerprint/checker.go", "internal/old_mock.go", "testdata/a.golden", "cmd/sleepit/main.go", "dist/x",
                 "website/package.json", "website/vitepress/dist/x", "examples/rule124.just"]:
        if not os.path.exists(top + "/" + name):
            write(top + "/" + name, "<sup>master</sup>\n" if name == "README.md" else "text\n")
    stub = STUB.replace("SHOWN", " ".join(SHOWN))
    for name in NAMES:
        write(stubs + "/" + name, stub, 0o755)
    for path in ["bin/forbid", "bin/mockery", "bin/sleepit"]:
        write(top + "/" + path, stub, 0o755)
    return top, stubs


def run(source, runner, words, folder):
    with tempfile.TemporaryDirectory() as place:
        place = os.path.realpath(place)
        top, stubs = project(source, place)
        before = files(top)
        env = {"PATH": stubs + ":/usr/bin:/bin", "HOME": place, "TOP": top, "LOG": place + "/log", "TMPDIR": place,
               "XDG_STATE_HOME": place + "/state", "XDG_CACHE_HOME": place + "/cache", "XDG_RUNTIME_DIR": place}
        if words[:1] == ["release"]:
            env["BRANCH"] = "main"
        os.makedirs(top + "/" + folder, exist_ok=True)
        done = subprocess.run(runner + words, cwd=top + "/" + folder, env=env, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=120, check=False)
        log = open(place + "/log").read().splitlines() if os.path.exists(place + "/log") else []
        after = files(top)
        # just's own programs write to stdout; runner's answer is there, and what tasks print on stderr
        text = done.stderr if done.stdout.startswith("{") else done.stdout
        out = log + ["> " + line for line in text.replace(top, "TOP").splitlines() if not line.startswith("+")]
        out += ["- " + path for path in sorted(before) if path not in after]
        out += ["= %s %08x" % (path, after[path]) for path in sorted(after) if before.get(path) != after[path]]
        if done.returncode != 0:
            out.append("exit %d" % done.returncode)
        return out, done


def main():
    table, source, runner = sys.argv[1], sys.argv[2], sys.argv[3:]
    with open(table) as f:
        blocks = [block.strip().splitlines() for block in f.read().split("\n\n") if "$ " in block]
    failed = 0
    for i, block in enumerate(blocks):
        at_once = block[0].startswith("#")
        block = block[at_once:]
        words = shlex.split(block[0][2:])
        if os.environ.get("WRITE"):
            print("\n".join([block[0]] + run(source, runner, words, ".")[0]) + "\n")
            continue
        for folder in FOLDERS if i % 8 == 0 else [FOLDERS[i % 3]]:
            got, done = run(source, runner, words, folder)
            wanted = [line.replace("HERE", "TOP" if folder == "." else "TOP/" + folder) for line in block[1:]]
            if (sorted(got) if at_once else got) != wanted:
                failed += 1
                print("%s, in %s:\n  wanted %s\n  got    %s\n%s" % (block[0], folder, wanted, got, done.stdout))
    print("%d calls, %d other than the table says" % (len(blocks), failed))
    sys.exit(failed > 0)


main()
