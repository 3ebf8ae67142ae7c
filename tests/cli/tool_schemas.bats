#!/usr/bin/env bats
# The schemas of tools, as the validators of several languages read them: each takes what runner takes.

load lib/helper

SCHEMAS=$BATS_TEST_DIRNAME/../schemas

# Once, also where two suites run at once.
setup_file() {
	serve_envelopes
	command -v npm >/dev/null || return 0
	(cd "$SCHEMAS" && exec 9<package.json && flock -w 330 9 && [ ! -e node_modules/re2-wasm/package.json ] &&
		timeout 300 npm ci --no-audit --no-fund --ignore-scripts --fetch-retry-mintimeout 500 --fetch-retry-maxtimeout 3000 9<&-) >/dev/null 2>&1 || true
}

need_packages() {
	command -v node >/dev/null || skip "no Node.js here"
	[ -e "$SCHEMAS/node_modules/re2-wasm/package.json" ] || skip "npm can't install the validators here"
}

prepare() {
	mkdir -p lib
	cat >lib/rows.lua <<-'LUA'
		local reference, folder = require "runner.core.reference", require "runner.jobs.folder"
		-- a pattern, and texts that it takes
		return {
			{ "uuid", "123e4567-e89b-12d3-a456-426614174000" }, { "semver", "1.20.3", "1.0.0-rc.1+b2" }, { "url", "https://e.org/a?b", "a:/" },
			{ "alphanumeric_id", "web-01" }, { "filepath", "site/index.html", "a/..b/.c/%20", "...", "a%2%2Ab", "a%2%5", ".", "/", "a//b", "%5%2e", "a/.." },
			{ reference.PATTERN, "run_01JABC", "@last", "my run" }, { folder.CONDITION, "ended", "step:a b", "done:15" },
			{ [[^\d{3}\.\w+\s$]], "123.ab ", "123.\u{660} " }, { [=[^[\w.-]+@[[:alnum:]]{2,}(?:\.[a-z]+)*$]=], "a.b@xy.org" }, { "^a|b$", "a", "b", "ab" },
			{ "^(?<year>[0-9]{4})-(0[1-9]|1[0-2])$", "2026-11" }, { "^[]^a-]+?$", "]^a-" }, { "^.+$", "a\u{2028}b", "\r" }, { [[^\S+\W?$]], "a!" },
			{ [[^\x41\x{e9}[ä-ü]\/\-$]], "Aéö/-" }, { [=[^[[:punct:]]{1,4}$]=], "[`~" }, { "^a{b}{2}$", "a{b}}" }, { [=[^[^\s/\]]*$]=], "a[b" },
			{ [[^x\$]], "x$" },
		}
	LUA
	cat >commands/probe.lua <<-'LUA'
		local args = {}
		for i, row in ipairs(require "rows") do
			args[i] = { ("p%02d"):format(i), "string", pattern = row[1], description = "A text" }
		end
		return { description = "x", danger_level = "safe", args = args, run = function() return {} end }
	LUA
	cat >commands/judge.lua <<-'LUA'
		local rules, rows = require "runner.declare.rare_arguments", require "rows"
		local PARTS = { "a", "b", "z", "A", "F", "0", "2", "5", "9", "_", "-", ".", "..", "/", ":", "%", "%2", "@", " ", "\t", "\r", "\n", "\v", "\u{85}",
			"\u{a0}", "\u{2028}", "\u{660}", "é", "ö", "\u{1f600}", "\x01", "\x1f", "\x7f", "[", "]", "^", "`", "~", "{", "}", "$", "?", "#" }
		local seed = 7
		local function below(n)
			seed = (seed * 1103515245 + 12345) % 2147483648
			return (seed >> 8) % n
		end
		-- One that is taken, with a few changes; or any.
		local function value(row)
			local text = below(4) > 0 and row[2 + below(#row - 1)] or ""
			for _ = 1, below(4) do
				local at = utf8.offset(text, below(utf8.len(text) + 1) + 1)
				local after = below(2) == 0 and utf8.offset(text, 2, at) or at
				text = text:sub(1, at - 1) .. (below(4) > 0 and PARTS[1 + below(#PARTS)] or "") .. text:sub(after or at)
			end
			return text
		end
		return { description = "x", danger_level = "safe", timeout = "5m", run = function()
			local out = {}
			for i, row in ipairs(rows) do
				local values, taken = {}, {}
				for j = 1, 540 do
					values[j] = value(row)
					taken[j] = rules.refuses({ pattern = row[1] }, values[j]) == nil
				end
				out[i] = { name = ("p%02d"):format(i), values = values, taken = taken }
			end
			-- an envelope has no control characters
			require("fs").write("judged.json", require("json").encode { rows = out })
			return {}
		end }
	LUA
}

judged() {
	known
	answers 0 mcp tools --all --format json
	cp out.txt tools.json
	answers 0 judge
}

@test "ajv, zod and RE2 take the schema of every tool, and of 10,000 values those that runner takes" {
	need_packages
	judged
	timeout 120 node "$SCHEMAS/portable.mjs" tools.json judged.json
}

@test "Python takes the patterns of every tool, and of 10,000 values those that runner takes" {
	judged
	timeout 120 python3 "$SCHEMAS/portable.py" tools.json judged.json
}

@test "the default of a json argument is told as it is: by help, --schema, the manifest and over MCP" {
	body keeps 'args = { { "of", "json", default = { a = 1 } }, { "all", "array", items = "json", default = { { a = 1 } } } },' <<<'return {}'
	local told='"default":{"a":1}' all='"default":[{"a":1}]' flags
	for flags in "keeps --help" "keeps --schema" manifest "mcp tools --all"; do
		# shellcheck disable=SC2086
		call $flags --format json
		[ "$status" -eq 0 ]
		[[ $stdout == *"$told"* ]]
		[[ $stdout == *"$all"* ]]
	done
}
