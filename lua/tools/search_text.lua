-- search_text: what a search looks at of a command (lua/core/search.lua): its name and description, its keywords, and with less
-- weight the names, descriptions and values of its arguments, and its examples. Pure.

local M = {}

local function add(list, text)
	list[#list + 1] = type(text) == "string" and text or nil
end

local function add_property(list, name, property)
	add(list, name)
	add(list, property.description)
	for _, holder in ipairs { property, property.items or {} } do
		for _, value in ipairs(holder.enum or {}) do
			add(list, value)
		end
	end
end

---@param about {name: string, description?: string, keywords?: string[], examples?: {description?: string, command: string}[],
---  schema: table} `schema`: of its arguments, as lua/tools/payload_schema.lua makes it
---@return runner.SearchText
function M.of(about)
	local more = {}
	for name, property in next, about.schema.properties or {} do
		add_property(more, name, property)
	end
	for _, example in ipairs(about.examples or {}) do
		add(more, example.description)
		add(more, example.command)
	end
	return { name = about.name, description = about.description, keywords = table.concat(about.keywords or {}, " "),
		more = table.concat(more, " ") }
end

return M
