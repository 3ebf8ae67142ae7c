-- secrets: values that must not be seen: where they come from, and masking them in
-- whatever leaves the run: logs, the database, the envelope. Runs in the worker.
-- Values stay in memory and in the environment of steps.

local errors = require "runner.core.errors"
local fs = require "runner.fs"
local json = require "runner.json"

local M = {}

local MASK = "***"
local SHORTEST = 4 -- bytes of a line or of an encoded form that are masked on their own: "}" isn't a secret
local MAX_FILE = 1 << 20

---@class runner.workflow.Secret
---@field name string of the environment variable that the steps get
---@field env string? taken from this variable
---@field file string? taken from this file
---@field value string? as written in the workflow

-- --- where they come from ------------------------------------------------------------

local function from_env(secret)
	local value = os.getenv(secret.env)
	if not value then
		errors.raise("PRECONDITION", ("The secret '%s' needs the environment variable %s, which is not set")
			:format(secret.name, secret.env), { suggestion = ("Set %s before starting the run"):format(secret.env) })
	end
	return value
end

local function from_file(secret, base_dir)
	local path = secret.file:sub(1, 1) == "/" and secret.file or base_dir .. "/" .. secret.file
	local text, message = fs.read(path, MAX_FILE)
	if not text then
		errors.raise("PRECONDITION", ("Can't read the secret '%s': %s"):format(secret.name, message),
			{ suggestion = ("Create %s, readable only by you"):format(path) })
	elseif text:find("\0", 1, true) then
		errors.raise("PRECONDITION", ("The secret '%s' in %s contains a NUL byte"):format(secret.name, path),
			{ suggestion = "Store it as text, for example in base64" })
	end
	return (text:gsub("\r?\n$", ""))
end

local function value_of(secret, base_dir)
	if secret.env then
		return from_env(secret)
	elseif secret.file then
		return from_file(secret, base_dir)
	end
	return tostring(secret.value)
end

-- --- the forms they appear in ----------------------------------------------------------

local DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

-- Base64 digits of whole groups of six bits.
local function base64(bytes)
	local out, bits, held = {}, 0, 0
	for i = 1, #bytes do
		bits, held = (bits << 8 | bytes:byte(i)) & 0xffff, held + 8
		while held >= 6 do
			held = held - 6
			local digit = (bits >> held & 63) + 1
			out[#out + 1] = DIGITS:sub(digit, digit)
		end
	end
	return table.concat(out)
end

-- The part of its base64 that is the same whatever surrounds it.
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

local function percent_form(value, add)
	add((value:gsub("[^%w._~-]", function(c)
		return ("%%%02X"):format(c:byte())
	end)))
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
		percent_form(value, add)
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

-- A deep copy, which keeps cycles.
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

-- The most bytes, SHORTEST or more, of which a form's beginning and the text's end are
-- the same; or, with `after`, a form's end and the text's beginning.
local function shared(text, forms, after)
	local most = 0
	for _, form in ipairs(forms) do
		for n = math.min(#form - 1, #text), math.max(most + 1, SHORTEST), -1 do
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

---@class runner.workflow.Hide texts that were cut out of a longer one: a secret may lie across the cut
---@field before fun(text: string): string the text before the cut, without the start of a secret
---@field after fun(text: string): string the text after it, without the end of a secret

---@param values string[]
---@return fun(v: any): any mask, runner.workflow.Hide hide
function M.masker(values)
	local forms = sorted_forms(values)
	local function before(text)
		local n = shared(text, forms, false)
		return n > 0 and text:sub(1, -n - 1) .. MASK or text
	end
	local function after(text)
		local n = shared(text, forms, true)
		return n > 0 and MASK .. text:sub(n + 1) or text
	end
	return function(v)
		return forms[1] and mask_any(v, forms, {}) or v
	end, { before = before, after = after }
end

---Fetch the secrets of a workflow. `mask` copies a value deeply with `***` in
---place of every secret, its longer lines, and its JSON, base64 and URL forms.
---Raises PRECONDITION where a source is missing, never with a value in it.
---@param list runner.workflow.Secret[]
---@param base_dir string that relative files belong to
---@return {env: table<string, string>, mask: fun(v: any): any, hide: runner.workflow.Hide}
function M.load(list, base_dir)
	local env, values = {}, {}
	for i, secret in ipairs(list or {}) do
		values[i] = value_of(secret, base_dir)
		env[secret.name] = values[i]
	end
	local mask, hide = M.masker(values)
	return { env = env, mask = mask, hide = hide }
end

return M
