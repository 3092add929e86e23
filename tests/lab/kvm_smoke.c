/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does /dev/kvm run guest code? A throw-away VM adds 1..n in 16-bit real mode and stops by HLT; the
 * sum must be in its register and the last port write must have come out as an exit. Exit status 0
 * when so. Built with plain cc and run in the lab by lab.bats.
 */
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CODE_GPA = 0x1000, MEMORY_BYTES = 0x4000, ROUNDS = 60000, PORT = 0x10, EXITS_MAX = 8 };

static const uint8_t code[] = {
    0x66, 0x31, 0xc0,                             /* xor eax, eax */
    0x66, 0xb9, ROUNDS & 0xff, ROUNDS >> 8, 0, 0, /* mov ecx, ROUNDS */
    0x66, 0x01, 0xc8,                             /* again: add eax, ecx */
    0x66, 0x49,                                   /* dec ecx */
    0x75, 0xf9,                                   /* jnz again */
    0xe6, PORT,                                   /* out PORT, al */
    0xf4,                                         /* hlt */
};

static void must(int ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(1);
}

static int vcpu_make(int vm, uint8_t *memory)
{
    memcpy(memory, code, sizeof(code));
    struct kvm_userspace_memory_region region = {
        .guest_phys_addr = CODE_GPA,
        .memory_size = MEMORY_BYTES,
        .userspace_addr = (uintptr_t)memory,
    };
    must(ioctl(vm, KVM_SET_USER_MEMORY_REGION, &region) == 0, "KVM_SET_USER_MEMORY_REGION");
    const int vcpu = ioctl(vm, KVM_CREATE_VCPU, 0);
    must(vcpu >= 0, "KVM_CREATE_VCPU");

    struct kvm_sregs sregs;
    must(ioctl(vcpu, KVM_GET_SREGS, &sregs) == 0, "KVM_GET_SREGS");
    sregs.cs.base = sregs.cs.selector = 0;
    must(ioctl(vcpu, KVM_SET_SREGS, &sregs) == 0, "KVM_SET_SREGS");
    struct kvm_regs regs = {.rip = CODE_GPA, .rflags = 2};
    must(ioctl(vcpu, KVM_SET_REGS, &regs) == 0, "KVM_SET_REGS");
    return vcpu;
}

int main(void)
{
    const int kvm = open("/dev/kvm", O_RDWR | O_CLOEXEC);
    must(kvm >= 0, "open /dev/kvm");
    must(ioctl(kvm, KVM_GET_API_VERSION, 0) == KVM_API_VERSION, "KVM_GET_API_VERSION");
    const int vm = ioctl(kvm, KVM_CREATE_VM, 0);
    must(vm >= 0, "KVM_CREATE_VM");
    uint8_t *memory =
        mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    must(memory != MAP_FAILED, "mmap");
    const int vcpu = vcpu_make(vm, memory);
    const int run_bytes = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
    must(run_bytes > 0, "KVM_GET_VCPU_MMAP_SIZE");
    const struct kvm_run *run = mmap(NULL, (size_t)run_bytes, PROT_READ, MAP_SHARED, vcpu, 0);
    must(run != MAP_FAILED, "mmap kvm_run");

    int outs = 0;
    for (int exits = 0; exits < EXITS_MAX; exits++) {
        must(ioctl(vcpu, KVM_RUN, 0) == 0, "KVM_RUN");
        if (run->exit_reason == KVM_EXIT_HLT)
            break;
        outs += run->exit_reason == KVM_EXIT_IO && run->io.port == PORT;
    }
    struct kvm_regs regs;
    must(ioctl(vcpu, KVM_GET_REGS, &regs) == 0, "KVM_GET_REGS");
    const uint32_t expected = (uint32_t)((uint64_t)ROUNDS * (ROUNDS + 1) / 2);
    printf("kvm: exit %u, %d port writes, sum %u (expected %u)\n", run->exit_reason, outs,
        (uint32_t)regs.rax, expected);
    return run->exit_reason == KVM_EXIT_HLT && outs == 1 && (uint32_t)regs.rax == expected ? 0 : 1;
}
