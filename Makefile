# runner: build, check, install. The parts are described in docs/architecture.md.
#
#   make            build/runner (release)     make demo    set up, build, deploy the bundled site
#   make debug      -O0 -g                     make check   set up, build, run every test
#   make sanitize   ASan + UBSan               make deps    install what is missing (apt)
#   make gate       the tests to run while you work: what can find a fault of the program, once
#   make static [ARCH=arm64]  one program, nothing beside it; check-static, check-arm64: its tests
#   make install PREFIX=/usr/local DESTDIR=    make bench   write docs/benchmarks.md
#   make fuzz SECONDS=30  look for crashes     make coverage   lines of src/ that tests run
#   make docs       renew the generated tables   make mutate     do the tests find random faults?
#   make rare       an hour on a real Slurm: 10,000 items, 200 kills, 200 cancels, 100 cuts, a third of an hour of everything
#   make check-bare demo and check, in a Debian 12 that has git and nothing else (as root)
#   make check-packages each package on other systems: Debian 11 to 13, busybox, musl, arm64 (as root; half an hour)
#   make check-anywhere the suites in every environment of .ci/environments, recorded (as root; hours)
#
# Local settings go to config.mak (CC = clang, CFLAGS += …).

-include config.mak

CC       ?= cc
PREFIX   ?= /usr/local
BUILD    ?= build
# … and the same bytes in whatever folder it is built
OPTIMIZE ?= -O2 -g1 '-ffile-prefix-map=$(CURDIR)=.' '-ffile-prefix-map=$(BUILD)=build'
HARDEN   ?= -fstack-protector-strong -D_FORTIFY_SOURCE=2
WARN      = -Wall -Wextra -Werror -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
            -Wpointer-arith -Wwrite-strings -Wundef -Wvla -Wformat=2 -Wformat-nonliteral
PKGS      = lua5.4 lua5.4-cjson libpcre2-8
PKG_CFLAGS := $(shell pkg-config --cflags $(PKGS) libcurl sqlite3 2>/dev/null)
CPPFLAGS  += -D_GNU_SOURCE $(PKG_CFLAGS)
ALL_CFLAGS = -std=gnu11 $(OPTIMIZE) $(WARN) $(HARDEN) $(CPPFLAGS) -ffunction-sections -fdata-sections -MMD -MP $(CFLAGS)
# C modules find Lua in the executable, nothing else: their own pcre2 stays theirs. Two segments are fewer to map and fork.
# What a plain run touches lies side by side, in pages that are fewer to map and copy: .ci/first has found it.
ALL_LDFLAGS = -Wl,--export-dynamic-symbol='lua*' -Wl,-z,relro,-z,now -Wl,--as-needed -Wl,-T,$(BUILD)/first.ld -Wl,-z,noseparate-code $(LDFLAGS)

# A library is linked statically where its archive exists, else as pkg-config says. libc
# comes before libm, which then isn't needed: src/worker/libm.c.
archive_of = $(or $(filter /%,$(shell $(CC) -print-file-name=lib$(2).a)),$(shell pkg-config --libs $(1)))
LIBS     := $(call archive_of,lua5.4,lua5.4) $(call archive_of,lua5.4-cjson,lua5.4-cjson) \
            $(call archive_of,libpcre2-8,pcre2-8) -lc -lm -ldl

ROOMS     = common engine supervisor worker bindings $(STATIC_ROOM)
SRCS      = $(foreach r,$(ROOMS),$(wildcard src/$(r)/*.c)) src/main.c
OBJS      = $(SRCS:src/%.c=$(BUILD)/%.o) $(BUILD)/lua.o
LUA       = $(wildcard lua/*.lua lua/*/*.lua lua/*/*/*.lua lua/agent_spec/*.json)

all: $(BUILD)/runner

# What is built of which files. Written again only where a file came or went, which no time of a file shows.
$(BUILD)/sources: FORCE
	@mkdir -p $(@D) && echo '$(SRCS) $(LUA)' | cmp -s - $@ || echo '$(SRCS) $(LUA)' >$@

$(BUILD)/runner: $(OBJS) $(BUILD)/first.ld $(BUILD)/sources
	@echo "  LINK  $@"
	@$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) -o $@.new $(OBJS) $(LIBS) && mv $@.new $@

$(BUILD)/%.o: src/%.c Makefile
	@mkdir -p $(@D)
	@echo "  CC    $<"
	@$(CC) $(ALL_CFLAGS) -c -o $@ $<

# lua/ becomes precompiled chunks inside the binary; lines and names are kept. The chunks of another
# processor's program are the same bytes: EMBED then names the tool of a build that runs here.
EMBED ?= $(BUILD)/embed
$(BUILD)/embed: src/embed.c Makefile
	@mkdir -p $(@D)
	@$(CC) $(ALL_CFLAGS) -o $@ $< $(LIBS)
$(BUILD)/lua.c: $(EMBED) $(LUA) $(BUILD)/sources
	@echo "  EMBED $@"
	@ASAN_OPTIONS=detect_leaks=0 $(EMBED) $@ $(LUA)
$(BUILD)/lua.o: $(BUILD)/lua.c ; $(COMPILE)
# The commit, for --version --verbose; written again only where it is another one.
$(BUILD)/commit.h: FORCE ; @mkdir -p $(@D) && .ci/commit $@
$(BUILD)/bindings/about.o $(BUILD)/host/bindings/about.o: ALL_CFLAGS += -include $(BUILD)/commit.h
$(BUILD)/bindings/about.o $(BUILD)/host/bindings/about.o: $(BUILD)/commit.h
COMPILE   = @mkdir -p $(@D) && $(CC) $(ALL_CFLAGS) -c -o $@ $<

# --- other builds: TARGET names what is made in them ------------------------------------
TARGET = all
# (a sanitizer linked in starts a third faster; clang does that unasked)
SANITIZER_LDFLAGS = $(if $(filter clang%,$(notdir $(CC))),,-static-libasan -static-libubsan)
debug:    ; @+$(MAKE) BUILD=build/debug OPTIMIZE="-O0 -g3" HARDEN= $(TARGET)
clang:    ; @+$(MAKE) BUILD=build/clang CC=clang $(TARGET)
sanitize: ; @+$(MAKE) BUILD=build/sanitize OPTIMIZE="-O1 -g -fno-omit-frame-pointer" HARDEN= LDFLAGS="$(SANITIZER_LDFLAGS)" \
              CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined" $(TARGET)

include .ci/install.mk
include .ci/static.mk
include .ci/first.mk
clean:    ; rm -rf $(BUILD)

# --- one command each -----------------------------------------------------------------
deps:     ; @.ci/deps build test
demo:
	@.ci/deps build
	@+$(MAKE) -s -j all
	@cd docs/demo && ../../$(BUILD)/runner deploy --target prod --format json
check:
	@.ci/deps build test
	@+$(MAKE) -s -j all
	@tests/run
gate: all ; @GATE=1 tests/run unit lua lint cli
check-bare: ; @.ci/check-bare
check-anywhere: ; @.ci/check-anywhere
check-packages: ; @.ci/check-packages
rare: all ; @.ci/deps test && RUNNER=$(CURDIR)/$(BUILD)/runner bats --timing tests/rare
bench: all
	@.ci/deps bench
	@+$(MAKE) -s static || echo "No static build: the page says so" >&2
	@tests/bench/run --write docs/benchmarks.md
# The tables of docs/reference and docs/workflows that come from the sources, and the schemas.
docs: $(BUILD)/runner ; @RUNNER=$< lua5.4 .ci/docs/generate.lua

# --- tests: the parts that tests/run calls -------------------------------------------------
# Unit tests: one program per module. They get every room but the worker's: no Lua.
UNIT     = $(patsubst tests/unit/%.c,$(BUILD)/unit/%,$(wildcard tests/unit/test_*.c))
PURE     = $(foreach r,common engine supervisor,$(filter $(BUILD)/$(r)/%,$(OBJS)))
$(BUILD)/unit/%.o: tests/unit/%.c Makefile ; $(COMPILE)
$(UNIT): $(BUILD)/unit/%: $(BUILD)/unit/%.o $(PURE)
	@$(CC) $(ALL_CFLAGS) $(LDFLAGS) $(UNIT_LDFLAGS) -o $@ $< $(PURE) $(filter -L%,$(LIBS)) $$(pkg-config --libs cmocka) -lm
# Calls that this one makes fail, at will.
$(BUILD)/unit/test_supervisor_faults: UNIT_LDFLAGS = -Wl,--wrap=realloc,--wrap=fork,--wrap=calloc
$(BUILD)/unit/test_remover: UNIT_LDFLAGS = -Wl,--wrap=syscall,--wrap=unlinkat,--wrap=renameat
$(BUILD)/unit/test_way: UNIT_LDFLAGS = -Wl,--wrap=syscall
$(BUILD)/unit/test_supervisor_unlisted: UNIT_LDFLAGS = -Wl,--wrap=kill,--wrap=child_kill_all,--wrap=child_signal_tree
$(BUILD)/unit/test_job: UNIT_LDFLAGS = -Wl,--wrap=pwrite,--wrap=ftruncate,--wrap=fsync,--wrap=rename
# … and this one has something happen just before.
$(BUILD)/unit/test_shepherd_tree: UNIT_LDFLAGS = -Wl,--wrap=os_parent_death_signal
$(BUILD)/unit/test_forker: UNIT_LDFLAGS = -Wl,--wrap=os_fork_sibling,--wrap=xread
$(BUILD)/unit/test_zygote $(BUILD)/unit/test_zygote_end: UNIT_LDFLAGS = -Wl,--wrap=os_fork_sibling
unit: $(UNIT)

# The bindings as a Lua module, so that busted tests run against the real ones.
HOST_SRC  = $(wildcard src/common/*.c src/engine/*.c src/worker/*.c src/bindings/*.c)
HOST_OBJS = $(HOST_SRC:src/%.c=$(BUILD)/host/%.o) $(BUILD)/host/lua.o
$(BUILD)/host/%.o: src/%.c Makefile ; $(COMPILE) -fPIC
$(BUILD)/host/lua.o: $(BUILD)/lua.c ; $(COMPILE) -fPIC
$(BUILD)/runner_host.so: $(HOST_OBJS) $(BUILD)/sources
	@echo "  HOST  $@"
	@$(CC) $(ALL_CFLAGS) -shared -o $@ $(HOST_OBJS) $$(pkg-config --libs lua5.4-cjson libpcre2-8) -lc -lm -ldl
testhost: $(BUILD)/runner_host.so

tidy:
	@printf '%s\n' $(SRCS) | xargs -n 8 -P "$$(nproc)" sh -c 'clang-tidy --quiet "$$@" -- -std=gnu11 $(CPPFLAGS) 2>/dev/null' tidy

include .ci/fuzz.mk

.PHONY: all debug sanitize clang clean FORCE deps demo check gate check-bare check-anywhere check-packages bench docs unit testhost tidy
-include $(OBJS:.o=.d) $(UNIT:=.d) $(HOST_OBJS:.o=.d)
