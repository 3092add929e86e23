# SPDX-License-Identifier: Apache-2.0
# What the end-to-end tests need beside the product: included by the Makefile.

E2E := $(BUILD)/e2e

$(E2E)/kill_at: tests/e2e/kill_at.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS) -o $@ $<

# Guests of our own that do what the agent never would; tests/guest-agents/actor.c.
ACTOR_SOURCES := tests/guest-agents/actor.c guest-agent/dial.c guest-agent/channel.c \
                 vmm/wire/wire.c vmm/wire/job.c $(BASE)

$(E2E)/actor: $(patsubst %.c,$(OBJ)/guest/%.o,$(ACTOR_SOURCES))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(AGENT_CFLAGS) $(AGENT_LDFLAGS) -o $@ $^

$(E2E)/actor.cpio: $(E2E)/actor guest-agent/mkinitramfs
	$(call say,CPIO,$@)
	$(Q)guest-agent/mkinitramfs $< $@

# The agent beside somebody who damages its disk; tests/guest-agents/saboteur.c.
$(E2E)/saboteur: $(OBJ)/guest/tests/guest-agents/saboteur.o
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(AGENT_CFLAGS) $(AGENT_LDFLAGS) -o $@ $^

$(E2E)/saboteur.cpio: $(E2E)/saboteur $(GUEST)/initramfs.cpio \
                            tests/guest-agents/mksaboteur
	$(call say,CPIO,$@)
	$(Q)tests/guest-agents/mksaboteur $(GUEST)/initramfs.cpio $< $(GUEST)/vmrun-agent $@

# An agent that writes any bytes to the export disk; tests/guest-agents/raw_export.c.
RAW_EXPORT_SOURCES := $(filter-out guest-agent/export.c,$(vmrun-agent_SOURCES)) \
                      tests/guest-agents/raw_export.c

$(E2E)/raw-export: $(patsubst %.c,$(OBJ)/guest/%.o,$(RAW_EXPORT_SOURCES))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(AGENT_CFLAGS) $(AGENT_LDFLAGS) -o $@ $^ $(AGENT_LIBS)

$(E2E)/raw-export.cpio: $(E2E)/raw-export guest-agent/mkinitramfs
	$(call say,CPIO,$@)
	$(Q)guest-agent/mkinitramfs $< $@

.PHONY: e2e-tools
e2e-tools: $(E2E)/kill_at $(E2E)/actor.cpio $(E2E)/saboteur.cpio $(E2E)/raw-export.cpio
