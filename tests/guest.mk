# SPDX-License-Identifier: Apache-2.0
#
# The villain: freestanding programs that the monitor boots in place of Linux (tests/guest/); included
# by the top Makefile.
#
#     make villain       build/villain/vmlinux, whose argument is its initramfs (tests/hostile/)

VILLAIN := $(BUILD)/villain/vmlinux

VILLAIN_SOURCES  := $(wildcard tests/guest/lib/*.c tests/guest/villain/*.c tests/guest/liar/*.c) \
                    tests/guest/lib/start.S vmm/wire/wire.c vmm/base/cursor.c
VILLAIN_OBJECTS  := $(patsubst %,$(BUILD)/villain/obj/%.o,$(basename $(VILLAIN_SOURCES)))
# Sections of their own: what of wire.c would need a C library is not linked.
VILLAIN_CFLAGS   := -std=gnu17 -O2 $(WARNINGS) -ffreestanding -fno-stack-protector -fno-pie \
                    -fno-tree-loop-distribute-patterns -mno-red-zone -mgeneral-regs-only \
                    -ffunction-sections -fdata-sections
VILLAIN_LDFLAGS  := -nostdlib -static -no-pie -Wl,--gc-sections -Wl,--build-id=none \
                    -Wl,-z,noexecstack -Wl,-z,max-page-size=4096 -Wl,--no-warn-rwx-segments \
                    -T tests/guest/guest.ld

$(BUILD)/villain/obj/%.o: %.c
	$(call say,CC-TEST,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -Itests/guest $(VILLAIN_CFLAGS) -MMD -MP -c -o $@ $<

$(BUILD)/villain/obj/%.o: %.S
	$(call say,AS-TEST,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -c -o $@ $<

$(VILLAIN): $(VILLAIN_OBJECTS) tests/guest/guest.ld
	$(call say,LINK,$@)
	$(Q)$(CC) $(VILLAIN_LDFLAGS) -o $@ $(VILLAIN_OBJECTS)

villain: $(VILLAIN)

-include $(shell find $(BUILD)/villain -name '*.d' 2>/dev/null)

.PHONY: villain
