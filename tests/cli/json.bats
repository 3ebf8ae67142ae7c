#!/usr/bin/env bats
# require "json" against Python's json, as an independent reader and writer.

load lib/helper

@test "what Python writes, json.decode reads and json.encode writes back, exactly" {
	body again 'args = { { "file", "path", required = true, positional = true } }, timeout = "5m",' <<'LUA'
local json = require "json"
local out = {}
for line in io.lines(args.file) do
	local value, why = json.decode(line)
	assert(why == nil, why)
	out[#out + 1] = json.encode(value)
end
local file <close> = assert(io.open(args.file .. ".out", "w"))
file:write(table.concat(out, "\n"), "\n")
LUA
	python3 "$BATS_TEST_DIRNAME/lib/json_values.py" write values.jsonl
	call again values.jsonl
	expect 'e.ok'
	run python3 "$BATS_TEST_DIRNAME/lib/json_values.py" compare values.jsonl values.jsonl.out
	[ "$status" -eq 0 ] || fail "$output"
	[[ $output == "20000 values are the same" ]]
}
