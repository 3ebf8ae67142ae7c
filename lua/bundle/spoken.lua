-- spoken: what a program that carries a project calls itself: the name that it was called by, in the
-- place of `runner`, in help, completion, errors and advice. What a command itself answers stays as it is.

local attempt = require "runner.core.attempt"
local host = require "runner.host"
local locate = require "runner.project.locate"

local M = {}

local ADVICE = { "message", "suggestion", "fix_required", "fix_command" }

-- Is this what follows `runner` in a command line, and not in a sentence?
local function is_called(word)
	return word:find "^[-<%[]" or word == locate.SELF or locate.builtins[word] ~= nil
		or attempt.project ~= nil and locate.find({ word }, attempt.project) ~= nil
end

local function renamed(text, name)
	text = text:gsub("'runner'", "'" .. name:gsub("%%", "%%%%") .. "'")
	return (text:gsub("%f[%w]runner (%S+)", function(word)
		if is_called(word:match "^[%w_-]+" or word) then
			return name .. " " .. word
		end
	end))
end

-- A completion script has the name in its functions, too.
local function in_script(text, name)
	return (text:gsub("_runner", "_" .. name:gsub("[^%w_]", "_")):gsub("runner", (name:gsub("%%", "%%%%"))))
end

local function says(frame, name)
	local found = attempt.found
	if found and not found.path and frame.text then
		frame.text = found.name == "completion" and in_script(frame.text, name) or renamed(frame.text, name)
	end
	if frame.code and not frame.fix_required then
		frame.fix_required = (host.registry_code(frame.code) or {}).hint -- the supervisor would add it, and knows no name
	end
	for _, key in ipairs(ADVICE) do
		frame[key] = type(frame[key]) == "string" and renamed(frame[key], name) or frame[key]
	end
end

local SPOKEN = { TEXT = true, RESULT = true, WARN = true }

---From now on, the program is called that.
---@param name string
---@param version? string of the project, for --version
function M.as(name, version)
	local send = host.send
	host.send = function(kind, frame, more)
		if SPOKEN[kind] then
			says(frame, name)
		end
		return send(kind, frame, more)
	end
	attempt.launch.version = version or attempt.launch.version
	attempt.spoken = function(text)
		return renamed(text, name)
	end
end

return M
