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
# Debian's static zlib asks for nothing that musl lacks.
AGENT_LIBS     := $(shell $(CC) -print-file-name=libz.a)

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
WIRE     := vmm/wire/archive.c vmm/wire/job.c vmm/wire/pattern.c vmm/wire/wire.c
IPC      := vmm/ipc/ipc.c vmm/ipc/record.c
JAIL_CHILD  := vmm/jail/filter.c vmm/jail/jail.c vmm/jail/landlock.c vmm/jail/order.c vmm/jail/root.c
JAIL_PARENT := vmm/jail/cgroup.c vmm/jail/ground.c vmm/jail/landlock.c vmm/jail/namespaces.c vmm/jail/order.c \
               vmm/jail/proof.c vmm/jail/root.c

include vmm/sources.mk

EXECUTABLES := vmrun vmrun-monitor vmrun-scribe vmrun-extractor

# The archive, not the shared library: SHA-256 and base64 are some 20 KiB of libcrypto, and to load
# and relocate all of it would be a good part of a short run.
SHA256_LIBS := -l:libcrypto.a

vmrun_LIBS           := -linih -ljansson $(SHA256_LIBS) -lseccomp
vmrun-monitor_LIBS   := -lfdt
vmrun-scribe_LIBS    := $(SHA256_LIBS)
vmrun-extractor_LIBS := $(SHA256_LIBS) -lyajl -lz

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

# ---- the jail probes: the tables of the children, tried from inside ------------------------------

JAIL_TEST_SOURCES := tests/jail/rig.c $(BASE) $(JAIL_CHILD) \
    $(filter-out $(JAIL_CHILD),$(JAIL_PARENT)) vmm/monitor/powers.c vmm/scribe/powers.c \
    vmm/extractor/powers.c vmm/monitor/arch/$(ARCH)/calls.c

$(OBJ)/tests/jail/%.o: CPPFLAGS += -I.

$(BUILD)/jail/%: $(OBJ)/tests/jail/%.o $(patsubst %.c,$(OBJ)/%.o,$(JAIL_TEST_SOURCES))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lseccomp

jail-probe: $(BUILD)/jail/probe $(BUILD)/jail/cost

# ---- the guest: agent, initramfs, scratch template, kernel, images ----------------------------------

GUEST  := $(BUILD)/guest
KERNEL := $(BUILD)/kernel
IMAGES := $(BUILD)/images

$(OBJ)/guest/%.o: %.c
	$(call say,CC-GUEST,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(AGENT_CPPFLAGS) $(AGENT_CFLAGS) -MMD -MP -c -o $@ $<

$(GUEST)/vmrun-agent: $(patsubst %.c,$(OBJ)/guest/%.o,$(vmrun-agent_SOURCES))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(AGENT_CFLAGS) $(AGENT_LDFLAGS) -o $@ $^ $(AGENT_LIBS)

$(GUEST)/initramfs.cpio: $(GUEST)/vmrun-agent guest-agent/mkinitramfs
	$(call say,CPIO,$@)
	$(Q)guest-agent/mkinitramfs $< $@

$(GUEST)/scratch.ext4: guest-agent/mkscratch
	$(call say,MKFS,$@)
	$(Q)mkdir -p $(@D)
	$(Q)guest-agent/mkscratch $@

$(KERNEL)/vmlinux: $(wildcard kernel-config/*)
	$(Q)KERNEL_SRC='$(KERNEL_SRC)' kernel-config/build $(KERNEL)

image-%:
	$(Q)rootfs/build $* $(IMAGES)

executables: $(addprefix $(BIN)/,$(EXECUTABLES))
guest: $(GUEST)/initramfs.cpio $(GUEST)/scratch.ext4
kernel: $(KERNEL)/vmlinux
images: image-base image-data
image-data: image-base # one after the other: both want the whole machine

# The lab is needed only where KVM does not run guests at native speed.
lab-image:
	$(Q)tools/lab --build

all: executables guest kernel images

# ---- manual pages ---------------------------------------------------------------------------------

MAN := $(patsubst doc/%.scd,$(BUILD)/man/%,$(wildcard doc/*.scd))

$(BUILD)/man/%: doc/%.scd
	$(call say,SCDOC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)scdoc <$< >$@.partial && mv $@.partial $@

man: $(MAN)

# ---- running and testing --------------------------------------------------------------------------

deps:
	$(Q)tools/deps

demo: deps
	$(Q)$(MAKE) --no-print-directory all
	$(Q)tools/demo

check: deps
	$(Q)$(MAKE) --no-print-directory all villain
	$(Q)tests/check

check-long: deps
	$(Q)$(MAKE) --no-print-directory all villain asan tsan
	$(Q)tests/check --long

# Ratios and counts, in build/bench: tools/bench/README.md.
bench: deps
	$(Q)$(MAKE) --no-print-directory all jail-probe bench-tools
	$(Q)tools/bench/bench

doctor: executables guest kernel
	$(Q)$(BIN)/vmrun doctor

clean:
	$(Q)rm -rf $(BIN) $(OBJ) $(GUEST) $(BUILD)/fault $(BUILD)/unit $(BUILD)/unit-obj \
	    $(BUILD)/fuzz $(BUILD)/fuzz-obj $(BUILD)/villain $(BUILD)/asan $(BUILD)/tsan $(BUILD)/coverage

distclean:
	$(Q)rm -rf $(BUILD)

help:
	@echo 'make demo        install what is needed, build everything, run the main example'
	@echo 'make check       the same set-up, then all tests'
	@echo 'make all         build everything: executables guest kernel images'
	@echo 'make man         the manual pages, in build/man'
	@echo 'make doctor      does this host run microVMs? what weakens them?'
	@echo 'make unit        unit tests only (UNIT=word chooses)'
	@echo 'make fuzz-replay fuzz targets only (FUZZ=word chooses, FUZZ_SECONDS=10)'
	@echo 'make check-long  the full test set'
	@echo 'make bench       what vmrun costs, as ratios and counts: build/bench/bench.md'
	@echo 'make bench-gate  fail when a count of the benchmark has grown past its budget'
	@echo 'make isobench    what sandboxes keep from a program: build/isobench/isobench.html'
	@echo 'make asan tsan   the executables as sanitizers build them (tests/sanitize.mk)'
	@echo 'make clean       remove what was compiled; distclean: kernel and images too'
	@echo 'V=1 shows commands; KERNEL_SRC=DIR builds the guest kernel from another tree'

.PHONY: all executables guest kernel images lab-image man deps demo check check-long bench doctor \
        clean distclean help jail-probe unit-tap fuzz-tap

include tests/unit.mk
include tests/e2e.mk
include tests/fault.mk
include tests/guest.mk
include tests/sanitize.mk
include tools/bench/bench.mk
include tools/isobench/isobench.mk

# The same as TAP, for tests/check.
unit-tap: $(UNIT_BINARIES)
	$(Q)tests/tap-run $(UNIT_SECONDS) $^

fuzz-tap: SHELL := /bin/bash
fuzz-tap: .SHELLFLAGS := -o pipefail -c
fuzz-tap:
	$(Q)$(MAKE) --no-print-directory fuzz-replay FUZZ_SECONDS=$(FUZZ_SECONDS) 2>&1 | \
	    sed -E 's/^fuzz: ([^:]*): ok, (.*)$$/ok - fuzz \1: \2/; s/^fuzz: ([^:]*): FAILED, /not ok - fuzz \1: /'

-include $(shell find $(OBJ) -name '*.d' 2>/dev/null)
