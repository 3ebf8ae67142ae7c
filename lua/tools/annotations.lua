-- annotations: the script API for editors (LuaCATS): the files of lua/types, by the name
-- that `runner types` gives each. The reference is generated from them too. A test
-- checks that no method, module function or declaration key is missing.

local M = {}

for _, name in ipairs { "runner", "test", "json", "fs", "cjson", "cjson/safe", "runner/codec", "runner/hash", "runner/path", "runner/text",
	"runner/time", "runner/toml", "runner/yaml" } do
	M[name] = require("runner.types." .. name:gsub("/", "."))
end

return M
