/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.c: see confine.h and capabilities(7). The bounding set and the secure bits need a
 * capability, so they come first; changing the user then keeps the capabilities (NO_SETUID_FIXUP),
 * and they are dropped by themselves, for root's tasks as for others.
 */
#include "confine.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/capability.h>
#include <linux/securebits.h>

#include "small_file.h"

enum { CONFINE_CAPABILITIES_MAX = 64 };

static int confine_limit(int resource, uint64_t value, const char *name, struct err *err)
{
    struct rlimit limit = {.rlim_cur = value, .rlim_max = value};

    /* glibc gives the first argument a type of its own, musl does not. */
    if (syscall(SYS_prlimit64, 0, resource, &limit, NULL) < 0)
        return err_sys(err, "cannot set the limit %s to %llu", name, (unsigned long long)value);
    return 0;
}

int confine_limits(const struct job *job, struct err *err)
{
    /* Written with CAP_SYS_RESOURCE, so that the task cannot go below it again. */
    if (small_file_write(AT_FDCWD, "/proc/self/oom_score_adj", "0", err) < 0)
        return -1;
    if (confine_limit(RLIMIT_NOFILE, job->open_files, "open_files", err) < 0 ||
        confine_limit(RLIMIT_CORE, 0, "core size", err) < 0)
        return -1;
    /* pids.max counts processes; the kernel's own guess by memory size would come first. */
    return confine_limit(RLIMIT_NPROC, UINT64_MAX, "processes", err);
}

static int confine_drop_capabilities(struct err *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

    if (syscall(SYS_capset, &header, none) < 0)
        return err_sys(err, "cannot drop the capabilities");
    return 0;
}

int confine_init(struct err *err)
{
    if (setgroups(0, NULL) < 0 ||
        setresgid(CONFINE_INIT_ID, CONFINE_INIT_ID, CONFINE_INIT_ID) < 0 ||
        setresuid(CONFINE_INIT_ID, CONFINE_INIT_ID, CONFINE_INIT_ID) < 0)
        return err_sys(err, "cannot give the task's init a user of its own");
    return confine_drop_capabilities(err);
}

static int confine_drop_bounding(struct err *err)
{
    for (unsigned long capability = 0; capability < CONFINE_CAPABILITIES_MAX; capability++) {
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) == 0)
            continue;
        if (errno == EINVAL && capability > 0) /* beyond the last that this kernel knows */
            return 0;
        return err_sys(err, "cannot drop capability %lu from the bounding set", capability);
    }
    return 0;
}

int confine_rights(const struct job *job, struct err *err)
{
    const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                               SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                               SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

    if (confine_drop_bounding(err) < 0)
        return -1;
    if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0)
        return err_sys(err, "cannot set the secure bits");
    if (setgroups(0, NULL) < 0)
        return err_sys(err, "cannot drop the supplementary groups");
    if (setresgid(job->gid, job->gid, job->gid) < 0)
        return err_sys(err, "cannot become group %u", job->gid);
    if (setresuid(job->uid, job->uid, job->uid) < 0)
        return err_sys(err, "cannot become user %u", job->uid);
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0)
        return err_sys(err, "cannot clear the ambient capabilities");
    if (confine_drop_capabilities(err) < 0)
        return -1;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return err_sys(err, "cannot set no_new_privs");
    return 0;
}
