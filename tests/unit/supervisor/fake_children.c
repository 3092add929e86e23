/* SPDX-License-Identifier: Apache-2.0 */
/* fake_children.c: see fake_children.h. */
#include "tests/unit/supervisor/fake_children.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "ipc/ipc.h"

static struct ipc_record record;
static struct err err = ERR_INIT;
static char script[32];

static bool script_is(const char *word)
{
    return strcmp(script, word) == 0;
}

static void say_wire(enum ipc_kind kind, const uint8_t *message, size_t size)
{
    ipc_send_wire(IPC_FD, kind, message + WIRE_HEADER_BYTES, size - WIRE_HEADER_BYTES, &err);
}

static void say_hello(void)
{
    struct wire_hello hello = {.version = WIRE_VERSION, .cpu_count = 1, .release = "6.1-fake"};
    uint8_t bytes[600];

    say_wire(IPC_HELLO, bytes, wire_put_hello(bytes, sizeof(bytes), &hello));
}

static void say_started(void)
{
    struct wire_started started = {.controls = WIRE_CONTROL_UID};
    uint8_t bytes[600];

    say_wire(IPC_STARTED, bytes, wire_put_started(bytes, sizeof(bytes), &started));
}

static void say_exited(uint32_t code, uint32_t limits)
{
    struct wire_exited exited = {.how = WIRE_HOW_EXITED, .code = code, .limits = limits};
    uint8_t bytes[600];

    say_wire(IPC_EXITED, bytes, wire_put_exited(bytes, sizeof(bytes), &exited));
}

static void say_exported(void)
{
    struct wire_exported exported = {.files = 1};
    uint8_t bytes[600];

    say_wire(IPC_EXPORTED, bytes, wire_put_exported(bytes, sizeof(bytes), &exported));
}

_Noreturn static void end(enum ipc_end cause)
{
    struct ipc_ended ended = {.cause = cause, .rip = 0x1000};

    ipc_send_ended(IPC_FD, &ended, &err);
    exit(0);
}

/* Wait for KIND; anything else ends the process with 9. */
static void await(enum ipc_kind kind)
{
    if (ipc_receive(IPC_FD, &record, &err) != 1 || record.kind != kind)
        exit(9);
}

/* How many things about this process are not as spawn.h promises. */
static uint32_t count_leaks(void)
{
    DIR *directory = opendir("/proc/self/fd");
    const struct dirent *entry;
    uint32_t leaks = 0;
    sigset_t blocked;

    while ((entry = readdir(directory))) {
        int fd = atoi(entry->d_name);

        if (fd > MONITOR_FD_DISK + DISK_EXPORT && fd != dirfd(directory))
            leaks++;
    }
    closedir(directory);
    for (int fd = 0; fd <= MONITOR_FD_DISK + DISK_EXPORT; fd++)
        leaks += fcntl(fd, F_GETFD) < 0;
    leaks += environ[0] != NULL;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    for (int number = 1; number < NSIG; number++)
        leaks += sigismember(&blocked, number) == 1;
    leaks += signal(SIGPIPE, SIG_DFL) != SIG_DFL;
    leaks += signal(SIGRTMAX, SIG_DFL) != SIG_DFL;
    leaks += getsid(0) != getpid();
    return leaks;
}

/* They come as the monitor wants them, non-blocking; this one would rather wait. Returns how many
 * did not. */
static uint32_t make_blocking(void)
{
    static const int fds[] = {MONITOR_FD_STDOUT, MONITOR_FD_STDERR, MONITOR_FD_STDIN};
    uint32_t missing = 0;

    for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++) {
        int flags = fcntl(fds[i], F_GETFL);
        struct stat status;

        missing += fstat(fds[i], &status) == 0 && S_ISFIFO(status.st_mode) && !(flags & O_NONBLOCK);
        fcntl(fds[i], F_SETFL, flags & ~O_NONBLOCK);
    }
    return missing;
}

static void flood(void)
{
    char block[4096];

    memset(block, 'x', sizeof(block));
    for (int i = 0; i < 256; i++)
        fd_write_all(MONITOR_FD_STDOUT, block, sizeof(block));
}

/* Everything that STDIN holds goes to STDOUT. */
static void copy_stdin(void)
{
    char block[4096];
    ssize_t count;

    while ((count = read(MONITOR_FD_STDIN, block, sizeof(block))) > 0)
        fd_write_all(MONITOR_FD_STDOUT, block, (size_t)count);
}

static void spend_cpu_ms(uint64_t ms)
{
    struct timespec used;
    uint64_t end = 0;

    do {
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
        end = end ? end : (uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / NS_PER_MS + ms;
    } while ((uint64_t)used.tv_sec * 1000 + (uint64_t)used.tv_nsec / NS_PER_MS <= end);
}

/* What happens while the task runs; returns its exit code. */
static uint32_t run_task(void)
{
    if (script_is("flood"))
        flood();
    else if (script_is("cat"))
        copy_stdin();
    else
        fd_write_all(MONITOR_FD_STDOUT, "# out\n", 6);
    if (script_is("cancel") || script_is("stubborn"))
        kill(getppid(), SIGINT);
    if (script_is("cancel")) {
        await(IPC_CANCEL);
        say_exited(0, WIRE_LIMIT_CANCELLED);
    }
    if (script_is("stubborn")) {
        await(IPC_CANCEL);
        kill(getppid(), SIGINT);
    }
    if (script_is("hang") || script_is("stubborn"))
        await(IPC_HALT);
    if (script_is("busy")) {
        for (;;)
            (void)getppid();
    }
    if (script_is("sigxcpu"))
        raise(SIGXCPU);
    if (script_is("spent")) { /* between two looks of the supervisor's, as a rule */
        usleep(200 * 1000);
        spend_cpu_ms(2125 + 10);
        raise(SIGKILL);
    }
    if (script_is("talk")) {
        for (int i = 0; i < 14; i++) {
            usleep(400 * 1000);
            fd_write_all(MONITOR_FD_STDOUT, "#\n", 2);
        }
    }
    if (script_is("deaf")) {
        for (;;)
            pause();
    }
    return script_is("leaks") ? count_leaks() : 0;
}

/* The second machine: what it may have, then what the script says. */
_Noreturn static void be_salvager(const struct ipc_machine *machine)
{
    struct ipc_running running = {.mono_ns = clock_mono_ns()};
    bool right = machine->cpu_count == 1 && machine->memory_bytes <= 256 << 20 &&
                 machine->disk_count == 3 && machine->disks[DISK_IMAGE].readonly &&
                 !machine->disks[DISK_EXPORT].readonly && !machine->has_stdin &&
                 machine->console == script_is("lost-loud") && count_leaks() == 0 &&
                 (fcntl(MONITOR_FD_DISK + DISK_SCRATCH, F_GETFL) & O_ACCMODE) == O_RDONLY;

    if (!right)
        exit(5);
    ipc_send_running(IPC_FD, &running, &err);
    say_hello();
    fd_write_all(MONITOR_FD_CONSOLE, "second\n", 7);
    if (script_is("lost-2"))
        end(IPC_END_SHUTDOWN);
    if (script_is("lost-crash"))
        abort();
    if (script_is("lost-early"))
        end(IPC_END_DONE); /* without EXPORTED */
    if (script_is("lost-int"))
        kill(getppid(), SIGINT);
    if (script_is("lost-hang") || script_is("lost-int")) {
        for (;;)
            pause();
    }
    if (script_is("lost-start"))
        say_started(); /* nothing is to be started */
    say_exited(0, 0);
    say_exported();
    if (script_is("lost-twice"))
        say_exported();
    end(IPC_END_DONE);
}

_Noreturn static void be_monitor(void)
{
    struct ipc_running running;
    struct ipc_machine machine;
    uint32_t code;

    await(IPC_MACHINE);
    if (ipc_get_machine(&record, &machine, &err) < 0)
        exit(8);
    must(make_blocking() == 0);
    pread(MONITOR_FD_KERNEL, script, sizeof(script) - 1, 0);
    if (machine.disks[DISK_SCRATCH].readonly)
        be_salvager(&machine);
    if (script_is("silent")) {
        await(IPC_HALT);
        end(IPC_END_HALTED);
    }
    if (script_is("term")) {
        kill(getppid(), SIGTERM);
        await(IPC_HALT);
        end(IPC_END_HALTED);
    }
    running.mono_ns = script_is("past") ? 1 : clock_mono_ns();
    ipc_send_running(IPC_FD, &running, &err);
    if (script_is("repeat"))
        ipc_send_running(IPC_FD, &running, &err);
    if (script_is("early"))
        say_exited(0, 0);
    say_hello();
    if (script_is("crash"))
        abort();
    if (script_is("disk"))
        end(IPC_END_DISK);
    if (script_is("lost-boot"))
        end(IPC_END_SHUTDOWN);
    fd_write_all(MONITOR_FD_CONSOLE, "first\n", 6);
    say_started();
    if (script_is("lost-disk"))
        end(IPC_END_DISK);
    if (strncmp(script, "lost", 4) == 0)
        end(IPC_END_SHUTDOWN);
    code = run_task();
    if (script_is("hang"))
        end(IPC_END_HALTED);
    if (!script_is("cancel"))
        say_exited(code, 0);
    say_exported();
    end(IPC_END_DONE);
}

static void copy_stream(int stream, struct ipc_stream_totals *totals)
{
    char block[4096];
    ssize_t count;

    while ((count = read(SCRIBE_FD_IN + stream, block, sizeof(block))) > 0) {
        fd_write_all(SCRIBE_FD_LOG + stream, block, (size_t)count);
        fd_write_all(SCRIBE_FD_LIVE + stream, block, (size_t)count);
        totals->total_bytes += (uint64_t)count;
        totals->kept_bytes = totals->total_bytes;
    }
}

_Noreturn static void be_scribe(void)
{
    struct ipc_scribe setup;

    await(IPC_SCRIBE);
    if (ipc_get_scribe(&record, &setup, &err) < 0 || setup.cap_bytes[0] == SCRIBE_DIES_AT_ONCE)
        exit(7);
    for (uint32_t stream = 0; stream < STREAM_COUNT; stream++) {
        struct ipc_stream_totals totals = {.stream = stream};

        copy_stream((int)stream, &totals);
        if (setup.cap_bytes[0] == SCRIBE_IS_STUCK)
            continue;
        if (setup.cap_bytes[0] != SCRIBE_SAYS_NOTHING)
            ipc_send_stream(IPC_FD, &totals, &err);
    }
    while (setup.cap_bytes[0] == SCRIBE_IS_STUCK) {
        usleep(500 * 1000); /* until the monitor's end has been seen */
        kill(getppid(), SIGINT);
    }
    if (setup.cap_bytes[0] == SCRIBE_LEAVES_A_CHILD && fork() == 0) {
        alarm(30); /* it holds the live pipes until then */
        for (;;)
            pause();
    }
    exit(0);
}

/* The supervisor has the scratch disk of supervised.c open. */
static bool scratch_is_held(void)
{
    char path[64], target[64];
    const struct dirent *entry;
    bool held = false;
    DIR *directory;

    snprintf(path, sizeof(path), "/proc/%d/fd", (int)getppid());
    directory = opendir(path);
    while (directory && (entry = readdir(directory))) {
        ssize_t length = readlinkat(dirfd(directory), entry->d_name, target, sizeof(target) - 1);

        target[length < 0 ? 0 : length] = '\0';
        held |= strncmp(target, "/memfd:scratch ", 15) == 0;
    }
    if (directory)
        closedir(directory);
    return held || !directory;
}

_Noreturn static void be_extractor(void)
{
    struct ipc_entry entry = {.kind = ENTRY_FILE,
        .size = 4,
        .name_bytes = 3,
        .name = "a\xff"
                "b"};
    struct ipc_extracted extracted = {.status = EXTRACT_COMPLETE, .files = 1, .bytes = 4};
    struct ipc_extract setup;
    int fd;

    await(IPC_EXTRACT);
    if (ipc_get_extract(&record, &setup, &err) < 0 || scratch_is_held())
        exit(6);
    fd = openat(EXTRACTOR_FD_OUT, "file", O_WRONLY | O_CREAT | O_EXCL, 0644);
    fd_write_all(fd, "data", 4);
    mkdirat(EXTRACTOR_FD_OUT, "dir", 0755);
    if (setup.max_files == EXTRACTOR_SETS_ID && fchmod(fd, 04755) < 0)
        exit(5);
    if (setup.max_files >= EXTRACTOR_REFUSES) /* a rule is broken: this is removed, not followed */
        symlinkat("/etc", EXTRACTOR_FD_OUT, "dir/link");
    ipc_send_entry(IPC_FD, &entry, &err);
    if (setup.max_files == EXTRACTOR_NEVER_ENDS) {
        /* Several, so that there is always something to read; they end with the channel. */
        for (int i = 0; i < 3; i++)
            (void)!fork();
        while (ipc_send_entry(IPC_FD, &entry, &err) == 0)
            continue;
        exit(0);
    }
    if (setup.max_files == EXTRACTOR_CRASHES)
        abort();
    if (setup.max_files == EXTRACTOR_REFUSES)
        extracted = (struct ipc_extracted){.status = EXTRACT_REFUSED, .text = "no\n"};
    ipc_send_extracted(IPC_FD, &extracted, &err);
    if (setup.max_files == EXTRACTOR_REPEATS_ITSELF)
        ipc_send_extracted(IPC_FD, &extracted, &err);
    exit(0);
}

void fake_child(const char *name)
{
    if (strcmp(name, "vmrun-monitor") == 0)
        be_monitor();
    if (strcmp(name, "vmrun-scribe") == 0)
        be_scribe();
    if (strcmp(name, "vmrun-extractor") == 0)
        be_extractor();
}
