-- matrix: the project that tests/repair/matrix.txt calls wrongly, as `lua5.4 tests/repair/matrix.lua FOLDER` writes it. What changes
-- something adds a line to the file `victims`.

local COMMANDS = {
	["queue list"] = { "safe", "List queues and how deep they are", [[
		{ "state", "enum", values = { "active", "paused", "draining" }, description = "Only these" }]] },
	["queue show"] = { "safe", "Show one queue", [[{ "name", "string", description = "Of the queue" }]] },
	["queue pause"] = { "mutating", "Hold a queue back", [[
		{ "name", "string", description = "Of the queue" }, { "reason", "string", description = "Shown to others" }]] },
	["queue purge"] = { "destructive", "Throw away all messages of a queue", [[{ "name", "string", description = "Of the queue" }]] },
	["queue message-send"] = { "mutating", "Put a message into a queue", [[
		{ "queue", "string", description = "Which" }, { "body", "string", description = "What it says" },
		{ "delay", "duration", description = "How long to wait" }]] },
	["queue message-list"] = { "safe", "List the messages of a queue", [[
		{ "queue", "string", description = "Which" }, { "since", "string", description = "How far back" }]] },
	["disk attach"] = { "mutating", "Attach a disk to a machine", [[
		{ "disk", "string", description = "Its ID" }, { "machine", "string", description = "Which one" },
		{ "mode", "enum", values = { "read-only", "read-write" } }]] },
	["disk detach"] = { "mutating", "Take a disk off its machine", [[{ "disk", "string", description = "Its ID" }]] },
	["disk resize"] = { "mutating", "Make a disk larger", [[
		{ "disk", "string", required = true, description = "Its ID" },
		{ "size", "integer", required = true, min = 1, description = "In GB" }]] },
	["disk delete"] = { "destructive", "Delete a disk", [[{ "disk", "string", required = true, description = "Its ID" }]] },
	["disk list"] = { "safe", "List disks", [[
		{ "machine", "string", description = "Of this one" }, { "larger-than", "integer", description = "In GB" }]], "list = true," },
	["disk snapshot-create"] = { "mutating", "Save what a disk holds", [[
		{ "disk", "string", description = "Its ID" }, { "label", "string", description = "To find it again" }]] },
	["disk snapshot-delete"] = { "destructive", "Delete a snapshot", [[{ "snapshot", "string", description = "Its ID" }]] },
	["mail send"] = { "mutating", "Send a mail", [[
		{ "recipient", "string", required = true, description = "An address" }, { "subject", "string" }, { "body", "string" }]] },
	["mail bounce-list"] = { "safe", "List mails that came back", [[
		{ "since", "string", description = "How far back" }, { "kind", "enum", values = { "hard", "soft" } }]] },
	["mail template-render"] = { "safe", "Show what a template gives", [[
		{ "template", "string", description = "Its name" }, { "path", "path", description = "Where to" }]] },
	["job schedule"] = { "mutating", "Set when a job runs", [[
		{ "job", "string", description = "Which" }, { "cron", "string", description = "As crontab has it" }]] },
	["job start"] = { "mutating", "Run a job now", [[
		{ "job", "string", required = true, description = "Which" }, { "priority", "enum", values = { "low", "normal", "high" } }]] },
	["job cancel"] = { "mutating", "Stop a job that runs", [[
		{ "job", "string", required = true, description = "Which" }, { "reason", "string", description = "Why" }]] },
	["job history"] = { "safe", "Show how a job went", [[
		{ "job", "string", description = "Which" }, { "last", "integer", description = "How many" }]] },
	["flag enable"] = { "mutating", "Turn a feature on", [[
		{ "feature", "string", required = true, description = "Which" },
		{ "percent", "integer", min = 0, max = 100, description = "Of users" }]] },
	["flag disable"] = { "mutating", "Turn a feature off", [[{ "feature", "string", required = true, description = "Which" }]] },
	["flag list"] = { "safe", "List features", [[
		{ "owner", "string", description = "Whose" }, { "stale", "boolean", description = "Only old ones" }]] },
	["member invite"] = { "mutating", "Invite somebody into a team", [[
		{ "email", "string", required = true, description = "An address" }, { "team", "string", description = "Which" },
		{ "role", "enum", values = { "viewer", "editor", "admin" } }]] },
	["member remove"] = { "destructive", "Remove a member", [[{ "email", "string", required = true, description = "An address" }]] },
	["site publish"] = { "mutating", "Put a site online", [[{ "site", "string", required = true }, { "version", "string" }]] },
	["page publish"] = { "mutating", "Put a page online", [[{ "page", "string", required = true }]] },
	["customer update"] = { "mutating", "Change a customer", [[
		{ "id", "string", positional = true, required = true, pattern = "^cus_[0-9]+$" },
		{ "newsletter", "boolean", default = true }, { "email", "string", description = "An address" },
		{ "tag", "array", items = "string", description = "To find it by" }]] },
	["customer set"] = { "mutating", "Put a customer on a plan", [[
		{ "id", "string", positional = true, required = true, pattern = "^cus_[0-9]+$" },
		{ "plan", "enum", values = { "free", "team", "enterprise" } }, { "note", "string", description = "Why" },
		{ "tag", "array", items = "string", description = "To find it by" }]] },
	["customer erase"] = { "destructive", "Erase a customer", [[
		{ "id", "string", positional = true, required = true, pattern = "^cus_[0-9]+$" }, { "orders", "boolean" },
		{ "reason", "string", description = "Why" }]] },
	["deployment restart"] = { "mutating", "Restart the pods of a deployment", [[
		{ "name", "string", positional = true, required = true }, { "cluster", "string", description = "Where it runs" }]] },
	["deployment scale"] = { "mutating", "Set how many pods there are", [[
		{ "name", "string", positional = true, required = true, pattern = "^[a-z0-9-]+$" }, { "replicas", "integer", required = true },
		{ "wait", "boolean" }, { "cluster", "string", description = "Where it runs" }]] },
	["deployment logs"] = { "safe", "Show what a deployment wrote", [[
		{ "name", "string", positional = true, required = true }, { "cluster", "string", description = "Where it runs" },
		{ "lines", "integer", description = "At most" }, { "since", "duration" }]] },
	["credit add"] = { "mutating", "Add credit to a customer", [[
		{ "customer", "string", description = "Who" }, { "amount", "string", description = "In euro" },
		{ "note", "string", description = "Why" }]] },
	["credit transfer"] = { "mutating", "Move credit from a customer to another", [[
		{ "from", "string", description = "Who gives" }, { "to", "string", description = "Who gets" },
		{ "amount", "string", description = "In euro" }]] },
	["firewall allow"] = { "mutating", "Let a network in", [[
		{ "cidr", "string", positional = true, required = true }, { "ports", "array", items = "integer", description = "tcp or udp" },
		{ "priority", "integer", description = "Among the rules" }, { "weight", "number" },
		{ "factors", "array", items = "number", description = "Of the rates" }]] },
	["firewall show"] = { "safe", "Show the rules of a network", [[
		{ "cidr", "string", positional = true, required = true }, { "ports", "array", items = "integer", description = "Only these" },
		{ "most", "integer", description = "Hits of a rule" }]] },
	["firewall close"] = { "mutating", "Close ports", [[{ "ports", "array", items = "integer", positional = true, required = true }]] },
	["campaign list"] = { "safe", "List campaigns", [[
		{ "status", "enum", values = { "draft", "sending", "sent", "paused" }, description = "Only these" }]] },
	["campaign pause"] = { "mutating", "Hold a campaign back", [[
		{ "id", "integer", positional = true, required = true, description = "Of the campaign" },
		{ "note", "string", description = "Why" }]] },
	["campaign mark"] = { "mutating", "Set the state of a campaign", [[
		{ "id", "integer", positional = true, required = true, description = "Of the campaign" },
		{ "status", "enum", required = true, values = { "draft", "sending", "sent", "paused" } }]] },
	["table load"] = { "mutating", "Fill a table", [[
		{ "name", "string", positional = true, required = true }, { "source", "string", required = true, description = "Where it is" },
		{ "file-format", "enum", values = { "csv", "parquet", "json" } }]] },
	["table sample"] = { "safe", "Read some rows of a file", [[
		{ "source", "string", positional = true, required = true }, { "file-format", "enum", values = { "csv", "parquet", "json" } }]] },
	["schema diff"] = { "safe", "Compare two versions", [[
		{ "from", "string", positional = true, required = true }, { "to", "string", positional = true, required = true }]] },
}

for name, one in pairs(COMMANDS) do
	local folder, file = (arg[1] .. "/commands/" .. name:gsub(" ", "/")):match "^(.*)/([^/]*)$"
	os.execute(("mkdir -p '%s'"):format(folder))
	local out <close> = assert(io.open(("%s/%s.lua"):format(folder, file), "w"))
	local run = one[4] and "return { args }" or "return args"
	if one[1] ~= "safe" then
		run = ("io.open('victims', 'a'):write(%q, '\\n'):close() return args"):format(name)
	end
	out:write(("return {\n\tdescription = %q, danger_level = %q, %s\n"):format(one[2], one[1], one[4] or ""),
		("\targs = {\n%s },\n\trun = function(args) %s end,\n"):format(one[3], run),
		"\texit_codes = { TIMEOUT = { retryable = false, side_effects = \"partial\" } },\n}\n")
end
