# static.mk: make static, one program with every library inside; a part of the Makefile.
#
# What it links, and the compiler for musl, comes from .ci/static/libraries (a few minutes, once). TARGET works
# as for the other builds: make static TARGET=install PREFIX=…

STATIC = $(CURDIR)/build/static/libraries
STATIC_LIBS = $(patsubst %,-l%,lua5.4 lua5.4-cjson lua5.4-yaml yaml pcre2-8 sqlite3 md curl ssl crypto)
static:
	@.ci/deps build static
	@.ci/static/libraries $(STATIC)
	@+$(MAKE) BUILD=build/static CC=$(STATIC)/cc PKG_CFLAGS="-I$(STATIC)/include -DRUNNER_STATIC -DCURL_STATICLIB" \
	  LDFLAGS="-static -no-pie -Wl,--gc-sections" LIBS="-L$(STATIC)/lib $(STATIC_LIBS)" $(TARGET)
# What static alone can or can't, then the suite of the command line. (What preloads a shim or loads a C module
# can't reach a static program: the suite of faults is for the dynamic one.)
check-static: export RUNNER = $(CURDIR)/build/static/runner
check-static: static
	@.ci/deps test
	bats tests/static
	tests/run cli

.PHONY: static check-static
