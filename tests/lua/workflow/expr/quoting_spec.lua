local quoting = require "runner.workflow.expr.quoting"

-- The text with each pipe that is found replaced by "!".
local function marked(text)
	for _, at in ipairs(quoting.pipes(text)) do
		assert.equal("|", text:sub(at, at))
		text = text:sub(1, at - 1) .. "!" .. text:sub(at + 1)
	end
	return text
end

describe("the pipes of a shell text", function()
	it("are found once for each pipeline", function()
		for _, text in ipairs { "a ! b", "a!b", "a ! b | c", "a !\n b | c", "a ! b; c ! d", "a ! b\nc ! d", "a ! b && c ! d",
			"a ! b || c ! d", "x=$(a ! b)", "x=\"$(a ! b | c)\"", "x=`a ! b`", "if a ! b; then c ! d; fi", "while read x; do a; done ! sort",
			"{ a; b; } ! c", "(a; b) ! c", "(echo a; b) ! c", "! a ! b", "a 2>&1 ! b", "a & b ! c", "${steps.x.output} ! b",
			"case x in a|b) a ! b;; (c|d) a ! b;; esac; a ! b", "case x in a) case y in b|c) a ! b;; esac; a ! b;; d|e) :; esac",
			"echo a | b ! c", "cat <<E ! b\nx | y\nE\na ! b",
			"cat <<E <<'' ! b\nx | y\nE\nx | y\n\na ! b" } do
			local pipes = text:gsub("^!", "\1"):gsub(" ! ", " | "):gsub("a!b", "a|b"):gsub(" !\n", " |\n"):gsub("\1", "!")
			assert.equal(text, marked(pipes))
		end
	end)

	it("are not what only looks like one", function()
		for _, text in ipairs { "", "a || b", "a >| b", "'a | b'", '"a | b"', "a \\| b", "# a | b", "echo $((1 | 2))", "${x:-a|b}",
			"case x in a|b) c;; esac", "case x in\n a | b) c;;\n d | e) f\nesac", "case x in (a|b) c;; esac", "cat <<E\na | b\nE",
			"cat <<'E'\n$(a | b)\nE" } do
			assert.same({}, quoting.pipes(text), text)
		end
	end)

	it("don't count behind commands that don't fail", function()
		for _, text in ipairs { "echo a | b", "printf '%s' \"$x\" | b", "if echo a | b; then c; fi", "yes | b", "echo a 2>&1 | b",
			"! echo a | b", "a; echo b | c", "a && echo b | c" } do
			assert.same({}, quoting.pipes(text), text)
		end
	end)
end)
