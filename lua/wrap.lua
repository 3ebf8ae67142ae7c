-- wrap: text in columns of a given width, for help. Pure.

local M = {}

local function width_of(text)
	return utf8.len(text) or #text
end

---Break a text at blanks into lines of at most `width` characters; a longer word
---stays whole. Line breaks in the text stay.
---@param text string
---@param width integer
---@return string[] lines at least one
function M.lines(text, width)
	local out = {}
	for paragraph in (text .. "\n"):gmatch("([^\n]*)\n") do
		local line
		for word in paragraph:gmatch("%S+") do
			if line and width_of(line) + 1 + width_of(word) <= width then
				line = line .. " " .. word
			else
				out[#out + 1] = line
				line = word
			end
		end
		out[#out + 1] = line or ""
	end
	return out
end

---A paragraph, each line behind `indent` blanks.
---@param text string
---@param width integer of the whole
---@param indent? integer default 0
---@return string lines, with a newline at the end
function M.paragraph(text, width, indent)
	local blanks = (" "):rep(indent or 0)
	local lines = M.lines(text, math.max(width - #blanks, 20))
	return blanks .. table.concat(lines, "\n" .. blanks):gsub("[ \t]+\n", "\n") .. "\n"
end

-- The left column is as wide as its entries, but for a few long ones.
local function left_width(rows, most)
	local n = 0
	for _, row in ipairs(rows) do
		local w = width_of(row[1])
		n = w <= most and math.max(n, w) or n
	end
	return n
end

---Two columns: a term, and what it means. A term that is too long has its own line.
---@param rows {[1]: string, [2]: string}[]
---@param width integer of the whole
---@return string
function M.columns(rows, width)
	local left = left_width(rows, math.min(32, width // 2 - 4))
	local out = {}
	for _, row in ipairs(rows) do
		local term, lines = row[1], M.lines(row[2], math.max(width - left - 4, 20))
		local gap = (" "):rep(left + 4)
		if width_of(term) > left then
			out[#out + 1] = "  " .. term
			out[#out + 1] = gap .. lines[1]
		else
			out[#out + 1] = ("  " .. term .. (" "):rep(left + 2 - width_of(term)) .. lines[1]):gsub(" +$", "")
		end
		for i = 2, #lines do
			out[#out + 1] = gap .. lines[i]
		end
	end
	out[#out + 1] = out[1] and ""
	return table.concat(out, "\n")
end

return M
