-- 10 MB of JSON, as a table; BENCH_ROWS: fewer rows.
local rows = {}
for i = 1, tonumber(os.getenv "BENCH_ROWS") or 100000 do
	rows[i] = { id = i, name = "row number " .. i, ok = i % 2 == 0, value = i / 8, tags = { "first", "second", "third" } }
end
return rows
