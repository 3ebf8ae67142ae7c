-- The line of ctx:progress on a terminal.
local bar = require "runner.ctx.progress_display"

describe("the line of progress", function()
	it("is a bar with percent, rate and the time that is left, where there is a total", function()
		local b = bar.bar()
		assert.are.equal(("░"):rep(24) .. "    0%  0/10 files", b:line("0/10 files", 0, 10, 5000, 80))
		assert.are.equal(("█"):rep(12) .. ("░"):rep(12) .. "   50%  5/10 files  2.5/s  2s left", b:line("5/10 files", 5, 10, 7000, 80))
		assert.are.equal(("█"):rep(24) .. "  100%  10/10 files  2.5/s", b:line("10/10 files", 10, 10, 9000, 80))
	end)

	it("is narrow on a narrow terminal, and has no second percent beside a fraction", function()
		local b = bar.bar()
		assert.are.equal("█████░░░░░   50%", b:line(" 50%", 0.5, 1, 0, 40))
		assert.are.equal("████████░░   80%  5s left", b:line(" 80%", 0.8, 1, 7500, 40))
	end)

	it("begins with a spinner without a total or without a number", function()
		local b = bar.bar()
		assert.are.equal("⠋  1 rows", b:line("1 rows", 1, nil, 0))
		assert.are.equal("⠋  3001 rows  1500/s", b:line("3001 rows", 3001, nil, 2000))
		assert.are.equal("⠋  looking", bar.turning "looking")
	end)

	it("begins anew where less is done than before, and survives any numbers", function()
		local b = bar.bar()
		b:line("9/10", 9, 10, 0, 80)
		assert.are.equal(("█"):rep(2) .. ("░"):rep(22) .. "   10%  1/10", b:line("1/10", 1, 10, 5000, 80))
		assert.are.equal(("█"):rep(4) .. ("░"):rep(20) .. "   20%  2/10  1/s  8s left", b:line("2/10", 2, 10, 6000, 80))
		for _, case in ipairs { { 1, 0 }, { 5, -1 }, { 0 / 0, 10 }, { 1 / 0, 10 }, { 3, 1 / 0 }, { 20, 10 }, { -5, 10 }, { 1e300, 1e-300 } } do
			assert.is_string(bar.bar():line("x", case[1], case[2], 0, 80))
		end
	end)

	it("in plain lines says each tenth and the end once, and other work every ten seconds", function()
		local b, said = bar.bar(), {}
		for i = 0, 1000 do
			said[#said + 1] = b:plain(("%d/1000"):format(i), i, 1000, i)
		end
		assert.are.same({ "0/1000", "100/1000", "200/1000", "300/1000", "400/1000", "500/1000", "600/1000", "700/1000", "800/1000",
			"900/1000", "1000/1000" }, said)
		b, said = bar.bar(), {}
		for i = 1, 25 do
			said[#said + 1] = b:plain(("%d rows"):format(i), i, nil, i * 1000)
		end
		assert.are.same({ "1 rows", "11 rows", "21 rows" }, said)
		b = bar.bar()
		assert.are.equal("looking", b:plain("looking", nil, nil, 0))
		assert.is_nil(b:plain("looking", nil, nil, 5000))
		assert.are.equal("writing", b:plain("writing", nil, nil, 5000))
		assert.is_nil(b:plain("closing", nil, nil, 5500))
		for _, case in ipairs { { 1, 0 }, { 5, -1 }, { 0 / 0, 10 }, { 1 / 0, 10 }, { 3, 1 / 0 }, { 20, 10 }, { -5, 10 }, { 1e300, 1e-300 } } do
			assert.is_string(bar.bar():plain("x", case[1], case[2], 0))
		end
	end)

	it("says long times in hours", function()
		local b = bar.bar()
		b:line("0/7200", 0, 7200, 0, 80)
		assert.is_truthy(b:line("1/7200", 1, 7200, 1000, 80):find("1h 59m left", 1, true))
	end)
end)
