local opposites = require "runner.core.opposites"
local suggest = require "runner.core.suggest"

local OPPOSITE = [[include exclude; inactive active; unquiesce quiesce; drop-data keep-data; drop-data no-keep-data; cache no-cache;
	no-deps deps; disable enable; disabled enabled; with-inactive with-active; async sync; older-than newer-than; asc desc;
	uncompressed compressed; min-size max-size; unmute mute; without-logs with-logs; skip-tests tests; non-root root;
	unlocked locked; exclude-user user; Include EXCLUDE; INACTIVE active; deselect select; disallow allow; in-active active;
	unquiesed quiesced]]
local SAME = [[exclde exclude; inclde include; no-cahce no-cache; nocache no-cache; disble disable; disabled disable;
	inactiv inactive; skp-tests skip-tests; uniq unique; untl until; limt limit; nmae name; nodes node; input inputs;
	unit units; index indx; debg debug; desciption description; excluded exclude; no-activ no-active; keep_data keep-data;
	widthout without; exclude-usr exclude-user; ininactive inactive]]
local OTHERS = "instances replicas; delay wait; input value; notes text; interval every; environment env; description text"

describe("opposites", function()
	it("are never meant for one another, however near their letters are", function()
		for a, b in OPPOSITE:gmatch "([^%s;]+)%s+([^%s;]+)" do
			assert.is_true(opposites.are(a, b), a .. " " .. b)
			assert.is_true(opposites.are(b, a), b .. " " .. a)
			assert.same({}, suggest.nearest(a, { b }), a)
			assert.same({}, suggest.nearest(b, { a }), b)
		end
	end)

	it("are none where a word is misspelt, or has another form", function()
		for a, b in SAME:gmatch "([^%s;]+)%s+([^%s;]+)" do
			assert.is_false(opposites.are(a, b), a .. " " .. b)
			assert.is_false(opposites.are(b, a), b .. " " .. a)
			assert.same({ b }, suggest.nearest(a, { b }), a)
		end
	end)

	it("are no two words that have but a beginning in common with those", function()
		for a, b in OTHERS:gmatch "([^%s;]+)%s+([^%s;]+)" do
			assert.is_false(opposites.are(a, b) or opposites.are(b, a), a .. " " .. b)
		end
	end)

	it("bear any bytes", function()
		assert.is_false(opposites.are("", ""))
		assert.is_false(opposites.are("\255\0", "-"))
	end)
end)
