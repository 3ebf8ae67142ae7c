-- completion_scripts: the shell scripts that complete runner. Each calls `runner completion SHELL --format
-- plain -- WORDS…`: one candidate per line, a tab, its description; if there are none, files are completed. Those of
-- bash and zsh split the lines at once: they ask for --format tsv, each candidate as the shell takes it, without a tab.
-- A program that is typed as a path is not run for a Tab: that of PATH answers. Each is also a file for the
-- folder where its shell looks for such scripts (make install).

return {
	bash = [==[
_runner_completion() {
	local program=${COMP_WORDS[0]} value words=() word glue= found typed
	[[ $program == */* ]] && program=runner
	for word in "${COMP_WORDS[@]:1:COMP_CWORD}"; do
		if [[ $word && -z ${word//[=:]} && ${#words[@]} -gt 0 ]]; then
			words[-1]+=$word glue=1
		elif [[ $glue && $word != -* ]]; then
			words[-1]+=$word glue=
		else
			words+=("$word") glue=
		fi
	done
	COMPREPLY=() word=${words[-1]}
	[[ $word != -*=* ]] || word=${word#*=}
	while [[ $word && ! (${word: -1} == [=:] && $COMP_WORDBREAKS == *"${word: -1}"*) ]]; do
		word=${word%?}
	done
	typed=$word # of the value, in front of what bash puts a candidate in the place of
	found=$(command "$program" completion bash --format tsv -- "${words[@]}" 2>/dev/null </dev/null) || return 0
	if [[ $found != *$'\t'* ]] && ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
		local - IFS=$'\n'
		set -f
		COMPREPLY=($found)
		[[ -z $typed ]] || COMPREPLY=("${COMPREPLY[@]#"$typed"}")
		return 0
	fi
	while IFS=$'\t' read -r value word; do # an older bash, or an older runner, which quotes nothing
		[[ -z $value || $found != *$'\t'* ]] || printf -v value %q "$value"
		[[ -z $value ]] || COMPREPLY+=("${value#"$typed"}")
	done <<<"$found"
}
complete -o default -o nosort -F _runner_completion runner
]==],
	zsh = [==[
#compdef runner
_runner_completion() {
	local -a candidates
	local value description found program=${words[1]}
	[[ $program == */* ]] && program=runner
	found=$(command "$program" completion zsh --format tsv -- "${(@)words[2,CURRENT]}" 2>/dev/null </dev/null) || found=
	if [[ $found != *$'\t'* ]]; then
		candidates=(${(f)found})
	else # of an older runner
		while IFS=$'\t' read -r value description; do
			[[ -z $value ]] || candidates+=("${value//:/\\:}${description:+:$description}")
		done <<<"$found"
	fi
	if (( ${#candidates} )); then
		_describe 'runner' candidates
	else
		_files
	fi
}
if [[ ${funcstack[1]} == _runner ]]; then
	_runner_completion "$@"
else
	compdef _runner_completion runner
fi
]==],
	fish = [==[
function __runner_completion
	set -l typed (commandline -opc)[2..-1] (commandline -ct)
	set -l found (command runner completion fish --format plain -- $typed 2>/dev/null </dev/null)
	or set found
	if set -q found[1]
		printf '%s\n' $found
	else
		__fish_complete_path (commandline -ct)
	end
end
complete -c runner -f -a '(__runner_completion)'
]==],
}
