/* SPDX-License-Identifier: Apache-2.0 */
/* doctor_host.c: see doctor_report.h. Reads /proc and /sys; a missing file says nothing. */
#include <dirent.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/doctor_report.h"
#include "supervisor/arch/arch.h"

/* Guest RAM of a default task, and some for the host. */
enum { MEMORY_WANTED_MIB = 768 };

/* The start of a small file, as a string without its newline; "" when it cannot be read. */
static void read_text(const char *path, char *text, size_t size)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : fd_read_all(fd, text, size - 1);

    text[count < 0 ? 0 : count] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

static void check_user_namespaces(struct report *report)
{
    pid_t pid = fork();
    int status = 1;

    if (pid == 0)
        _exit(unshare(CLONE_NEWUSER) < 0);
    if (pid > 0)
        waitpid(pid, &status, 0);
    if (status == 0)
        report_add(report, REPORT_PASS, "user namespaces", NULL, "can be made");
    else
        report_add(report, REPORT_CAUTION, "user namespaces",
            "allow them: sysctl kernel.unprivileged_userns_clone=1, "
            "kernel.apparmor_restrict_unprivileged_userns=0, user.max_user_namespaces",
            "cannot be made: as a user, runs want [machine] allow_weaker_jail = yes");
}

/* A cgroup v2 of ours in which children can be made. */
static void check_cgroup(struct report *report)
{
    char line[512], path[600], controllers[256];

    read_text("/proc/self/cgroup", line, sizeof(line));
    if (strncmp(line, "0::", 3) != 0) {
        report_add(report, REPORT_CAUTION, "cgroup v2",
            "boot with systemd.unified_cgroup_hierarchy=1",
            "not in use: host limits on CPU share and memory are missing");
        return;
    }
    snprintf(path, sizeof(path), "/sys/fs/cgroup%s/cgroup.controllers", line + 3);
    read_text(path, controllers, sizeof(controllers));
    snprintf(path, sizeof(path), "/sys/fs/cgroup%s", line + 3);
    if (controllers[0] && access(path, W_OK) == 0)
        report_add(report, REPORT_PASS, "cgroup v2", NULL, "delegated: %s", controllers);
    else
        report_add(report, REPORT_CAUTION, "cgroup v2",
            "start it with systemd-run --user --scope -p Delegate=yes",
            "not delegated: host limits on CPU share and memory are missing");
}

static void check_landlock(struct report *report)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    if (abi >= 1)
        report_add(report, REPORT_PASS, "Landlock", NULL, "ABI %ld", abi);
    else
        report_add(report, REPORT_CAUTION, "Landlock", "boot with lsm=landlock,...",
            "not available: vmrun's own processes have one layer less");
}

static void check_memory(struct report *report)
{
    FILE *file = fopen("/proc/meminfo", "re");
    unsigned long long kib = 0;
    char line[128];

    while (file && fgets(line, sizeof(line), file) && sscanf(line, "MemAvailable: %llu", &kib) != 1)
        continue;
    if (file)
        fclose(file);
    if (kib / 1024 >= MEMORY_WANTED_MIB)
        report_add(report, REPORT_PASS, "memory", NULL, "%llu MiB available", kib / 1024);
    else
        report_add(report, REPORT_CAUTION, "memory", "lower [machine] memory, or free some",
            "%llu MiB available: a task of default size may not fit", kib / 1024);
}

static void check_vulnerabilities(struct report *report)
{
    static const char path[] = "/sys/devices/system/cpu/vulnerabilities";
    DIR *directory = opendir(path);
    const struct dirent *entry;
    char names[512] = "";

    while (directory && (entry = readdir(directory))) {
        char file[sizeof(path) + 256], text[128];
        size_t used = strlen(names);

        if (entry->d_name[0] == '.')
            continue;
        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        read_text(file, text, sizeof(text));
        if (strncmp(text, "Vulnerable", 10) == 0)
            snprintf(
                names + used, sizeof(names) - used, "%s%.40s", used ? ", " : "", entry->d_name);
    }
    if (directory)
        closedir(directory);
    if (names[0])
        report_add(report, REPORT_CAUTION, "CPU vulnerabilities", "update kernel and microcode",
            "the kernel says Vulnerable: %s", names);
}

/* Settings that weaken the isolation of one guest from another or leave its memory lying about. */
static void check_settings(struct report *report)
{
    static const struct {
        const char *subject, *path, *bad, *text, *remedy;
    } settings[] = {
        {"SMT", "/sys/devices/system/cpu/smt/active", "1",
            "two guests can share a core and see each other through its caches",
            "echo off > /sys/devices/system/cpu/smt/control, or give tasks whole cores"},
        {"KSM", "/sys/kernel/mm/ksm/run", "1",
            "memory of guests may be merged, which is a side channel",
            "echo 2 > /sys/kernel/mm/ksm/run"},
    };
    char text[64], swaps[512];
    AUTO_FD int fd = open("/proc/swaps", O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : fd_read_all(fd, swaps, sizeof(swaps) - 1);
    const char *second_line;

    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
        read_text(settings[i].path, text, sizeof(text));
        if (strcmp(text, settings[i].bad) == 0)
            report_add(report, REPORT_CAUTION, settings[i].subject, settings[i].remedy, "on: %s",
                settings[i].text);
    }
    swaps[count < 0 ? 0 : count] = '\0';
    second_line = strchr(swaps, '\n');
    if (second_line && second_line[1])
        report_add(report, REPORT_CAUTION, "swap", "swapoff -a, or encrypt it",
            "on: memory of guests can end up on a disk");
    if (host_cpu_is_guest())
        report_add(report, REPORT_CAUTION, "nested virtualization",
            "use bare metal where isolation matters most",
            "this host is itself a virtual machine: slower, and its hypervisor is trusted too");
}

void doctor_check_host(struct report *report)
{
    check_memory(report);
    check_user_namespaces(report);
    check_cgroup(report);
    check_landlock(report);
    check_settings(report);
    check_vulnerabilities(report);
}
