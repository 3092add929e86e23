# SPDX-License-Identifier: Apache-2.0
#
# What the fault tests put around the product's executables (tests/fault/); included by the top
# Makefile. Nothing of it is linked into them.

FAULT := $(BUILD)/fault

# The interposer defines functions of the C library, so it does without what redirects those.
$(FAULT)/interpose.so: tests/fault/interpose.c tests/fault/fault.h
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -I. -std=gnu17 -O2 -g $(WARNINGS) -fno-builtin -fPIC -shared \
	    -fvisibility=hidden -o $@ $<

$(FAULT)/wrapper: tests/fault/wrapper.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu17 -O2 $(WARNINGS) -static -o $@ $<

$(FAULT)/stand-in: $(patsubst %.c,$(OBJ)/%.o,tests/fault/stand_in.c $(BASE) $(WIRE) $(IPC) \
                       $(JAIL_CHILD) vmm/monitor/powers.c vmm/monitor/arch/$(ARCH)/calls.c)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^

fault: $(FAULT)/interpose.so $(FAULT)/wrapper $(FAULT)/stand-in
.PHONY: fault
