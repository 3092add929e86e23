# SPDX-License-Identifier: Apache-2.0
# One object list per executable: what is not listed is not in that jail.

vmrun_SOURCES           := $(BASE) $(WIRE) $(IPC) $(wildcard vmm/supervisor/*.c)
vmrun-monitor_SOURCES   := $(BASE) $(WIRE) $(IPC) $(wildcard vmm/monitor/*.c) \
                           $(wildcard vmm/monitor/virtio/*.c) $(wildcard vmm/monitor/arch/$(ARCH)/*.c)
vmrun-scribe_SOURCES    := $(BASE) $(IPC) $(wildcard vmm/scribe/*.c)
vmrun-extractor_SOURCES := $(BASE) $(WIRE) $(IPC) $(wildcard vmm/extractor/*.c)
vmrun-agent_SOURCES     := $(BASE) $(WIRE) $(wildcard guest-agent/*.c)
