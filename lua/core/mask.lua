-- mask: replaces values that must not be seen by *** in whatever leaves the run: a
-- workflow's secrets, and arguments declared secret. Loaded if there are any.

local host = require "runner.host"
local json = require "runner.json"

local M = {}

local MASK = "***"
local SHORTEST = 4 -- bytes of a line or of an encoded form that are masked on their own: "}" isn't a secret

-- --- the forms they appear in ----------------------------------------------------------

-- Base64 digits of whole groups of six bits.
local function base64(bytes)
	return require("runner.core.base64").encode(bytes):sub(1, #bytes * 8 // 6)
end

-- What of its base64 is the same whatever stands before and behind it.
local function base64_forms(value, add)
	for before = 0, 2 do
		local digits = base64(("\0"):rep(before) .. value):sub(before == 0 and 1 or before + 2)
		add(digits)
		add((digits:gsub("[+/]", { ["+"] = "-", ["/"] = "_" })))
	end
end

local function json_forms(value, add)
	local text = json.encode(value)
	if text then
		add(text:sub(2, -2))
		add((text:sub(2, -2):gsub("/", "\\/")))
	end
end

-- What URL encoders leave as it is besides letters, digits and "-._": as the contents of a
-- Lua set.
local KEPT = {
	"~", -- RFC 3986, Go QueryEscape, curl --data-urlencode
	"", -- PHP urlencode
	"*", -- HTML forms, Java URLEncoder
	"/~", -- Python quote
	"/", -- Python quote before 3.7
	"~!*'()", -- encodeURIComponent
	"~;,/?:@&=+$#!*'()", -- encodeURI
	"~$&+:=@", -- Go PathEscape
}

-- As each encoder writes it, with hex digits of either case and a blank as %20 or +.
local function url_forms(value, add)
	for _, kept in ipairs(KEPT) do
		for _, hex in ipairs { "%%%02X", "%%%02x" } do
			local form = value:gsub("[^%w._" .. kept:gsub("%p", "%%%0") .. "-]", function(c)
				return hex:format(c:byte())
			end)
			add(form)
			add((form:gsub("%%20", "+")))
		end
	end
end

-- All forms of a secret; a short one only as it is.
local function forms_of(value, forms)
	local function add(form)
		forms[form] = #form >= SHORTEST or forms[form] or nil
	end
	if value:find "%S" then
		forms[value] = true
	end
	for line in (value:find("\n", 1, true) and value or ""):gmatch "[^\r\n]+" do
		add((line:gsub("^%s+", ""):gsub("%s+$", "")))
	end
	if #value >= SHORTEST then
		json_forms(value, add)
		base64_forms(value, add)
		url_forms(value, add)
	end
end

-- --- masking -------------------------------------------------------------------------------

-- Spans of the text that hold a form, sorted; they may overlap.
local function spans_of(text, forms)
	local spans = {}
	for _, form in ipairs(forms) do
		local from, to = text:find(form, 1, true)
		while from do
			local last = spans[#spans]
			if last and last.form == form and from <= last.to + 1 then
				last.to = to
			else
				spans[#spans + 1] = { from = from, to = to, form = form }
			end
			from, to = text:find(form, from + 1, true)
		end
	end
	table.sort(spans, function(a, b)
		return a.from < b.from
	end)
	return spans
end

local function mask_text(text, forms)
	local out, at = {}, 1
	for _, span in ipairs(spans_of(text, forms)) do
		if span.from >= at then
			out[#out + 1] = text:sub(at, span.from - 1) .. MASK
		end
		at = math.max(at, span.to + 1)
	end
	return out[1] and table.concat(out) .. text:sub(at) or text
end

local mask_any

-- A copy; a table that holds itself comes out holding its copy.
local function mask_table(t, forms, seen)
	if seen[t] then
		return seen[t]
	end
	local out = {}
	seen[t] = out
	for key, v in next, t do
		out[mask_any(key, forms, seen)] = mask_any(v, forms, seen)
	end
	return setmetatable(out, getmetatable(t))
end

function mask_any(v, forms, seen)
	if type(v) == "string" then
		return mask_text(v, forms)
	elseif type(v) == "table" then
		return mask_table(v, forms, seen)
	end
	return v
end

-- The most bytes, `least` or more, of which a form's beginning and the text's end are
-- the same; or, with `after`, a form's end and the text's beginning.
local function shared(text, forms, after, least)
	local most = 0
	for _, form in ipairs(forms) do
		for n = math.min(#form - 1, #text), math.max(most + 1, least), -1 do
			local same = after and text:sub(1, n) == form:sub(-n) or not after and text:sub(-n) == form:sub(1, n)
			if same then
				most = n
				break
			end
		end
	end
	return most
end

local function sorted_forms(values)
	local set, forms = {}, {}
	for _, value in ipairs(values) do
		forms_of(value, set)
	end
	for form in next, set do
		forms[#forms + 1] = form
	end
	table.sort(forms)
	return forms
end

-- Where a longer text can be cut so that no form lies across the cut, at `most` or before
-- the bytes that more of a form may follow.
local function safe_end(text, forms, most)
	local spans, stop = spans_of(text, forms), most
	for _, span in ipairs(spans) do
		if span.from <= stop then
			stop = math.max(stop, span.to)
		end
	end
	return stop
end

-- Where a text can be cut before what may be the beginning of a form, so that none lies across.
local function early_end(text, forms)
	local stop, spans = #text - shared(text, forms, false, 1), spans_of(text, forms)
	for i = #spans, 1, -1 do
		if spans[i].from <= stop and spans[i].to > stop then
			stop = spans[i].from - 1
		end
	end
	return stop
end

-- Masks a text that comes in pieces; nil ends it. Holds back what may be the beginning of a form,
-- and of what looks like many of them in a row as much as the longest has.
local function streamer(forms)
	local longest, held = 0, ""
	for _, form in ipairs(forms) do
		longest = math.max(longest, #form)
	end
	return function(piece)
		local text = held .. (piece or "")
		local stop = #text
		if piece and forms[1] then
			stop = early_end(text, forms)
			stop = #text - stop > longest and math.max(stop, safe_end(text, forms, #text - longest)) or stop
		end
		held = text:sub(stop + 1)
		return mask_text(text:sub(1, stop), forms)
	end
end

---@class runner.Hide texts that were cut out of a longer one: a secret may lie across the cut
---@field before fun(text: string): string what stood before the cut, without a secret's beginning
---@field after fun(text: string): string what stood behind it, without a secret's end
---@field stream fun(): fun(piece: string?): string masks a long text piece by piece; nil ends it

---@param values string[]
---@return fun(v: any): any mask, runner.Hide hide
function M.masker(values)
	local forms = sorted_forms(values)
	local function before(text)
		local n = shared(text, forms, false, SHORTEST)
		return n > 0 and text:sub(1, -n - 1) .. MASK or text
	end
	local function after(text)
		local n = shared(text, forms, true, SHORTEST)
		return n > 0 and MASK .. text:sub(n + 1) or text
	end
	return function(v)
		return forms[1] and mask_any(v, forms, {}) or v
	end, { before = before, after = after, stream = function() return streamer(forms) end }
end

-- --- frames ----------------------------------------------------------------------------

-- Fields of frames that hold text, and those that hold JSON. The others are names that
-- runner itself gives.
local TEXTS = { message = true, detail = true, suggestion = true, fix_required = true, fix_command = true, output = true }
local FRAGMENTS = { data = true, context = true, errors = true }

local function masked_fragment(text, mask)
	local value = json.decode(text)
	return value ~= nil and json.encode(mask(value), { envelope = true }) or mask(text)
end

-- A field of a frame, as it may leave; a path of TEMPDIR is ours.
local function masked_field(kind, name, v, mask)
	if type(v) ~= "string" then
		return v
	elseif TEXTS[name] or name == "text" and kind ~= "TEMPDIR" or name == "name" and kind == "STEP" then
		return mask(v)
	end
	return FRAGMENTS[name] and masked_fragment(v, mask) or v
end

-- Numbers too: a secret may be one.
local function mask_numbers(v, secret, seen)
	if type(v) == "number" then
		return secret[tostring(v)] and MASK or v
	elseif type(v) ~= "table" or seen[v] then
		return v
	end
	seen[v] = true
	for key, item in next, v do
		v[key] = mask_numbers(item, secret, seen)
	end
	return v
end

---From here on no frame leaves the worker with one of these values in it. Returns the
---function that masks a copy of anything else.
---@param values string[] secrets
---@return fun(v: any): any mask
function M.guard(values)
	local secret = {}
	for _, value in ipairs(values) do
		secret[value] = true
	end
	local texts, send = M.masker(values), host.send
	local function mask(v)
		return mask_numbers(texts(v), secret, {})
	end
	function host.send(kind, fields, ...)
		local out = {}
		for name, v in next, fields do
			out[name] = masked_field(kind, name, v, mask)
		end
		return send(kind, out, ...)
	end
	return mask
end

return M
