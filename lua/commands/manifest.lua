-- runner manifest [command …]: everything that an agent needs to find a command and to call
-- it, as one JSON document.

local attempt = require "runner.core.attempt"
local display = require "runner.core.display"
local host = require "runner.host"
local json = require "runner.json"
local manifest = require "runner.tools.manifest"
local topic = require "runner.tools.topic"

-- On a terminal too: it is not read as a table.
local function as_text(document)
	return json.encode(document, { envelope = true }) .. "\n"
end

return {
	args = {
		{ "command", "array", items = "string", variadic = true,
			description = "A command, or a group of commands; all if there is none" },
		{ "compact", "boolean", description = "The project's own commands only, without examples and without exit codes "
			.. "that all commands have" },
		{ "etag", "string", description = "Etag of the manifest that the caller has; while it is current, data is null" },
	},
	examples = {
		{ description = "Describe every command", command = "runner manifest" },
		{ description = "Describe one group, in short", command = "runner manifest workflow --compact" },
	},
	validate = function(values)
		return topic.problems(values, attempt.project)
	end,
	run = function(values)
		collectgarbage("setpause", 400) -- most of what is read stays
		local document = manifest.document(topic.words(values), attempt.project, values.compact)
		if values.etag == document.etag then
			host.send("META", { name = "not_modified", data = "true" })
			return nil
		end
		display.set { text = as_text, plain = as_text }
		return document
	end,
}
