/* SPDX-License-Identifier: Apache-2.0 */
/* cpu_mask.c: see cpu_mask.h. Names as in arch/x86/include/asm/cpufeatures.h, bits from Intel SDM
 * vol. 2, CPUID, and AMD APM vol. 3, appendix E. */
#include "supervisor/cpu_mask.h"

#include <string.h>

enum { EAX, EBX, ECX, EDX };

static const struct {
    const char *name;
    struct ipc_cpu_bit bit;
} cpu_features[] = {
    {"pclmulqdq", {0x1, 0, ECX, 1}},
    {"ssse3", {0x1, 0, ECX, 9}},
    {"fma", {0x1, 0, ECX, 12}},
    {"pcid", {0x1, 0, ECX, 17}},
    {"sse4_1", {0x1, 0, ECX, 19}},
    {"sse4_2", {0x1, 0, ECX, 20}},
    {"x2apic", {0x1, 0, ECX, 21}},
    {"movbe", {0x1, 0, ECX, 22}},
    {"popcnt", {0x1, 0, ECX, 23}},
    {"aes", {0x1, 0, ECX, 25}},
    {"xsave", {0x1, 0, ECX, 26}},
    {"osxsave", {0x1, 0, ECX, 27}},
    {"avx", {0x1, 0, ECX, 28}},
    {"f16c", {0x1, 0, ECX, 29}},
    {"rdrand", {0x1, 0, ECX, 30}},
    {"fsgsbase", {0x7, 0, EBX, 0}},
    {"bmi1", {0x7, 0, EBX, 3}},
    {"hle", {0x7, 0, EBX, 4}},
    {"avx2", {0x7, 0, EBX, 5}},
    {"smep", {0x7, 0, EBX, 7}},
    {"bmi2", {0x7, 0, EBX, 8}},
    {"erms", {0x7, 0, EBX, 9}},
    {"invpcid", {0x7, 0, EBX, 10}},
    {"rtm", {0x7, 0, EBX, 11}},
    {"avx512f", {0x7, 0, EBX, 16}},
    {"avx512dq", {0x7, 0, EBX, 17}},
    {"rdseed", {0x7, 0, EBX, 18}},
    {"adx", {0x7, 0, EBX, 19}},
    {"smap", {0x7, 0, EBX, 20}},
    {"clflushopt", {0x7, 0, EBX, 23}},
    {"clwb", {0x7, 0, EBX, 24}},
    {"avx512cd", {0x7, 0, EBX, 28}},
    {"sha_ni", {0x7, 0, EBX, 29}},
    {"avx512bw", {0x7, 0, EBX, 30}},
    {"avx512vl", {0x7, 0, EBX, 31}},
    {"umip", {0x7, 0, ECX, 2}},
    {"pku", {0x7, 0, ECX, 3}},
    {"gfni", {0x7, 0, ECX, 8}},
    {"vaes", {0x7, 0, ECX, 9}},
    {"vpclmulqdq", {0x7, 0, ECX, 10}},
    {"la57", {0x7, 0, ECX, 16}},
    {"rdpid", {0x7, 0, ECX, 22}},
    {"fsrm", {0x7, 0, EDX, 4}},
    {"xsaveopt", {0xd, 1, EAX, 0}},
    {"xsavec", {0xd, 1, EAX, 1}},
    {"xgetbv1", {0xd, 1, EAX, 2}},
    {"xsaves", {0xd, 1, EAX, 3}},
    {"svm", {0x80000001, 0, ECX, 2}},
    {"sse4a", {0x80000001, 0, ECX, 6}},
    {"xop", {0x80000001, 0, ECX, 11}},
    {"fma4", {0x80000001, 0, ECX, 16}},
    {"rdtscp", {0x80000001, 0, EDX, 27}},
};

int cpu_mask_find(const char *name, struct ipc_cpu_bit *bit, struct err *err)
{
    for (size_t i = 0; i < sizeof(cpu_features) / sizeof(cpu_features[0]); i++) {
        if (strcmp(cpu_features[i].name, name) == 0) {
            *bit = cpu_features[i].bit;
            return 0;
        }
    }
    return err_set(err,
        "%s is not a CPU feature that can be hidden; use names of /proc/cpuinfo "
        "such as xsave, avx, avx2, avx512f",
        name);
}
