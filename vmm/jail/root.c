/* SPDX-License-Identifier: Apache-2.0 */
/* root.c: see root.h. Runs in each child before it has read anything. */
#include "jail/root.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Any directory that each system has; the mount namespace is ours, nobody else sees it covered. */
#define COVERED_PATH "/proc"

int root_empty(struct err *err)
{
    /* In a mount namespace that root made, mounts would still travel to where it came from. */
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return err_sys(err, "cannot make the mounts private");
    if (mount("none", COVERED_PATH, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
            "nr_inodes=1,size=4k,mode=555") < 0)
        return err_sys(err, "cannot mount an empty root");
    /* The old root ends up on top of the new one, and is what "." names (pivot_root(2), Notes). */
    if (chdir(COVERED_PATH) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
        return err_sys(err, "cannot pivot to an empty root");
    if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return err_sys(err, "cannot leave the old root");
    return 0;
}

/* Of bounding set and securebits; stops at the first number that the kernel does not know. */
static int bounding_drop(struct err *err)
{
    const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
                               SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
                               SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;

    for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++) {
        if (prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) < 0)
            return err_sys(err, "cannot drop capability %d", capability);
    }
    if (prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0)
        return err_sys(err, "cannot lock the securebits");
    return 0;
}

int creds_drop(const struct jail_order *order, struct err *err)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};

    if (order->kind != JAIL_WEAK && bounding_drop(err) < 0)
        return -1;
    if (order->kind == JAIL_ROOT &&
        (setgroups(0, NULL) < 0 || setresgid(order->gid, order->gid, order->gid) < 0 ||
            setresuid(order->uid, order->uid, order->uid) < 0))
        return err_sys(err, "cannot become user %u, group %u", order->uid, order->gid);
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
        syscall(SYS_capset, &header, none) < 0)
        return err_sys(err, "cannot drop all capabilities");
    return 0;
}
