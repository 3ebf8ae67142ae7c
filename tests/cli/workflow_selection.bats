#!/usr/bin/env bats
# Which items a loop has, and in which order: a path into JSON, `where`, `sort`, `limit`.

load lib/workflow

# items KEYS EXPECTED…: a loop over items.json with these keys does these
items() {
	local keys=$1
	shift
	rm -f effects
	: >effects
	ran <<-YAML
		  - foreach: { file: items.json, path: '${path:-\$.items[*]}' }
		    $keys
		    do: [{ shell: "echo \${item.id} >>effects" }]
	YAML
	envelope 0
	[ "$(paste -sd' ' effects)" = "$*" ] || { cat effects >&2; return 1; }
}

prepare_items() {
	echo '{"items": [{"id": "a", "n": 3, "s": "x"}, {"id": "b", "n": 1}, {"id": "c", "n": 2, "s": "x"}, {"id": "d", "n": 10, "s": "y"}],
		"by": {"two": {"id": "t"}, "one": {"id": "o"}}}' >items.json
}

@test "foreach: path takes the items from JSON; where, sort and limit choose among them" {
	prepare_items
	items '' a b c d
	path='$.items' items '' a b c d
	path='items[1]' items '' b
	path='$.by.*' items '' o t
	path='$["by"]["two"]' items '' t
	items 'where: item.n > 1' a c d
	items 'where: item.s == "x"' a c
	items 'sort: item.n' b c a d
	items 'sort: item.n desc' d a c b
	items 'sort: [item.s, item.n desc]' a c d b
	items 'sort: item.s DESC' d a c b
	items "sort: item.n
    where: item.n >= 2
    limit: 2" c a
	items 'where: item.n > 100'
	items 'where: item.s != "x" and item.n < 5' b
}

@test "a path with a member that isn't there is a failure that names it; a list that is there may be empty" {
	echo '{"total": 0, "empty": [], "none": null, "items": [{"id": "a"}, {"id": "b", "n": 1}]}' >items.json
	path='$.empty[*]' items ''
	path='$.empty' items ''
	path='$.empty[*].id' items ''
	local of
	for of in "\$.itmes[*]|items.json|\$.itmes[*]|no member 'itmes'|there are: empty, items, none, total" \
		"\$.items[*].name[*]|no member 'name'|there are: id" '$.items[7]|a list of 2' '$.none[*]|there is null' '$.total[*]|there is a number' \
		"\$.items.list|no member 'list'|a list of 2"; do
		ran <<-YAML
			  - { foreach: { file: items.json, path: '${of%%|*}' }, do: [{ shell: "true" }] }
		YAML
		envelope 4
		while IFS= read -r -d '|' word; do
			grep -qF "${word//\\/}" out.txt
		done <<<"$of|"
	done
	ran <<-'YAML' # of several, those that have it
		  - { foreach: { file: items.json, path: '$.items[*].n' }, do: [{ shell: 'echo ${item} >>effects' }] }
	YAML
	envelope 0
	effects 1
}

@test "where and sort use no member of the lines of a file: check and run refuse it, with what to write" {
	local of
	for of in 'debts.json|where: item.score >= 5|path: \"$.items[*]\"' 'debts.json|sort: [item, item.score desc]|path: ' \
		'debts.jsonl|where: not item.done|jq -s . FILE'; do
		IFS='|' read -r file key word <<<"$of"
		printf 'name: w\ncommands:\n  - { foreach: { file: %s }, %s, do: { shell: y } }\n' "$file" "$key" >w.yaml
		echo '{}' >"$file"
		for verb in check run; do
			call workflow "$verb" w.yaml
			envelope 2
			grep -qF "a line has no members" out.txt
			grep -qF -- "$word" out.txt || { cat out.txt >&2; return 1; }
		done
	done
}

@test "a where that holds for none of the items is a warning of the step, in each answer about the run" {
	prepare_items
	items 'where: item.nn > 1'
	expect '[(w.code, w.context.step, w.context.none_of) for w in e.warnings] == [("NOTHING_CHOSEN", "1", 4)]'
	local door id
	id=$(run_id)
	for door in show resume wait; do
		call workflow "$door" "$id"
		envelope 0
		expect '[w.message for w in e.warnings] == ["Step 1: where holds for none of 4 items"]'
	done
	path='$.items[3]' items 'where: item.n > 1' d
	expect 'e.warnings == []'
	ran <<-'YAML'
		  - { foreach: [], where: item > 1, do: { shell: "true" } }
	YAML
	envelope 0
	expect 'e.warnings == []'
}

@test "sort compares as where does: a text that is a number is one, also from the highest down" {
	echo '{"items": [{"id": "a", "n": 9}, {"id": "b", "n": "10"}, {"id": "c", "n": "x"}, {"id": "d"}, {"id": "e", "n": "2"}]}' >items.json
	items 'sort: item.n' e a b c d
	items 'sort: item.n desc' c b a e d
	items 'where: item.n != "x" and item.n > 2
    sort: item.n desc' b a
}

@test "where and sort choose among lists, and lines of a file, too" {
	printf '10\n9\n100\n' >lines
	ran <<-'YAML'
		  - { foreach: { file: lines }, where: "item > 9", sort: item desc, do: { shell: "echo ${item} >>effects" } }
		  - { foreach: [b, a, c], sort: item, limit: 2, do: { shell: "echo ${item} >>effects" } }
	YAML
	envelope 0
	effects 100 10 a b
}

@test "the choice is made once: a resumed run has the items that it began with" {
	prepare_items
	workflow w <<-'YAML'
		name: w
		commands:
		  - foreach: { file: items.json, path: "items[*]" }
		    where: item.n > 1
		    sort: item.n
		    do: { shell: "echo ${item.id} >>effects; [ ${item.id} != a ] || [ -e go ]" }
	YAML
	call workflow run w.yaml
	envelope 1
	effects c a
	local id
	id=$(run_id)
	echo '{"items": []}' >items.json
	touch go
	call workflow resume "$id"
	envelope 0
	effects c a a d
}

@test "what is wrong with a choice is said: of the file, and of the data" {
	local of
	for of in 'path: "$.a["|a path such as' 'path: ""|a string'; do
		printf 'name: w\ncommands:\n  - { foreach: { file: x, %s }, do: { shell: y } }\n' "${of%|*}" >w.yaml
		call workflow check w.yaml
		envelope 2
		grep -qF "${of#*|}" out.txt
	done
	for of in 'sort: priority|item.priority' 'sort: item.n down|item.priority desc' 'where: item >|when'; do
		printf 'name: w\ncommands:\n  - { foreach: [a], %s, do: { shell: y } }\n' "${of%|*}" >w.yaml
		call workflow check w.yaml
		envelope 2
		grep -qF "${of#*|}" out.txt
	done
	echo '{' >items.json
	ran <<-'YAML'
		  - { foreach: { file: items.json, path: "$.a" }, do: { shell: "true" } }
	YAML
	envelope 4
	expect '"items.json" in e.error.message'
}

@test "where and sort use no member of the lines that a step has printed, as its data has" {
	workflow printed <<-'YAML'
		name: printed
		commands:
		  - { id: made, shell: "echo '[{\"n\": 1}, {\"n\": 2}]'" }
		  - { foreach: "${steps.made.output}", where: item.n > 1, do: [{ shell: echo }] }
	YAML
	call workflow check printed.yaml
	[ "$status" -eq 2 ]
	expect 'e.error.errors[0].line == 4 and "steps.made.data" in e.error.errors[0].suggestion'
	sed -i 's/made.output/made.data/' printed.yaml
	call workflow run printed.yaml
	assert_envelope
	expect 'e.data.steps[1].data[0].item == {"n": 2} and len(e.data.steps[1].data) == 1'
}
