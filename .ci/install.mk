# install.mk: make install and make uninstall; a part of the Makefile.
#
# The program finds its commands from where it lies (PREFIX/bin, PREFIX/share/runner/commands),
# so that the whole tree may be moved. What uninstall removes is what install wrote: commands
# that somebody else put there stay.

# Quoted for the shell: a path may hold spaces.
AT = '$(DESTDIR)$(PREFIX)'
COMMANDS = $(AT)/share/runner/commands
# Where each shell looks, below PREFIX. Debian's zsh looks elsewhere: COMPLETIONS of .ci/package.
COMPLETIONS ?= bash:bash-completion/completions/runner zsh:zsh/site-functions/_runner fish:fish/vendor_completions.d/runner.fish

MAN      = $(AT)/share/man/man1
# The built-in commands, each with a manual page that it is asked for.
BUILTINS = $(sort $(basename $(notdir $(wildcard lua/commands/*))))
BUILT    = '$(abspath $(BUILD))/runner'
# Root installs what somebody else may own; the pages know only what is built in.
OWN      = env -u XDG_CONFIG_HOME HOME=/proc/nonexistent RUNNER_TRUST='$(CURDIR)' RUNNER_PATH='$(CURDIR)/.ci/commands' $(EMULATOR) $(BUILT)
# what runs a program of another processor: .ci/static.mk
EMULATOR ?=

# What is installed is for everybody, whatever the umask of who installs it.
install: all
	@umask 022 && $(MAKE) --no-print-directory install-files
install-files:
	install -d $(AT)/bin $(MAN) $(COMMANDS)
	install -m 755 $(BUILT) $(AT)/bin/runner
	install -m 644 docs/runner.1 $(MAN)/runner.1
	@$(OWN) man --program $(BUILT) --to "$$(realpath -s $(MAN))" --created $$(.ci/commit --time) --quiet --format plain >/dev/null
	install -m 644 commands/*.lua $(COMMANDS)
	@for c in $(COMPLETIONS); do f=$(AT)/share/$${c#*:} && install -d "$${f%/*}" && $(EMULATOR) $(BUILT) completion $${c%%:*} >"$$f" || exit; done

uninstall:
	rm -f $(AT)/bin/runner $(MAN)/runner.1 $(BUILTINS:%=$(MAN)/runner-%.1) $(patsubst commands/%,$(COMMANDS)/%,$(wildcard commands/*.lua)) \
	  $(foreach c,$(COMPLETIONS),$(AT)/share/$(lastword $(subst :, ,$(c))))
	@rmdir $(COMMANDS) $(AT)/share/runner 2>/dev/null || true

# What other people install, in $(BUILD)/dist: docs/packages.md. npm and the tarball are for systems that nobody knows: they hold
# the static program, unless BUILD names a build.
PACK = .ci/deps packages && BUILD=$(BUILD) CC="$(CC)" .ci/package
deb sbom: all ; @$(PACK) $@
dist npm: $(if $(filter file,$(origin BUILD)),,all)
	@$(if $(filter file,$(origin BUILD)),+OUT=$${OUT:-$(BUILD)/dist} $(MAKE) static TARGET=$@,$(PACK) $@)
.PHONY: install install-files uninstall deb dist npm sbom
