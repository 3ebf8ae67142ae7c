-- 10 MB of JSON, as a table.
local rows = {}
for i = 1, 100000 do
	rows[i] = { id = i, name = "row number " .. i, ok = i % 2 == 0, value = i / 8, tags = { "first", "second", "third" } }
end
return rows
