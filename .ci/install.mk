# install.mk: make install and make uninstall; a part of the Makefile.
#
# The program finds its commands from where it lies (PREFIX/bin, PREFIX/share/runner/commands),
# so that the whole tree may be moved. What uninstall removes is what install wrote: commands
# that somebody else put there stay.

AT = $(DESTDIR)$(PREFIX)
COMMANDS = $(AT)/share/runner/commands
# Where each shell looks, below PREFIX. Debian's zsh looks elsewhere: COMPLETIONS of .ci/package.
COMPLETIONS ?= bash:bash-completion/completions/runner zsh:zsh/site-functions/_runner fish:fish/vendor_completions.d/runner.fish

install: all
	install -d $(AT)/bin $(AT)/share/man/man1 $(COMMANDS)
	install -m 755 $(BUILD)/runner $(AT)/bin/runner
	install -m 644 docs/runner.1 $(AT)/share/man/man1/runner.1
	install -m 644 commands/*.lua $(COMMANDS)
	@for c in $(COMPLETIONS); do f=$(AT)/share/$${c#*:} && install -d $${f%/*} && $(BUILD)/runner completion $${c%%:*} >$$f || exit; done

uninstall:
	rm -f $(AT)/bin/runner $(AT)/share/man/man1/runner.1 $(patsubst commands/%,$(COMMANDS)/%,$(wildcard commands/*.lua)) \
	  $(foreach c,$(COMPLETIONS),$(AT)/share/$(lastword $(subst :, ,$(c))))
	@rmdir $(COMMANDS) $(AT)/share/runner 2>/dev/null || true



# What other people install, in $(BUILD)/dist: docs/packages.md.
deb dist npm sbom: all ; @.ci/deps packages && BUILD=$(BUILD) CC="$(CC)" .ci/package $@
.PHONY: install uninstall deb dist npm sbom
