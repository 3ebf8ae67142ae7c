-- edit: ctx:edit, a text in the person's editor. Where nobody is at a terminal it raises
-- EDITOR_REQUIRED. Loaded on first use.

local attempt = require "runner.core.attempt"

local M = {}

-- "code --wait" is a program and its argument.
local function words(text)
	local out = {}
	for word in (text or ""):gmatch "%S+" do
		out[#out + 1] = word
	end
	return out[1] and out or nil
end

---Let the person edit a text: $VISUAL, $EDITOR, else vi. The command must declare interactive. A dry
---run opens nothing, and the text stays as it is.
---@param ctx runner.Context
---@param text? string what the editor shows first
---@param name? string of the file: its ending tells the editor what it holds
---@return string text as the editor left it
function M.edit(ctx, text, name)
	if type(text or "") ~= "string" or type(name or "") ~= "string" or (name or ""):find("/", 1, true) then
		require("runner.ctx.misuse").raise("ctx:edit", "it takes a text and the name of a file without slashes",
			'Write ctx:edit("first line\\n", "message.txt")')
	elseif not (attempt.launch.person and ctx.interactive) then
		error(require("runner.core.surroundings").editor_required(), 0)
	elseif ctx.dry_run then
		return text or ""
	end
	local path = ("%s/%s"):format(ctx.tempdir, name or "text")
	ctx.fs.write(path, text or "", 384) -- 0600
	local argv = words(os.getenv "VISUAL") or words(os.getenv "EDITOR") or { "vi" }
	argv[#argv + 1] = path
	argv.foreground, argv.capture = true, false
	ctx:run(argv)
	return ctx.fs.read(path)
end

return M
