-- runner cleanup: remove what commands declare to leave as temporary files, caches and logs, and
-- the temporary directories of runs that were killed, and what answers had no room for.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local fs = require "runner.fs"
local json = require "runner.json"
local declared_files = require "runner.tools.declared_files"
local session_dir = require "runner.session_dir"

local SWEEP_MS = 5000
local SCOPES = { temp = "temp", cache = "cache", logs = "log" }

-- A declared path may be wrong: the project, the home directory and all above them stay.
local function is_too_much(path)
	local real = fs.realpath(path) or path
	for _, kept in ipairs { attempt.project.root or "/", os.getenv "HOME" or "/", attempt.project.commands or "/" } do
		kept = fs.realpath(kept) or kept
		if real == "/" or kept == real or kept:sub(1, #real + 1) == real .. "/" then
			return true
		end
	end
	return false
end

local function is_old(path, min_age)
	local st = min_age and fs.lstat(path)
	return not st or os.time() - st.mtime >= min_age
end

-- Why a path stays: another user could have led it elsewhere, or put it there.
local function refusal(ctx, path)
	local ok, raised = pcall(ctx.fs.remove_tree, path)
	if not ok and not (errors.is(raised) and raised.context and raised.context.errno == "EPERM") then
		error(raised, 0)
	end
	return not ok and raised.message or nil
end

local function remove_one(ctx, row, cleaned)
	if not fs.lstat(row.path) then
		return
	end
	local why = is_too_much(row.path) and "the project or your home directory is in it" or refusal(ctx, row.path)
	if why then
		return ctx:warn("CLEANUP_REFUSED", ("'%s' of %s stays: %s"):format(row.path, row.command, why),
			{ path = row.path, command = row.command })
	end
	cleaned[#cleaned + 1] = { path = row.path, type = row.type, bytes_freed = row.size_bytes }
end

-- Directories of runs in TMPDIR by name, with their sizes.
local function run_directories(dir, prefix)
	local out = {}
	for _, name in ipairs(fs.list(dir) or {}) do
		if name:sub(1, #prefix) == prefix then
			out[name] = (require("runner.core.own_state").tree_size(dir .. "/" .. name))
		end
	end
	return out
end

-- Whether a run has died only the sweep itself can tell: it takes the run's lock.
local function sweep(ctx, cleaned)
	local dir, prefix = attempt.launch.session_dir:match "^(.*)/(%a+-)[^/]*$" -- runner-tmp-…, and runner-out-… of ctx:hand_out
	if ctx.dry_run or not dir then
		return
	end
	local before = run_directories(dir, prefix)
	session_dir.sweep(dir, SWEEP_MS)
	local after = run_directories(dir, prefix)
	for _, name in ipairs(require("runner.core.tables").sorted_keys(before)) do
		if not after[name] then
			cleaned[#cleaned + 1] = { path = dir .. "/" .. name, type = "temp", bytes_freed = before[name] }
		end
	end
end

-- What answers had no room for (src/engine/keep.c).
local function old_answers(ctx, min_age, cleaned)
	local own_state = require "runner.core.own_state"
	local dir = own_state.answers()
	for _, name in ipairs(dir and fs.list(dir) or {}) do
		local path, st = own_state.answer(name)
		if path and own_state.is_older(st, min_age or own_state.ANSWERS_KEPT) then
			remove_one(ctx, { path = path, type = "temp", command = "--max-bytes", size_bytes = st.size }, cleaned)
		end
	end
end

return {
	dry_run = true,
	args = {
		{ "scope", "enum", values = { "all", "temp", "cache", "logs" }, default = "all", description = "What to remove" },
		{ "min_age", "duration", description = "Only what has not changed for so long" },
	},
	exit_codes = { TIMEOUT = { retryable = false, side_effects = "partial" } },
	examples = {
		{ description = "See what would go", command = "runner cleanup --dry-run" },
		{ description = "Remove caches older than a week", command = "runner cleanup --scope cache --min-age 7d" },
	},
	run = function(args, ctx)
		local cleaned, total = json.array {}, 0
		for _, row in ipairs(declared_files.declared(attempt.project)) do
			local wanted = args.scope == "all" and (row.type == "temp" or row.type == "cache" or row.type == "log")
				or SCOPES[args.scope] == row.type
			if wanted and is_old(row.path, args.min_age) then
				remove_one(ctx, row, cleaned)
			end
		end
		if args.scope == "all" or args.scope == "temp" then
			sweep(ctx, cleaned)
			old_answers(ctx, args.min_age, cleaned)
		end
		for _, row in ipairs(cleaned) do
			total = total + row.bytes_freed
		end
		return { cleaned = cleaned, total_bytes_freed = total, effect = cleaned[1] and "deleted" or "noop" }
	end,
}
