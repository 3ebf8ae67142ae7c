-- hash: digests and message authentication codes, by libmd (src/bindings/digest.c).

local check = require "runner.library.check"
local digest = require "runner.digest"
local encoding = require "runner.core.encoding"
local returned = require "runner.core.returned"

local M = {}

local BLOCK = { md5 = 64, sha1 = 64, sha256 = 64, sha384 = 128, sha512 = 128 } -- bytes

local function algorithm_of(what, algorithm)
	algorithm = algorithm == nil and "sha256" or algorithm
	if not BLOCK[algorithm] then
		check.misuse(what, ("there is no algorithm '%s'; there are md5, sha1, sha256, sha384 and sha512"):format(tostring(algorithm)))
	end
	return algorithm
end

---The digest of bytes.
---@param bytes string
---@param algorithm? "sha256"|"sha512"|"sha384"|"sha1"|"md5" default "sha256"
---@return string in lower-case hexadecimal
function M.text(bytes, algorithm)
	check.strings("hash.text", bytes)
	return returned.check(digest.text(algorithm_of("hash.text", algorithm), bytes))
end

---The digest of a file, of any size; a failure raises, as those of ctx.fs do.
---@param path string
---@param algorithm? string
---@return string
function M.file(path, algorithm)
	check.strings("hash.file", path)
	return returned.check(digest.file(algorithm_of("hash.file", algorithm), path))
end

local function raw(algorithm, bytes)
	return encoding.from_hex(returned.check(digest.text(algorithm, bytes)))
end

local function crossed(key, byte)
	return (key:gsub(".", function(c)
		return string.char(c:byte() ~ byte)
	end))
end

---HMAC (RFC 2104): proves that bytes come from someone who has the key.
---@param key string
---@param bytes string
---@param algorithm? string
---@return string in lower-case hexadecimal
function M.hmac(key, bytes, algorithm)
	check.strings("hash.hmac", key, bytes)
	algorithm = algorithm_of("hash.hmac", algorithm)
	local block = BLOCK[algorithm]
	key = #key > block and raw(algorithm, key) or key
	key = key .. ("\0"):rep(block - #key)
	return returned.check(digest.text(algorithm, crossed(key, 0x5c) .. raw(algorithm, crossed(key, 0x36) .. bytes)))
end

---Are two texts equal? Takes as long wherever they differ, so that no caller can guess a code byte by byte.
---@param a string
---@param b string
---@return boolean
function M.equal(a, b)
	check.strings("hash.equal", a, b)
	local different = #a ~ #b
	for i = 1, math.min(#a, #b) do
		different = different | (a:byte(i) ~ b:byte(i))
	end
	return different == 0
end

return M
