-- workflow_help: what the specs of workflows share.

local assert = require "luassert"

local file = require "runner.workflow.file.reader"
local fs = require "runner.fs"

local M = {}

function M.parse(text, opts)
	local workflow, problems = file.parse(text, "dir/flow.yaml", opts)
	if not workflow then
		error(("%d:%d %s"):format(problems[1].line, problems[1].column, problems[1].message), 2)
	end
	return workflow
end

-- A workflow of one step, given in flow style: "shell: a, id: b".
function M.step(body, head)
	return M.parse((head or "") .. "commands:\n  - { " .. body .. " }\n").steps[1]
end

-- "line:column message [suggestion]" of every problem; "" for none.
function M.told(text, opts)
	local _, problems = file.parse(text, "flow.yaml", opts)
	local out = {}
	for i, p in ipairs(problems or {}) do
		assert.equal("WORKFLOW_INVALID", p.code)
		out[i] = ("%d:%d %s%s"):format(p.line, p.column, p.message, p.suggestion and " [" .. p.suggestion .. "]" or "")
	end
	return table.concat(out, "\n")
end

-- A directory of the test's own, and where its run database will be.
function M.new_place()
	local dir = os.tmpname()
	os.remove(dir)
	assert(fs.mkdir(dir))
	return dir, dir .. "/state/runner/runs.db"
end

return M
