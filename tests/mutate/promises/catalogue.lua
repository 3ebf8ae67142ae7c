-- catalogue: the stored mutants of promises, one file for each page of docs/. Each breaks one promise
-- of its page in the product, and the tests that the page names for it must fail then.
-- tests/mutate/promises/run tries them; tests/lua/promises_spec.lua holds that each still has its place.
--
-- An entry of tests/mutate/promises/PAGE.lua:
--
--   { "REQ-F-080", [[	local budget = budget_of(call)]], [[	local budget = nil]] },
--
-- the promise's ID, the text to find and what stands in its place. The text occurs exactly once in src, lua,
-- commands and AGENTS.md, whatever the file: whole lines, or as many as it takes; a file that moves takes its
-- entries along, and a change of the text itself changes the entry. A promise may have several entries.
--
--   tests = { "tests/cli/jobs.bats: a call answers within its budget" }
--
-- names the tests that must fail (one of them is enough), where the page doesn't: compliance.md has them
-- by the tests' names, reliability.md names that of each way that a model has, and of what a workflow promises. The other promises of
-- reliability.md and security.md need `tests`, and the pages show them; the ID is the promise as its page
-- has it, the first cell of its row. Of a spec and of a unit test the whole file is run, and a test counts
-- whose name contains the one given.
--
-- A good entry breaks the promise and nothing else: a call that has nothing to do with it works as before.

local M = {}

local HERE = "tests/mutate/promises/"
M.PAGES = { "compliance", "reliability", "security" }

---@class runner.StoredMutant
---@field page string
---@field id string
---@field find string
---@field replacement string
---@field tests string[] "FILE: NAME"
---@field is_on_page boolean the page names them

local function page_text(page)
	local file <close> = assert(io.open("docs/" .. page .. ".md"))
	return file:read "a"
end

local NAMED = { "## What a model can't do\n(.-)\n## ", "## What a workflow promises\n(.-)\n## " }

-- The rows of the page's tables that name their test themselves.
local function named(text)
	return coroutine.wrap(function()
		for _, section in ipairs(NAMED) do
			for promise, path, name in text:match(section):gmatch "\n| ([^|\n]+) | `(tests/[%w_/.]+)`: ([^|\n]+) |" do
				coroutine.yield(promise, path, name)
			end
		end
	end)
end

local TESTS = {}

function TESTS.compliance()
	local out = {}
	for id, proofs in pairs(dofile ".ci/docs/compliance.lua".proofs()) do
		out[id] = {}
		for i, proof in ipairs(proofs) do
			out[id][i] = proof.file .. ": " .. proof.name
		end
	end
	return out
end

function TESTS.reliability()
	local out = {}
	for promise, path, name in named(page_text "reliability") do
		out[promise] = { path .. ": " .. name }
	end
	return out
end

local PROMISES = {}

function PROMISES.reliability(text)
	local out = {}
	for name in text:gmatch "\n%d+%. %*%*([^*]+)%.%*%*" do
		out[#out + 1] = name
	end
	for promise in named(text) do
		out[#out + 1] = promise
	end
	return out
end

function PROMISES.security(text)
	local out = {}
	for rows in text:gmatch "\n| promise | mechanism |[^\n]+\n|[-|]+\n(.-)\n\n" do
		for name in ("\n" .. rows):gmatch "\n| ([^|\n]+) |" do
			out[#out + 1] = name ~= "–" and name or nil
		end
	end
	return out
end

---The promises of a page, in its order.
---@param page "reliability"|"security"
---@return string[]
function M.promises(page)
	return PROMISES[page](page_text(page) .. "\n\n")
end

---@return runner.StoredMutant[] of all pages
function M.entries()
	local out = {}
	for _, page in ipairs(M.PAGES) do
		local tests, rows = TESTS[page] and TESTS[page]() or {}, dofile(HERE .. page .. ".lua")
		for _, row in ipairs(rows) do
			out[#out + 1] = { page = page, id = row[1], find = row[2], replacement = row[3], tests = row.tests or tests[row[1]] or {},
				is_on_page = row.tests == nil }
		end
	end
	return out
end

---@return { path: string, text: string }[]
function M.sources()
	local out = {}
	local list <close> = assert(io.popen "find src lua commands AGENTS.md -type f")
	for path in list:lines() do
		local file <close> = assert(io.open(path))
		out[#out + 1] = { path = path, text = file:read "a" }
	end
	return out
end

---@return string[] the files that have the text, as often as they have it
function M.places(text, sources)
	local out = {}
	for _, source in ipairs(sources) do
		local at = 1
		while true do
			local from, to = source.text:find(text, at, true)
			if not from then
				break
			end
			out[#out + 1], at = source.path, to + 1
		end
	end
	return out
end

-- for run: "page \0 id \0 paths \0 find \0 replacement \0 tests \0", lines in paths and in tests
if arg and arg[0] and arg[0]:find "catalogue%.lua$" then
	local sources = M.sources()
	for _, entry in ipairs(M.entries()) do
		io.write(table.concat({ entry.page, entry.id, table.concat(M.places(entry.find, sources), "\n"), entry.find, entry.replacement,
			table.concat(entry.tests, "\n") }, "\0"), "\0")
	end
end

return M
