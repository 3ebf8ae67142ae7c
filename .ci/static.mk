# static.mk: make static, one program with every library inside; a part of the Makefile.
#
# What it links, and the compiler for musl, comes from .ci/static/libraries (a few minutes, once). TARGET works
# as for the other builds: make static TARGET=install PREFIX=…
# ARCH, a name of Debian's, asks for another processor: make static ARCH=arm64 builds build/static-arm64/runner.
# (A variable of the environment doesn't count: others use that name for other things. Nor may the libraries' makefiles
# meet it, as they would in MAKEFLAGS: musl's has a variable of that name.)
# STATIC_ROOM is a folder of src/ that no other build has: functions in place of musl's.

STATIC_ARCH = $(if $(filter environment,$(origin ARCH)),,$(ARCH))
STATIC_BUILD = build/static$(STATIC_ARCH:%=-%)
STATIC = $(CURDIR)/$(STATIC_BUILD)/libraries
STATIC_LIBS = $(patsubst %,-l%,lua5.4 lua5.4-cjson lua5.4-yaml yaml pcre2-8 sqlite3 md archive z curl ssl crypto)
# What another processor's program needs here: a compiler, the tool that embeds, and an emulator.
CROSS = $(filter-out $(shell dpkg --print-architecture 2>/dev/null),$(STATIC_ARCH))
CROSS_SETTINGS = EMBED=$(CURDIR)/build/embed EMULATOR=$(CURDIR)/.ci/static/emulated
static:
	@.ci/deps build static $(CROSS)
	@env -u MAKEFLAGS -u MFLAGS -u ARCH -u TARGET .ci/static/libraries $(STATIC) $(STATIC_ARCH)
	$(if $(CROSS),@+$(MAKE) BUILD=build build/embed)
	@+$(MAKE) BUILD=$(STATIC_BUILD) CC=$(STATIC)/cc STATIC_ROOM=libc PKG_CFLAGS="-I$(STATIC)/include -DRUNNER_STATIC -DCURL_STATICLIB" \
	  LDFLAGS="-static -no-pie -Wl,--gc-sections" LIBS="-L$(STATIC)/lib $(STATIC_LIBS)" $(if $(CROSS),$(CROSS_SETTINGS)) $(TARGET)
# For the sweep of faults: the same objects, with tests/fault/shim.c around what they call of the C library.
#   make static TARGET=build/static/faulty/runner
$(BUILD)/faulty/runner: $(OBJS) $(BUILD)/first.ld tests/fault/shim.c tests/fault/shim_calls.h
	@mkdir -p $(@D)
	@echo "  LINK  $@"
	@$(CC) -O1 -g -w -D_GNU_SOURCE -DSHIM_LINKED -fno-builtin -ffunction-sections -c -o $(@D)/shim.o tests/fault/shim.c
	@$(CC) $(ALL_CFLAGS) $(ALL_LDFLAGS) $$(nm $(@D)/shim.o | sed -n 's/.* T __wrap_/-Wl,--wrap=/p') -o $@.new \
	  $(@D)/shim.o $(OBJS) $(LIBS) && mv $@.new $@
# Every suite that a static program can be asked, by the same entry: tests/run leaves out the others.
check-static:
	@.ci/deps test
	@+$(MAKE) -s static
	BUILD=build/static tests/run
# Another processor's program and packages, where this one runs them: its unit tests, and the suite of the command line
# but for what tests/arm64/skips names. CLI="…" chooses files of it; a test that hangs ends after TEST_SECONDS.
CLI = $(basename $(notdir $(wildcard tests/cli/*.bats)))
TEST_SECONDS = 600
check-arm64: export RUNNER = $(CURDIR)/build/static-arm64/runner
check-arm64: export TEST_SKIPS = $(CURDIR)/tests/arm64/skips
check-arm64: export TEST_BINUTILS = aarch64-linux-gnu-
check-arm64: export BATS_TEST_TIMEOUT = $(TEST_SECONDS)
check-arm64:
	@.ci/deps test packages arm64
	@+$(MAKE) static ARCH=arm64 TARGET="all unit"
	.ci/static/emulated tests/arm64/units build/static-arm64/unit
	.ci/static/emulated bats --tap tests/arm64
	.ci/static/emulated bats --jobs $(shell nproc) --no-parallelize-within-files --tap $(CLI:%=tests/cli/%.bats)

.PHONY: static check-static check-arm64
