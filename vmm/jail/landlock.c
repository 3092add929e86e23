/* SPDX-License-Identifier: Apache-2.0 */
/*
 * landlock.c: the second layer behind the empty root, and the first one where there are no
 * namespaces; see root.h. The constants are those of landlock(7) that older headers lack.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/root.h"

/* Rights of each ABI, all of which are taken away. */
#define ACCESS_FS_1      ((1ULL << 13) - 1)
#define ACCESS_FS_REFER  (1ULL << 13) /* ABI 2 */
#define ACCESS_FS_TRUNC  (1ULL << 14) /* ABI 3 */
#define ACCESS_FS_IOCTL  (1ULL << 15) /* ABI 5 */
#define ACCESS_NET_TCP   (3ULL)       /* ABI 4: bind and connect */
#define SCOPE_ALL        (3ULL)       /* ABI 6: abstract sockets and signals */
#define RULESET_V1_BYTES 8
#define RULESET_V4_BYTES 16
#define RULESET_V6_BYTES 24

struct ruleset {
    uint64_t access_fs, access_net, scoped;
};

int landlock_abi(void)
{
    long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    return abi < 0 ? 0 : (int)abi;
}

static size_t ruleset_make(int abi, struct ruleset *ruleset)
{
    *ruleset = (struct ruleset){.access_fs = ACCESS_FS_1};
    if (abi >= 2)
        ruleset->access_fs |= ACCESS_FS_REFER;
    if (abi >= 3)
        ruleset->access_fs |= ACCESS_FS_TRUNC;
    if (abi >= 5)
        ruleset->access_fs |= ACCESS_FS_IOCTL;
    if (abi >= 4)
        ruleset->access_net = ACCESS_NET_TCP;
    if (abi >= 6)
        ruleset->scoped = SCOPE_ALL;
    return abi >= 6 ? RULESET_V6_BYTES : abi >= 4 ? RULESET_V4_BYTES : RULESET_V1_BYTES;
}

bool landlock_holds(void)
{
    AUTO_FD int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    return fd < 0 && errno == EACCES;
}

static int landlock_prove(struct err *err)
{
    errno = 0;
    if (landlock_holds())
        return 0;
    if (errno != 0)
        return err_sys(err, "cannot try whether Landlock holds");
    return err_set(err, "Landlock does not hold: the root directory can still be read");
}

int landlock_confine(const struct powers *powers, struct err *err)
{
    int abi = landlock_abi();
    struct ruleset ruleset;
    size_t size = ruleset_make(abi, &ruleset);
    AUTO_FD int fd = -1;

    if (abi == 0)
        return 0;
    fd = (int)syscall(SYS_landlock_create_ruleset, &ruleset, size, 0);
    if (fd < 0)
        return err_sys(err, "cannot make a Landlock ruleset");
    for (size_t i = 0; i < powers->path_count; i++) {
        struct landlock_path_beneath_attr rule = {
            .allowed_access = powers->paths[i].access & ruleset.access_fs,
            .parent_fd = powers->paths[i].fd};

        if (syscall(SYS_landlock_add_rule, fd, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) < 0)
            return err_sys(err, "cannot allow fd %d by Landlock", powers->paths[i].fd);
    }
    if (syscall(SYS_landlock_restrict_self, fd, 0) < 0)
        return err_sys(err, "cannot be confined by Landlock");
    return landlock_prove(err) < 0 ? -1 : abi;
}
