local test = require "test"

test("shows the lines that have the text", function(t)
	t:files { ["app.log"] = "all is well\nERROR: no\nwell\nan error\n" }
	local data = t:succeeds(t:call("tail", { file = t.dir .. "/app.log", match = "error" }))
	t:equal(data.items, { { line = 2, text = "ERROR: no" }, { line = 4, text = "an error" } })
	t:equal({ data.lines, data.matched }, { 4, 2 })
end)

test("follows a log until its time is over", function(t)
	t:files { ["app.log"] = "one\n" }
	local answer = t:call({ "tail", t.dir .. "/app.log", "--follow", "--format", "jsonl", "--timeout", "1s" })
	t:equal(answer.exit_code, 10)
	t:contains(answer.stdout, '"text":"one"')
end)
