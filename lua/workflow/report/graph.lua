-- graph: the steps of a workflow as a picture: for Mermaid, for Graphviz (DOT), and for a
-- terminal. Pure: it draws the data of `workflow plan`. Labels are text from a file, and are
-- escaped as each language asks.

local host = require "runner.host"

local M = {}

---For the argument of a command.
M.FORMATS = { "text", "mermaid", "dot" }

-- --- what is said of a step ------------------------------------------------------------------

local function clean(text)
	return (host.clean(text):gsub("%s+", " "))
end

local function retries_of(row)
	local attempts = type(row.retry) == "table" and row.retry.attempts
	return attempts and attempts > 1 and ("up to %d attempts"):format(attempts) or nil
end

local function at_once(row)
	return row.steps and row.limit and (row.kind == "parallel" or row.limit > 1) and ("%d at a time"):format(row.limit) or nil
end

-- "build", "shell: make", "up to 6 attempts", "when …": the lines of its label.
local function label_of(row)
	local lines = { clean(row.key), ("%s: %s"):format(row.kind, clean(row.label)) }
	lines[#lines + 1] = at_once(row)
	lines[#lines + 1] = retries_of(row)
	lines[#lines + 1] = row.worktree and "worktree " .. clean(row.worktree.branch or "")
	lines[#lines + 1] = row.when and "when " .. clean(row.when)
	return lines
end

-- --- nodes and edges ----------------------------------------------------------------------------

---@class runner.workflow.GraphNode
---@field id string
---@field row table of the plan
---@field below? runner.workflow.GraphNode[] what it holds
---@field hooks? runner.workflow.GraphNode[] the steps after a failure, and after a success

---@class runner.workflow.Graph
---@field nodes runner.workflow.GraphNode[]
---@field edges {from: string, to: string, text: string?, dashed: boolean?}[]
---@field count integer

local add_list

local function edge(graph, from, to, text, dashed)
	graph.edges[#graph.edges + 1] = { from = from, to = to, text = text, dashed = dashed }
end

-- What follows a step hangs on it; the next step comes after its success.
local function add_hooks(graph, node, row, out)
	local ends = { { id = node.id } }
	if row.on_success and row.on_success[1] then
		ends = add_list(graph, row.on_success, ends, "on success", false, out)
	end
	local failure = row.on_failure
	if failure and failure.steps[1] then
		local after = add_list(graph, failure.steps, { { id = node.id } }, "on failure", true, out)
		if failure.go == "continue" then
			ends[#ends + 1] = { id = after[1].id, text = "continue", dashed = true }
		end
	elseif failure and failure.go == "continue" then
		ends[#ends + 1] = { id = node.id, text = "on failure: continue", dashed = true }
	end
	return ends
end

local function merge_of(row)
	return row.worktree and type(row.worktree.merge) == "table" and row.worktree.merge or nil
end

-- The check comes after the steps of a block, and what repairs them leads back.
local function add_guards(graph, row, ends, out)
	local again = row.repair and row.repair.again == "check" and #out + 1 or 1
	ends = add_list(graph, row.check or {}, ends, "check", false, out)
	ends = add_list(graph, merge_of(row) or {}, ends, "merge", false, out)
	for _, repaired in ipairs(row.repair and add_list(graph, row.repair.steps, ends, "repair", true, out) or {}) do
		edge(graph, repaired.id, out[again].id, "again", true)
	end
end

local function add_node(graph, row, out)
	graph.count = graph.count + 1
	local node = { id = "n" .. graph.count, row = row }
	out[#out + 1] = node
	if row.steps then
		node.below = {}
		if row.kind == "parallel" then
			for _, below in ipairs(row.steps) do
				add_hooks(graph, add_node(graph, below, node.below), below, node.below)
			end
		else
			add_guards(graph, row, add_list(graph, row.steps, {}, nil, false, node.below), node.below)
		end
	end
	return node
end

-- One after the other; `ends` are what comes before. Returns what comes before the next.
function add_list(graph, rows, ends, text, dashed, out)
	for _, row in ipairs(rows) do
		local node = add_node(graph, row, out)
		for _, before in ipairs(ends) do
			edge(graph, before.id, node.id, before.text or text, before.dashed or dashed)
		end
		ends, text, dashed = add_hooks(graph, node, row, out), nil, false
	end
	return ends
end

local function graph_of(plan)
	local graph = { nodes = {}, edges = {}, count = 0 }
	local ends = add_list(graph, plan.steps, { { id = "start" } }, nil, false, graph.nodes)
	for _, before in ipairs(ends) do
		edge(graph, before.id, "finish", before.text, before.dashed)
	end
	return graph
end

-- Lines as one quoted label.
local function quoted(lines, escape, newline)
	for i, line in ipairs(lines) do
		lines[i] = escape(line)
	end
	return '"' .. table.concat(lines, newline) .. '"'
end

-- --- Mermaid --------------------------------------------------------------------------------------

-- Inside of quotes, everything that its grammar, Markdown or HTML could mean is an entity.
local function mermaid_text(text)
	return (text:gsub("[#\"&<>`\\%[%]{}|;]", function(c)
		return ("#%d;"):format(c:byte())
	end))
end

local function mermaid_label(row)
	return quoted(label_of(row), mermaid_text, "<br/>")
end

local function mermaid_nodes(out, nodes, indent)
	for _, node in ipairs(nodes) do
		if node.below then
			out[#out + 1] = ("%ssubgraph %s[%s]"):format(indent, node.id, mermaid_label(node.row))
			mermaid_nodes(out, node.below, indent .. "  ")
			out[#out + 1] = indent .. "end"
		else
			out[#out + 1] = ("%s%s[%s]"):format(indent, node.id, mermaid_label(node.row))
		end
	end
end

local function mermaid(plan)
	local graph = graph_of(plan)
	local out = { "flowchart TD", ('  start(["%s"])'):format(mermaid_text(clean(plan.workflow))) }
	mermaid_nodes(out, graph.nodes, "  ")
	out[#out + 1] = '  finish(["end"])'
	for _, e in ipairs(graph.edges) do
		local text = e.text and ('|"%s"|'):format(mermaid_text(e.text)) or ""
		out[#out + 1] = ("  %s %s%s %s"):format(e.from, e.dashed and "-.->" or "-->", text, e.to)
	end
	return table.concat(out, "\n") .. "\n"
end

-- --- Graphviz -------------------------------------------------------------------------------------

local function dot_text(text)
	return (text:gsub('[\\"]', "\\%0"))
end

local function dot_label(row)
	return quoted(label_of(row), dot_text, "\\n")
end

local function dot_nodes(out, nodes, indent, by_id)
	for _, node in ipairs(nodes) do
		by_id[node.id] = node
		if node.below then
			out[#out + 1] = ("%ssubgraph cluster_%s {"):format(indent, node.id)
			out[#out + 1] = ("%s  label=%s"):format(indent, dot_label(node.row))
			dot_nodes(out, node.below, indent .. "  ", by_id)
			out[#out + 1] = indent .. "}"
		else
			out[#out + 1] = ("%s%s [label=%s]"):format(indent, node.id, dot_label(node.row))
		end
	end
end

-- An edge of a cluster begins or ends at a node inside, and is cut at its border.
local function dot_end(by_id, id, last)
	local node = by_id[id]
	if not node or not node.below or not node.below[1] then
		return id
	end
	return dot_end(by_id, node.below[last and #node.below or 1].id, last), "cluster_" .. id
end

local function dot_edge(by_id, e)
	local from, tail = dot_end(by_id, e.from, true)
	local to, head = dot_end(by_id, e.to, false)
	local attributes = {}
	local function add(format, value)
		attributes[#attributes + 1] = value and format:format(value) or nil
	end
	add("label=\"%s\"", e.text and dot_text(e.text))
	add("style=%s", e.dashed and "dashed")
	add("ltail=%s", tail)
	add("lhead=%s", head)
	return ("  %s -> %s%s"):format(from, to, attributes[1] and " [" .. table.concat(attributes, ", ") .. "]" or "")
end

local function dot(plan)
	local graph, by_id = graph_of(plan), {}
	local out = { ('digraph "%s" {'):format(dot_text(clean(plan.workflow))), "  compound=true", "  node [shape=box]",
		('  start [shape=oval, label="%s"]'):format(dot_text(clean(plan.workflow))) }
	dot_nodes(out, graph.nodes, "  ", by_id)
	out[#out + 1] = '  finish [shape=oval, label="end"]'
	for _, e in ipairs(graph.edges) do
		out[#out + 1] = dot_edge(by_id, e)
	end
	out[#out + 1] = "}"
	return table.concat(out, "\n") .. "\n"
end

-- --- a terminal -----------------------------------------------------------------------------------

local BRANCH = { [false] = { "├─ ", "└─ ", "│  ", "   " }, [true] = { "╟─ ", "╙─ ", "║  ", "   " } }

local function text_of(row)
	local parts = label_of(row)
	parts[1] = ("%s  %s"):format(parts[1], table.remove(parts, 2))
	return table.concat(parts, ", ")
end

-- What stands below a step: {text, rows, parallel}.
local function groups_of(row)
	local groups = {}
	local failure, repair = row.on_failure, row.repair
	if row.check then
		groups[1] = { text = "check", rows = row.check }
	end
	groups[#groups + 1] = merge_of(row) and { text = "merge", rows = merge_of(row) }
	if repair then
		groups[#groups + 1] = { text = ("repair, at most %d times, then the %s again"):format(repair.max, repair.again), rows = repair.steps }
	end
	if row.on_success and row.on_success[1] then
		groups[#groups + 1] = { text = "on success", rows = row.on_success }
	end
	if failure then
		groups[#groups + 1] = { text = failure.go == "continue" and "on failure, then continue" or "on failure", rows = failure.steps }
	end
	return groups
end

local text_rows

local function text_groups(out, row, indent)
	local groups = groups_of(row)
	if row.steps then
		text_rows(out, row.steps, indent, row.kind == "parallel", #groups > 0)
	end
	for i, group in ipairs(groups) do
		local branch = BRANCH[false]
		out[#out + 1] = indent .. branch[i < #groups and 1 or 2] .. group.text
		text_rows(out, group.rows, indent .. branch[i < #groups and 3 or 4], false)
	end
end

function text_rows(out, rows, indent, side_by_side, more)
	local branch = BRANCH[side_by_side]
	for i, row in ipairs(rows) do
		local goes_on = i < #rows or more
		out[#out + 1] = indent .. branch[goes_on and 1 or 2] .. text_of(row)
		text_groups(out, row, indent .. branch[goes_on and 3 or 4])
	end
end

local function text(plan)
	local out = { clean(plan.workflow) }
	text_rows(out, plan.steps, "", false)
	return table.concat(out, "\n") .. "\n"
end

local DRAW = { text = text, mermaid = mermaid, dot = dot }

---@param plan table the data of `workflow plan` (lua/workflow/run/plan.lua)
---@param format "text"|"mermaid"|"dot"
---@return string lines, the last with its end
function M.draw(plan, format)
	return DRAW[format](plan)
end

return M
