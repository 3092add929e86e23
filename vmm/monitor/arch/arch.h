/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arch.h: what each architecture supplies to the monitor. The folders beside this file hold one
 * twin each, with the same file names; no other file of the monitor knows which one it was built
 * with.
 */
#ifndef VMM_MONITOR_ARCH_ARCH_H
#define VMM_MONITOR_ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/kvm.h>

#include "base/err.h"
#include "ipc/ipc.h"
#include "jail/powers.h"
#include "monitor/console.h"
#include "monitor/guest_mem.h"

enum {
    ARCH_DEVICES_MAX = IPC_DISKS_MAX + 1, /* disks and vsock */
    ARCH_DEVICE_BYTES = 0x1000,           /* one page of MMIO per device */
};

/* Which parts of SIZE_BYTES of RAM lie where. Fills gpa and size_bytes; returns how many (1 or 2).
 */
uint32_t arch_memory_regions(
    uint64_t size_bytes, struct guest_mem_region regions[GUEST_MEM_REGIONS_MAX]);

/* Where the registers of virtio device INDEX are, and which GSI it raises (edge-triggered). */
gpa_t arch_device_gpa(uint32_t index);
uint32_t arch_device_gsi(uint32_t index);

/* KVM capabilities that this architecture cannot do without, ended by an entry with name NULL. */
struct arch_cap {
    int cap;
    const char *name;
    bool silent; /* where it is missing nothing fails, until the guest does */
};
extern const struct arch_cap arch_required_caps[];

/* Interrupt controller and whatever must be there before the first vCPU. */
int arch_vm_init(int vm_fd, struct err *err);

struct arch_boot {
    const struct ipc_machine *setup;
    const struct guest_mem *mem;
    int kernel_fd;
    int initrd_fd;
    uint32_t device_count;
};

/* What a loaded guest looks like to its first vCPU. */
struct arch_entry {
    uint64_t entry;     /* guest physical address of the first instruction */
    uint64_t boot_data; /* zero page (x86_64), device tree (aarch64) */
};

/*
 * Put kernel, initrd, command line, hardware description and a fresh random seed into guest RAM.
 * The kernel file is the user's: every field of it is checked before it is used.
 */
int arch_boot_load(const struct arch_boot *boot, struct arch_entry *entry, struct err *err);

/*
 * Make vCPU number INDEX of setup->cpu_count ready to run. The first one starts at ENTRY, the
 * others wait for the first. CPUID is what KVM offers, normalised, less the mask of the setup.
 */
int arch_vcpu_init(int kvm_fd, int vcpu_fd, uint32_t index, const struct ipc_machine *setup,
    const struct arch_entry *entry, struct err *err);

/*
 * An exit that only this architecture has (port I/O). Returns true when it was handled. CONSOLE may
 * be NULL. Never fails: an access that nothing answers reads as all ones.
 */
bool arch_vcpu_exit(struct kvm_run *run, struct console *console);

/* Registers for the diagnosis of a guest that died; zero when KVM gives none. */
void arch_vcpu_registers(int vcpu_fd, struct ipc_ended *ended);
/* What that takes of the jail of the event loop. */
extern const struct powers_call arch_register_calls[];

/*
 * The probe of vmrun doctor: a guest of two instructions in kernel mode, 64 bits: count, jump back.
 * arch_probe_load() writes it, arch_probe_count() reads how far it came.
 */
int arch_probe_load(const struct guest_mem *mem, struct arch_entry *entry, struct err *err);
int arch_probe_count(int vcpu_fd, uint64_t *count, struct err *err);

#endif
