local nested = require "runner.workflow.file.shell"
local variables = require "runner.workflow.expr.variables"

-- What reads each ${v} of a shell text, "-" for nothing.
local function readers(text)
	local references = variables.names((assert(variables.parse(text, { shell = true }))))
	local found, out = nested.readers(text, references), {}
	for i, reference in ipairs(references) do
		out[i] = found[reference.offset] or "-"
	end
	return table.concat(out, " ")
end

describe("a value in a shell text", function()
	for text, expected in pairs {
		['eval "echo ${v}"'] = "eval",
		["eval ${v}"] = "eval",
		['sh -c "echo ${v}"'] = "sh -c",
		["bash -ec 'echo ${v}'"] = "bash -ec",
		['/bin/sh -e -c "echo ${v}"'] = "sh -c",
		['ssh host "ls ${v}"'] = "ssh",
		['ssh -p 22 -o X=y user@host ls ${v}'] = "ssh",
		['sudo -u me ssh h ${v}'] = "ssh",
		['su - me -c "ls ${v}"'] = "su -c",
		['ls | xargs -n 1 sh -c "echo ${v}"'] = "sh -c",
		["find . -exec sh -c 'mv ${v}' \\;"] = "sh -c",
		['docker exec box bash -c "echo ${v}"'] = "bash -c",
		['X=1 timeout 5s bash -c "echo ${v}"'] = "bash -c",
		['if ssh h "test ${v}"; then :; fi'] = "ssh",
		['x=$(ssh h "ls ${v}")'] = "ssh",
		['echo "$(ssh h "ls ${v}")"'] = "ssh",
		['python3 -c "print(${v})"'] = "python -c",
		["perl -ne 'print ${v}'"] = "perl -ne",
		['node -e "f(${v})"'] = "node -e",
		["awk '{ print ${v} }' file"] = "awk",
		["awk -F : '{ print ${v} }'"] = "awk",
		["trap 'rm ${v}' EXIT"] = "trap",
		["ssh host <<END\nls ${v}\nEND\n"] = "ssh",
		["bash -s <<END\nls ${v}\nEND\necho ${v}"] = "bash -",
	} do
		it(("is found where it becomes code: %q"):format(text), function()
			assert.equal(expected, readers(text))
		end)
	end

	for _, text in ipairs { 'echo "${v}"', "ssh ${v}", "ssh -p ${v} host ls", "sh -c 'echo \"$1\"' sh ${v}", 'sh script.sh -c "${v}"',
		'ssh host ls; echo ${v}', 'echo "eval ${v}"', 'printf %s "ssh h ${v}"', 'python3 -c "code" "${v}"',
		"awk -v x=\"${v}\" '{ print x }' file", "cat <<END\nssh h ${v}\nEND", 'ssh host <<END\nls\nEND\necho ${v}', "grep -c ${v} file",
		'# eval ${v}', "evaluate ${v}", 'tar -c ${v}', 'curl -e ${v}', "perl script.pl -e ${v}", 'ssh h "ls $(hostname)" && echo ${v}' } do
		it(("is no code here: %q"):format(text), function()
			assert.equal("-", readers(text))
		end)
	end

	it("is looked for without an end to any text", function()
		for _, text in ipairs { 'eval "${v}', "eval '${v}", "eval $(${v}", "eval `${v}", "bash <<END\n${v}", "eval \\", "<<", "ssh" } do
			assert.is_string(readers(text))
		end
	end)
end)
