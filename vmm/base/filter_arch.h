/* SPDX-License-Identifier: Apache-2.0 */
/* filter_arch.h: what a seccomp filter must know of each architecture (children, guest agent). */
#ifndef VMM_BASE_FILTER_ARCH_H
#define VMM_BASE_FILTER_ARCH_H

#include <linux/audit.h>

#if defined(__x86_64__)
#define FILTER_ARCH AUDIT_ARCH_X86_64
/* System calls of the x32 table have this bit; the table is not in the kernel. */
#define FILTER_FOREIGN_CALLS 0x40000000U
#elif defined(__aarch64__)
#define FILTER_ARCH          AUDIT_ARCH_AARCH64
#define FILTER_FOREIGN_CALLS 0x80000000U
#else
#error "no filter for this architecture"
#endif

#endif
