#!/usr/bin/env bats
# What an attempt is charged that was cut off before it said what it cost: its tokens at a price that was
# seen, the bound of an attempt, or all that was left. Each way to be cut off × each of these, and then the
# run goes on.

load lib/workflow

# What a program prints: init; message ID INPUT READ; result TEXT TURNS USD.
functions() {
	cat >stream.sh <<'SH'
init() { echo '{"type":"system","subtype":"init","model":"opus-4[1m]"}'; }
message() {
	printf '{"type":"assistant","message":{"id":"%s","model":"opus-4","content":[{"type":"text","text":"hi"}],"usage":{' "$1"
	printf '"input_tokens":%s,"cache_read_input_tokens":%s,"cache_creation_input_tokens":0,"output_tokens":1}}}\n' "$2" "$3"
}
result() {
	printf '{"type":"result","subtype":"success","is_error":false,"result":"%s","num_turns":%s,"total_cost_usd":%s,' "$1" "$2" "$3"
	printf '"modelUsage":{"opus-4[1m]":{"inputTokens":10000,"outputTokens":10000,"cacheReadInputTokens":80000,'
	printf '"cacheCreationInputTokens":0,"costUSD":%s}}}\n' "$3"
}
SH
}

# flow KEYS [OUTPUT]: a step that shows a price, unless NO_PRICE is set, and one that is cut off
flow() {
	functions
	workflow flow <<-YAML
		name: flow
		max_cost: 1
		claude: { output: ${2:-stream-json}, max_turns: 9 }
		commands:
		  - { id: first, ${NO_PRICE:+shell: echo} ${NO_PRICE:-claude: first} }
		  - { id: work, claude: work, idempotent: true, retry: { initial_delay: 1ms, max_attempts: 2 }${1:+, $1} }
	YAML
	turns -p first '. ./stream.sh; init; message a 1 1; result one 4 0.10'
	turns -p work "$CUT" '. ./stream.sh; init; result two 1 0.10; touch finished'
}

# What of a dollar the second attempt was given.
given() {
	local last
	last=$(calls)
	grep -A 1 -x -e --max-budget-usd "claude/calls/$last/argv" | tail -n 1
}

warned() {
	expect "[w.code for w in e.warnings] == $1"
}

# The ways to be cut off. Each leaves the run completed.
HANG='. ./stream.sh; init; message a 10000 0; message b 0 50000; touch began; sleep 60'

by_timeout() {
	tries 4 cut_by_its_timeout "$@"
}

# (of its two attempts the first is cut off after what it prints, and the second, if there is one, ends before)
cut_by_its_timeout() {
	afresh
	CUT=$HANG flow "timeout: $((1500 * 3 ** (nth - 1)))ms, grace: 1s${1:+, $1}" "${2:-}"
	call workflow run flow.yaml
	[ -e began ] && { [ -e finished ] || [ "$(field 'e.data.steps[1].attempts')" = 1 ]; }
}

afresh() {
	rm -rf began finished claude/turns claude/calls state
	mkdir -p claude/turns claude/calls
}

logged() {
	grep -qs "$1" state/runner/logs/*/work-1.part
}

by_its_death() {
	CUT="${HANG%sleep 60}sleep 0.5; kill -KILL \$\$" flow "$@"
	call workflow run flow.yaml
}

cut_off() {
	CUT=$HANG flow "$@"
	begin workflow run flow.yaml
	until_true [ -e began ]
	case $HANG in # what it printed is in its partial log
	*message*) until_true logged 50000 ;;
	*init*) until_true logged init ;;
	esac
}

by_ctrl_c() {
	cut_off "$@"
	kill -INT "$pid"
	finish
	envelope 130
	call workflow resume @last
}

by_kill() {
	cut_off "$@"
	kill_all
	finish
	call workflow resume @last
}

by_the_death_of_its_shepherd() {
	cut_off "$@"
	kill -KILL "$(shepherd_of work)"
	finish
}

WAYS='by_timeout by_its_death by_ctrl_c by_kill by_the_death_of_its_shepherd'

each_way() {
	local way
	for way in $WAYS; do
		afresh
		echo "$way" >&2
		"$way" "$@"
		envelope 0
		expect 'e.data.state == "completed" and e.data.steps[1].attempts == 2'
		checked
	done
}

@test "cut off after a price was seen: its tokens are charged, and the run goes on" {
	# $0.10 for 10,000 in, 10,000 out, 80,000 read: by the ratios of list prices at most $2.94 a million in, $10 out, $0.29 read.
	# Its two messages, of 10,000 in and 50,000 read, are $0.044, and the request under way is like the dearest of them, $0.029.
	checked() {
		[[ $(given) == 0.826* ]]
		expect '0.173 <= e.data.steps[1].usage.cost_usd < 0.174'
		warned '[]'
	}
	each_way
}

@test "cut off before a price was seen, or without tokens: the bound of an attempt is charged" {
	checked() {
		[ "$(given)" = 0.2 ]
		expect 'round(e.data.steps[1].usage.cost_usd, 6) == 0.3'
		warned '[]'
	}
	NO_PRICE=hi each_way 'max_attempt_cost: 0.2'
	HANG='touch began; sleep 60'
	each_way 'max_attempt_cost: 0.2' json
}

@test "cut off in its first request: it is charged like the dearest turn that was seen" {
	HANG='. ./stream.sh; init; touch began; sleep 60'
	checked() {
		[ "$(given)" = 0.875 ] # less $0.10, and a quarter of that
		warned '[]'
	}
	each_way
	HANG='touch began; sleep 60' # it has not even said its model
	each_way
}

@test "with neither, all that was left is charged, with a warning that names the keys" {
	local way
	for way in $WAYS; do
		afresh
		NO_PRICE=hi "$way"
		envelope 82
		warned '["COST_UNKNOWN"]'
		expect 'e.error.code == "BUDGET_EXHAUSTED" and e.data.cost_usd == 1'
		expect '"max_attempt_cost" in e.warnings[0].message and "stream-json" in e.warnings[0].message'
	done
}

@test "one attempt that was cut off leaves a budget for others, where a cache was most of what a result cost" {
	flow
	turns -p first '. ./stream.sh; init; message a 1 1; result one 4 0.10 | sed "s/Tokens\":10000/Tokens\":50/g; s/80000/150000/; s/CreationInputTokens\":0/CreationInputTokens\":3000/"'
	turns -p work '. ./stream.sh; init; message a 10 30000 | sed "s/output_tokens\":1/output_tokens\":600/"; kill -KILL $$' \
		'. ./stream.sh; init; result two 1 0.10'
	call workflow run flow.yaml
	envelope 0
	warned '[]'
}

@test "messages that the program writes itself cost nothing" {
	CUT='. ./stream.sh; init; message a 10000 0; message b 0 0 | sed "s/opus-4/<synthetic>/"; kill -KILL $$' flow
	call workflow run flow.yaml
	envelope 0
	warned '[]'
	expect '0.15 < e.data.steps[1].usage.cost_usd < 0.17'
}

@test "what isn't wholly seen is not estimated: a message in pieces, a model without a price" {
	CUT='. ./stream.sh; init; message a 1 1 | sed "s/hi/$(printf %070000d 0)/"; kill -KILL $$' flow
	call workflow run flow.yaml
	envelope 82
	warned '["COST_UNKNOWN"]'
	rm -rf claude/turns claude/calls
	mkdir -p claude/turns claude/calls
	CUT='. ./stream.sh; init; message a 1 1; message b 1 1 | sed s/opus-4/haiku/; kill -KILL $$' flow
	call workflow run flow.yaml
	envelope 82
}

@test "no estimate is above what the attempt had reserved, and the bound of an attempt needs no budget" {
	CUT='. ./stream.sh; init; message a 100000000 0; kill -KILL $$' flow 'max_attempt_cost: 0.3'
	call workflow run flow.yaml
	envelope 0
	expect 'round(e.data.steps[1].usage.cost_usd, 6) == 0.4'
	warned '[]'
	rm -rf claude/turns claude/calls
	mkdir -p claude/turns claude/calls
	CUT='. ./stream.sh; init; message a 100000000 0; kill -KILL $$' flow # which no key bounds: that is said
	call workflow run flow.yaml
	envelope 82
	warned '["COST_UNKNOWN"]'
	expect '"its tokens may have used up" in e.warnings[0].message and "stream-json" not in e.warnings[0].message'
	workflow alone <<-'YAML'
		name: alone
		claude: { max_attempt_cost: 0.25, output: json }
		commands: [ { claude: one }, { claude: two, max_attempt_cost: 0.5, retry: false } ]
	YAML
	functions
	rm -rf claude/calls
	mkdir claude/calls
	turns -p one '. ./stream.sh; result hi 1 0.1'
	turns -p two 'echo "{\"type\":\"result\",\"subtype\":\"error_max_budget_usd\",\"is_error\":true,\"total_cost_usd\":0.5}"; exit 1'
	call workflow run alone.yaml
	envelope 82
	[ "$(given)" = 0.5 ]
	expect 'e.error.suggestion.startswith("Raise max_attempt_cost of step 2 in the file")'
	call workflow plan alone.yaml
	expect '"0.25" in e.data.steps[0].argv and "0.5" in e.data.steps[1].argv'
}
