-- lint_calls: calls whose failure would go unnoticed, and tests of a failure that raises
-- before they are reached. Loaded by lint alone. Like lint_rules it judges source text by
-- its look, without comments and quoted text, so it can be wrong.

local M = {}

---@alias runner.LintAdd fun(key: string, line: integer?, found: string, fix: string)

-- Functions of `require "fs"` that change something; on failure they give nil and why.
local CHANGES = {
	mkdir = true, mkdirs = true, rename = true, symlink = true, unlink = true, rmdir = true, remove_tree = true,
	touch = true, write = true, create = true, fsync = true, fsync_tree = true, swap_symlink = true, copy_tree = true,
	copy = true, replace = true, chmod = true,
}

-- An expression follows these words; after any other, a statement begins.
local BEFORE_EXPRESSION = {
	["return"] = true, ["and"] = true, ["or"] = true, ["not"] = true, ["in"] = true, ["if"] = true, ["elseif"] = true,
	["while"] = true, ["until"] = true,
}

local function line_of(code, at)
	return 1 + select(2, code:sub(1, at - 1):gsub("\n", ""))
end

-- Does a statement begin at `at`, so that the value of the call there is dropped?
local function is_statement(code, at)
	local before = code:sub(1, at - 1):match "^(.-)%s*$"
	local word = before:match "[%w_]+$"
	if word then
		return not BEFORE_EXPRESSION[word]
	end
	return before == "" or before:find "[%)%]};]$" ~= nil
end

-- Where a call is: `at` is its first letter; `list` its arguments with their brackets,
-- nil for a lone quoted one.
local function each_call(code, pattern, visit)
	local at = 1
	while true do
		local first, last, name = code:find(pattern, at)
		if not first then
			return
		end
		local list = code:match("^%s*(%b())", last + 1) or code:match("^%s*(%b{})", last + 1)
		local after = list and code:sub(select(2, code:find("^%s*", last + 1)) + #list + 1) or ""
		visit(first, name, list or "", after)
		at = last + 1
	end
end

-- --- dropped results ----------------------------------------------------------------

local function look_at_fs(code, text, add)
	for library in text:gmatch "([%a_][%w_]*)%s*=%s*require%s*%(?%s*[\"']fs[\"']" do
		each_call(code, "%f[%w_.:]" .. library .. "%s*%.%s*([%a_]+)", function(at, name)
			if CHANGES[name] and is_statement(code, at) then
				add(("%s.%s"):format(library, name), line_of(code, at), "ignores the result, so a failure goes unnoticed",
					("use ctx.fs.%s, which raises"):format(name))
			end
		end)
	end
end

local function look_at_pcall(code, add)
	each_call(code, "%f[%w_.:](x?pcall)%f[^%w_]", function(at, name)
		if is_statement(code, at) then
			add(name, line_of(code, at), "ignores the result, so the error goes unnoticed",
				("Write local ok, why = %s(…) and check both"):format(name))
		end
	end)
end

-- --- ctx:run, ctx:pipeline and ctx:http -------------------------------------------------

local ASKED = { "ok", "status", "signal", "timed_out", "error", "errno" }

local function asks_after(code, prefix)
	for _, field in ipairs(ASKED) do
		if code:find(prefix .. "%s*%.%s*" .. field .. "%f[^%w_]") then
			return field
		end
	end
end

-- A field by which the script asks whether the program has failed: of the call itself,
-- or, up to the next function, of the local that takes its result.
local function asked_field(code, at, after)
	local direct = asks_after(after:match "^[^\n]*" or "", "^%s*%)?")
	local name = code:sub(1, at - 1):match "([%a_][%w_]*)%s*=%s*$"
	return direct or name and asks_after(after:match "^(.-)%f[%w_]function%f[^%w_]" or after, "%f[%w_.]" .. name)
end

local function look_at_programs(code, add)
	each_call(code, "%f[%w_.:][%a_][%w_.]*%s*:%s*(%a+)%f[%W]", function(at, name, list, after)
		local key = "ctx:" .. name
		if (name == "run" or name == "pipeline" or name == "http") and list:find "check%s*=%s*false" then
			if is_statement(code, at) then
				add(key, line_of(code, at), "has check = false and ignores the result, so a failure goes unnoticed",
					"Remove check, so that a failure raises an error")
			end
		elseif (name == "run" or name == "pipeline") and list ~= "" and not list:find "%f[%w]check%s*=" then
			local field = asked_field(code, at, after)
			if field and not (field == "status" and list:find "ok_statuses") then
				add(key, line_of(code, at), ("raises if the program fails, so testing .%s is useless"):format(field),
					"Add check = false to inspect the result, or ok_statuses = { 0, 1 } if 1 is not a failure")
			end
		end
	end)
end

---Look for all of them.
---@param code string the source without comments and quotes, on its own lines
---@param text string the source
---@param add runner.LintAdd
function M.look(code, text, add)
	look_at_fs(code, text, add)
	look_at_pcall(code, add)
	look_at_programs(code, add)
end

return M
