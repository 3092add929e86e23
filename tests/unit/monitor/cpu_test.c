/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: -Wl,--wrap=ioctl */
/* cpu_test.c: what CPUID a vCPU gets for what this host's KVM offers. KVM is a fake of this file.
 */
#include "monitor/arch/arch.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#include "tests/unit/unit.h"

enum { KVM_FD = 1000, VCPU_FD = 1001, ENTRIES_MAX = 256 };

static struct {
    struct kvm_cpuid_entry2 offered[ENTRIES_MAX], set[ENTRIES_MAX];
    uint32_t offered_count, set_count;
} fake;

int __wrap_ioctl(int fd, unsigned long request, ...);

static int get_cpuid(struct kvm_cpuid2 *cpuid)
{
    if (cpuid->nent < fake.offered_count) {
        errno = E2BIG;
        return -1;
    }
    cpuid->nent = fake.offered_count;
    memcpy(cpuid->entries, fake.offered, fake.offered_count * sizeof(fake.offered[0]));
    return 0;
}

static int set_cpuid(const struct kvm_cpuid2 *cpuid)
{
    assert_true(cpuid->nent <= ENTRIES_MAX);
    fake.set_count = cpuid->nent;
    memcpy(fake.set, cpuid->entries, cpuid->nent * sizeof(fake.set[0]));
    return 0;
}

int __wrap_ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    void *argument;

    va_start(args, request);
    argument = va_arg(args, void *);
    va_end(args);
    assert_int_equal(fd, request == KVM_GET_SUPPORTED_CPUID ? KVM_FD : VCPU_FD);
    switch (request) {
    case KVM_GET_SUPPORTED_CPUID:
        return get_cpuid(argument);
    case KVM_SET_CPUID2:
        return set_cpuid(argument);
    case KVM_GET_SREGS:
        memset(argument, 0, sizeof(struct kvm_sregs));
        return 0;
    case KVM_SET_MSRS:
        return 2;
    default:
        return 0;
    }
}

static void offer(uint32_t leaf, uint32_t level, uint32_t garbage)
{
    assert_true(fake.offered_count < ENTRIES_MAX);
    fake.offered[fake.offered_count++] = (struct kvm_cpuid_entry2){.function = leaf,
        .index = level,
        .flags = KVM_CPUID_FLAG_SIGNIFCANT_INDEX,
        .eax = garbage,
        .ebx = garbage,
        .ecx = garbage,
        .edx = garbage};
}

/* The entry of LEAF and LEVEL as it was set, which must be there COUNT times, once at most. */
static const struct kvm_cpuid_entry2 *entry_set(uint32_t leaf, uint32_t level, int count)
{
    const struct kvm_cpuid_entry2 *entry = NULL;
    int found = 0;

    for (uint32_t i = 0; i < fake.set_count; i++) {
        if (fake.set[i].function == leaf && fake.set[i].index == level) {
            entry = &fake.set[i];
            found++;
        }
    }
    assert_int_equal(found, count);
    return entry;
}

static void make_vcpu(uint32_t index, uint32_t cpu_count)
{
    const struct ipc_machine setup = {.cpu_count = cpu_count};
    const struct arch_entry entry = {.entry = 0x100000};
    struct err err = ERR_INIT;

    assert_int_equal(arch_vcpu_init(KVM_FD, VCPU_FD, index, &setup, &entry, &err), 0);
}

/* vCPU INDEX of 3: one package of three cores with one thread each. */
static void check_levels(uint32_t leaf, uint32_t index)
{
    const struct kvm_cpuid_entry2 *thread = entry_set(leaf, 0, 1);
    const struct kvm_cpuid_entry2 *core = entry_set(leaf, 1, 1);

    assert_int_equal(thread->flags, KVM_CPUID_FLAG_SIGNIFCANT_INDEX);
    assert_int_equal(core->flags, KVM_CPUID_FLAG_SIGNIFCANT_INDEX);
    assert_true(thread->eax == 0 && thread->ebx == 1 && thread->ecx == 0x100);
    assert_true(core->eax == 2 && core->ebx == 3 && core->ecx == 0x201);
    assert_true(thread->edx == index && core->edx == index);
}

/* Linux 6.3 and later. */
static void levels_that_kvm_leaves_to_us_are_added(void **state)
{
    (void)state;
    for (uint32_t index = 0; index < 3; index++) {
        memset(&fake, 0, sizeof(fake));
        offer(0x1, 0, 0);
        offer(0xb, 0, 0);
        offer(0x1f, 0, 0);
        make_vcpu(index, 3);
        assert_int_equal(fake.set_count, 5);
        check_levels(0xb, index);
        check_levels(0x1f, index);
    }
}

/* Before, KVM handed on the host's. */
static void levels_of_the_host_are_replaced(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    for (uint32_t level = 0; level < 4; level++)
        offer(0xb, level, 0xffffffff);
    make_vcpu(1, 3);
    assert_int_equal(fake.set_count, 4);
    check_levels(0xb, 1);
    for (uint32_t level = 2; level < 4; level++) {
        const struct kvm_cpuid_entry2 *entry = entry_set(0xb, level, 1);

        assert_true(entry->eax == 0 && entry->ebx == 0 && entry->ecx == level && entry->edx == 1);
    }
}

static void a_leaf_that_is_not_offered_stays_away(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof(fake));
    offer(0x1, 0, 0);
    make_vcpu(0, 2);
    assert_int_equal(fake.set_count, 1);
    entry_set(0xb, 0, 0);
    entry_set(0xb, 1, 0);
}

/* As many entries as are asked for at first, one fewer, one more: the added ones find room. */
static void a_full_table_has_room_for_the_levels(void **state)
{
    (void)state;
    for (uint32_t count = 95; count <= 97; count++) {
        memset(&fake, 0, sizeof(fake));
        offer(0xb, 0, 0);
        offer(0x1f, 0, 0);
        while (fake.offered_count < count)
            offer(0x80000100 + fake.offered_count, 0, 7);
        make_vcpu(2, 3);
        assert_int_equal(fake.set_count, count + 2);
        check_levels(0xb, 2);
        check_levels(0x1f, 2);
        assert_int_equal(entry_set(0x80000100 + count - 1, 0, 1)->ebx, 7);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(levels_that_kvm_leaves_to_us_are_added),
    cmocka_unit_test(levels_of_the_host_are_replaced),
    cmocka_unit_test(a_leaf_that_is_not_offered_stays_away),
    cmocka_unit_test(a_full_table_has_room_for_the_levels),
};

UNIT_MAIN(tests)
