# SPDX-License-Identifier: Apache-2.0
# What the benchmark needs beside the product: included by the Makefile.

BENCH := $(BUILD)/bench-bin

BARE_SOURCES := tools/bench/bare.c $(BASE) $(IPC) vmm/wire/wire.c $(JAIL_PARENT) \
                vmm/supervisor/spawn.c vmm/supervisor/child_jail.c \
                vmm/supervisor/host_memory.c

$(BENCH)/bare: $(patsubst %.c,$(OBJ)/%.o,$(BARE_SOURCES))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $^ -lseccomp

# Programs that run in guests: static, as the agent is.
BENCH_GUEST := $(BENCH)/init $(BENCH)/peer_init $(BENCH)/disk

$(BENCH_GUEST): $(BENCH)/%: $(OBJ)/guest/tools/bench/%.o
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(AGENT_CFLAGS) $(AGENT_LDFLAGS) -o $@ $^

$(BENCH)/initramfs.cpio: $(BENCH)/init guest-agent/mkinitramfs
	$(call say,CPIO,$@)
	$(Q)guest-agent/mkinitramfs $< $@

.PHONY: bench-tools
bench-tools: $(BENCH)/bare $(BENCH)/initramfs.cpio $(BENCH_GUEST)

# Fails when a count has grown past its budget: tools/bench/budgets.
bench-gate: deps
	$(Q)$(MAKE) --no-print-directory all bench-tools
	$(Q)tools/bench/gate
.PHONY: bench-gate
