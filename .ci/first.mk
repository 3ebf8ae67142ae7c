# first.mk: where the linker puts what a plain run touches; a part of the Makefile.
#
# .ci/first.list names it. These are parts that are put into the linker's own script: code, constants and variables, each
# as one section. Strings and small constants mostly have no name; nor has assembler of the C library. The variables begin a page.

OUR_STRINGS = $(foreach r,$(ROOMS),*?$(r)/?*.o(.rodata.*str*)) *liblua5.4*.a:*(.rodata.*str*) *(.rodata.cst?*) *libc.a:*(.rodata)
$(BUILD)/first.ld: .ci/first.list .ci/first.mk
	@mkdir -p $(@D) && { \
	  sed 's/.*/*(.text.& .text.startup.&)/; 1i SECTIONS { .text.first : { *crt?*.o(.text) *libc.a:*(.text)' $<; echo '} } INSERT BEFORE .text;'; \
	  sed 's/.*/*(.rodata.& .rodata.&.*)/; 1i SECTIONS { .rodata.first : { $(OUR_STRINGS)' $<; echo '} } INSERT BEFORE .rodata;'; \
	  sed 's/.*/*(.data.& .data.rel.& .data.rel.local.&)/; 1i SECTIONS { .data.first ALIGN(4096) : {' $<; echo '} } INSERT AFTER .data;'; \
	  sed 's/.*/*(.bss.&)/; 1i SECTIONS { .bss.first : {' $<; echo '} } INSERT BEFORE .bss;'; } >$@
