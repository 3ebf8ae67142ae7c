-- runner workflow unit: a systemd unit of the user that calls `workflow recover` at boot, and the same as a line for cron.

local command_line = require "runner.core.command_line"
local display = require "runner.core.display"
local host = require "runner.host"
local invoke = require "runner.invoke"

local UNIT = [[
# %s: resumes this user's workflow runs that declare `recover: true` after a power cut or a shutdown.
# Save it as ~/.config/systemd/user/%s, then:
#   systemctl --user enable %s && loginctl enable-linger
[Unit]
Description=Resume interrupted workflow runs

[Service]
Type=exec
ExecStart=%s workflow recover
%sKillMode=mixed
TimeoutStopSec=40

[Install]
WantedBy=default.target
]]

local NAME = "%s-recover.service"

-- What decides where runs are stored and which programs their steps find.
local KEPT = { "PATH", "XDG_STATE_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME" }

-- A word of a unit (systemd.syntax(7), systemd.unit(5): % begins a specifier).
local function quoted(text)
	return '"' .. text:gsub('[\\"]', "\\%0"):gsub("%%", "%%%%") .. '"'
end

local function environment()
	local lines, words = {}, {}
	for _, name in ipairs(KEPT) do
		local value = os.getenv(name)
		if value and host.clean(value) == value then
			lines[#lines + 1] = ("Environment=%s\n"):format(quoted(name .. "=" .. value))
			words[#words + 1] = name .. "=" .. command_line.quoted(value) .. " "
		end
	end
	return table.concat(lines), table.concat(words)
end

return {
	args = {},
	examples = { { description = "Where systemd looks for it", command =
		"runner workflow unit --format plain > ~/.config/systemd/user/runner-recover.service" } },
	run = function()
		local program, name = invoke.program(), NAME:format(invoke.name() or "runner")
		local lines, words = environment()
		local unit = UNIT:format(name, name, name, quoted(program):gsub("%$", "$$"), lines)
		display.set { text = unit, plain = unit }
		local line = words .. command_line.quoted(program) .. " workflow recover"
		return { name = name, unit = unit, cron = "@reboot " .. line:gsub("%%", "\\%%") } -- % is a newline there
	end,
}
