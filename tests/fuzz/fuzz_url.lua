-- What http_url.parse takes apart keeps its secrets out of everything that shows
-- a URL, and what it gives back reads as the same URL.

local url = require "runner.ctx.http_url"

return function(text)
	local u, why = url.parse(text)
	if not u then
		assert(type(why) == "string" and why ~= "")
		return
	end
	assert(u.scheme == "http" or u.scheme == "https")
	assert(u.authority ~= "" and not u.authority:find("[@/?#%s%c]"), u.authority)
	assert(u.path:sub(1, 1) == "/" and not u.path:find("[#%c%s]"), u.path)
	local whole = url.text(u)
	local again = assert(url.parse(whole))
	assert(url.text(again) == whole and not again.user and not again.password)
	assert(url.origin(again) == url.origin(u))
	assert(#url.masked(u) <= 310)
end
