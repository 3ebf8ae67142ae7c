---@meta runner.hash
-- Written by 'runner types'; changes here are lost.
-- luacheck: ignore

---Digests and message authentication codes.
---@class runner.hash
local hash = {}

---The digest of bytes.
---@param bytes string
---@param algorithm? "sha256"|"sha512"|"sha384"|"sha1"|"md5" default "sha256"
---@return string in lower-case hexadecimal
function hash.text(bytes, algorithm) end

---The digest of a file, of any size; a failure raises, as those of ctx.fs do.
---@param path string
---@param algorithm? string
---@return string
function hash.file(path, algorithm) end

---HMAC (RFC 2104): proves that bytes come from someone who has the key.
---@param key string
---@param bytes string
---@param algorithm? string
---@return string in lower-case hexadecimal
function hash.hmac(key, bytes, algorithm) end

---Are two texts equal? Takes as long wherever they differ, so that no attacker can guess a code byte by byte.
---@param a string
---@param b string
---@return boolean
function hash.equal(a, b) end

return hash
