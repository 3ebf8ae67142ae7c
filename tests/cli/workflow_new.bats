#!/usr/bin/env bats
# workflow new: the file that it writes has no problems and runs; nothing is overwritten.

load lib/workflow

@test "a new workflow has neither errors nor warnings, and runs with claude and shows it live" {
	turns 'echo "{\"type\":\"result\",\"is_error\":false,\"result\":\"a test\",\"total_cost_usd\":0.01}"'
	call workflow new flows/review.yaml
	envelope 0
	expect 'e.data["path"] == "flows/review.yaml" and e.data["effect"] == "created"'
	expect '"runner workflow run flows/review.yaml" in e.data["suggestion"]'
	call workflow check flows/review.yaml
	envelope 0
	expect 'e.warnings == [] and e.data["workflow"] == "review"'
	call workflow run flows/review.yaml --var 'question=$(touch executed); really?'
	envelope 0
	expect 'e.warnings == [] and {s["state"] for s in e.data["steps"]} == {"completed"} and e.data["cost_usd"] == 0.01'
	[ "$(cat answer.txt)" = "a test" ]
	[ ! -e executed ]
	grep -qx -e --output-format claude/calls/1/argv
	grep -qx -e stream-json claude/calls/1/argv
}

@test "without claude a new workflow runs and skips its claude step; its name can be left out" {
	rm bin/claude
	call workflow new
	envelope 0
	expect 'e.data["path"] == "workflow.yaml"'
	call PATH=/usr/bin:/bin workflow run workflow.yaml
	envelope 0
	expect '[s["state"] for s in e.data["steps"]] == ["completed", "completed", "skipped", "skipped"]'
}

@test "a workflow file that exists is left as it is" {
	echo mine >workflow.yaml
	call workflow new
	envelope 6
	expect 'e.error.code == "ALREADY_EXISTS" and "workflow.yaml" in e.error.message'
	[ "$(cat workflow.yaml)" = mine ]
}

@test "what can't be the name of a file is an argument error, and nothing is written" {
	local name
	for name in "" . .. flows/ flows/..; do
		call workflow new "$name"
		envelope 2
	done
	[ ! -e flows ]
	call workflow new commands
	envelope 6
	: >plain
	call workflow new plain/x.yaml
	envelope 6
	expect 'e.error.code == "CONFLICT"'
}
