local json = require "runner.json"
local lenient_json = require "runner.core.lenient_json"

local function reads(text, as)
	local value, why = lenient_json.decode(text)
	assert.is_nil(why, text)
	assert.equal(as, json.encode(value), text)
end

local function refuses(text, proposal)
	local value, why, meant = lenient_json.decode(text)
	assert.is_nil(value, text)
	assert.truthy(why:find "^line %d+ column %d+: .", text)
	assert.equal(proposal, meant, text)
end

describe("lenient_json", function()
	it("reads strict JSON as it is", function()
		reads('{"b":[1,2.5,true,null,"x"],"a":{}}', '{"a":{},"b":[1,2.5,true,null,"x"]}')
		reads("9223372036854775807", "9223372036854775807")
		reads("false", "false")
	end)

	it("reads comments, trailing commas, bare keys and single quotes", function()
		reads("{a: 1, /* b */ $b_1: [1, 2,], } // c", '{"$b_1":[1,2],"a":1}')
		reads("// c\n{'it': 'it\\'s \"x\" \\\\ \\n'}", '{"it":"it\'s \\"x\\" \\\\ \\n"}')
		reads('{"http://x": "/* no */ // no"}', '{"http://x":"/* no */ // no"}')
		reads("[false,] // c", "[false]")
		reads("{true: 1}", '{"true":1}')
	end)

	it("proposes what was probably meant, and reads none of it", function()
		refuses("{env prod}", '{"env":"prod"}')
		refuses("{a: 1 b: 2}", '{"a":1,"b":2}')
		refuses("[1 2", "[1,2]")
		refuses("{a: True, b: None}", '{"a":true,"b":null}')
		refuses("{a: {b: [", '{"a":{"b":[]}}')
		refuses("{a:}", '{"a":null}')
		refuses("{version: 1.2.3}", '{"version":"1.2.3"}')
		refuses("prod", '"prod"')
	end)

	it("proposes nothing where it has no idea, and no guess about numbers", function()
		for _, text in ipairs { "", " ", "}", "[,]", "{,}", "[1,,2]", '{"a":1}}', "[}", '{"a":"x', "{'a", "1 2", "#", "/* x", "1e999",
			"9223372036854775808", "[-9223372036854775809]", '"\\ud800"', '"\\u0000"', '"\255"', "[0x10", '{"a":"b\nc"}' } do
			local value, why = lenient_json.decode(text)
			assert.is_nil(value, text)
			assert.is_string(why, text)
		end
		refuses("9223372036854775808")
		refuses("{a: 1e999}")
	end)

	it("refuses an object with the same key twice, strict or not", function()
		for _, text in ipairs { '{"a":1,"a":1}', "{a:1,'a':2}", '[{"x":{"b":1,"b":2}}]' } do
			local value, why, proposal = lenient_json.decode(text)
			assert.is_nil(value)
			assert.truthy(why:find "duplicate")
			assert.is_nil(proposal)
		end
	end)

	it("reads 100 levels, and no more", function()
		assert.is_table(lenient_json.decode(("["):rep(100) .. ("]"):rep(100)))
		for _, n in ipairs { 101, 2000, 100000 } do
			local value, why = lenient_json.decode(("["):rep(n) .. ("]"):rep(n))
			assert.is_nil(value)
			assert.truthy(why:find "nested too deeply")
		end
	end)

	it("repeats no long text as a proposal", function()
		local _, _, proposal = lenient_json.decode("[" .. ("x "):rep(5000))
		assert.is_nil(proposal)
	end)
end)
