/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe.c: enters the jail of each process and tries everything. Prints TAP.
 *
 *     probe            as root and as a user; needs no KVM
 *     probe --table    the rows of every table: process, thread, call, reason
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "extractor/powers.h"
#include "jail/proof.h"
#include "jail/root.h"
#include "monitor/powers.h"
#include "scribe/powers.h"
#include "tests/jail/rig.h"

/* More than any Linux has so far. */
enum { CALLS_MAX = 512, CALL_PASSED = 0, CALL_REFUSED = 1 };

static const struct powers *const all_powers[] = {
    &monitor_powers, &scribe_powers, &extractor_powers};

/* What the probes outside of the jail are; set before it is entered. */
static struct {
    pid_t supervisor, other;
    int tcp_port, shm;
    struct sockaddr_un abstract;
} outside;

static unsigned int thread_kind; /* of the powers, that is probed */

/* ---- one system call, in a process of its own with the filter on ---- */

/* The end must be among the rights: exit, or exit_group. */
static long end_call(const struct powers_thread *thread)
{
    for (const struct powers_call *call = thread->calls; call->name; call++) {
        if (call->number == SYS_exit_group)
            return SYS_exit_group;
    }
    return SYS_exit;
}

static int try_call(const struct jail *jail, long number, const uint64_t args[6])
{
    long end = end_call(jail->powers->threads[thread_kind]);
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        signal(SIGUSR1, SIG_IGN);
        alarm(20);
        if (jail_seal_thread(jail, thread_kind) < 0)
            kill(getpid(), SIGKILL);
        syscall(number, args[0], args[1], args[2], args[3], args[4], args[5]);
        for (;;)
            syscall(end, 0);
    }
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS ? CALL_REFUSED : CALL_PASSED;
}

static const struct powers_call *list_of(const struct powers_thread *thread, int list)
{
    return list == 0 ? thread->calls : thread->arch_calls;
}

/* What the lower half of the argument is to be, for all checks but POWERS_LACKS. */
static uint32_t value_of(const struct powers_arg *arg)
{
    return arg->check == POWERS_SELF ? (uint32_t)getpid() : arg->value;
}

/* Arguments that do nothing, but fulfil the conditions of ROW. */
static void row_arguments(const struct powers_call *row, uint64_t args[6])
{
    for (int i = 0; i < 6; i++)
        args[i] = UINT64_MAX;
    for (int i = 0; row && i < POWERS_ARGS_MAX; i++) {
        const struct powers_arg *arg = &row->args[i];

        if (arg->check == POWERS_LACKS)
            args[arg->index] = ~(uint64_t)arg->value;
        else if (arg->check != POWERS_ANY)
            args[arg->index] = value_of(arg);
    }
}

static const struct powers_call *row_of(const struct powers_thread *thread, long number)
{
    for (int list = 0; list < 2; list++) {
        for (const struct powers_call *row = list_of(thread, list); row && row->name; row++) {
            if (row->number == number)
                return row;
        }
    }
    return NULL;
}

/*
 * uretprobe and uprobe of x86_64: the kernel lets them by whatever a filter says, and answers with
 * an error where they do not come from its own trampoline.
 */
static bool passes_every_filter(long number)
{
    return number == 335 || number == 336;
}

/* Exactly the calls of the table are let through. */
static void probe_numbers(struct jail *jail, const struct powers_thread *thread)
{
    int passed = 0, wrong = 0, by_other_doors = 0;

    for (long number = 0; number < CALLS_MAX; number++) {
        const struct powers_call *row = row_of(thread, number);
        uint64_t args[6];
        int result;

        if (passes_every_filter(number))
            continue;
        row_arguments(row, args);
        result = try_call(jail, number, args);
        passed += result == CALL_PASSED;
        if (result != (row ? CALL_PASSED : CALL_REFUSED)) {
            wrong++;
            rig_say(false, "%s: call %ld is %s", thread->name, number,
                row ? "refused, but in the table" : "let through, but not in the table");
        }
        by_other_doors += row && try_call(jail, number | 0x40000000, args) == CALL_PASSED;
    }
    rig_say(wrong == 0, "%s: of %d calls exactly the %d of its table are let through", thread->name,
        CALLS_MAX, passed);
    rig_say(by_other_doors == 0, "%s: none by the numbers of x32", thread->name);
}

/* A condition holds at its value and fails beside it, whatever the upper half of the register. */
static void probe_conditions(struct jail *jail, const struct powers_thread *thread)
{
    int tried = 0, wrong = 0;

    for (int list = 0; list < 2; list++) {
        for (const struct powers_call *row = list_of(thread, list); row && row->name; row++) {
            for (int i = 0; i < POWERS_ARGS_MAX && row->args[i].check != POWERS_ANY; i++) {
                const struct powers_arg *arg = &row->args[i];
                bool lacks = arg->check == POWERS_LACKS;
                uint64_t args[6];

                tried++;
                row_arguments(row, args);
                wrong += try_call(jail, row->number, args) != CALL_PASSED;
                args[arg->index] |= UINT64_C(0x12300000000);
                wrong += try_call(jail, row->number, args) != CALL_PASSED;
                args[arg->index] = lacks ? arg->value : value_of(arg) + 0x100u;
                wrong += try_call(jail, row->number, args) != CALL_REFUSED;
                args[arg->index] = lacks ? UINT64_MAX : value_of(arg) ^ 0x80000000u;
                wrong += try_call(jail, row->number, args) != CALL_REFUSED;
            }
        }
    }
    rig_say(wrong == 0, "%s: %d conditions on arguments hold, and nothing beside them",
        thread->name, tried);
}

static void inside_filter(struct jail *jail)
{
    const struct powers_thread *thread = jail->powers->threads[thread_kind];
    struct jail_message gate;
    struct err err = ERR_INIT;

    jail_hear(JAIL_FD, &gate, &err);
    probe_numbers(jail, thread);
    probe_conditions(jail, thread);
    _exit(0);
}

/* ---- paths, sockets, processes: what namespaces and Landlock leave, without the filter ---- */

static void refused(bool was, const char *what)
{
    rig_say(was, "refused: %s (%s)", what, strerror(errno));
}

static void inside_files(void)
{
    rig_say(landlock_holds() || landlock_abi() == 0, "the root is empty, and cannot be listed");
    refused(open("/etc/passwd", O_RDONLY) < 0, "open /etc/passwd");
    refused(open("/proc/self/status", O_RDONLY) < 0, "open /proc");
    refused(open("/dev/kvm", O_RDWR) < 0, "open /dev/kvm");
    refused(open("/new", O_CREAT | O_WRONLY, 0600) < 0, "create a file in the root");
    refused(mkdir("/new", 0700) < 0, "create a directory in the root");
    refused(open("/", O_TMPFILE | O_RDWR, 0600) < 0, "create a file without a name");
    refused(openat(5, "../etc/passwd", O_RDONLY) < 0, "leave by a directory that is open");
    refused(execl("/bin/true", "true", NULL) < 0, "execute a program");
    refused(mount("none", "/", "tmpfs", 0, NULL) < 0, "mount");
    refused(chroot("/") < 0, "chroot");
    refused(syscall(SYS_open_by_handle_at, 5, NULL, 0) < 0, "open by handle");
}

static void inside_network(void)
{
    struct sockaddr_in loopback = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t)outside.tcp_port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int tcp = socket(AF_INET, SOCK_STREAM, 0);
    int local = socket(AF_UNIX, SOCK_STREAM, 0);

    refused(tcp < 0 || connect(tcp, (struct sockaddr *)&loopback, sizeof(loopback)) < 0,
        "connect to a port of the host");
    refused(local < 0 ||
                connect(local, (struct sockaddr *)&outside.abstract, sizeof(outside.abstract)) < 0,
        "connect to an abstract socket of the host");
    refused(shmat(outside.shm, NULL, SHM_RDONLY) == (void *)-1, "attach shared memory of the host");
    refused(socket(AF_PACKET, SOCK_RAW, 0) < 0, "open a packet socket");
}

static void inside_processes(void)
{
    const pid_t targets[] = {outside.supervisor, outside.other};
    static const char *const names[] = {"the supervisor", "a jail of another run"};

    for (size_t i = 0; i < 2; i++) {
        struct iovec here = {.iov_base = &errno, .iov_len = 4};
        struct iovec there = {.iov_base = &errno, .iov_len = 4};

        refused(kill(targets[i], 0) < 0, names[i]);
        refused(ptrace(PTRACE_SEIZE, targets[i], NULL, NULL) < 0, names[i]);
        refused(process_vm_readv(targets[i], &here, 1, &there, 1, 0) < 0, names[i]);
        refused(syscall(SYS_pidfd_open, targets[i], 0) < 0, names[i]);
        refused(setpriority(PRIO_PROCESS, (id_t)targets[i], 5) < 0, names[i]);
    }
    kill(-1, SIGKILL); /* everybody who can be named; the outside looks who is left */
}

/* Of whom that is limited. */
static void inside_memory(void)
{
    struct rlimit data = {.rlim_cur = 0};
    void *some, *all;

    if (getrlimit(RLIMIT_DATA, &data) < 0 || data.rlim_cur == RLIM_INFINITY)
        return;
    some = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    rig_say(some != MAP_FAILED, "a MiB of memory is there");
    all = mmap(NULL, data.rlim_cur, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    refused(all == MAP_FAILED, "take more memory than it may");
}

static void inside_rights(void)
{
    const struct rlimit more = {.rlim_cur = 1024, .rlim_max = 1024};
    int bounding = 0;

    for (int capability = 0; capability < 64; capability++)
        bounding += prctl(PR_CAPBSET_READ, capability, 0, 0, 0) == 1;
    rig_say(bounding == 0, "no capability in the bounding set");
    refused(setrlimit(RLIMIT_NOFILE, &more) < 0, "raise a resource limit");
    refused(sethostname("x", 1) < 0, "set the host's name");
    refused(setgid(12345) < 0 || setuid(12345) < 0, "become another user");
    refused(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0) < 0, "take no_new_privs back");
    refused(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 12, 0, 0) < 0, "raise a capability");
    refused(setns(5, 0) < 0, "enter a namespace");
}

static void inside_layers(struct jail *jail)
{
    struct jail_message gate;
    struct err err = ERR_INIT;

    (void)jail;
    jail_hear(JAIL_FD, &gate, &err);
    inside_files();
    inside_network();
    inside_processes();
    inside_rights();
    inside_memory();
    _exit(0);
}

static void inside_sleep(struct jail *jail)
{
    (void)jail;
    for (;;)
        pause();
}

/* ---- the whole way, to the gate and behind it ---- */

static void inside_gate(struct jail *jail)
{
    struct jail_message gate;
    struct err err = ERR_INIT;

    jail_hear(JAIL_FD, &gate, &err);
    if (jail_seal(jail, &err) == 0)
        syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
    _exit(1);
}

static void probe_gate(const struct powers *powers, const struct jail_ground *ground)
{
    struct jail_ground ours = *ground;
    struct err err = ERR_INIT;
    struct jail_message message = {.word = JAIL_FAILED};
    struct rig rig;
    int status;

    ours.debug = false;
    if (!rig_start(&rig, powers, &ours, inside_gate))
        return;
    report(jail_hear(rig.jail, &message, &err) == 1 && message.word == JAIL_SEALED &&
               proof_sealed(rig.pid, &ours, &rig.order, 1, &rig.controls, &err) == 0,
        "%s: sealed, and every control that is due was read back %s", powers->name, err.text);
    report(rig.controls == jail_controls_due(ours.kind, ours.uid), "%s: the controls are 0x%x",
        powers->name, rig.controls);
    jail_say(rig.jail, JAIL_GATE, 0, NULL);
    while (waitpid(rig.pid, &status, 0) < 0 && errno == EINTR)
        continue;
    rig.pid = 0;
    rig_end(&rig);
    report(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS,
        "%s: a call that its jail refuses kills it", powers->name);
}

/* Sealed, but for one step. */
static void inside_dumpable(struct jail *jail)
{
    struct jail_message gate;
    struct err err = ERR_INIT;

    jail_hear(JAIL_FD, &gate, &err);
    if (jail_seal_thread(jail, 0) == 0 && jail_say(JAIL_FD, JAIL_SEALED, 0, NULL) == 0)
        jail_hear(JAIL_FD, &gate, &err);
    for (;;)
        syscall(SYS_exit_group, 0);
}

static void probe_dumpable(const struct powers *powers, const struct jail_ground *ground)
{
    struct jail_message message = {.word = JAIL_FAILED};
    struct err err = ERR_INIT;
    struct rig rig;

    if (!rig_start(&rig, powers, ground, inside_dumpable))
        return;
    jail_hear(rig.jail, &message, &err);
    report(message.word == JAIL_SEALED &&
               proof_sealed(rig.pid, ground, &rig.order, 1, &rig.controls, &err) < 0 &&
               strcmp(err.text, "it is dumpable") == 0,
        "%s: that it is still dumpable is found (%s)", powers->name, err.text);
    kill(rig.pid, SIGKILL);
    rig_end(&rig);
}

static void probe_debug(const struct powers *powers, const struct jail_ground *ground)
{
    struct jail_message message = {.word = JAIL_FAILED};
    struct jail_ground ours = *ground;
    struct err err = ERR_INIT;
    struct rig rig;

    ours.debug = true;
    if (!rig_start(&rig, powers, &ours, inside_gate))
        return;
    jail_hear(rig.jail, &message, &err);
    jail_say(rig.jail, JAIL_GATE, 0, NULL);
    report(jail_hear(rig.jail, &message, &err) == 1 && message.word == JAIL_REFUSED &&
               message.number == SYS_socket,
        "%s: in debug mode it names the call", powers->name);
    rig_end(&rig);
}

/* ---- all of it ---- */

static void make_outside(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof(address);
    int tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    outside.supervisor = getpid();
    outside.abstract.sun_family = AF_UNIX;
    snprintf(outside.abstract.sun_path + 1, sizeof(outside.abstract.sun_path) - 1, "vmrun-%d",
        (int)getpid());
    outside.shm = shmget(IPC_PRIVATE, 4096, 0666 | IPC_CREAT);
    if (bind(tcp, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(tcp, 1) < 0 ||
        getsockname(tcp, (struct sockaddr *)&address, &length) < 0 ||
        bind(local, (struct sockaddr *)&outside.abstract, sizeof(outside.abstract)) < 0 ||
        listen(local, 1) < 0 || outside.shm < 0)
        report(false, "something outside to be reached: %s", strerror(errno));
    outside.tcp_port = ntohs(address.sin_port);
}

static void probe_layers(const struct powers *powers, const struct jail_ground *ground,
    const struct jail_ground *other_ground)
{
    struct rig rig, other;

    if (!rig_start(&other, powers, other_ground, inside_sleep))
        return;
    outside.other = other.pid;
    if (rig_start(&rig, powers, ground, inside_layers)) {
        rig_listen(&rig);
        rig_end(&rig);
    }
    report(kill(other.pid, 0) == 0 && waitpid(other.pid, NULL, WNOHANG) == 0,
        "%s: it killed everybody that it could name: the jail of another run still stands",
        powers->name);
    report(ground->kind == JAIL_ROOT ? ground->uid != other_ground->uid
                                     : ground->uid == other_ground->uid,
        "two runs have %s", ground->kind == JAIL_ROOT ? "two user IDs" : "one user ID");
    kill(other.pid, SIGKILL);
    rig_end(&other);
}

static void print_tables(void)
{
    for (size_t i = 0; i < sizeof(all_powers) / sizeof(all_powers[0]); i++) {
        for (unsigned int kind = 0; kind < POWERS_THREADS_MAX; kind++) {
            const struct powers_thread *thread = all_powers[i]->threads[kind];

            for (int list = 0; thread && list < 2; list++) {
                for (const struct powers_call *row = list_of(thread, list); row && row->name; row++)
                    printf(
                        "%s %s %s # %s\n", all_powers[i]->name, thread->name, row->name, row->why);
            }
        }
    }
}

int main(int argc, char **argv)
{
    const struct jail_ground_wish wish = {.first_uid = 1900000000, .count = 100};
    struct jail_ground ground, other;
    struct err err = ERR_INIT;

    if (argc > 1 && strcmp(argv[1], "--table") == 0) {
        print_tables();
        return 0;
    }
    if (jail_ground_make(&ground, &wish, &err) < 0 || jail_ground_make(&other, &wish, &err) < 0) {
        report(false, "a ground for jails: %s", err.text);
        return 1;
    }
    make_outside();
    for (size_t i = 0; i < sizeof(all_powers) / sizeof(all_powers[0]); i++) {
        probe_gate(all_powers[i], &ground);
        probe_dumpable(all_powers[i], &ground);
        probe_debug(all_powers[i], &ground);
        probe_layers(all_powers[i], &ground, &other);
        for (thread_kind = 0; thread_kind < POWERS_THREADS_MAX; thread_kind++) {
            struct rig rig;

            if (all_powers[i]->threads[thread_kind] &&
                rig_start(&rig, all_powers[i], &ground, inside_filter)) {
                rig_listen(&rig);
                rig_end(&rig);
            }
        }
    }
    shmctl(outside.shm, IPC_RMID, NULL);
    jail_ground_free(&ground);
    jail_ground_free(&other);
    return report_failed ? 1 : 0;
}
