# fuzz.mk: the targets of the fuzzers, coverage, mutants and rare checks; a part of the Makefile.

# Each target with its corpus, SECONDS of it; what it finds goes to tests/fuzz/crashes.
SECONDS ?= 30
fuzz:     ; @BUILD="$(FUZZ)" tests/fuzz/run fuzz $(SECONDS)
coverage: ; @tests/coverage
mutate:   ; @tests/mutate/run

# What a whole run leaves out: paths of the analyzer.
rare: tidy-all
tidy-all: ; @printf '%s\n' $(SRCS) | xargs -n 8 -P "$$(nproc)" sh -c 'clang-tidy --quiet --config="$$(sed /^ExtraArgs/d .clang-tidy)" "$$@" -- -std=gnu11 $(CPPFLAGS) 2>/dev/null' tidy

FUZZ     = build/fuzz
FUZZERS  = $(basename $(notdir $(wildcard tests/fuzz/fuzz_*.c tests/fuzz/fuzz_*.lua)))
fuzzers:  ; @+$(MAKE) BUILD=$(FUZZ) CC=clang OPTIMIZE="-O1 -g -fno-omit-frame-pointer" HARDEN= \
              CFLAGS="-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined" \
              $(FUZZERS:%=$(FUZZ)/%)
FUZZ_LINK = $(CC) $(ALL_CFLAGS) -fsanitize=fuzzer -o $@
FUZZ_OBJS = $(filter-out $(BUILD)/main.o,$(OBJS))
$(BUILD)/fuzz_%: tests/fuzz/fuzz_%.c tests/fuzz/envelope_check.c $(wildcard tests/fuzz/*.h) $(FUZZ_OBJS)
	@$(FUZZ_LINK) $(filter %.c,$^) $(FUZZ_OBJS) $(LIBS) $$(pkg-config --libs jansson)
$(BUILD)/fuzz_%: tests/fuzz/fuzz_%.lua tests/fuzz/lua_target.c $(FUZZ_OBJS)
	@$(FUZZ_LINK) -DTARGET='"$*"' tests/fuzz/lua_target.c $(FUZZ_OBJS) $(LIBS)

.PHONY: fuzz fuzzers coverage mutate tidy-all
