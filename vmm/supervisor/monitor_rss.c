/* SPDX-License-Identifier: Apache-2.0 */
/* monitor_rss.c: see monitor_rss.h. The file is the kernel's, about an untrusted process. */
#include "supervisor/monitor_rss.h"

#include <stdio.h>
#include <string.h>

#include "base/num.h"

uint64_t monitor_own_rss_bytes(pid_t pid)
{
    unsigned long long rss_kib = 0, total_kib = 0;
    char path[48], line[512];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return 0;
    /* Every mapping has one Rss: line and ends with its VmFlags: line. */
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "Rss: %llu kB", &rss_kib) == 1)
            continue;
        if (strncmp(line, "VmFlags:", 8) == 0 && !strstr(line, " dd"))
            total_kib += rss_kib;
    }
    fclose(file);
    return total_kib * KIB;
}
