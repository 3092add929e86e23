/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reach.c: asks the kernel, once each, for interfaces that have been ways out of sandboxes. Every
 * request is harmless when it is granted: objects die with this process, values are written back as
 * they were, what could hurt is asked for with arguments that fail behind the check of rights.
 */
#include "probe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/io_uring.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FAMILIES = 46 };

static void result(const char *key, long value)
{
    fact_int(key, value < 0 ? -errno : value);
}

static void io_uring(int count, char **words)
{
    (void)count, (void)words;
    struct io_uring_params parameters = {0};
    result("ring", syscall(SYS_io_uring_setup, 2, &parameters));
}

static void userns(int count, char **words)
{
    (void)count, (void)words;
    result("unshare", unshare(CLONE_NEWUSER | CLONE_NEWNS));
    result("mount", mount("none", "/tmp", "tmpfs", 0, "size=4k"));
}

static void mount_tmpfs(int count, char **words)
{
    (void)count, (void)words;
    /* A namespace first, so that nothing is left; where that is refused, only a detached mount. */
    result("unshare", unshare(CLONE_NEWNS));
    result("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
    result("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */));
}

static void bpf_load(int count, char **words)
{
    (void)count, (void)words;
    static const struct bpf_insn code[] = {
        {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
        {.code = BPF_JMP | BPF_EXIT},
    };
    union bpf_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
    attributes.insn_cnt = sizeof code / sizeof *code;
    attributes.insns = (uintptr_t)code;
    attributes.license = (uintptr_t) "";
    result("program", syscall(SYS_bpf, BPF_PROG_LOAD, &attributes, sizeof attributes));
}

static void perf(int count, char **words)
{
    (void)count, (void)words;
    struct perf_event_attr attributes = {
        .type = PERF_TYPE_SOFTWARE, .size = sizeof attributes, .config = PERF_COUNT_SW_CPU_CLOCK};
    result("own", syscall(SYS_perf_event_open, &attributes, 0, -1, -1, 0));
    result("cpu", syscall(SYS_perf_event_open, &attributes, -1, 0, -1, 0));
}

static void userfault(int count, char **words)
{
    (void)count, (void)words;
    result("fd", syscall(SYS_userfaultfd, O_CLOEXEC));
}

/* key NAME: look for a key that the host holds in its user keyring, and read it. */
static void key(int count, char **words)
{
    (void)count;
    char value[128];
    const long rings[] = {
        KEY_SPEC_USER_KEYRING, KEY_SPEC_SESSION_KEYRING, KEY_SPEC_USER_SESSION_KEYRING};
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
        const long found = syscall(SYS_keyctl, KEYCTL_SEARCH, rings[i], "user", words[1], 0);
        result("search", found);
        const long got =
            found < 0 ? -1 : syscall(SYS_keyctl, KEYCTL_READ, found, value, sizeof value);
        if (got > 0 && got <= (long)sizeof value) {
            fact_text("text", value, (size_t)got);
            return;
        }
    }
}

/* peek PID: of a process that the host named by its own number. */
static void peek(int count, char **words)
{
    (void)count;
    const pid_t target = (pid_t)number(words[1]);
    char byte;
    const struct iovec local = {&byte, 1}, remote = {NULL, 1};
    result("attach", ptrace(PTRACE_SEIZE, target, 0, 0));
    result("detach", ptrace(PTRACE_DETACH, target, 0, 0));
    result("read", process_vm_readv(target, &local, 1, &remote, 1, 0));
    result("pidfd", syscall(SYS_pidfd_open, target, 0));
    result("signal", syscall(SYS_kill, target, 0));
}

static void sockets(int count, char **words)
{
    (void)count, (void)words;
    long long granted[FAMILIES];
    size_t granted_count = 0;
    const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET};
    alarm(60);
    for (int family = 1; family < FAMILIES; family++)
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            const int fd = socket(family, types[i] | SOCK_CLOEXEC, 0);
            if (fd < 0 && errno == EAFNOSUPPORT)
                break; /* for the other types the kernel would look for a module once more */
            if (fd < 0)
                continue;
            granted[granted_count++] = family;
            close(fd);
            break;
        }
    fact_ints("families", granted, granted_count);
}

/* socket FAMILY TYPE PROTOCOL */
static void one_socket(int count, char **words)
{
    (void)count;
    result("fd", socket((int)number(words[1]), (int)number(words[2]), (int)number(words[3])));
}

/* open FLAGS PATH...: opens and closes; FLAGS as in open(2). Nothing is read or written. */
static void open_paths(int count, char **words)
{
    long long opened = 0;
    for (int i = 2; i < count; i++) {
        const int fd = open(words[i], (int)number(words[1]) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        fact_int(words[i], fd < 0 ? -errno : 0);
        if (fd < 0)
            continue;
        opened++;
        close(fd);
    }
    fact_int("opened", opened);
}

/* node DIRECTORY MAJOR MINOR: make a block device there, and read it. */
static void node(int count, char **words)
{
    (void)count;
    char path[512], block[512];
    snprintf(path, sizeof path, "%s/isobench-node", words[1]);
    result("mknod", mknod(path, S_IFBLK | 0600,
                        makedev((unsigned)number(words[2]), (unsigned)number(words[3]))));
    const ptrdiff_t got = read_file(path, block, sizeof block);
    if (got < 0)
        fact_int("read_errno", -got);
    else
        fact_text("text", block, strnlen(block, (size_t)got));
    unlink(path);
}

/* Behind the check of rights each of these fails: no module, no image, no length of a tick that
 * there is. Not reboot(): who has a process namespace may end that, which is nothing of the host's.
 * Not clock_settime(): what is no time is refused before the rights are looked at. */
static void machine_calls(int count, char **words)
{
    (void)count, (void)words;
    struct timex clock = {.modes = ADJ_TICK, .tick = 1};
    result("module", syscall(SYS_init_module, "", 0, ""));
    result("unload", syscall(SYS_delete_module, "isobench_no_such_module", O_NONBLOCK));
    result("kexec", syscall(SYS_kexec_load, 0, -1, NULL, -1));
    result("tick", syscall(SYS_adjtimex, &clock));
}

static void namespaces(int count, char **words)
{
    (void)count, (void)words;
    const int fd = open("/proc/1/ns/mnt", O_RDONLY | O_CLOEXEC);
    result("open", fd);
    result("setns", setns(fd, CLONE_NEWNS));
    result("uts", unshare(CLONE_NEWUTS));
    result("net", unshare(CLONE_NEWNET));
}

static void handles(int count, char **words)
{
    (void)count, (void)words;
    struct {
        struct file_handle handle;
        unsigned char bytes[128];
    } buffer = {.handle = {.handle_bytes = sizeof buffer.bytes}};
    int mount_id;
    result("name", name_to_handle_at(AT_FDCWD, "/", &buffer.handle, &mount_id, 0));
    const int root = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    result("open", open_by_handle_at(root, &buffer.handle, O_RDONLY | O_CLOEXEC));
    result("fanotify", (long)syscall(SYS_fanotify_init, 0, O_RDONLY));
}

static void privileges(int count, char **words)
{
    (void)count, (void)words;
    char status[4096];
    const ptrdiff_t got = read_file("/proc/self/status", status, sizeof status - 1);
    status[got > 0 ? got : 0] = 0;
    const char *const keys[] = {"CapEff", "CapBnd", "NoNewPrivs", "Seccomp"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const char *found = strstr(status, keys[i]);
        if (!found)
            continue;
        found += strlen(keys[i]) + 2;
        fact_text(keys[i], found, strcspn(found, "\n"));
    }
    fact_int("uid", getuid());
}

const struct probe reach_probes[] = {
    {"io_uring", 0, io_uring},
    {"userns", 0, userns},
    {"mount", 0, mount_tmpfs},
    {"bpf", 0, bpf_load},
    {"perf", 0, perf},
    {"userfault", 0, userfault},
    {"key", 1, key},
    {"peek", 1, peek},
    {"sockets", 0, sockets},
    {"socket", 3, one_socket},
    {"open", 2, open_paths},
    {"node", 3, node},
    {"machine_calls", 0, machine_calls},
    {"namespaces", 0, namespaces},
    {"handles", 0, handles},
    {"privileges", 0, privileges},
    {0},
};
