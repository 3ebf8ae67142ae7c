-- interaction: what a command does with the person at the terminal: questions (ctx:prompt, ctx:select, ctx:confirm,
-- ctx:attest), a text in the person's editor (ctx:edit), a program to work with (ctx:exec), and a window (ctx:open_url,
-- ctx:open_path). Without a person, INPUT_REQUIRED says which argument would have answered, and EDITOR_REQUIRED that
-- there is no editor. Loaded on first use.

local attempt = require "runner.core.attempt"
local errors = require "runner.core.errors"
local host = require "runner.host"
local command_line = require "runner.core.command_line"

local M = {}

-- --- tty -------------------------------------------------------------------------------

local MAX_TRIES = 10

-- --- may we ask? ------------------------------------------------------------------------

local CI = { "CI", "GITHUB_ACTIONS", "JENKINS_URL" }

local function automated()
	for _, name in ipairs(CI) do
		if (os.getenv(name) or "") ~= "" then
			return name .. " is set"
		end
	end
end

local function unattended(launch)
	return not launch.stdin_is_tty and not launch.stderr_is_tty and "stdin and stderr are not a terminal"
		or not launch.stdin_is_tty and "stdin is not a terminal" or not launch.stderr_is_tty and "stderr is not a terminal" or nil
end

-- Why not, the most helpful reason first; nil if we may.
local function reason()
	local launch, flags = attempt.launch, attempt.framework
	if not (attempt.command and attempt.command.interactive) then
		return "the command does not declare interactive = true"
	elseif flags.non_interactive then
		return "--non-interactive was given"
	elseif launch.ci then
		return automated() or "this runs in a CI system"
	end
	return unattended(launch)
end

local function raise_required(question, what, why, fields)
	errors.raise("INPUT_REQUIRED", ("'%s' %s: %s"):format(question, what, why), fields)
end

-- No fix_command: a caller that runs it would confirm without having been asked.
local WITH_YES = { suggestion = "Confirm with --yes", fix_required = "Confirm with --yes" }

local function check(method, question, opts, known)
	if type(question) ~= "string" or question == "" then
		require("runner.ctx.misuse").raise("ctx:" .. method, "it needs a question, a string that is not empty")
	end
	for key in next, opts do
		if not known[key] then
			require("runner.ctx.misuse").unknown("ctx:" .. method, key, require("runner.core.tables").sorted_keys(known))
		end
	end
end

-- --- asking ------------------------------------------------------------------------

-- Ask until accept(answer) gives a value other than nil; its second result says
-- what was wrong.
local function ask(question, label, secret, accept, fields, many)
	local note = ""
	for _ = 1, MAX_TRIES do
		local answer, why = require("runner.terminal").ask(note .. label, secret, many)
		if not answer then
			raise_required(question, "got no answer", why, fields)
		end
		local value, problem = accept(answer)
		if value ~= nil then
			return value
		end
		note = host.clean(problem or "That is not a valid answer.") .. "\n"
	end
	raise_required(question, "got no answer", ("no usable answer in %d tries"):format(MAX_TRIES), fields)
end

local function suggestion_for(arg)
	return { suggestion = arg and ("Pass --%s"):format((arg:gsub("_", "-"))) or "Pass the value as an argument" }
end

local PROMPT = { default = true, secret = true, validate = true, arg = true, multiline = true }

local function check_multiline(opts)
	local many = opts.multiline
	if many ~= nil and type(many) ~= "boolean" and many ~= "editor" then
		require("runner.ctx.misuse").raise("ctx:prompt", ('multiline is true, false or "editor", not %s'):format(
			require("runner.ctx.misuse").shown(many)))
	elseif many and opts.secret then
		require("runner.ctx.misuse").raise("ctx:prompt", "a secret is one line, which is not echoed",
			"Remove multiline, or read the secret from a file")
	end
	return many
end

-- In the person's editor, until what it leaves is valid.
local function ask_editor(ctx, question, opts, accept, fields)
	local text = opts.default or ""
	for _ = 1, MAX_TRIES do
		text = M.edit(ctx, text)
		local value, problem = accept((text:gsub("\n+$", "")))
		if value ~= nil then
			return value
		end
		require("runner.terminal").ask(host.clean(("%s: %s\nEnter edits it again: "):format(question,
			problem or "That is not a valid answer.")), false)
	end
	raise_required(question, "got no answer", ("no usable answer in %d tries"):format(MAX_TRIES), fields)
end

---Ask for a line of text, or with `multiline` for lines, which end with an empty line or Ctrl+D (what is pasted may have
---empty lines); "editor" opens the person's editor with `default`. Enter alone gives `default`. `validate(answer)` returns
---true, or nil and what is wrong with the answer; then the question comes again.
---@param _ table ctx
---@param question string
---@param opts? runner.PromptOptions
---  secret: what is typed stays invisible; arg: the argument to suggest where no person can be asked
---@return string
function M.prompt(ctx, question, opts)
	opts = opts or {}
	check("prompt", question, opts, PROMPT)
	local many = check_multiline(opts)
	local fields, why = suggestion_for(opts.arg), reason()
	if why then
		raise_required(question, "can't be asked", why, fields)
	end
	local function accept(answer)
		if answer == "" and opts.default ~= nil then
			return opts.default
		elseif not opts.validate then
			return answer
		end
		local ok, problem = opts.validate(answer)
		return ok and answer or nil, problem
	end
	if many == "editor" then
		return ask_editor(ctx, question, opts, accept, fields)
	end
	local shown = opts.default ~= nil and not opts.secret and (" [%s]"):format(opts.default) or ""
	local label = question .. shown .. (many and " (an empty line or Ctrl+D ends it):\n" or ": ")
	return ask(question, host.clean(label), opts.secret, accept, fields, many)
end

local SELECT = { default = true, arg = true }

local function check_choices(choices, default)
	local known = {}
	for _, choice in ipairs(type(choices) == "table" and choices or {}) do
		known[choice] = type(choice) == "string" and choice ~= "" or nil
	end
	if next(known) == nil or default ~= nil and not known[default] then
		require("runner.ctx.misuse").raise("ctx:select", next(known) and "the default is none of the choices"
			or "it needs a list of choices, strings that are not empty", 'Write ctx:select("Where to?", { "prod", "dev" })')
	end
end

-- The choice that an answer names: by its number, or as the only one that begins so.
local function chosen(answer, choices)
	local by_number, found = choices[math.tointeger(tonumber(answer))], nil
	for _, choice in ipairs(choices) do
		if choice == answer then
			return choice
		elseif answer ~= "" and choice:sub(1, #answer) == answer then
			found = found == nil and choice or false
		end
	end
	return by_number or found or nil
end

---Have the person choose one of a list, by its number or its beginning. Enter alone gives `default`.
---@param _ table ctx
---@param question string
---@param choices string[]
---@param opts? {default?: string, arg?: string} arg: the argument to suggest where no person can be asked
---@return string
function M.select(_, question, choices, opts)
	opts = opts or {}
	check("select", question, opts, SELECT)
	check_choices(choices, opts.default)
	local fields, why = suggestion_for(opts.arg), reason()
	if why then
		raise_required(question, "can't be asked", why, fields)
	end
	local lines = { question }
	for i, choice in ipairs(choices) do
		lines[i + 1] = ("  %d) %s"):format(i, choice)
	end
	lines[#lines + 1] = opts.default and ("[%s]: "):format(opts.default) or "Number or name: "
	return ask(question, host.clean(table.concat(lines, "\n")), false, function(answer)
		if answer == "" and opts.default ~= nil then
			return opts.default
		end
		return chosen(answer, choices), ("Please answer 1 to %d, or the beginning of a name."):format(#choices)
	end, fields)
end

local ANSWERS = { y = true, yes = true, n = false, no = false }

---Ask for yes or no. Enter alone gives `default` (no). `--yes` answers with yes.
---@param _ table ctx
---@param question string
---@param opts? {default?: boolean}
---@return boolean
function M.confirm(_, question, opts)
	opts = opts or {}
	check("confirm", question, opts, { default = true })
	if attempt.framework.yes then
		return true
	end
	local why = reason()
	if why then
		raise_required(question, "can't be asked", why, WITH_YES)
	end
	local label = host.clean(question .. (opts.default and " [Y/n] " or " [y/N] "))
	return ask(question, label, false, function(answer)
		local word = answer:lower():match "^%s*(.-)%s*$"
		if word == "" then
			return opts.default or false
		end
		return ANSWERS[word], "Please answer yes or no."
	end, WITH_YES)
end

---Have a person type a text exactly (REQ-C-036). Nothing answers it but the terminal.
---@param _ table ctx
---@param statement string what is confirmed
---@param expected string what must be typed
function M.attest(_, statement, expected)
	check("attest", statement, {}, {})
	if type(expected) ~= "string" or expected == "" then
		require("runner.ctx.misuse").raise("ctx:attest", "it needs the text that must be typed, a string that is not empty")
	end
	local e = require("runner.core.confirmation").attest(statement, expected)
	if e then
		error(e, 0)
	end
end

-- --- the editor ------------------------------------------------------------------------------

-- "code --wait" is a program and its argument. What only a shell can read, a shell reads.
local function words(text)
	if not (text and text:find "%S") then
		return nil
	end
	return command_line.split(text) or { "sh", "-c", text .. ' "$@"', "sh" }
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
		error(require("runner.core.requirements").editor_required(), 0)
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

-- --- a program on the terminal ------------------------------------------------------------------------------

-- Our own streams are pipes; a program that is found is started on the terminal.
local ON_TERMINAL = { "sh", "-c", 'command -v -- "$0" >/dev/null || exit 127; exec "$0" "$@" </dev/tty >/dev/tty 2>/dev/tty' }

---Hand the terminal to a program, and wait for its end. The command must declare interactive.
---@param ctx runner.Context
---@param spec table { "psql", "shop", cwd=, env=, timeout=, grace=, check=, ok_statuses= }
---@return runner.Result
function M.exec(ctx, spec)
	local process = require "runner.ctx.process"
	local options = require("runner.ctx.process_spec").command("exec", ctx, spec)
	if not (attempt.launch.person and ctx.interactive) then
		local undeclared = not (attempt.command and attempt.command.interactive)
		errors.raise("INPUT_REQUIRED", ("ctx:exec gives '%s' the terminal, and %s"):format(options.argv[1], undeclared
			and "the command doesn't say that it needs one" or "there is none, or no person may be asked"), { fix_required = undeclared
			and "Write interactive = true beside run; or ctx:run, if it needs no terminal" or "Call it at a terminal, without --non-interactive" })
	end
	local argv = options.argv
	options.argv = table.move(argv, 1, #argv, #ON_TERMINAL + 1, table.move(ON_TERMINAL, 1, #ON_TERMINAL, 1, {}))
	options.capture, options.foreground = false, true
	return process.public(process.conclude(options, argv, process.ended(options)))
end

-- --- a window ------------------------------------------------------------------------------

local WITHOUT = {} -- a window, by headless_behavior

function WITHOUT.emit_in_output(what, target)
	attempt.add(what, target)
	attempt.add("opened", false)
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
