-- casey/just's justfile, ported whole: 40 recipes.
local quine = [[

  int printf(const char*, ...);

  int main() {
    char *s =
      "int printf(const char*, ...);"
      "int main() {"
      "   char *s = %c%s%c;"
      "  printf(s, 34, s, 34);"
      "  return 0;"
      "}";
    printf(s, 34, s, 34);
    return 0;
  }
]]

return {
	env = { JUST_LOG = "warn" },
	tasks = {
		-- dev
		watch = { "Run a cargo command whenever files change", args = { { "args", "string", variadic = true } },
			shell = 'cargo watch --clear --exec "${*:-lcheck}"' },
		done = { "Clean up a feature branch", args = { { "branch", "string", positional = true } }, shell = [[
			branch=${branch:-$(git rev-parse --abbrev-ref HEAD)}
			git checkout master
			git diff --no-ext-diff --quiet --exit-code
			git pull --rebase github master
			git diff --no-ext-diff --quiet --exit-code "$branch"
			git branch -D "$branch" ]] },
		["install-dev-deps"] = { "Install development dependencies", shell = [[
			rustup install nightly
			rustup update nightly
			cargo install cargo-limit
			cargo install cargo-watch
			cargo install --locked mdbook@0.4.52
			cargo install --locked mdbook-linkcheck@0.7.7 ]] },
		replace = { "Replace a pattern in all sources", shell = 'sd "$from" "$to" src/*.rs',
			args = { { "from", "string", positional = true, required = true }, { "to", "string", positional = true, required = true } } },
		["print-readme-constants-table"] = { "Print the table of constants",
			run = { "cargo", "ltest", "constants::tests::readme_table", "--", "--nocapture" } },

		-- test
		test = { "Run all tests", aliases = { "t" }, needs = { { "watch", args = { "ltest --tests --all --all-targets" } } } },
		filter = { "Run the tests that match a pattern", args = { { "pattern", "string", positional = true, required = true } },
			shell = 'cargo watch --clear --exec "ltest --tests --all --all-targets $pattern"' },
		["test-release-workflow"] = { "Test the workflow of releases", shell = [[
			git tag -d test-release || true
			git push origin :test-release || true
			git tag test-release
			git push origin test-release ]] },
		["test-completions"] = { "Try the completions in a shell", interactive = true, shell = [[
			#!/usr/bin/env bash
			rm -rf tmp/complete
			mkdir -p tmp/complete/bin
			cargo lbuild
			cp target/debug/just tmp/complete/bin
			./tmp/complete/bin/just --completions bash > tmp/complete/just.bash
			cat > tmp/complete/justfile << EOF
			alias hello := foo::bar
			mod foo
			EOF
			echo 'bar:' > tmp/complete/foo.just
			cd tmp/complete && PATH="`realpath bin`:$PATH" bash --init-file just.bash ]] },

		-- check
		check = { "Check all targets", needs = { { "watch", args = { "lcheck --tests --all --all-targets" } } } },
		ci = { "Check all that CI checks", needs = { "test", "build-book", "forbid" }, shell = [[
			cargo lclippy --all --all-targets --all-features -- --deny warnings
			cargo fmt --all -- --check
			cargo update --locked --package just ]] },
		shellcheck = { "Check the installer", run = { "shellcheck", "www/install.sh" } },
		["action-versions"] = { "Check versions of actions", run = { "cargo", "lrun", "--package", "action-versions" } },
		outdated = { "List outdated dependencies", run = { "cargo", "outdated", "-R" } },
		unused = { "List unused dependencies", run = { "cargo", "+nightly", "udeps", "--workspace" } },
		clippy = { "Everyone's favorite animate paper clip",
			needs = { { "watch", args = { "lclippy --all --all-targets --all-features -- --deny warnings" } } } },
		forbid = { "Look for what is forbidden", run = { "./bin/forbid" } },
		["build-book"] = { "Build the book", shell = [[
			cargo lrun --package generate-book
			mdbook build book/en
			mdbook build book/zh ]] },

		-- misc
		run = { "Run just", run = { "cargo", "lrun" } },
		build = { "Build just", run = { "cargo", "lbuild" } },
		fmt = { "Format all code", run = { "cargo", "fmt", "--all" } },
		install = { "Install just from crates.io", run = { "cargo", "install", "-f", "just" } },

		-- doc
		man = { "Write the man page", shell = [[
			mkdir -p man
			cargo lrun -- --man > man/just.1 ]] },
		["view-man"] = { "View the man page", needs = { "man" }, interactive = true, run = { "man", "man/just.1" } },
		doc = { "Open the documentation of the code", run = { "cargo", "doc", "--all", "--open" } },

		-- release
		["update-changelog"] = { "Add git log messages to changelog", shell = [[
			echo >> CHANGELOG.md
			git log --pretty='format:- %s' >> CHANGELOG.md ]] },
		["update-contributors"] = { "Update the list of contributors", run = { "changeling", "update-contributors" } },
		publish = { "Publish current GitHub master branch", shell = [=[
			#!/usr/bin/env bash
			set -euxo pipefail
			rm -rf tmp/release
			git clone --depth 1 git@github.com:casey/just.git tmp/release
			cd tmp/release
			! grep '<sup>master</sup>' README.md
			VERSION=`sed -En 's/version[[:space:]]*=[[:space:]]*"([^"]+)"/\1/p' Cargo.toml | head -1`
			git tag -a $VERSION -m "Release $VERSION"
			git push origin $VERSION
			cargo publish
			cd ../..
			rm -rf tmp/release ]=] },
		["readme-version-notes"] = { "Find notes of versions to come", run = { "grep", "<sup>master</sup>", "README.md" } },

		-- demo
		["test-quine"] = { "Run the quine of just", run = { "cargo", "lrun", "--", "quine" } },
		quine = { "Make a quine, compile it, and verify it", env = { QUINE = quine }, shell = [[
			mkdir -p tmp
			echo "$QUINE" > tmp/gen0.c
			cc tmp/gen0.c -o tmp/gen0
			./tmp/gen0 > tmp/gen1.c
			cc tmp/gen1.c -o tmp/gen1
			./tmp/gen1 > tmp/gen2.c
			diff tmp/gen1.c tmp/gen2.c
			rm -r tmp
			echo 'It was a quine!' ]] },
		polyglot = { "Run all polyglot recipes", needs = { "_python", "_js", "_perl", "_sh", "_ruby" } },
		_python = { "Python", shell = [[
			#!/usr/bin/env python3
			print('Hello from python!') ]] },
		_js = { "JavaScript", shell = [[
			#!/usr/bin/env node
			console.log('Greetings from JavaScript!') ]] },
		_perl = { "Perl", shell = [[
			#!/usr/bin/env perl
			print "Larry Wall says Hi!\n"; ]] },
		_sh = { "A shell", shell = [[
			#!/usr/bin/env sh
			hello='Yo'
			echo "$hello from a shell script!" ]] },
		_nu = { "Nushell", shell = [[
			#!/usr/bin/env nu
			let hellos = ["Greetings", "Yo", "Howdy"]
			$hellos | each {|el| print $"($el) from a nushell script!" } ]] },
		_ruby = { "Ruby", shell = [[
			#!/usr/bin/env ruby
			puts "Hello from ruby!" ]] },
		pwd = { "Print working directory, for demonstration purposes!", cwd = "caller", shell = 'echo "$PWD"' },
		rule124 = { "Draw rule 124", run = { "just", "-f", "examples/rule124.just" } },
	},
}
