-- reports: what became of tests, as TAP 13, as the XML of JUnit that CI systems read, and for people.

local host = require "runner.host"

local M = {}

local xml = require("runner.core.encoding").markup_attribute

local function counts(tests)
	local failed = 0
	for _, test in ipairs(tests) do
		failed = failed + (test.ok and 0 or 1)
	end
	return #tests, failed
end

local function place(test)
	return test.line and ("%s:%d"):format(test.file, test.line) or test.file
end

local function indented(text, by)
	return by .. text:gsub("\n", "\n" .. by)
end

---@param tests runner.TestOutcome[]
---@return string
function M.tap(tests)
	local lines = { "TAP version 13", ("1..%d"):format(#tests) }
	for i, test in ipairs(tests) do
		local name = ("%s: %s"):format(test.file, test.name):gsub("[#\n]", " ")
		lines[#lines + 1] = ("%s %d - %s"):format(test.ok and "ok" or "not ok", i, name)
		if not test.ok then
			lines[#lines + 1] = ("  ---\n  at: %s\n  message: |\n%s\n  duration_ms: %d\n  ..."):format(place(test),
				indented(host.clean(test.message), "    "), test.duration_ms)
		end
	end
	return table.concat(lines, "\n") .. "\n"
end

local function case(test)
	local class = test.file:gsub("%.lua$", ""):gsub("/", ".")
	local head = ('    <testcase classname="%s" name="%s" file="%s"%s time="%.3f"'):format(xml(class), xml(test.name), xml(test.file),
		 test.line and (' line="%d"'):format(test.line) or "", test.duration_ms / 1000)
	if test.ok then
		return head .. "/>"
	end
	return ('%s>\n      <failure message="%s">%s</failure>\n    </testcase>'):format(head, xml(test.message:match "^[^\n]*"),
		xml(place(test) .. "\n" .. test.message))
end

---@param tests runner.TestOutcome[]
---@return string
function M.junit(tests)
	local number, failed = counts(tests)
	local lines, total = {}, 0
	for i, test in ipairs(tests) do
		lines[i] = case(test)
		total = total + test.duration_ms
	end
	local counted = ('tests="%d" failures="%d" time="%.3f"'):format(number, failed, total / 1000)
	return ('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites %s>\n  <testsuite name="runner" %s>\n%s\n  </testsuite>\n</testsuites>\n')
		:format(counted, counted, table.concat(lines, "\n"))
end

---One failed test for people.
---@param test runner.TestOutcome
---@return string
local function failure_text(test)
	return ("FAIL  %s: %s\n%s\n"):format(place(test), test.name, indented(test.message, "      "))
end

---The line below all.
---@param data { passed: integer, failed: integer, duration_ms: integer, coverage?: { percent: number } }
---@return string
local function summary_text(data)
	local coverage = data.coverage and (", %g %% of the lines of commands ran"):format(data.coverage.percent) or ""
	return ("%d passed, %d failed in %.1f s%s\n"):format(data.passed, data.failed, data.duration_ms / 1000, coverage)
end

local function coverage_text(coverage)
	local lines = {}
	for _, file in ipairs(coverage and coverage.files or {}) do
		lines[#lines + 1] = ("%6.1f %%  %s%s"):format(file.percent, file.file, file.missed ~= "" and "  not run: " .. file.missed or "")
	end
	return lines[1] and table.concat(lines, "\n") .. "\n" or ""
end

---All of it for people.
---@param data table
---@return string
function M.text(data)
	local lines = {}
	for _, test in ipairs(data.tests) do
		lines[#lines + 1] = test.ok and ("ok    %s: %s\n"):format(test.file, test.name) or failure_text(test)
	end
	return table.concat(lines) .. coverage_text(data.coverage) .. summary_text(data)
end

return M
