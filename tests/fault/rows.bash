# shellcheck shell=bash
# rows.bash: a bats file over a table of rows.py. PROGRAM does the work, once for the whole
# file; each test looks at its row, and the last one that every row has its test.

setup_file() {
	export TOLD=$BATS_FILE_TMPDIR/rows.tap
	python3 "$BATS_TEST_DIRNAME/$PROGRAM" >"$TOLD" 2>&1 || true
}

# about NAME: what TOLD has about this row, and nothing of its neighbours.
about() {
	awk -v name="$1" '
		/^(not )?ok [0-9]+ - / {
			line = $0
			sub(/^(not )?ok [0-9]+ - /, "", line)
			sub(/ # skip .*/, "", line)
			show = line == name
		}
		/^1\.\./ { show = 0 }
		show' "$TOLD"
}

# row: the one that is named as this test holds, or was skipped.
row() {
	local told
	told=$(about "$BATS_TEST_DESCRIPTION")
	case $told in
	"not ok "*) echo "$told" >&2 && return 1 ;;
	"ok "*" # skip "*) skip "${told#* # skip }" ;;
	"ok "*) ;;
	*) tail -n 20 "$TOLD" >&2 && return 1 ;;
	esac
}

every_row_has_its_test() {
	local name
	grep -q '^1\.\.[1-9]' "$TOLD"
	while read -r name; do
		grep -qxF "@test \"$name\" {" "$BATS_TEST_FILENAME" || {
			echo "no test: $name" >&2
			return 1
		}
	done < <(sed -n 's/^\(not \)\{0,1\}ok [0-9]* - \([^#]*[^# ]\).*/\2/p' "$TOLD")
}
