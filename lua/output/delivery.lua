-- delivery: a result that is not plain JSON on stdout: rendered as text, or written to
-- the file of --output; and the warnings about a result that had to be repaired. A plain
-- run doesn't load it.

local host = require "runner.host"
local attempt = require "runner.core.attempt"

local M = {}

---Warn about what the encoder had to change.
---@param notes {nonfinite: integer, repaired: integer}
function M.warn_repairs(notes)
	if notes.nonfinite > 0 then
		attempt.warn("NONFINITE_NUMBER", "NaN and infinity have no JSON form and became null", { count = notes.nonfinite })
	end
	if notes.repaired > 0 then
		attempt.warn("STRING_REPAIRED", "Invalid UTF-8, NUL or ANSI sequences were removed from strings",
			{ count = notes.repaired })
	end
end

local LINKS_MAX = 40

-- Where the bytes go: a symbolic link stays one, even if its target doesn't exist yet.
local function destination(fs, path)
	for _ = 1, LINKS_MAX do
		local real, to = fs.realpath(path), fs.readlink(path)
		if real or not to then
			return real or path
		end
		path = to:sub(1, 1) == "/" and to or (path:match("^(.*/)") or "") .. to
	end
	return nil, "too many links"
end

-- The envelope holds the path.
local function to_file(text, path)
	local fs = require "runner.fs"
	local to, why = destination(fs, path)
	local ok
	if to then
		ok, why = fs.write(to, text)
	end
	if not ok then
		return nil, require("runner.core.errors").new("OUTPUT_FAILED", ("Can't write the result to %s: %s"):format(path, why),
			{ fix_required = "Give --output a writable path", side_effects = "complete" })
	end
	return require("runner.json").encode { path = path, bytes = #text }
end

-- Text and its rows; nil and an error. A built-in may have rendered its result itself (attempt.texts).
local function rendered_as(format, data, text)
	if format == "json" then
		return text .. "\n", 0
	elseif attempt.texts[format] then
		local own = attempt.texts[format]
		return type(own) == "function" and own(data) or own, 1
	elseif format == "id" and attempt.command and attempt.command.primary_id_field then
		return require("runner.output.ids").text(data, attempt.command, attempt.dry_run)
	end
	return require("runner.output.render").text(data, format, attempt.command, require("runner.output.reader").table_width())
end

---The data of a failure as TEXT, for a terminal; of a built-in where it has made its own text,
---since others have shown it on the way. Data without a JSON form is left out: the failure says so.
---@param data any
function M.show(data)
	local command, format = attempt.command, attempt.format
	if not command or format == "json" or format == "id" or not (command.path or attempt.framework.format or attempt.texts[format]) then
		return
	end
	data = attempt.wrap(data)
	local text = require("runner.json").encode(data, { max = 16 << 20 })
	if text then
		host.send("TEXT", { text = (rendered_as(format, data, text)) })
	end
end

---Render a result and send it as TEXT, or write it to the file of --output.
---@param data any
---@param text string the same as JSON
---@param format "json"|runner.TextFormat
---@return string? text the envelope's data, nil where there is an error
---@return integer|runner.Error rows of the text, or the error
function M.deliver(data, text, format)
	if format == "jsonl" and attempt.rows and attempt.rows.written then
		return text, 0 -- the supervisor's last line has it
	end
	local window = attempt.window and require "runner.output.tokens"
	if window and format == "json" and not attempt.window.count then
		text = window.json(data, text)
	end
	local rendered, rows = rendered_as(window and attempt.window.format or format, data, text)
	if not rendered then
		return nil, rows
	elseif window and attempt.window.count then
		return window.count(attempt.window.format == "json" and text or rendered), 0
	elseif window and format ~= "json" then
		rendered = window.text(rendered, format)
	end
	local path = attempt.framework.output
	if path then
		local problem
		text, problem = to_file(rendered, path)
		if not text then
			return nil, problem
		end
		rendered, rows = (attempt.launch.stdout_is_tty and host.clean(path) or path) .. "\n", 0
	end
	if format ~= "json" then
		host.send("TEXT", { text = rendered })
	end
	return text, rows
end

return M
