-- Text in XML and HTML: in whatever we write of that kind, no text is markup.

local encoding = require "runner.core.encoding"
local flame_graph = require "runner.profile.flame_graph"
local html = require "runner.workflow.report.html"
local reports = require "runner.testkit.reports"

local HOSTILE = "]]></title><b a=\"1\" c='2'>&amp;\27[31m\xEF\xBF\xBE"

-- Each document that holds a text.
local function documents(text)
	return {
		page = html.page(text, ""), table = html.table(text, { text }, {}), facts = html.facts { { text, text } },
		picture = flame_graph.draw(text, { ns = 1, below = { [text] = { ns = 1, name = text, below = {} } } }),
		junit = reports.junit { { ok = false, file = text, name = text, message = text, duration_ms = 0 } },
	}
end

describe("text in markup", function()
	it("has nothing of markup, no control and nothing that XML has no place for", function()
		for byte = 0, 255 do
			local text = encoding.markup("a" .. string.char(byte) .. "b")
			assert.is_nil(text:gsub("&%w+;", ""):gsub("&#39;", ""):find "[&<>\"'%z\1-\8\11-\31\127]", byte)
		end
		assert.equal("]]&gt;&lt;/title&gt;&lt;b a=&quot;1&quot; c=&#39;2&#39;&gt;&amp;amp;?", encoding.markup(HOSTILE))
		assert.equal("12", encoding.markup(12))
	end)

	it("keeps its lines and tabs, in an attribute too", function()
		assert.equal("a\n\tb", encoding.markup "a\n\tb")
		assert.equal("a&#10;&#9;b&quot;", encoding.markup_attribute "a\n\tb\"")
	end)

	it("is escaped in each document that we write", function()
		for name, document in pairs(documents(HOSTILE)) do
			assert.truthy(document:find("]]&gt;&lt;/title&gt;&lt;b", 1, true), name)
			assert.is_nil(document:find("<b ", 1, true), name)
			assert.is_nil(document:find("[\27\xEF]"), name)
		end
	end)
end)
