# SPDX-License-Identifier: Apache-2.0
# What the isolation benchmark needs beside the product: included by the Makefile.

ISOBENCH := $(BUILD)/isobench-bin

$(ISOBENCH)/isoprobe: $(patsubst %.c,$(OBJ)/guest/%.o,$(wildcard tools/isobench/probe/*.c))
$(ISOBENCH)/isoinit: $(OBJ)/guest/tools/isobench/guest/init.o
$(ISOBENCH)/isofunctions: $(OBJ)/guest/tools/isobench/trace/functions.o
ISOBENCH_TOOLS := $(addprefix $(ISOBENCH)/,isoprobe isoinit isofunctions)
$(ISOBENCH_TOOLS):
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(MUSL_CC) $(AGENT_CFLAGS) $(AGENT_LDFLAGS) -o $@ $^

isobench-tools: $(ISOBENCH_TOOLS)

# The whole of it, with every backend that can be had: build/isobench/.
isobench: deps
	$(Q)tools/isobench/deps
	$(Q)$(MAKE) --no-print-directory all isobench-tools
	$(Q)tools/isobench/isobench run --profile full --out $(BUILD)/isobench

.PHONY: isobench isobench-tools
