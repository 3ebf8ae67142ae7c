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

-- A directory of each test's own, removed behind it. before_each and after_each are those of
-- the spec; take(dir, path) gets the directory, and where its run database will be.
function M.in_a_place(before_each, after_each, take)
	local dir
	before_each(function()
		dir = os.tmpname()
		assert(os.remove(dir))
		assert(fs.mkdir(dir))
		take(dir, dir .. "/state/runner/runs.db")
	end)
	after_each(function()
		assert(fs.remove_tree(dir))
	end)
end

return M
