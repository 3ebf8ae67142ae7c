-- lists: what a command declares that returns a list, and the flags that it gets; and --fields,
-- for any command.

local rules = require "runner.core.rules"

local function needs_list(n, fault)
	if not n.list then
		fault("needs list = true", "Add list = true")
	end
end

local function not_streamed(n, fault)
	if not (n.list or n.truncates) then
		return
	end
	if n.streams then
		fault("can't be used with streams = true", "Remove one of them: a stream has no pages, and is not cut")
	end
end

---@type runner.Subject
return {
	keys = {
		truncates = { accept = rules.flag, expected = "true or false", check = not_streamed, manifest = "schema" },
		list = { accept = rules.flag, expected = "true or false", check = not_streamed, manifest = "schema" },
		default_limit = { accept = rules.whole(0, 1000000), expected = "a whole number from 0 to 1000000", check = needs_list,
			manifest = "schema" },
	},
	flags = {
		{ name = "max_bytes", type = "integer", min = 8192, max = 1 << 24, when = "list truncates", section = "Output",
			description = "Most bytes of a JSON answer (1048576); what is more is cut, and meta says so" },
		{ name = "limit", type = "integer", min = 0, max = 1000000000, when = "list", section = "Output",
			description = "At most this many items; 0: all; 20 unless the command says otherwise" },
		{ name = "cursor", type = "string", when = "list", section = "Output",
			description = "Go on where meta.pagination.next_cursor of an earlier call says" },
		{ name = "sort", type = "string", when = "list", section = "Output",
			description = "Sort by these fields, separated by commas; - in front of one: descending" },
		{ name = "fields", type = "string", yields = true, section = "Output",
			description = "Only these fields of the result, separated by commas; of each item of a list" },
	},
}
