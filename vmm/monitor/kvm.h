/* SPDX-License-Identifier: Apache-2.0 */
/* kvm.h: the KVM calls that are the same everywhere (Documentation/virt/kvm/api.rst). */
#ifndef VMM_MONITOR_KVM_H
#define VMM_MONITOR_KVM_H

#include <stdint.h>

#include <linux/kvm.h>

#include "base/err.h"
#include "monitor/guest_mem.h"

/* API version and every capability that a run needs; the error names the one that is missing. */
int kvm_check(int kvm_fd, struct err *err);

/*
 * Only those whose lack no later call reports. The others need no question, and so no system call,
 * where all goes well: kvm_check() names one when something has failed.
 */
int kvm_check_silent(int kvm_fd, struct err *err);

/* A new VM fd (close-on-exec by KVM), or -1. KVM_CREATE_VM can be interrupted: retried a few times.
 */
int kvm_create_vm(int kvm_fd, struct err *err);

/* Give the VM all regions of MEM as its RAM. */
int kvm_set_memory(int vm_fd, const struct guest_mem *mem, struct err *err);

/* A write of 32 bits, whichever, to ADDRESS signals EVENT_FD instead of leaving to the monitor. */
int kvm_ioeventfd(int vm_fd, gpa_t address, int event_fd, struct err *err);

/*
 * Raise GSI, an edge, at once. An irqfd would do it with one call and not two, but on a worker of
 * the kernel's, as pins of the IOAPIC need a lock that sleeps, and each costs the end of the VM a
 * grace period of SRCU.
 */
int kvm_irq_edge(int vm_fd, uint32_t gsi, struct err *err);

/* A vCPU: its fd, and the shared page through which KVM reports exits. */
struct kvm_vcpu {
    int fd;
    struct kvm_run *run; /* NULL: not mapped */
    uint64_t run_bytes;
};

int kvm_vcpu_create(int kvm_fd, int vm_fd, uint32_t index, struct kvm_vcpu *vcpu, struct err *err);

#endif
