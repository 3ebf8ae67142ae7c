local test = require "test"

local function archives(t)
	local names = {}
	for name in (io.popen("ls '" .. t.dir .. "/to'"):read "a"):gmatch "%S+" do
		names[#names + 1] = name
	end
	return names
end

test("makes an archive that has the files, and nothing half", function(t)
	t:files { ["from/a.txt"] = "A", ["from/deep/b.txt"] = "B" }
	local data = t:succeeds(t:call("backup", { from = t.dir .. "/from", to = t.dir .. "/to" }))
	t:equal(archives(t), { data.archive })
	local listed = io.popen(("tar -tzf '%s/to/%s'"):format(t.dir, data.archive)):read "a"
	t:contains(listed, "./deep/b.txt")
end)

test("removes all but the newest", function(t)
	t:files { ["from/a"] = "A", ["to/2020-01-01T000000Z.tar.gz"] = "", ["to/2020-01-02T000000Z.tar.gz"] = "", ["to/other.txt"] = "" }
	local data = t:succeeds(t:call("backup", { from = t.dir .. "/from", to = t.dir .. "/to", keep = 2 }))
	t:equal(data.removed, "2020-01-01T000000Z.tar.gz")
	t:equal(#archives(t), 3)
end)

test("leaves nothing behind when tar fails", function(t)
	t:files { ["from/a"] = "A" }
	t.fake.run("tar", { script = 'echo half >"$2"', status = 2 })
	t:fails(t:call("backup", { from = t.dir .. "/from", to = t.dir .. "/to" }), "SUBPROCESS_FAILED")
	t:equal(archives(t), {})
end)
