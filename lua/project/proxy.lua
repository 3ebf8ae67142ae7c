-- proxy: --proxy and --no-proxy, for ctx:http and for what the command starts: both read the
-- environment. Loaded when one of them is given.

local host = require "runner.host"

local M = {}

local NAMES = { "http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY" }

---Set or clear the variables of this process. --no-proxy wins.
---@param framework {proxy?: string, no_proxy?: boolean}
function M.export(framework)
	local proxy = not framework.no_proxy and framework.proxy or nil
	for _, name in ipairs(NAMES) do
		host.setenv(name, proxy)
	end
	for _, name in ipairs { "no_proxy", "NO_PROXY" } do
		host.setenv(name, nil)
	end
end

return M
