/* SPDX-License-Identifier: Apache-2.0 */
/* calls.c: what of monitor/powers.c differs between architectures (monitor). */
#include <linux/kvm.h>
#include <seccomp.h>

#include "monitor/arch/arch.h"

const struct powers_call arch_register_calls[] = {
    POWERS_CALL_IF(ioctl, "registers of a guest that died", {POWERS_IS, 1, KVM_GET_REGS}),
    POWERS_CALL_IF(ioctl, "registers of a guest that died", {POWERS_IS, 1, KVM_GET_SREGS}),
    POWERS_END,
};
