# SPDX-License-Identifier: Apache-2.0
#
# make demo    install what is needed, build everything, run the main example
# make check   the same set-up, then all tests
#
# make help lists the rest. V=1 shows the commands.

BUILD    := build
BIN      := $(BUILD)/bin
OBJ      := $(BUILD)/obj
CC       := gcc
MUSL_CC  := musl-gcc
CLANG    := clang
KERNEL_SRC ?=

WARNINGS := -Wall -Wextra -Werror -Wshadow -Wconversion -Wstrict-prototypes \
            -Wmissing-prototypes -Wcast-qual -Wvla -Wimplicit-fallthrough -Wformat=2 -Wundef
HARDEN   := -fstack-protector-strong -D_FORTIFY_SOURCE=3 -ftrivial-auto-var-init=zero \
            -fno-strict-aliasing
CPPFLAGS := -D_GNU_SOURCE -Ivmm
CFLAGS   := -std=gnu17 -O2 -g $(WARNINGS) $(HARDEN) -fPIE
LDFLAGS  := -pie -Wl,-z,relro,-z,now,-z,noexecstack -Wl,--as-needed -pthread

# The agent is static and links musl; _FORTIFY_SOURCE is glibc's.
AGENT_CPPFLAGS := -D_GNU_SOURCE -Ivmm -idirafter /usr/include/$(shell uname -m)-linux-gnu \
                  -idirafter /usr/include
AGENT_CFLAGS   := -std=gnu17 -Os $(WARNINGS) -fstack-protector-strong \
                  -ftrivial-auto-var-init=zero -fno-strict-aliasing
AGENT_LDFLAGS  := -static -s -Wl,-z,noexecstack

ARCH     := $(shell uname -m)

ifeq ($(V),1)
Q :=
else
Q := @
endif
say = $(if $(Q),@printf '  %-8s %s\n' '$(1)' '$(2)')

.DEFAULT_GOAL := all

# ---- what each executable is made of --------------------------------------------------------------

BASE     := vmm/base/clock.c vmm/base/cursor.c vmm/base/err.c vmm/base/fd.c vmm/base/loop.c \
            vmm/base/text.c
WIRE     := vmm/wire/archive.c vmm/wire/job.c vmm/wire/wire.c
IPC      := vmm/ipc/ipc.c vmm/ipc/record.c

include vmm/sources.mk

EXECUTABLES := vmrun vmrun-monitor vmrun-scribe vmrun-extractor

vmrun_LIBS           := -linih -ljansson -lcrypto
vmrun-monitor_LIBS   := -lfdt
vmrun-scribe_LIBS    := -lcrypto
vmrun-extractor_LIBS := -lcrypto

objects = $(patsubst %.c,$(OBJ)/%.o,$($(1)_SOURCES))

define EXECUTABLE_RULE
$(BIN)/$(1): $(call objects,$(1))
	$$(call say,LINK,$$@)
	$(Q)mkdir -p $$(@D)
	$(Q)$$(CC) $$(CFLAGS) $$(LDFLAGS) -o $$@ $$^ $($(1)_LIBS)
endef
$(foreach executable,$(EXECUTABLES),$(eval $(call EXECUTABLE_RULE,$(executable))))

$(OBJ)/%.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
