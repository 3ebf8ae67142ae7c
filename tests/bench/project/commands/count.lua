local function is_prime(n)
	for i = 2, n - 1 do
		if n % i == 0 then
			return false
		end
	end
	return n > 1
end

return {
	description = "Compute for about a tenth of a second",
	danger_level = "safe",
	run = function()
		local found = 0
		for n = 2, 8000 do
			found = found + (is_prime(n) and 1 or 0)
		end
		return { primes = found }
	end,
}
