-- luacheck: the library and the commands run under Lua 5.4, the specs under busted.
std = "lua54"
max_line_length = 140
exclude_files = { "build" } -- checkouts of other commits may be there
ignore = { "212" } -- unused arguments: callbacks and methods keep their shape
files["tests/lua"] = { std = "+busted" }
files[".ci/docs/layers.lua"] = { max_line_length = false } -- a room is a row
files[".ci/docs/requirements.lua"] = { max_line_length = false } -- one, too
files["tests/mutate/promises"] = { max_line_length = false } -- an ID is a promise, as its page has it
