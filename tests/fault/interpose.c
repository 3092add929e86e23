/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interpose.c: a preloaded library that makes the n-th allocation, open, fork, write or step into
 * a jail of one process fail (tests only; see fault.h). stdio's own writes are not seen: those
 * carry the lines that tell what failed. Allocations inside the C library are seen, as it calls
 * malloc() through its PLT. Global state: the mapping, and the functions behind ours.
 */
#include "tests/fault/fault.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <linux/kvm.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default"), used))

static struct fault_state *state;

/* Not dlsym(): it allocates. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);

__attribute__((constructor)) static void fault_attach(void)
{
    const char *path = getenv("FAULT_STATE");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *mapped;

    if (fd < 0)
        abort(); /* a test without its fault must not pass */
    mapped = mmap(NULL, sizeof(*state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapped == MAP_FAILED)
        abort();
    close(fd);
    state = mapped;
    unsetenv("LD_PRELOAD");
}

static void fault_fire(const char *call, const void *caller, int errnum)
{
    Dl_info where;

    strncpy(state->call, call, sizeof(state->call) - 1);
    if (dladdr(caller, &where)) {
        const char *slash = strrchr(where.dli_fname, '/');

        strncpy(state->caller, slash ? slash + 1 : where.dli_fname, sizeof(state->caller) - 1);
        state->caller_offset = (uint64_t)((const char *)caller - (const char *)where.dli_fbase);
    }
    state->errnum = errnum;
    state->fired = 1;
}

/* True when this call has to fail; errno is set then. */
static int fault_now(enum fault_kind kind, int errnum, const char *call, const void *caller)
{
    uint32_t number;

    if (!state)
        return 0;
    number = atomic_fetch_add(&state->counts[kind], 1) + 1;
    if (state->kind != (uint32_t)kind || state->at != number)
        return 0;
    fault_fire(call, caller, errnum);
    errno = errnum;
    return 1;
}

#define FAILS(kind, errnum) fault_now((kind), (errnum), __func__, __builtin_return_address(0))

/* ---- allocations ---- */

EXPORT void *malloc(size_t size)
{
    return FAILS(FAULT_ALLOC, ENOMEM) ? NULL : __libc_malloc(size);
}

EXPORT void *calloc(size_t count, size_t size)
{
    return FAILS(FAULT_ALLOC, ENOMEM) ? NULL : __libc_calloc(count, size);
}

EXPORT void *realloc(void *old, size_t size)
{
    return FAILS(FAULT_ALLOC, ENOMEM) ? NULL : __libc_realloc(old, size);
}

/* ---- the rest: a function of the same type behind each ---- */

#define REAL(name)                                                                                 \
    __extension__({                                                                                \
        static __typeof__(name) *real_;                                                            \
        if (!real_)                                                                                \
            *(void **)&real_ = dlsym(RTLD_NEXT, #name);                                            \
        real_;                                                                                     \
    })

#define FAULTY(kind, errnum, failure, type, name, parameters, arguments)                           \
    type name parameters;                                                                          \
    EXPORT type name parameters                                                                    \
    {                                                                                              \
        if (FAILS(kind, errnum))                                                                   \
            return failure;                                                                        \
        return REAL(name) arguments;                                                               \
    }

FAULTY(FAULT_ALLOC, ENOMEM, MAP_FAILED, void *, mmap,
    (void *address, size_t size, int protection, int flags, int fd, off_t offset),
    (address, size, protection, flags, fd, offset))

FAULTY(FAULT_OPEN, EMFILE, NULL, FILE *, fopen, (const char *path, const char *mode), (path, mode))
FAULTY(FAULT_OPEN, EMFILE, NULL, FILE *, fdopen, (int fd, const char *mode), (fd, mode))
FAULTY(FAULT_OPEN, EMFILE, NULL, DIR *, opendir, (const char *path), (path))
FAULTY(FAULT_OPEN, EMFILE, NULL, DIR *, fdopendir, (int fd), (fd))
FAULTY(FAULT_OPEN, EMFILE, -1, int, memfd_create, (const char *name, unsigned flags), (name, flags))
FAULTY(FAULT_OPEN, EMFILE, -1, int, socketpair, (int domain, int type, int protocol, int fds[2]),
    (domain, type, protocol, fds))
FAULTY(FAULT_OPEN, EMFILE, -1, int, pipe2, (int fds[2], int flags), (fds, flags))
FAULTY(FAULT_OPEN, EMFILE, -1, int, epoll_create1, (int flags), (flags))
FAULTY(FAULT_OPEN, EMFILE, -1, int, dup2, (int from, int to), (from, to))

FAULTY(
    FAULT_OPEN, EMFILE, -1, int, signalfd, (int fd, const void *mask, int flags), (fd, mask, flags))

FAULTY(FAULT_OPEN, EMFILE, -1, int, __open_2, (const char *path, int flags), (path, flags))

/* Writing to one cannot fail (fs/eventfd.c), so it does not here: which fds they are. */
static unsigned char eventfds[1024];

EXPORT int eventfd(unsigned count, int flags)
{
    int fd = FAILS(FAULT_OPEN, EMFILE) ? -1 : REAL(eventfd)(count, flags);

    if (fd >= 0 && fd < (int)sizeof(eventfds))
        eventfds[fd] = 1;
    return fd;
}

static int is_eventfd(int fd)
{
    return fd >= 0 && fd < (int)sizeof(eventfds) && eventfds[fd];
}

EXPORT int close(int fd)
{
    if (fd >= 0 && fd < (int)sizeof(eventfds))
        eventfds[fd] = 0;
    return REAL(close)(fd);
}

EXPORT int open(const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = va_arg(args, mode_t);
    va_end(args);
    return FAILS(FAULT_OPEN, EMFILE) ? -1 : REAL(open)(path, flags, mode);
}

EXPORT int openat(int directory, const char *path, int flags, ...)
{
    va_list args;
    mode_t mode;

    va_start(args, flags);
    mode = va_arg(args, mode_t);
    va_end(args);
    return FAILS(FAULT_OPEN, EMFILE) ? -1 : REAL(openat)(directory, path, flags, mode);
}

/* Duplicating is opening, and a lock takes memory; the rest of it changes nothing that could run
 * out. */
EXPORT int fcntl(int fd, int command, ...)
{
    va_list args;
    void *argument;

    va_start(args, command);
    argument = va_arg(args, void *);
    va_end(args);
    if ((command == F_DUPFD_CLOEXEC || command == F_DUPFD) && FAILS(FAULT_OPEN, EMFILE))
        return -1;
    if (command == F_OFD_SETLK && FAILS(FAULT_WRITE, ENOLCK))
        return -1;
    return REAL(fcntl)(fd, command, argument);
}

EXPORT long syscall(long number, ...)
{
    long a[6];
    va_list args;

    va_start(args, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if ((number == SYS_openat2 || number == SYS_pidfd_open) && FAILS(FAULT_OPEN, EMFILE))
        return -1;
    if (number == SYS_clone3 && FAILS(FAULT_FORK, EAGAIN))
        return -1;
    if (number == SYS_execveat && FAILS(FAULT_FORK, ENOMEM))
        return -1;
    if ((number == SYS_pivot_root || number == SYS_capset || number == SYS_seccomp ||
            number == SYS_landlock_create_ruleset || number == SYS_landlock_add_rule ||
            number == SYS_landlock_restrict_self) &&
        FAILS(FAULT_JAIL, EPERM))
        return -1;
    return REAL(syscall)(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

FAULTY(FAULT_FORK, EAGAIN, -1, pid_t, fork, (void), ())
FAULTY(FAULT_FORK, ENOMEM, -1, int, execv, (const char *path, char *const arguments[]),
    (path, arguments))
FAULTY(FAULT_FORK, EAGAIN, EAGAIN, int, pthread_create,
    (pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument),
    (thread, attributes, start, argument))

EXPORT ssize_t write(int fd, const void *bytes, size_t size)
{
    if (!is_eventfd(fd) && FAILS(FAULT_WRITE, ENOSPC))
        return -1;
    return REAL(write)(fd, bytes, size);
}

FAULTY(FAULT_WRITE, ENOSPC, -1, ssize_t, pwrite,
    (int fd, const void *bytes, size_t size, off_t offset), (fd, bytes, size, offset))
FAULTY(FAULT_WRITE, ENOSPC, -1, ssize_t, writev, (int fd, const struct iovec *parts, int count),
    (fd, parts, count))
FAULTY(FAULT_WRITE, ENOSPC, -1, ssize_t, pwritev,
    (int fd, const struct iovec *parts, int count, off_t offset), (fd, parts, count, offset))
FAULTY(FAULT_WRITE, ENOBUFS, -1, ssize_t, send, (int fd, const void *bytes, size_t size, int flags),
    (fd, bytes, size, flags))
FAULTY(FAULT_WRITE, ENOBUFS, -1, ssize_t, sendmsg,
    (int fd, const struct msghdr *message, int flags), (fd, message, flags))
FAULTY(FAULT_WRITE, EIO, -1, int, fsync, (int fd), (fd))
FAULTY(FAULT_WRITE, EIO, -1, int, fdatasync, (int fd), (fd))
FAULTY(FAULT_WRITE, EIO, -1, int, syncfs, (int fd), (fd))
FAULTY(FAULT_WRITE, ENOSPC, -1, int, ftruncate, (int fd, off_t size), (fd, size))
FAULTY(FAULT_WRITE, ENOSPC, -1, int, fallocate, (int fd, int mode, off_t offset, off_t size),
    (fd, mode, offset, size))
FAULTY(FAULT_WRITE, ENOSPC, -1, int, mkdir, (const char *path, mode_t mode), (path, mode))
FAULTY(FAULT_WRITE, ENOSPC, -1, int, mkdirat, (int directory, const char *path, mode_t mode),
    (directory, path, mode))
FAULTY(FAULT_WRITE, ENOSPC, -1, int, renameat,
    (int from_directory, const char *from, int to_directory, const char *to),
    (from_directory, from, to_directory, to))
FAULTY(FAULT_WRITE, EIO, -1, int, fchmod, (int fd, mode_t mode), (fd, mode))
FAULTY(FAULT_WRITE, ENOLCK, -1, int, flock, (int fd, int operation), (fd, operation))
FAULTY(FAULT_WRITE, EIO, -1, int, fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
FAULTY(FAULT_WRITE, EIO, -1, int, fchownat,
    (int directory, const char *path, uid_t user, gid_t group, int flags),
    (directory, path, user, group, flags))

/* Only adding allocates. */
EXPORT int epoll_ctl(int epoll_fd, int operation, int fd, struct epoll_event *event)
{
    if (operation == EPOLL_CTL_ADD && FAILS(FAULT_WRITE, ENOMEM))
        return -1;
    return REAL(epoll_ctl)(epoll_fd, operation, fd, event);
}

/* All that builds a machine; running it is not something that can run out. */
EXPORT int ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    void *argument;

    va_start(args, request);
    argument = va_arg(args, void *);
    va_end(args);
    if (request != KVM_RUN && FAILS(FAULT_WRITE, ENOMEM))
        return -1;
    return REAL(ioctl)(fd, request, argument);
}

/* ---- the way into a jail ---- */

FAULTY(FAULT_JAIL, EPERM, -1, int, mount,
    (const char *from, const char *to, const char *type, unsigned long flags, const void *data),
    (from, to, type, flags, data))
FAULTY(FAULT_JAIL, EPERM, -1, int, umount2, (const char *path, int flags), (path, flags))
FAULTY(FAULT_JAIL, EPERM, -1, int, chdir, (const char *path), (path))
FAULTY(FAULT_JAIL, EPERM, -1, int, setgroups, (size_t count, const gid_t *groups), (count, groups))
FAULTY(FAULT_JAIL, EPERM, -1, int, setresgid, (gid_t real, gid_t effective, gid_t saved),
    (real, effective, saved))
FAULTY(FAULT_JAIL, EPERM, -1, int, setresuid, (uid_t real, uid_t effective, uid_t saved),
    (real, effective, saved))
FAULTY(FAULT_JAIL, EPERM, -1, int, close_range, (unsigned first, unsigned last, int flags),
    (first, last, flags))
FAULTY(FAULT_JAIL, EPERM, -1, int, setrlimit,
    (__rlimit_resource_t resource, const struct rlimit *limit), (resource, limit))

EXPORT int prctl(int option, ...)
{
    unsigned long a[4];
    va_list args;

    va_start(args, option);
    for (int i = 0; i < 4; i++)
        a[i] = va_arg(args, unsigned long);
    va_end(args);
    if (FAILS(FAULT_JAIL, EPERM))
        return -1;
    return REAL(prctl)(option, a[0], a[1], a[2], a[3]);
}
