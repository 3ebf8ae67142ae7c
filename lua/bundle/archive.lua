-- archive: the files of a project as one text, and back, and a program that carries it in a section. Paths are relative, and
-- stay below the folder that they are unpacked in. The section is data that is not loaded; strip(1), objcopy(1) and a
-- signature of the file keep it. Only for 64-bit little-endian ELF, as elf(5) has it.

local json = require "runner.json"

local M = {}

-- --- the files -------------------------------------------------------------------------

---@class runner.Bundled
---@field path string relative
---@field text string

---@param head table what is known of the project, plain JSON
---@param files runner.Bundled[]
---@return string
function M.pack(head, files)
	local parts = { ("<s4"):pack(assert(json.encode(head))) }
	for i, file in ipairs(files) do
		parts[i + 1] = ("<s4s4"):pack(file.path, file.text)
	end
	return table.concat(parts)
end

local function is_safe(path)
	return path ~= "" and path:sub(1, 1) ~= "/" and not ("/" .. path .. "/"):find("/../", 1, true)
end

---@param bytes string of M.pack; raises where it is something else
---@return table head
---@return runner.Bundled[] files
function M.unpack(bytes)
	local text, at = ("<s4"):unpack(bytes)
	local files = {}
	while at <= #bytes do
		local file = {}
		file.path, file.text, at = ("<s4s4"):unpack(bytes, at)
		assert(is_safe(file.path), "a path leads out of the archive")
		files[#files + 1] = file
	end
	return assert(json.decode(text)), files
end

-- --- the section of a program ----------------------------------------------------------

local HEAD = "<c4BB" -- magic, class, order
local CLASS_64, LITTLE = 2, 1
local SECTIONS_AT, COUNT_AT = 0x28, 0x3C -- e_shoff; e_shnum, e_shstrndx
local SIZE = 64 -- of a section's header
local SECTION = "<I4I4I8I8I8I8I4I4I8I8" -- name, type, flags, address, offset, size, link, info, alignment, entry
local PROGBITS = 1

local function padded(bytes, to)
	return bytes .. ("\0"):rep(-#bytes % to)
end

local function put(bytes, at, format, ...)
	local text = format:pack(...)
	return bytes:sub(1, at) .. text .. bytes:sub(at + #text + 1)
end

---Add a section of that name.
---@param program string the bytes of the file
---@param name string
---@param data string
---@return string? program nil: it is no such file
---@return string? why
function M.with_section(program, name, data)
	local magic, class, order = HEAD:unpack(program .. ("\0"):rep(6))
	if magic ~= "\127ELF" or class ~= CLASS_64 or order ~= LITTLE then
		return nil, "it is no 64-bit little-endian ELF file"
	end
	local at = ("<I8"):unpack(program, SECTIONS_AT + 1)
	local count, names = ("<I2I2"):unpack(program, COUNT_AT + 1)
	if at == 0 or count == 0 then
		return nil, "it has no table of sections"
	end
	local rows = {}
	for i = 0, count - 1 do
		rows[i + 1] = program:sub(at + i * SIZE + 1, at + (i + 1) * SIZE)
	end
	local row = { SECTION:unpack(rows[names + 1]) }
	local text = program:sub(row[5] + 1, row[5] + row[6])

	program = padded(program, 16)
	local data_at = #program
	program = padded(program .. data, 16)
	row[5], row[6] = #program, #text + #name + 1
	rows[names + 1] = SECTION:pack(table.unpack(row, 1, 10))
	rows[#rows + 1] = SECTION:pack(#text, PROGBITS, 0, 0, data_at, #data, 0, 0, 16, 0)
	program = padded(program .. text .. name .. "\0", 16)
	program = put(program, SECTIONS_AT, "<I8", #program) .. table.concat(rows)
	return put(program, COUNT_AT, "<I2", count + 1)
end

return M
