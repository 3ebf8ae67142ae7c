local export = require "runner.telemetry.export"
local json = require "runner.json"
local settings = require "runner.telemetry.settings"
local trace = require "runner.telemetry.trace"

describe("a traceparent", function()
	local TEXT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

	it("is read and written as it was", function()
		assert.same({ trace_id = "0af7651916cd43dd8448eb211c80319c", span_id = "b7ad6b7169203331", sampled = true }, trace.parse(TEXT))
		assert.equal(TEXT, trace.text(trace.parse(TEXT)))
		assert.is_false(trace.parse(TEXT:gsub("01$", "00", 1)).sampled)
		assert.is_true(trace.parse(TEXT:gsub("01$", "ff", 1)).sampled)
	end)

	it("of a later version may have more behind it, and of ours may not", function()
		assert.truthy(trace.parse(("01%s-what"):format(TEXT:sub(3))))
		for _, text in ipairs { TEXT .. "-x", TEXT .. "0", ("01%sx"):format(TEXT:sub(3)), ("ff%s"):format(TEXT:sub(3)), TEXT:upper(),
			TEXT:gsub("b7ad6b7169203331", ("0"):rep(16), 1), TEXT:gsub("0af7651916cd43dd8448eb211c80319c", ("0"):rep(32), 1),
			TEXT:gsub("0af7", "0ag7", 1), TEXT:sub(2), "", " " .. TEXT, "\0", ("0"):rep(100000) } do
			assert.is_nil(trace.parse(text), text)
		end
		assert.is_nil(trace.parse(nil))
	end)
end)

describe("the number of a trace", function()
	it("has the bits of the ULID, and of any other text some of its own", function()
		assert.equal(("0"):rep(31) .. "1", trace.trace_id("run_" .. ("0"):rep(25) .. "1"))
		assert.equal(("f"):rep(32), trace.trace_id("run_7" .. ("Z"):rep(25)))
		assert.equal("01563e3ab5d3d6764c61efb99302bd5b", trace.trace_id "run_01ARZ3NDEKTSV4RRFFQ69G5FAV")
		for _, id in ipairs { "run_1", "", "x", "run_" .. ("0"):rep(26) } do
			local number = trace.trace_id(id)
			assert.truthy(number:find "^%x+$" and #number == 32 and number:find "[^0]", id)
		end
	end)

	it("of a span differs with each of its parts", function()
		local seen = {}
		for _, parts in ipairs { { "a", 1 }, { "a", 2 }, { "a1" }, { "b", 1 }, { "a", 1, "x" } } do
			local id = trace.span_id(table.unpack(parts))
			assert.truthy(id:find "^%x+$" and #id == 16 and not seen[id])
			seen[id] = true
		end
	end)
end)

describe("a request of OTLP", function()
	it("has integers as texts, and numbers of traces in hexadecimal", function()
		local request = json.decode(export.request({ { trace_id = ("a"):rep(32), span_id = ("b"):rep(16), name = "n", start_ms = 1, end_ms = 0,
			attributes = { int = 3, float = 1.5, yes = true, text = "x\27" }, error = "E" } }, { ["service.name"] = "s" }, "1"))
		local span = request.resourceSpans[1].scopeSpans[1].spans[1]
		assert.same({ "1000000", "1000000" }, { span.startTimeUnixNano, span.endTimeUnixNano })
		assert.same({ { key = "float", value = { doubleValue = 1.5 } }, { key = "int", value = { intValue = "3" } },
			{ key = "text", value = { stringValue = "x" } }, { key = "yes", value = { boolValue = true } } }, span.attributes)
		assert.same({ code = 2, message = "E" }, span.status)
		assert.is_true(json.is_array(span.events))
	end)
end)

describe("an exporter", function()
	local getenv <const> = os.getenv

	local function with(environment, telemetry)
		rawset(os, "getenv", function(name) return environment[name] end)
		local exporter, secrets = settings.exporter(telemetry or { content = false }, "1"), settings.secrets()
		rawset(os, "getenv", getenv)
		return exporter, secrets
	end

	it("takes the address for traces as it is, and completes the one for all signals", function()
		assert.is_nil(with {})
		assert.is_nil(with { OTEL_EXPORTER_OTLP_ENDPOINT = "" })
		assert.equal("http://c:1/v1/traces", with { OTEL_EXPORTER_OTLP_ENDPOINT = "http://c:1//" }.url)
		assert.equal("http://d/", with { OTEL_EXPORTER_OTLP_ENDPOINT = "http://c", OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = "http://d/" }.url)
		assert.is_nil(with({}, { content = false, file = "f" }).url)
		assert.is_nil(with({ OTEL_SDK_DISABLED = "TRUE" }, { content = false, file = "f" }))
	end)

	it("has at most two seconds, and headers whose values are secrets", function()
		local exporter, secrets = with { OTEL_EXPORTER_OTLP_ENDPOINT = "http://c", OTEL_EXPORTER_OTLP_TIMEOUT = "10000",
			OTEL_EXPORTER_OTLP_TRACES_HEADERS = " a = b%2C c ,broken,=x,d=" }
		assert.equal(2000, exporter.timeout_ms)
		assert.same({ a = "b, c", d = "" }, exporter.headers)
		table.sort(secrets)
		assert.same({ "", "b, c" }, secrets)
		for text, ms in pairs { ["100"] = 100, ["-1"] = 2000, x = 2000, ["1.5"] = 2000 } do
			assert.equal(ms, with { OTEL_EXPORTER_OTLP_ENDPOINT = "http://c", OTEL_EXPORTER_OTLP_TIMEOUT = text }.timeout_ms)
		end
	end)
end)
