-- elf: a program with one more section. The section is data that is not loaded; strip(1), objcopy(1)
-- and whoever signs the file keep it. Only for 64-bit little-endian ELF, as elf(5) has it.

local M = {}

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
