-- luacheck: the library and the commands run under Lua 5.4, the specs under busted.
std = "lua54"
max_line_length = 140
ignore = { "212" } -- unused arguments: callbacks and methods keep their shape
files["tests/lua"] = { std = "+busted" }
