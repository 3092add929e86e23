/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu.c: what a vCPU is before its first instruction: CPUID, MSRs, 64-bit mode. Runs in the
 * monitor. Written for Intel and AMD hosts alike: leaves of one vendor are simply absent on the
 * other.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/mem.h"
#include "monitor/arch/arch.h"
#include "monitor/arch/x86_64/layout.h"

enum {
    CPUID_ENTRIES_FIRST = 96,
    CPUID_ENTRIES_MAX = 1024,
    CPUID_ENTRIES_ADDED = 2, /* room for cpuid_add_levels() */
    CPUID_1_ECX_MONITOR = 3,
    CPUID_1_ECX_VMX = 5,
    CPUID_1_ECX_PDCM = 15,
    CPUID_1_ECX_X2APIC = 21,
    CPUID_1_ECX_TSC_DEADLINE = 24,
    CPUID_1_ECX_HYPERVISOR = 31,
    CPUID_1_EDX_HTT = 28,
    CPUID_7_ECX_WAITPKG = 5,
    CPUID_7_EDX_ARCH_CAPABILITIES = 29,
    CPUID_80000001_ECX_SVM = 2,
    CPUID_KVM_ASYNC_PF = 4,
    CPUID_KVM_STEAL_TIME = 5,
    CPUID_KVM_ASYNC_PF_VMEXIT = 10,
    CPUID_KVM_ASYNC_PF_INT = 14,
};

static uint32_t bit_set(uint32_t value, unsigned bit, bool on)
{
    return on ? value | 1U << bit : value & ~(1U << bit);
}

/* All that this host's KVM can show a guest, with room for what is added; the caller frees it. */
static struct kvm_cpuid2 *cpuid_supported(int kvm_fd, struct err *err)
{
    for (uint32_t count = CPUID_ENTRIES_FIRST; count <= CPUID_ENTRIES_MAX; count *= 2) {
        AUTO_FREE struct kvm_cpuid2 *cpuid =
            calloc(1, sizeof(*cpuid) + (count + CPUID_ENTRIES_ADDED) * sizeof(cpuid->entries[0]));

        if (!cpuid) {
            err_set(err, "out of memory for the CPUID table");
            return NULL;
        }
        cpuid->nent = count;
        if (ioctl(kvm_fd, KVM_GET_SUPPORTED_CPUID, cpuid) == 0)
            return take(&cpuid);
        if (errno != E2BIG) {
            err_sys(err, "cannot learn what the CPU can do (KVM_GET_SUPPORTED_CPUID)");
            return NULL;
        }
    }
    err_set(err, "this host's KVM has more than %u CPUID entries", (unsigned)CPUID_ENTRIES_MAX);
    return NULL;
}

/* Leaf 1: who am I, and what must be there or must not. */
static void cpuid_leaf_1(struct kvm_cpuid_entry2 *entry, uint32_t index, uint32_t cpu_count)
{
    entry->ebx = (entry->ebx & 0x0000ffff) | index << 24 | cpu_count << 16;
    entry->ecx = bit_set(entry->ecx, CPUID_1_ECX_TSC_DEADLINE, true);
    entry->ecx = bit_set(entry->ecx, CPUID_1_ECX_HYPERVISOR, true);
    entry->ecx = bit_set(entry->ecx, CPUID_1_ECX_MONITOR, false);
    entry->ecx = bit_set(entry->ecx, CPUID_1_ECX_VMX, false);
    entry->ecx = bit_set(entry->ecx, CPUID_1_ECX_PDCM, false);
    entry->edx = bit_set(entry->edx, CPUID_1_EDX_HTT, cpu_count > 1);
}

/* Leaves 0xb and 0x1f: one package, one thread per core. */
static void cpuid_topology(struct kvm_cpuid_entry2 *entry, uint32_t index, uint32_t cpu_count)
{
    uint32_t width = 0;

    while (1U << width < cpu_count)
        width++;
    entry->edx = index;
    entry->eax = 0;
    entry->ebx = 0;
    entry->ecx = entry->index; /* level number, type invalid */
    if (entry->index == 0) {
        entry->ebx = 1;
        entry->ecx = 1U << 8; /* SMT */
    } else if (entry->index == 1) {
        entry->eax = width;
        entry->ebx = cpu_count;
        entry->ecx = 2U << 8 | 1; /* core */
    }
}

/*
 * Since Linux 6.3 KVM offers level 0 of a topology leaf alone, with nothing in it, and leaves the
 * levels to us (arch/x86/kvm/cpuid.c). Without level 1 each vCPU would be a package of its own.
 */
static void cpuid_add_levels(struct kvm_cpuid2 *cpuid)
{
    const uint32_t leaves[CPUID_ENTRIES_ADDED] = {0xb, 0x1f};

    for (uint32_t i = 0; i < CPUID_ENTRIES_ADDED; i++) {
        bool offered = false, complete = false;

        for (uint32_t at = 0; at < cpuid->nent; at++) {
            offered |= cpuid->entries[at].function == leaves[i];
            complete |= cpuid->entries[at].function == leaves[i] && cpuid->entries[at].index == 1;
        }
        if (offered && !complete)
            cpuid->entries[cpuid->nent++] = (struct kvm_cpuid_entry2){
                .function = leaves[i], .index = 1, .flags = KVM_CPUID_FLAG_SIGNIFCANT_INDEX};
    }
}

/* The guest must not see features that we do not virtualise, nor use those that need a thread more.
 */
static void cpuid_entry(
    struct kvm_cpuid_entry2 *entry, uint32_t index, uint32_t cpu_count, bool amd)
{
    switch (entry->function) {
    case 0x1:
        cpuid_leaf_1(entry, index, cpu_count);
        break;
    case 0x4: /* Intel: no cache or core is shared with another vCPU */
        entry->eax &= ~0xffffc000U;
        break;
    case 0x6: /* no turbo, no energy bias */
        entry->eax = bit_set(entry->eax, 1, false);
        entry->ecx = bit_set(entry->ecx, 3, false);
        break;
    case 0x7:
        if (entry->index != 0)
            break;
        entry->ecx = bit_set(entry->ecx, CPUID_7_ECX_WAITPKG, false);
        if (amd)
            entry->edx = bit_set(entry->edx, CPUID_7_EDX_ARCH_CAPABILITIES, false);
        break;
    case 0xa: /* no performance counters */
        entry->eax = entry->ebx = entry->ecx = entry->edx = 0;
        break;
    case 0xb:
    case 0x1f:
        cpuid_topology(entry, index, cpu_count);
        break;
    case 0x40000001:
        entry->eax = bit_set(entry->eax, CPUID_KVM_ASYNC_PF, false);
        entry->eax = bit_set(entry->eax, CPUID_KVM_ASYNC_PF_VMEXIT, false);
        entry->eax = bit_set(entry->eax, CPUID_KVM_ASYNC_PF_INT, false);
        entry->eax = bit_set(entry->eax, CPUID_KVM_STEAL_TIME, false);
        break;
    case 0x80000001:
        entry->ecx = bit_set(entry->ecx, CPUID_80000001_ECX_SVM, false);
        break;
    case 0x80000008: /* AMD: number of cores */
        if (amd)
            entry->ecx = (entry->ecx & ~0xffffU) | (cpu_count - 1);
        break;
    case 0x8000001d: /* AMD: as leaf 4 */
        entry->eax &= ~0x03ffc000U;
        break;
    case 0x8000001e: /* AMD: extended APIC ID, core ID, one thread per core */
        entry->eax = index;
        entry->ebx = index;
        entry->ecx = 0;
        break;
    default:
        break;
    }
}

static void cpuid_mask(struct kvm_cpuid_entry2 *entry, const struct ipc_machine *setup)
{
    uint32_t *registers[] = {&entry->eax, &entry->ebx, &entry->ecx, &entry->edx};

    for (uint32_t i = 0; i < setup->cpu_mask_count; i++) {
        const struct ipc_cpu_bit *bit = &setup->cpu_mask[i];

        if (bit->leaf == entry->function && bit->subleaf == entry->index)
            *registers[bit->reg] = bit_set(*registers[bit->reg], bit->bit, false);
    }
}

static bool cpuid_is_amd(const struct kvm_cpuid2 *cpuid)
{
    for (uint32_t i = 0; i < cpuid->nent; i++) {
        const struct kvm_cpuid_entry2 *entry = &cpuid->entries[i];

        if (entry->function == 0) /* AuthenticAMD, HygonGenuine */
            return entry->ebx == 0x68747541 || entry->ebx == 0x6f677948;
    }
    return false;
}

static int cpuid_set(
    int kvm_fd, int vcpu_fd, uint32_t index, const struct ipc_machine *setup, struct err *err)
{
    AUTO_FREE struct kvm_cpuid2 *cpuid = cpuid_supported(kvm_fd, err);
    bool amd;

    if (!cpuid)
        return -1;
    amd = cpuid_is_amd(cpuid);
    cpuid_add_levels(cpuid);
    for (uint32_t i = 0; i < cpuid->nent; i++) {
        cpuid_entry(&cpuid->entries[i], index, setup->cpu_count, amd);
        cpuid_mask(&cpuid->entries[i], setup);
    }
    if (ioctl(vcpu_fd, KVM_SET_CPUID2, cpuid) < 0)
        return err_sys(err, "cannot set the CPUID of vCPU %u (KVM_SET_CPUID2)", index);
    return 0;
}

/*
 * IA32_TSC from zero, so that it does not tell how long the host has been up; IA32_MISC_ENABLE with
 * FAST_STRING, which the kernel looks at on Intel. The rest is right at reset.
 */
static int msrs_set(int vcpu_fd, struct err *err)
{
    struct {
        struct kvm_msrs head;
        struct kvm_msr_entry entries[2];
    } msrs = {
        .head.nmsrs = 2,
        .entries = {{.index = 0x10, .data = 0}, {.index = 0x1a0, .data = 1}},
    };
    int done = ioctl(vcpu_fd, KVM_SET_MSRS, &msrs);

    if (done < 0)
        return err_sys(err, "cannot set MSRs (KVM_SET_MSRS)");
    if (done < 2)
        return err_set(err, "KVM does not take MSR 0x%x", msrs.entries[done].index);
    return 0;
}

static struct kvm_segment segment(uint16_t selector, uint8_t type, bool code)
{
    return (struct kvm_segment){
        .limit = 0xffffffff,
        .selector = selector,
        .type = type,
        .present = 1,
        .s = 1,
        .g = 1,
        .l = code,
        .db = !code,
    };
}

/* Long mode with the identity map of boot.c. */
static int sregs_set(int vcpu_fd, struct err *err)
{
    const struct kvm_segment data = segment(0x18, 3, false);
    struct kvm_sregs sregs = {
        .cs = segment(0x10, 11, true),
        .ds = data,
        .es = data,
        .fs = data,
        .gs = data,
        .ss = data,
        .tr = {.limit = 0xffff, .type = 11, .present = 1}, /* as at reset; a busy TSS */
        .ldt = {.limit = 0xffff, .type = 2, .present = 1},
        .gdt = {.base = LAYOUT_GDT, .limit = 4 * 8 - 1},
        .idt = {.limit = 0xffff},
        .cr0 = 0x80000001, /* PG, PE */
        .cr3 = LAYOUT_PML4,
        .cr4 = 0x20,                       /* PAE */
        .efer = 0x500,                     /* LMA, LME */
        .apic_base = LAYOUT_LAPIC | 0x900, /* enabled, of the first CPU; as at reset */
    };

    if (ioctl(vcpu_fd, KVM_SET_SREGS, &sregs) < 0)
        return err_sys(err, "cannot enter 64-bit mode (KVM_SET_SREGS)");
    return 0;
}

static int registers_set(int vcpu_fd, const struct arch_entry *entry, struct err *err)
{
    struct kvm_regs regs = {
        .rip = entry->entry,
        .rsi = entry->boot_data,
        .rsp = LAYOUT_STACK,
        .rbp = LAYOUT_STACK,
        .rflags = 2,
    };

    if (ioctl(vcpu_fd, KVM_SET_REGS, &regs) < 0)
        return err_sys(err, "cannot set the registers (KVM_SET_REGS)");
    return 0;
}

/*
 * The rate that the host's kernel knows now. A new vCPU has the one from when KVM was loaded; when
 * the kernel has refined its own by more than 250 ppm since, KVM refuses it, says so in the log
 * alone, and leaves the vCPU without a working clock: its timers never fire (arch/x86/kvm/x86.c,
 * set_tsc_khz).
 */
static int tsc_rate_set(int vcpu_fd, uint32_t index, struct err *err)
{
    if (ioctl(vcpu_fd, KVM_SET_TSC_KHZ, 0) < 0)
        return err_sys(err, "cannot set the clock rate of vCPU %u (KVM_SET_TSC_KHZ)", index);
    return 0;
}

int arch_vcpu_init(int kvm_fd, int vcpu_fd, uint32_t index, const struct ipc_machine *setup,
    const struct arch_entry *entry, struct err *err)
{
    if (cpuid_set(kvm_fd, vcpu_fd, index, setup, err) < 0 ||
        tsc_rate_set(vcpu_fd, index, err) < 0 || msrs_set(vcpu_fd, err) < 0)
        return -1;
    if (index > 0)
        return 0; /* waits for INIT and SIPI of the first */
    if (sregs_set(vcpu_fd, err) < 0)
        return -1;
    return registers_set(vcpu_fd, entry, err);
}

int arch_probe_count(int vcpu_fd, uint64_t *count, struct err *err)
{
    struct kvm_regs regs;

    if (ioctl(vcpu_fd, KVM_GET_REGS, &regs) < 0)
        return err_sys(err, "cannot read the registers (KVM_GET_REGS)");
    *count = regs.rbx;
    return 0;
}
