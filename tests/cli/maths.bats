#!/usr/bin/env bats
# The math library is loaded when a script first computes: only the clock notices.

load lib/helper

# maps: which libraries a script's own process has.
maps() {
	body "$1" <<LUA
local function has_libm()
	for line in io.lines "/proc/self/maps" do
		if line:find "/libm[.-]" then return true end
	end
	return false
end
local before = has_libm()
$2
return { before = before, after = has_libm() }
LUA
}

@test "a plain run does not load the math library, the first sine does" {
	dynamic_only "has it inside"
	case $RUNNER in */sanitize/*) skip "the sanitizer needs it itself" ;; esac
	ldd "$RUNNER" | grep -q libm || maps plain 'local x = 7 // 2 + 1.5 * 2'
	[ -e commands/plain.lua ] || skip "this build needs libm for something else"
	call plain
	expect 'e.data == {"before": False, "after": False}'
	maps sine 'local x = math.sin(1)'
	call sine
	expect 'e.data == {"before": False, "after": True}'
}

@test "every function of math gives what lua5.4 gives, to the last digit" {
	command -v lua5.4 >/dev/null || skip "lua5.4 is not here"
	cat >list.lua <<'LUA'
local out, x = {}, 0.7
for _, name in ipairs { "acos", "asin", "atan", "cos", "exp", "log", "sin", "sqrt", "tan" } do
	out[#out + 1] = ("%s %.17g"):format(name, math[name](x))
end
out[#out + 1] = ("%.17g %.17g %.17g"):format(math.log(x, 2), math.log(x, 10), math.log(x, 7))
out[#out + 1] = ("%.17g %.17g %.17g"):format(x ^ 3.3, 7.9 % x, math.fmod(-7.9, x))
out[#out + 1] = ("%.17g %d %d"):format(math.atan(x, -2), math.floor(-x), math.ceil(x))
return table.concat(out, "\n")
LUA
	body list <<<'return { text = dofile "list.lua" }'
	call list
	assert_envelope
	[ "$(field 'e.data["text"]')" = "$(lua5.4 -e 'io.write(dofile "list.lua")')" ]
}

@test "a C module that uses the math library without linking to it finds it, as in lua5.4" {
	dynamic_only "loads no C module"
	cat >power.c <<'C'
#include <lauxlib.h>
#include <math.h>
static int power(lua_State *L)
{
	lua_pushnumber(L, pow(luaL_checknumber(L, 1), luaL_checknumber(L, 2)));
	return 1;
}
int luaopen_power(lua_State *L)
{
	lua_pushcfunction(L, power);
	return 1;
}
C
	# shellcheck disable=SC2046
	"${CC:-cc}" -shared -fPIC $(pkg-config --cflags lua5.4) -o power.so power.c
	body raise <<LUA
package.cpath = "$PWD/?.so"
return { power = require "power" (2, 10) }
LUA
	call raise
	assert_envelope
	expect 'e.data == {"power": 1024}'
}
