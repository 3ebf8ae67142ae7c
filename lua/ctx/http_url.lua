-- http_url: URLs of ctx:http: parsing, adding a query, hiding credentials, and the proxy
-- and CA that the environment names for them.
-- It sends nothing.

local encoding = require "runner.core.encoding"

local M = {}

---@class runner.Url
---@field scheme "http"|"https"
---@field authority string host and port, without user and password
---@field path string path and query, "/" at least
---@field user? string
---@field password? string

local DEFAULT_PORTS = { http = "80", https = "443" }
local SHOWN = 300 -- bytes of a URL in a message

local function valid_authority(text)
	local host = text:match("^(.-):%d*$") or text
	return host:find("^%[[%x:.]+%]$") ~= nil or (host ~= "" and not host:find("[%[%]:]"))
end

local function split_userinfo(authority)
	local userinfo, host = authority:match("^(.*)@(.*)$")
	if not userinfo then
		return authority
	end
	local user, password = userinfo:match("^([^:]*):?(.*)$")
	return host, encoding.from_percent(user), encoding.from_percent(password)
end

---Take a URL apart. User and password leave it here, so that nothing that
---shows a URL later can show them. The fragment is dropped.
---@param text string
---@return runner.Url? url
---@return string? why it is not one that can be asked (never with the URL itself)
function M.parse(text)
	if text:find("[%c%s\\]") then
		return nil, "it holds a blank, a backslash or a control character; percent-encode it (%20 for a blank)"
	end
	local scheme, rest = text:match("^(%a[%w+.-]*)://([^#]*)")
	if not scheme then
		return nil, "it does not begin with http:// or https://"
	elseif not DEFAULT_PORTS[scheme:lower()] then
		return nil, "its scheme is '" .. scheme:lower() .. "'; only http and https are supported"
	end
	local authority, path = rest:match("^([^/?]*)(.*)$")
	local host, user, password = split_userinfo(authority)
	if not valid_authority(host) then
		return nil, "it names no valid host"
	elseif (user and user:find("[%c:]")) or (password and password:find("%c")) then
		return nil, "its user or password holds a character that can't be sent"
	end
	return {
		scheme = scheme:lower(),
		authority = host,
		path = path:sub(1, 1) == "/" and path or "/" .. path,
		user = user,
		password = password,
	}
end

---@param url runner.Url
---@return string
function M.text(url)
	return url.scheme .. "://" .. url.authority .. url.path
end

---Scheme, host and port in one form: what credentials are bound to.
---@param url runner.Url
---@return string
function M.origin(url)
	local host, port = url.authority:match("^(.-):(%d*)$")
	port = (port and port ~= "") and port or DEFAULT_PORTS[url.scheme]
	return url.scheme .. "://" .. (host or url.authority):lower() .. ":" .. port
end

---Does a header or query parameter of this name carry a secret?
---@param name string
---@return boolean
function M.secret_name(name)
	return require("runner.host").secret_name(encoding.from_percent(name), true)
end

local function cut(text)
	return #text > SHOWN and text:sub(1, SHOWN) .. "..." or text
end

---The URL as it may be shown: values of secret-looking parameters masked.
---@param url runner.Url
---@return string
function M.masked(url)
	local path, query = url.path:match("^([^?]*)(.*)$")
	query = query:gsub("([?&;])([^=&;]*)=([^&;]*)", function(mark, name)
		return M.secret_name(name) and mark .. name .. "=***" or nil
	end)
	return cut(url.scheme .. "://" .. url.authority .. path .. query)
end

---The URL for a message: without its query.
---@param url runner.Url
---@return string
function M.brief(url)
	return cut(url.scheme .. "://" .. url.authority .. url.path:match("^[^?]*"))
end

---The values in the query that must not be shown.
---@param url runner.Url
---@return string[]
function M.secrets(url)
	local found = { url.password }
	for name, value in url.path:gmatch("[?&;]([^=&;]*)=([^&;]*)") do
		if M.secret_name(name) then
			found[#found + 1] = value
		end
	end
	return found
end

local function add_pair(list, name, value)
	local kind = type(value)
	if kind == "table" then
		for _, item in ipairs(value) do
			add_pair(list, name, item)
		end
	elseif kind == "string" or kind == "number" or kind == "boolean" then
		list[#list + 1] = encoding.percent(name) .. "=" .. encoding.percent(tostring(value))
	else
		error({ name = name, kind = kind }, 0)
	end
end

---Append a query; names in sorted order, a list repeats its name.
---@param url runner.Url
---@param query table<string, string|number|boolean|table>
---@return boolean ok
---@return string? why
function M.add_query(url, query)
	local names, list = {}, {}
	for name in pairs(query) do
		if type(name) ~= "string" then
			return false, "query must map names to values; write query = { page = 2 }"
		end
		names[#names + 1] = name
	end
	table.sort(names)
	for _, name in ipairs(names) do
		local ok, bad = pcall(add_pair, list, name, query[name])
		if not ok and type(bad) == "table" then
			return false, ("query.%s is a %s; write a string, a number, a boolean or a list of these")
				:format(bad.name, bad.kind)
		elseif not ok then
			error(bad, 0)
		end
	end
	if #list > 0 then
		url.path = url.path .. (url.path:find("?", 1, true) and "&" or "?") .. table.concat(list, "&")
	end
	return true
end

local function from_env(...)
	for _, name in ipairs({ ... }) do
		local value = os.getenv(name)
		if value and value ~= "" then
			return value
		end
	end
end

---The proxy that the environment names for a URL, and what it excludes. In a
---CGI program HTTP_PROXY is the request's "Proxy:" header, not a setting.
---@param url runner.Url
---@return string? proxy
---@return string? no_proxy
function M.proxy(url)
	local upper = url.scheme == "https" and "HTTPS_PROXY" or "HTTP_PROXY"
	if upper == "HTTP_PROXY" and os.getenv("REQUEST_METHOD") then
		upper = "http_proxy"
	end
	return from_env(url.scheme .. "_proxy", upper, "all_proxy", "ALL_PROXY"),
		from_env("no_proxy", "NO_PROXY")
end

---The variable that names the proxy of a URL, and its value as it may be shown; nil: none.
---@param url runner.Url
---@return string? name, string? proxy
function M.proxy_source(url)
	local shown = M.shown_proxy(url)
	local proxy = shown and M.proxy(url)
	for _, name in ipairs { url.scheme .. "_proxy", url.scheme:upper() .. "_PROXY", "all_proxy", "ALL_PROXY" } do
		if shown and os.getenv(name) == proxy then
			return name, shown
		end
	end
end

-- libcurl decides what no_proxy excludes; this only explains it to the reader.
local function excluded(url, no_proxy)
	local host = (url.authority:match("^(.-):%d*$") or url.authority):lower()
	for entry in (no_proxy or ""):lower():gmatch("[^,%s]+") do
		entry = entry:gsub("^%.", "")
		if entry == "*" or host == entry or host:sub(-#entry - 1) == "." .. entry then
			return true
		end
	end
	return false
end

---The proxy on the way to a URL as it may be shown, or nil.
---@param url runner.Url
---@return string?
function M.shown_proxy(url)
	local proxy, no_proxy = M.proxy(url)
	if not proxy or excluded(url, no_proxy) then
		return nil
	end
	local scheme, host = proxy:match("^(%a[%w+.-]*://)"), proxy:match("@([^@]*)$")
	return host and (scheme or "") .. "***@" .. host or proxy
end

---Secrets of a proxy setting: "user:password" and the password alone.
---@param proxy? string
---@return string[]
function M.proxy_secrets(proxy)
	local userinfo = proxy and proxy:gsub("^%a[%w+.-]*://", ""):match("^(.*)@")
	if not userinfo then
		return {}
	end
	local password = userinfo:match(":(.*)$")
	return { userinfo, password, password and encoding.from_percent(password) }
end

---The CA file or directory that the environment names, or nil.
---@return string?
function M.ca()
	return from_env("CURL_CA_BUNDLE", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")
end

-- Where distributions keep the certificates: a file with all, or a directory with a hash for each.
local CA_STORES = {
	"/etc/ssl/certs/ca-certificates.crt", -- Debian, Ubuntu, Arch, Alpine, Gentoo
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", -- Fedora, Red Hat
	"/etc/pki/tls/certs/ca-bundle.crt", -- the same, older
	"/etc/ssl/ca-bundle.pem", -- openSUSE
	"/etc/ssl/cert.pem", -- Alpine, BSD
	"/etc/ssl/certs",
}

---Where this system keeps its CA certificates, for the static build, whose libcurl comes from no
---distribution; nil: nowhere that is known.
---@return string?
function M.system_ca()
	for _, path in ipairs(CA_STORES) do
		local file <close> = io.open(path, "rb")
		if file then
			return path
		end
	end
end

---The host and the port that a request goes to, the same for all spellings: libcurl knows what it would connect to.
---@param scheme "http"|"https"
---@param authority string
---@return string name lower case
---@return integer? port
function M.host(scheme, authority)
	local name, port = require("runner.http_client").host(scheme .. "://" .. authority .. "/")
	if not name then
		name, port = authority:match "^(.-):?(%d*)$"
	end
	return (name:lower():gsub("%.$", "")), math.tointeger(tonumber(port) or tonumber(DEFAULT_PORTS[scheme]))
end

return M
