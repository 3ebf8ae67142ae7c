-- A verb that a group has not: what it may mean there, by its family, the level of danger and the victims beside it. A project is a table
-- here, and nothing is run: a fix is the line that would be.

local catalog = require "runner.project.catalog"
local command = require "runner.declare.command"
local locate = require "runner.project.locate"
local repair = require "runner.project.repair"
local words = require "runner.project.repair_words"

local LEVELS = { "safe", "mutating", "destructive" }

-- A project of these commands: "group verb" → the level of danger. Each is said to do it to a thing, or to `what`,
-- or `what` is all that is said.
local function project(commands, what)
	local list, loaded = {}, {}
	for name, level in pairs(commands) do
		local dotted = name:gsub(" ", ".")
		list[#list + 1] = { name = dotted, path = dotted .. ".lua" }
		loaded[dotted] = assert(command.normal({
			description = (what or ""):match "^%u.*" or ("%s %s"):format(name:match "%S+$", what or "a thing"), danger_level = level, run = print,
			args = { { "id", "string", positional = true, required = true } },
			exit_codes = { TIMEOUT = { retryable = false, side_effects = "none" } },
		}, dotted))
		loaded[dotted].name = dotted
	end
	table.sort(list, function(a, b) return a.name < b.name end)
	catalog.all = function() return list end
	catalog.load = function(entry) return loaded[entry.name] end
	locate.find = function(typed)
		local name = table.concat(typed, ".", 1, math.min(#typed, 2))
		return loaded[name] and { name = name, path = name .. ".lua", words = 2 } or nil
	end
end

local function call(line)
	local argv = {}
	for word in line:gmatch "%S+" do
		argv[#argv + 1] = word
	end
	return repair.command { call = { argv = argv }, project = { config = {} } }
end

describe("a verb that a group has not", function()
	local list, load, find = catalog.all, catalog.load, locate.find
	after_each(function()
		catalog.all, catalog.load, locate.find = list, load, find
	end)

	-- typed, the command, its level, and one beside it
	local MEANT = {
		{ "create", "take", "mutating", "delete" }, { "new", "issue", "mutating", "revoke" },
		{ "create", "invite", "mutating", "suspend" }, { "generate", "issue", "mutating", "revoke" },
		{ "create", "place", "mutating", "cancel" }, { "make", "draft", "mutating", "send" },
		{ "create", "open", "mutating", "close" }, { "disable", "suspend", "mutating", "delete" },
		{ "deactivate", "suspend", "mutating", "delete" }, { "delete", "revoke", "destructive", "issue" },
		{ "rm", "retire", "destructive", "register" }, { "remove", "unregister", "mutating", "register" },
		{ "run", "trigger", "mutating", "cancel" }, { "execute", "trigger", "mutating", "retry" },
		{ "halt", "end", "mutating", "retry" }, { "update", "configure", "mutating", "delete" },
		{ "edit", "patch", "mutating", "delete" }, { "hash", "checksum", "safe", "delete" },
		{ "describe", "details", "safe", "delete" }, { "output", "logs", "safe", "cancel" },
		{ "test", "validate", "safe", "delete" }, { "dispatch", "ship", "mutating", "cancel" },
		{ "allocate", "assign", "mutating", "release" }, { "mount", "connect", "mutating", "delete" },
	}
	it("means the only one of its family, in any order and in the plural", function()
		for _, one in ipairs(MEANT) do
			local typed, own, level, beside = table.unpack(one)
			project { ["thing " .. own] = level, ["thing " .. beside] = "destructive", ["other " .. own] = level }
			for _, line in ipairs { "thing %s x-1", "things %s x-1", "%s thing x-1", "thing.%s x-1" } do
				assert.equal(("runner thing %s x-1"):format(own), (call(line:format(typed))), line:format(typed))
			end
		end
	end)

	it("means nothing of more danger than it says, and is never turned round", function()
		local READS = { "show", "describe", "list", "check", "verify", "logs", "status", "preview", "search", "hash", "export" }
		local CHANGES = { "create", "new", "add", "update", "set", "run", "disable", "suspend", "enable", "resume", "send", "assign", "restart",
			"deploy", "acknowledge", "import" }
		local REMOVES = { "delete", "remove", "destroy", "purge", "revoke", "terminate", "unregister", "detach", "unsubscribe", "wipe" }
		local count = 0
		local function none(typed, own, level)
			if typed ~= own and not words.is_same_verb(typed, own) then
				project { ["thing " .. own] = level }
				local fix, hint = call(("thing %s x-1"):format(typed))
				assert.is_nil(fix or hint, ("%s %s %s: %s"):format(typed, own, level, fix or hint))
				count = count + 1
			end
		end
		for _, typed in ipairs(READS) do
			for _, own in ipairs(CHANGES) do none(typed, own, "mutating") end
			for _, own in ipairs(REMOVES) do none(typed, own, "destructive") end
		end
		for _, typed in ipairs(CHANGES) do
			for _, own in ipairs(REMOVES) do none(typed, own, "destructive") end
		end
		for pair in ([[disable enable; suspend resume; deactivate activate; create delete; add remove; start stop; trigger cancel; run halt;
			assign unassign; attach detach; subscribe unsubscribe; allow deny; grant revoke; mount unmount; import export; open close;
			publish withdraw; lock unlock; pause continue; issue revoke; invite remove; ship receive; backup restore;
			acknowledge resolve]]):gmatch "[^;]+" do
			local a, b = pair:match "(%l+) (%l+)"
			for _, level in ipairs { "mutating", "destructive" } do
				none(a, b, level)
				none(b, a, level)
			end
		end
		assert.is_true(count > 400)
	end)

	it("is for somebody to decide where two of its family are there, or it only sometimes means that", function()
		for _, one in ipairs {
			{ "create", "open", "issue" }, { "delete", "revoke", "retire" },
			{ "modify", "patch", "configure" },
		} do
			for _, level in ipairs { "mutating", "destructive" } do
				level = one[1] == "delete" and level or "mutating"
				project { ["thing " .. one[2]] = level, ["thing " .. one[3]] = level }
				local fix, hint = call(("thing %s x-1"):format(one[1]))
				assert.is_nil(fix)
				assert.truthy(hint:find("runner thing " .. one[2] .. " x-1", 1, true) and hint:find("runner thing " .. one[3] .. " x-1", 1, true))
			end
		end
		for _, one in ipairs { { "revoke", "delete", "destructive" }, { "lock", "suspend", "mutating" }, { "terminate", "cancel", "mutating" },
			{ "create", "run", "mutating" }, { "restart", "retry", "mutating" }, { "take", "create", "mutating" }, { "add", "invite", "mutating" },
			{ "stop", "cancel", "mutating" }, { "clean", "wipe", "destructive" }, { "repay", "refund", "mutating" },
			{ "push", "publish", "mutating" },
			{ "publish", "push", "mutating" }, { "add", "create", "mutating" }, { "create", "add", "mutating" }, { "add", "make", "mutating" },
			{ "recycle", "reboot", "mutating" }, { "migrate", "move", "mutating" } } do
			project { ["thing " .. one[2]] = one[3] }
			local fix, hint = call(("thing %s x-1"):format(one[1]))
			assert.is_nil(fix, one[1])
			assert.equal(("If that is meant, write runner thing %s x-1"):format(one[2]), hint)
		end
		project({ ["thing open"] = "mutating" }, "the thing")
		local fix, hint = call "thing create x-1"
		assert.is_nil(fix)
		assert.equal("If that is meant, write runner thing open x-1", hint)
	end)

	it("is no more than what somebody may mean where only a description says it, or only another group has it", function()
		local ALL = { mutating = { "create", "update", "lock", "pause", "send", "start" }, destructive = { "delete", "revoke", "purge" } }
		for level, verbs in pairs(ALL) do
			for _, verb in ipairs(verbs) do
				project({ ["thing escrow"] = level }, verb:gsub("^%l", string.upper) .. " a copy at another place")
				for _, line in ipairs { "thing %s x-1", "things %s x-1", "%s thing x-1", "thing %s --id x-1" } do
					assert.is_nil((call(line:format(verb))), line:format(verb))
				end
				project { ["thing show"] = "safe", ["other " .. verb] = level }
				for _, line in ipairs { "thing %s x-1", "things %s x-1", "thing %s --id x-1", "thing other %s x-1", "%s thing x-1", "%s things x-1" } do
					assert.is_nil((call(line:format(verb))), line:format(verb))
				end
			end
		end
		project({ ["thing hold"] = "safe" }, "Show a thing")
		assert.equal("runner thing hold x-1", (call "thing show x-1"))
	end)

	it("means nothing where the group has a command of its name, whatever is wrong with the rest", function()
		for _, one in ipairs(MEANT) do
			project { ["thing " .. one[1]] = "mutating", ["thing " .. one[2]] = one[3] }
			local fix, hint = call(("things %s x-1 --never 5 y"):format(one[1]))
			assert.is_nil((fix or hint or ""):match("thing " .. one[2]))
		end
	end)

	it("is left out: what reads one of them is meant, or one of those that do", function()
		project { ["thing show"] = "safe", ["thing delete"] = "destructive", ["thing start"] = "mutating" }
		assert.equal("runner thing show x-1", (call "thing x-1"))
		assert.equal("runner thing show x-1", (call "things x-1"))
		local fix, hint = call "thing orders"
		assert.is_nil(fix)
		assert.equal("If that is meant, write runner thing show orders", hint)
		assert.is_nil((call "thing stop"))
		project { ["thing show"] = "safe", ["thing history"] = "safe", ["thing delete"] = "destructive" }
		fix, hint = call "thing x-1"
		assert.is_nil(fix)
		assert.equal("Write the one that is meant: runner thing show x-1; or runner thing history x-1", hint)
		for _, level in ipairs(LEVELS) do
			project { ["thing delete"] = level ~= "safe" and level or "mutating" }
			fix, hint = call "thing x-1"
			assert.is_nil(fix or hint)
		end
	end)
end)
