# SPDX-License-Identifier: Apache-2.0
# One object list per executable: what is not listed is not in that jail.

# The .c files of a folder without its fuzz targets.
folder = $(filter-out %_fuzz.c,$(wildcard $(1)/*.c))

vmrun_SOURCES           := $(BASE) vmm/base/escape.c $(WIRE) $(IPC) $(JAIL_PARENT) \
                           $(call folder,vmm/supervisor) \
                           $(call folder,vmm/supervisor/arch/$(ARCH))
vmrun-monitor_SOURCES   := $(BASE) $(WIRE) $(IPC) $(JAIL_CHILD) $(call folder,vmm/monitor) \
                           $(call folder,vmm/monitor/virtio) \
                           $(call folder,vmm/monitor/arch/$(ARCH))
vmrun-scribe_SOURCES    := $(BASE) vmm/base/escape.c $(IPC) $(JAIL_CHILD) $(call folder,vmm/scribe)
vmrun-extractor_SOURCES := $(BASE) $(WIRE) $(IPC) $(JAIL_CHILD) $(call folder,vmm/extractor)
vmrun-agent_SOURCES     := $(BASE) $(WIRE) $(call folder,guest-agent)
