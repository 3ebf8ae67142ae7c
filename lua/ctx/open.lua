-- open: ctx:open_url and ctx:open_path, which show something in the person's browser or file
-- manager. Where no window can open, nothing is started: the answer names what was to be
-- opened, or the command's headless_behavior says otherwise. Loaded on first use.

local attempt = require "runner.core.attempt"

local M = {}

-- The answer of a run that returns a list has no place for a member.
local function emit(what, target)
	attempt.additions = attempt.additions or {}
	attempt.additions[what], attempt.additions.opened = target, false
end

local WITHOUT = {}

function WITHOUT.emit_in_output(what, target)
	emit(what, target)
end

function WITHOUT.skip(what, target)
	attempt.warn("WINDOW_SKIPPED", ("No window can be opened here, so %s was not"):format(target), { [what] = target })
end

function WITHOUT.error(what, target)
	require("runner.core.errors").raise("NO_TTY", ("No window can be opened here, so %s can't be"):format(target), {
		side_effects = "none", fix_required = "Run it where DISPLAY or WAYLAND_DISPLAY is set", context = { [what] = target },
	})
end

local function started(ctx, target)
	local ok = pcall(require("runner.ctx.spawn").start, ctx, { "xdg-open", target, detach = true })
	return ok
end

local function open(ctx, what, target, is_valid, fix)
	if type(target) ~= "string" or not is_valid(target) then
		require("runner.ctx.misuse").raise("ctx:" .. what, ("%s can't be opened"):format(tostring(target)), fix)
	elseif not attempt.launch.headless and not ctx.dry_run and started(ctx, target) then
		return true
	end
	WITHOUT[attempt.command.headless_behavior or "emit_in_output"](what, target)
	return false
end

---Open a URL in the browser. Without a window `data.open_url` names it, with `opened: false`.
---@param ctx runner.Context
---@param url string http:// or https://
---@return boolean opened
function M.open_url(ctx, url)
	return open(ctx, "open_url", url, function(text)
		return text:find "^https?://[^%s%c]+$"
	end, 'Write ctx:open_url("https://…")')
end

---Open a file or directory. Without a window `data.open_path` names it, with `opened: false`.
---@param ctx runner.Context
---@param path string
---@return boolean opened
function M.open_path(ctx, path)
	local absolute = type(path) == "string" and path ~= ""
		and require("runner.core.paths").absolute(path, require("runner.host").getcwd()) or path
	return open(ctx, "open_path", absolute, function(text)
		return not text:find "%c"
	end, 'Write ctx:open_path("report.html")')
end

return M
