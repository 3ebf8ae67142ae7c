-- media: what a file holds, by the ending of its name (RFC 6838). Pure. Loaded on first use.

local M = {}

local TYPES = {}
for ending, of in ([[avi video/x-msvideo; bmp image/bmp; css text/css; csv text/csv; gif image/gif; gz application/gzip; htm text/html;
	html text/html; jpeg image/jpeg; jpg image/jpeg; json application/json; jsonl application/jsonl; log text/plain; md text/markdown;
	mp3 audio/mpeg; mp4 video/mp4; ogg audio/ogg; pdf application/pdf; png image/png; svg image/svg+xml; tar application/x-tar;
	tsv text/tab-separated-values; txt text/plain; wasm application/wasm; wav audio/wav; webm video/webm; webp image/webp;
	xml application/xml; yaml application/yaml; yml application/yaml; zip application/zip;]]):gmatch "(%w+) (%S+);" do
	TYPES[ending] = of
end

---The type of a file of this name; nil: it is none that we know.
---@param name string
---@return string?
function M.of_name(name)
	return TYPES[(name:match "%.(%w+)$" or ""):lower()]
end

---Is it a text, as far as bytes can say?
---@param bytes string
---@return boolean
function M.is_text(bytes)
	return utf8.len(bytes) ~= nil and not bytes:find("\0", 1, true)
end

---The type of what is in a file of this name.
---@param name string
---@param bytes string
---@return string
function M.of(name, bytes)
	return M.of_name(name) or M.is_text(bytes) and "text/plain" or "application/octet-stream"
end

return M
