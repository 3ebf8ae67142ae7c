-- How fast a library reads and writes JSON: for each NAME.json of a folder the processor time in µs of one decode and
-- one encode, at best of so many. The collector stands still meanwhile: what is measured is the library.
local function best(times, f, value)
	local least = math.huge
	for _ = 1, times do
		collectgarbage()
		collectgarbage "stop"
		local from = os.clock()
		f(value)
		least = math.min(least, os.clock() - from)
		collectgarbage "restart"
	end
	return least * 1e6
end

return function(library, folder, names, times)
	local found = {}
	for name in names:gmatch "[^,]+" do
		local file <close> = assert(io.open(folder .. "/" .. name .. ".json"))
		local text = file:read "a"
		found[name] = { decode = best(times, library.decode, text), encode = best(times, library.encode, library.decode(text)) }
	end
	return found
end
