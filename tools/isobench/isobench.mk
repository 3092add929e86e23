# SPDX-License-Identifier: Apache-2.0
# What the isolation benchmark needs beside the product: included by the Makefile.

ISOBENCH := $(BUILD)/isobench-bin

$(ISOBENCH)/isoprobe: $(patsubst %.c,$(OBJ)/guest/%.o,$(wildcard tools/isobench/probe/*.c))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(AGENT_CFLAGS) $(AGENT_LDFLAGS) -o $@ $^

.PHONY: isobench-tools
isobench-tools: $(ISOBENCH)/isoprobe
