-- git: calls of git for the worktrees of steps. It is git itself that runs, with the user's hooks and settings, and it is told
-- where the repository is. Where a step of the run is confined, git is, too: what that step can write may name programs for
-- git to run. Each call has a place: what it is about, and what it may write then. It decides nothing.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local host = require "runner.host"
local scheduler = require "runner.task.scheduler"
local step_process = require "runner.workflow.kinds.step_process"
local tables = require "runner.core.tables"

local M = {}

local LIMIT_MS = 600000
local OUTPUT_CAP = 64 << 20
local LOOK_MS = 100
local STALE_MS = 10000 -- git holds the lock of a ref for milliseconds: one that is as old was left by a git that was killed

-- What its folder has in the middle of something that goes on later.
M.BEGUN = { "MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply", "sequencer", "BISECT_LOG" }

-- Those of its commands that write refs, and their logs.
local WRITES_REFS = { checkout = true, merge = true, reset = true, ["update-ref"] = true, worktree = true }

---@class runner.workflow.GitPlace
---@field cwd string
---@field env? table<string, string|false>
---@field tree? runner.workflow.Worktree
---@field fence? table what holds for the steps of the run: `confine` in short, see lua/workflow/file/confinement.lua
---@field writable string[] what it may write where it is confined; what isn't there counts for nothing
---@field plain? boolean no hook runs, and no transport: there it could write more than a step

-- --- places ------------------------------------------------------------------------------

local function about(tree, dir, path, cwd, ...)
	return { cwd = cwd, tree = tree, fence = tree.fence, plain = tree.fence ~= nil, writable = { ... },
		env = { GIT_DIR = dir, GIT_WORK_TREE = path, GIT_COMMON_DIR = tree.common } }
end

-- The folders in which git keeps what a commit is made of.
local function shared(tree)
	return tree.common .. "/objects", tree.common .. "/refs", tree.common .. "/logs"
end

---In the worktree, wherever its `.git` leads by now.
---@param tree runner.workflow.Worktree
---@return runner.workflow.GitPlace
function M.inside(tree)
	local place = about(tree, tree.admin, tree.path, tree.path, tree.path, tree.admin, shared(tree))
	place.plain = false
	return place
end

---Of the worktree, whether it is there or not; no file changes.
---@param tree runner.workflow.Worktree
---@return runner.workflow.GitPlace
function M.beside(tree)
	return about(tree, tree.admin, tree.path, tree.common)
end

---In the repository, which may be a worktree, too.
---@param tree runner.workflow.Worktree
---@return runner.workflow.GitPlace
function M.outside(tree)
	if tree.dir == tree.common then
		return about(tree, tree.dir, tree.repo, tree.repo, tree.repo, tree.common)
	end
	return about(tree, tree.dir, tree.repo, tree.repo, tree.repo, tree.dir, shared(tree))
end

---Where a worktree is made, without a file yet.
---@param tree runner.workflow.Worktree
---@return runner.workflow.GitPlace
function M.making(tree)
	return about(tree, tree.dir, tree.repo, tree.repo, tree.path:match "^(.*)/", tree.common .. "/worktrees", shared(tree))
end

---Where a branch is removed.
---@param tree runner.workflow.Worktree
---@return runner.workflow.GitPlace
function M.branches(tree)
	return about(tree, tree.dir, tree.repo, tree.repo, tree.common)
end

---What a confined step has to write besides its worktree, so that it can commit there.
---@param tree runner.workflow.Worktree
---@return {[integer]: string, common: string} common: and to read this
function M.writable(tree)
	local out = { common = tree.common }
	for _, path in ipairs { tree.admin, shared(tree) } do
		local stat = fs.lstat(path)
		out[#out + 1] = stat and stat.type == "directory" and path or nil -- a link would lead a step anywhere
	end
	return out
end

-- --- calls -------------------------------------------------------------------------------

-- Settings of git itself, which name no secret.
local SETTINGS = { "HOME/.gitconfig", "XDG/git/config", "XDG/git/attributes", "XDG/git/ignore", "/etc/gitconfig" }

local function settings_of_git()
	local home = os.getenv "HOME" or "/"
	local xdg, out = os.getenv "XDG_CONFIG_HOME" or home .. "/.config", { os.getenv "GIT_CONFIG_GLOBAL" }
	for _, path in ipairs(SETTINGS) do
		out[#out + 1] = path:gsub("^HOME", (home:gsub("%%", "%%%%"))):gsub("^XDG", (xdg:gsub("%%", "%%%%")))
	end
	return out
end

-- The bounds of a call, as of a step; and what it may write besides.
local function bounds_of(place)
	local fence, tree, writable = place.fence, place.tree, {}
	if not fence then
		return nil
	end
	for _, path in ipairs(place.writable) do
		local stat = fs.lstat(path)
		writable[#writable + 1] = stat and stat.type == "directory" and path or nil
	end
	local read = fence.read and tree and { tree.common, tree.path, tree.repo, table.unpack(settings_of_git()) } or nil
	return { write = fence.write and {} or nil, read = read, network = fence.network, required = fence.required }, writable
end

-- The lock of a ref that is in the way of a git that has failed. That of an index may be held while a user edits a message.
-- What a step could have had git say names no other file.
local function lock_of(place, result)
	local path = not result.ok and place.tree and (result.stderr or ""):match "'(/[^'\n]+%.lock)'"
	if path and path:find(place.tree.common .. "/", 1, true) == 1 and not path:find "/index%.lock$" and not path:find "/config%.lock$" then
		return M.is_own(path) and fs.lstat(path) and path
	end
end

---Does no link lead there?
---@param path string
---@return boolean
function M.is_own(path)
	local folder = path:match "^(.*)/"
	return fs.realpath(folder) == folder
end

local function environment(place)
	local n = math.tointeger(tonumber(os.getenv "GIT_CONFIG_COUNT")) or 0 -- also in submodules, whose settings a step can write
	local env = { GIT_TERMINAL_PROMPT = "0", GIT_EDITOR = "true", GIT_OPTIONAL_LOCKS = "0", LANGUAGE = "en",
		GIT_NO_REPLACE_OBJECTS = "1", GIT_ALLOW_PROTOCOL = place.plain and "" or nil }
	for _, setting in ipairs { { "core.fsmonitor", "false" }, { "status.showUntrackedFiles", "normal" },
		place.plain and { "core.hooksPath", "/dev/null" } or nil } do
		env["GIT_CONFIG_KEY_" .. n], env["GIT_CONFIG_VALUE_" .. n] = setting[1], setting[2]
		n = n + 1
	end
	env.GIT_CONFIG_COUNT = ("%d"):format(n)
	return env
end

-- A link below the refs of a repository, or their logs: git would write where it leads.
local function link_below(folder)
	for _, name in ipairs(fs.list(folder) or {}) do
		local path = folder .. "/" .. name
		local stat = fs.lstat(path)
		local link = stat and (stat.type == "link" and path or stat.type == "directory" and link_below(path))
		if link then
			return link
		end
	end
end

---Run git to its end. Call it inside scheduler tasks.
---@param run table its `settings`, and its `lock`, which is held until git has ended
---@param place runner.workflow.GitPlace
---@param args string[]
---@param more? {env: table<string, string>?, stdin: string?, program: boolean?} program: args are another program's, for git
---@return runner.Result
function M.run(run, place, args, more)
	more = more or {}
	local link = place.tree and not more.program and WRITES_REFS[args[1]]
		and (link_below(place.tree.common .. "/refs") or link_below(place.tree.common .. "/logs"))
	if link then
		return { ok = false, error = ("%s is a link, and git would write where that leads"):format(link) }
	end
	local argv = more.program and args or table.move(args, 1, #args, 2, { "git" })
	local env = tables.add(tables.add(environment(place), place.env or {}), more.env or {})
	local confine, writable = bounds_of(place)
	local step = { key = "git", kind = "git", timeout_ms = LIMIT_MS, grace_ms = 5000, confine = confine }
	local give_up = host.now() + STALE_MS + 2000
	while true do
		local request = step_process.options(step, { cwd = place.cwd, writable = writable }, run.settings, argv, "git", env)
		request.lock, request.cap, request.stdin = run.lock and run.lock:handle(), OUTPUT_CAP, more.stdin
		local result = scheduler.process(request)
		step_process.finish(request)
		local stale = lock_of(place, result)
		if not stale or host.now() > give_up then
			return result
		end
		local stat = fs.lstat(stale)
		if stat and host.wall_ms() - stat.mtime * 1000 > STALE_MS then
			fs.unlink(stale)
		end
		scheduler.sleep(LOOK_MS)
	end
end

---Remove locks that a git has left that was killed; one that lives lets them go in a moment.
---@param paths string[] never that of an index
function M.unlock(paths)
	for _, path in ipairs(paths) do
		local stat, give_up = fs.lstat(path), host.now() + STALE_MS
		while stat and host.wall_ms() - stat.mtime * 1000 <= STALE_MS and host.now() < give_up do
			scheduler.sleep(LOOK_MS)
			stat = fs.lstat(path)
		end
		local _ = stat and M.is_own(path) and fs.unlink(path)
	end
end

---What it prints, without the newline at its end; nil and the result where it fails.
---@param run table
---@param place runner.workflow.GitPlace
---@param args string[]
---@param more? table as of M.run
---@return string? text
---@return runner.Result result
function M.line(run, place, args, more)
	local result = M.run(run, place, args, more)
	return result.ok and (result.stdout:gsub("\n$", "")) or nil, result
end

---What it said when it failed, in a few lines.
---@param result runner.Result
---@return string
function M.said(result)
	local text = host.clean(result.stderr or ""):gsub("%s+$", ""):gsub("^%s+", "")
	return result.error or result.timed_out and "git took longer than 10 minutes" or text ~= "" and text:sub(-1000)
		or ("git failed with %s"):format(result.signal and "signal " .. tostring(result.signal) or "status " .. tostring(result.status))
end

---Raise what is wrong with a worktree.
---@param run table
---@param message string
---@param fix string what to do
---@param code? string default: PRECONDITION
---@param context? table
function M.refuse(run, message, fix, code, context)
	errors.raise(code or "PRECONDITION", message, { retryable = false, side_effects = "partial", fix_required = fix, context = context or {},
		suggestion = run.id and "runner workflow resume " .. run.id })
end

return M
