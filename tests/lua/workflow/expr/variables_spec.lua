-- Variables in the texts of a workflow: what they mean, and that no value ever
-- becomes part of a shell text. The shells are the real ones.

local json = require "runner.json"
local proc = require "runner.ctx.process"
local variables = require "runner.workflow.expr.variables"

local function names(text, opts)
	local out = {}
	for _, found in ipairs(variables.names(assert(variables.parse(text, opts)))) do
		out[#out + 1] = found.name .. "@" .. found.offset
	end
	return out
end

local function raised(call, ...)
	local ok, e = pcall(call, ...)
	assert.is_false(ok)
	assert.are.equal("PRECONDITION", e.code)
	return e
end

local SCOPE = {
	vars = { release = "1.4.0", count = 3, ratio = 0.5, half = 2.0, yes = true, list = json.array { "a", "b" }, plain = { "only" },
		map = { inner = { deep = "x" } }, nothing = json.null, empty = "" },
	steps = { build = { output = "built", status = 0, ok = true, data = { files = json.array { { name = "f" } }, n = 7 } } },
	shell = { output = "out", status = 1 },
	run = { id = "01ABC", name = "demo" },
	item = { host = "h1" }, item_index = 0,
	env = function(name) return name == "HOME" and "/home/x" or nil end,
}

describe("variables.parse", function()
	it("finds each variable and where it stands", function()
		assert.are.same({ "a@1", "b.c-d.0@8" }, names "${a} - ${b.c-d.0}.")
		assert.are.same({}, names "nothing here, $a $ { } $")
	end)

	it("takes $${ for a literal ${", function()
		assert.are.same({}, names "$${a}")
		assert.are.equal("${a} 1.4.0 ${", variables.expand("$${a} ${release} $${", SCOPE))
		assert.are.equal("$${release}", variables.expand("$$${release}", SCOPE))
	end)

	it("says what is wrong and where", function()
		for text, place in pairs { ["ab ${x"] = 4, ["${}"] = 1, ["x${a b}"] = 2, ["${1}"] = 1, ["${a..b}"] = 1, ["${a.}"] = 1,
			["${a\n}"] = 1, ["${HOME:-/}"] = 1 } do
			local template, message, offset = variables.parse(text)
			assert.is_nil(template)
			assert.matches("%$%${", message, text)
			assert.are.equal(place, offset, text)
		end
	end)

	it("leaves the shell's own expansions to a shell text", function()
		for _, text in ipairs { "${HOME:-/}", "${#x}", "${1}", "${@}", "${x%.*}", "${x" } do
			local script, env = variables.shell(text, SCOPE)
			assert.are.equal(text, script)
			assert.is_nil(next(env))
		end
	end)
end)

describe("variables.lookup", function()
	local FOUND = { release = "1.4.0", ["map.inner.deep"] = "x", ["list.1"] = "b", ["steps.build.output"] = "built",
		["steps.build.data.files.0.name"] = "f", ["steps.build.ok"] = true, ["shell.status"] = 1, ["run.id"] = "01ABC", ["plain.0"] = "only",
		["item.host"] = "h1", item_index = 0, ["env.HOME"] = "/home/x", nothing = json.null, empty = "" }
	local MISSING = { "relase", "map.inner.deep.more", "list.2", "list.-1", "list.x", "steps.biuld.output", "steps", "run",
		"steps.build.data.nope", "env.NOT_THERE", "env", "claude.output", "release.x" }

	it("finds variables, results, items and the environment", function()
		for path, value in pairs(FOUND) do
			local v, found = variables.lookup(SCOPE, path)
			assert.is_true(found, path)
			assert.are.equal(value, v, path)
		end
	end)

	it("finds nothing where there is nothing", function()
		for _, path in ipairs(MISSING) do
			local v, found = variables.lookup(SCOPE, path)
			assert.is_nil(v, path)
			assert.is_false(found, path)
		end
	end)
end)

describe("variables.expand", function()
	it("writes values as people would", function()
		assert.are.equal("3 0.5 2 true null", variables.expand("${count} ${ratio} ${half} ${yes} ${nothing}", SCOPE))
		assert.are.equal('["a","b"]', variables.expand("${list}", SCOPE))
	end)

	it("does not look for variables in values", function()
		assert.are.equal("${release}", variables.expand("${a}", { vars = { a = "${release}", release = "no" } }))
	end)

	it("names an unknown variable and what was probably meant", function()
		local e = raised(variables.expand, "x ${relase}", SCOPE)
		assert.matches("%${relase}", e.message)
		assert.are.equal("Did you mean 'release'?", e.suggestion)
		assert.are.equal("Did you mean 'build'?", raised(variables.expand, "${steps.biuld.output}", SCOPE).suggestion)
		assert.matches("foreach", raised(variables.expand, "${item}", {}).suggestion)
		assert.matches("%-%-var zzz=", raised(variables.expand, "${zzz}", SCOPE).suggestion)
	end)

	it("knows the names of an outer scope too", function()
		local inner = setmetatable({ vars = setmetatable({ own = 1 }, { __index = SCOPE.vars }) }, { __index = SCOPE })
		assert.are.equal("1.4.0 built", variables.expand("${release} ${steps.build.output}", inner))
		assert.are.equal("Did you mean 'release'?", raised(variables.expand, "${relase}", inner).suggestion)
	end)

	it("gives the value itself where the template is one variable", function()
		assert.are.equal(3, variables.value("${count}", SCOPE))
		assert.are.equal(SCOPE.vars.list, variables.value("${list}", SCOPE))
		assert.are.equal("3 ", variables.value("${count} ", SCOPE))
		assert.are.equal("plain", variables.value("plain", SCOPE))
	end)
end)

-- --- shells ---------------------------------------------------------------------------

local SHELLS = { "dash", "bash" }
local dir

local function run(shell, text, scope)
	local script, values = variables.shell(text, scope)
	return proc.run(nil, { shell, "-c", script, cwd = dir, env = values, check = false })
end

-- Every place that a value can stand in. Each line prints its words, <a><b>….
local PLACES = {
	"w ${v}",
	'w "${v}"',
	"w '${v}'",
	"w a${v}b 'a ${v} b' \"a ${v} b\"",
	"w ${v}${v}",
	"x=${v}; w \"$x\"",
	"w \"$(printf %s. ${v})\"",
	"w \"$(printf %s. \"${v}\")\"",
	"w \"$(printf %s. '${v}')\"",
	"w \"`printf %s. ${v}`\"",
	"w \"${NOT_SET:-${v}}\"",
	"w ${NOT_SET:-'${v}'}",
	"w \"$(cat <<E\n${v}.\nE\n)\"",
	"cat <<-E | { IFS= read -r line; w ok; }\n\t${v}\n\tE",
	"w \"$(case ${v} in x) echo ${v};; *) printf %s. ${v};; esac)\" ${v}",
	"w a # don't ${v} \"\nw ${v}",
	"case ${v} in ${v}) w same;; *) w other;; esac",
	"w \\\\${v} \\\"${v}",
	"(w ${v}); { w '${v}'; }; f() { w ${v}; }; f",
	"for i in ${v} '${v}'; do w \"$i\"; done",
	"w \"$(w \"$(w \"${v}\" '${v}' ${v})\")\"",
	"[ ${v} = \"${v}\" ] && w equal",
}

-- What each place has to print for a value. A shell's $( ) drops newlines at the end;
-- hence the full stops.
local function expected(v)
	local function w(...)
		return "<" .. table.concat({ ... }, "><") .. ">"
	end
	return { w(v), w(v), w(v), w("a" .. v .. "b", "a " .. v .. " b", "a " .. v .. " b"), w(v .. v), w(v), w(v .. "."),
		w(v .. "."), w(v .. "."), w(v .. "."), w((v)), w(v), w(v .. "."), w "ok",
		w(v == "x" and v or v .. ".", v), w "a" .. w(v), w "same", w("\\" .. v, '"' .. v),
		w(v):rep(3), w(v):rep(2), w(w(w(v, v, v))), w "equal" }
end

local SCRIPT = "w() { for a; do printf '<%s>' \"$a\"; done; }\n"
for _, place in ipairs(PLACES) do
	SCRIPT = SCRIPT .. place .. "\nprintf '\\0'\n"
end

local function check(v)
	local wanted = expected(v)
	for _, shell in ipairs(SHELLS) do
		local result = run(shell, SCRIPT, { vars = { v = v } })
		assert.are.equal("", result.stderr, shell)
		local n = 0
		for got in result.stdout:gmatch "([^\0]*)%z" do
			n = n + 1
			assert.are.equal(wanted[n], got, ("%s, place %d with %q"):format(shell, n, v))
		end
		assert.are.equal(#PLACES, n)
	end
	assert.is_nil(io.open(dir .. "/ran"), ("%q ran"):format(v))
end

describe("a value in a shell text", function()
	setup(function()
		dir = os.tmpname()
		assert(os.remove(dir))
		assert(require("runner.fs").mkdir(dir, 448))
	end)

	teardown(function()
		require("runner.fs").remove_tree(dir)
	end)

	it("is one word and never runs, wherever it stands and whatever it holds", function()
		for _, v in ipairs {
			"plain", "", " ", "two words", "$(touch ran)", "`touch ran`", "'; touch ran; '", '"; touch ran; "', "; touch ran",
			"\ntouch ran\n", "x) touch ran;;", "$HOME", "${HOME}", "*", "?", "[a-z]*", "~", "-n", "-rf", "--", "\\", "\\\\", "'", '"',
			"''", '""', "a\tb", "&& touch ran", "| touch ran", "> ran", "< /dev/null", "E\ntouch ran\n", "\nE\ntouch ran", "EOF", "#",
			"a # b", "!!",
			"{a,b}", "$((1+1))", "x=1", "\u{e9}\u{20ac}\u{1f600}", "%s%n", "\\n", "'\"'\"'$(touch ran)", "\"$(touch ran)\"", "in",
			"esac", "done", "x", "$'\\x41'", "\r", "ends with newline\n",
		} do
			check(v)
		end
	end)

	it("is one word for random bytes", function()
		math.randomseed(185)
		local nasty = { "'", '"', "`", "$", "(", ")", "\\", "\n", ";", "&", "|", "*", "{", "}", "<", ">", "#", " ", "touch ran" }
		for _ = 1, 100 do
			local out = {}
			for i = 1, math.random(0, 24) do
				out[i] = math.random(2) == 1 and nasty[math.random(#nasty)] or string.char(math.random(1, 255))
			end
			check(table.concat(out))
		end
	end)

	it("is not run where the scanner is led astray", function()
		for _, text in ipairs { "echo \"$(case x in x) echo ${v};; esac\"", "echo $'it\\'s ${v}'", "echo 'open ${v}", "echo \"open ${v}",
			"cat <<'A B'\n${v}\nA B", "echo $((echo 1) | cat; echo '${v}')", "<<${v}\n${v}", "echo `echo \\`echo ${v}\\``",
			"x=(${v})", "(( ${v} ))" } do
			for _, v in ipairs { "$(touch ran)", "`touch ran`", "'; touch ran; '", "\"; touch ran; \"", "\n touch ran\n", ") ; touch ran" } do
				for _, shell in ipairs(SHELLS) do
					pcall(run, shell, text, { vars = { v = v } })
					assert.is_nil(io.open(dir .. "/ran"), ("%s: %s with %q"):format(shell, text, v))
				end
			end
		end
	end)

	it("puts only whole numbers into arithmetic, which a shell would run", function()
		for _, shell in ipairs(SHELLS) do
			assert.are.equal("8\n", run(shell, "echo $(( ${v} + (${v} + 2) ))", { vars = { v = "3" } }).stdout)
			assert.are.equal("7", run(shell, "printf %s \"$((1 + ${v} * 2))\"", { vars = { v = 3 } }).stdout)
		end
		assert.matches("arithmetic", raised(variables.shell, "echo $((${v}))", { vars = { v = "a[$(touch ran)]" } }).message)
	end)

	it("keeps what the shell would not change in a quoted here-document", function()
		local e = raised(variables.shell, "cat <<'E'\n${v}\nE", { vars = { v = "x" } })
		assert.matches("quoted", e.message)
		assert.matches("quoted", raised(variables.shell, "cat <<-\"A B\"; w\n${v}\n\tA B", { vars = { v = "x" } }).message)
		assert.are.equal("a x\nb\n", run("sh", "cat <<A; cat <<'B'\na ${v}\nA\nb\nB", { vars = { v = "x" } }).stdout)
		assert.are.equal("${v}\n$HOME\n", run("sh", "cat <<'E'\n$${v}\n$HOME\nE", { vars = { v = "x" } }).stdout)
	end)

	it("leaves the shell's variables to the shell, and raises for a dotted name", function()
		assert.are.equal(os.getenv "HOME" .. " 2", run("sh", "n=2; printf '%s %s' ${HOME} ${n}", SCOPE).stdout)
		assert.matches("steps%.nope%.output", raised(variables.shell, "echo ${steps.nope.output}", SCOPE).message)
		assert.matches("%${item}", raised(variables.shell, "echo ${item}", {}).message)
		assert.matches("vars", raised(variables.shell, "echo ${release:-x}", SCOPE).suggestion)
	end)

	it("stays out where a backslash stands before it", function()
		assert.are.equal("${release} x", run("sh", "printf %s \"\\${release} x\"", SCOPE).stdout)
	end)

	it("is passed once, however often it is used", function()
		local _, env = variables.shell("echo ${release} ${release} ${count}", SCOPE)
		assert.are.same({ RUNNER_VALUE_1 = "1.4.0", RUNNER_VALUE_2 = "3" }, env)
	end)

	it("is refused where the system can't pass it", function()
		assert.matches("NUL", raised(variables.shell, "echo ${v}", { vars = { v = "a\0b" } }).message)
		assert.matches("output_file", raised(variables.shell, "echo ${v}", { vars = { v = ("x"):rep(200000) } }).suggestion)
	end)
end)
