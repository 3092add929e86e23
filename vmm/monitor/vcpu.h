/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vcpu.h: one thread per vCPU around KVM_RUN. A thread does register accesses of devices itself;
 * data of devices is the event loop's. The first vCPU that cannot go on says why, once, through
 * `ended` of its owner; then the event loop stops all of them.
 */
#ifndef VMM_MONITOR_VCPU_H
#define VMM_MONITOR_VCPU_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "ipc/ipc.h"
#include "jail/jail.h"
#include "monitor/console.h"
#include "monitor/guest_mem.h"
#include "monitor/kvm.h"

struct vcpu;

/* Where vCPU threads wait, each sealed, until the first of them may run. */
struct vcpu_gate {
    const struct jail *jail; /* NULL: there is no gate (probe.h) */
    uint32_t count;          /* threads */
    sem_t sealed;            /* each posts it once */
    sem_t left;              /* each waits for it once; then it looks at `open` */
    atomic_bool open;
    atomic_int error; /* errno of a thread that could not be sealed */
};

/* What a vCPU thread asks of its machine. Called on vCPU threads. */
struct vcpu_owner {
    void *context;
    struct vcpu_gate *gate;
    struct console *console; /* NULL without --console */
    /* A register access of LENGTH (1, 2, 4 or 8) bytes at ADDRESS; the address is the guest's. */
    void (*mmio_read)(void *context, gpa_t address, uint8_t *data, uint32_t length);
    void (*mmio_write)(void *context, gpa_t address, const uint8_t *data, uint32_t length);
    /* The vCPU cannot go on. Only the cause, the details and the text of ENDED are set. */
    void (*ended)(void *context, struct vcpu *vcpu, const struct ipc_ended *ended);
};

struct vcpu {
    uint32_t index;
    struct kvm_vcpu kvm;
    const struct vcpu_owner *owner;
    pthread_t thread;
    bool started;
    atomic_bool stop;
    atomic_bool ended; /* for the thread sanitizer, which does not know pthread_clockjoin_np() */
    uint64_t exits;    /* valid after vcpu_stop() */
    uint64_t cpu_ns;   /* CPU time of the thread; valid after vcpu_stop() */
};

/* Once per process, before the first vcpu_start(): the signal that kicks a thread out of KVM_RUN.
 */
int vcpu_signal_init(struct err *err);

int vcpu_start(struct vcpu *vcpu, const struct vcpu_owner *owner, struct err *err);

/* For COUNT threads, which JAIL seals. */
void vcpu_gate_init(struct vcpu_gate *gate, const struct jail *jail, uint32_t count);
/* Wait until all threads are sealed; then open the gate for them. */
int vcpu_gate_await(struct vcpu_gate *gate, struct err *err);
void vcpu_gate_open(struct vcpu_gate *gate);
/* Those that wait, or will, end instead; nothing for a gate that is open, or all zero. Once at
 * most. */
void vcpu_gate_refuse(struct vcpu_gate *gate);

/* Make the thread leave KVM_RUN and wait for its end. Safe when it never started or ended already.
 */
void vcpu_stop(struct vcpu *vcpu);

#endif
