/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stand_in.c: stands for vmrun-monitor where the faults are those of the other processes: it says
 * and writes what a monitor does whose guest ran the task of drive.py, within a millisecond and
 * without a guest (tests only). Its jail is the monitor's own, a thread for each vCPU included, so
 * that what the supervisor reads back of it is no pretence either.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/clock.h"
#include "base/fd.h"
#include "ipc/ipc.h"
#include "jail/jail.h"
#include "monitor/powers.h"
#include "wire/archive.h"
#include "wire/wire.h"

static struct err err = ERR_INIT;

static void say(enum ipc_kind kind, const uint8_t *message, size_t size)
{
    ipc_send_wire(IPC_FD, kind, message + WIRE_HEADER_BYTES, size - WIRE_HEADER_BYTES, &err);
}

static void say_all(void)
{
    struct wire_hello hello = {.version = WIRE_VERSION, .cpu_count = 1, .release = "6.1"};
    struct wire_started started = {.controls = WIRE_CONTROL_UID};
    struct wire_exited exited = {.how = WIRE_HOW_EXITED};
    struct wire_exported exported = {.files = 1};
    struct ipc_running running = {.mono_ns = clock_mono_ns()};
    uint8_t bytes[1024];

    ipc_send_running(IPC_FD, &running, &err);
    say(IPC_HELLO, bytes, wire_put_hello(bytes, sizeof(bytes), &hello));
    say(IPC_STARTED, bytes, wire_put_started(bytes, sizeof(bytes), &started));
    fd_write_all(MONITOR_FD_STDOUT, "hello\n", 6);
    fd_write_all(MONITOR_FD_STDERR, "to-stderr\n", 10);
    say(IPC_EXITED, bytes, wire_put_exited(bytes, sizeof(bytes), &exited));
    say(IPC_EXPORTED, bytes, wire_put_exported(bytes, sizeof(bytes), &exported));
}

/* The jail allows the call that the disk makes, and no other that writes at an offset. */
static void put(uint64_t at, const void *bytes, size_t size)
{
    char copy[ARCHIVE_HEADER_BYTES + ARCHIVE_RECORD_BYTES];
    const struct iovec part = {.iov_base = copy, .iov_len = size};

    must(size <= sizeof(copy));
    memcpy(copy, bytes, size);
    must(pwritev(MONITOR_FD_DISK + DISK_EXPORT, &part, 1, (off_t)at) == (ssize_t)size);
}

static uint64_t append(uint64_t at, const struct archive_record *record, const char *name)
{
    uint8_t bytes[ARCHIVE_RECORD_BYTES];

    archive_put_record(bytes, record);
    put(at, bytes, sizeof(bytes));
    put(at + sizeof(bytes), name, strlen(name));
    return at + sizeof(bytes) + strlen(name);
}

/* The file "out" with what the task's input held. */
static void export(void)
{
    const struct archive_record file = {
        .kind = ARCHIVE_FILE, .name_bytes = 3, .mode = 0644, .size = 6};
    const struct archive_record extent = {.kind = ARCHIVE_EXTENT, .size = 6};
    const struct archive_record end = {.kind = ARCHIVE_END, .size = 2};
    uint8_t header[ARCHIVE_HEADER_BYTES];
    uint64_t at = sizeof(header);

    archive_put_header(header);
    put(0, header, sizeof(header));
    at = append(at, &file, "out");
    at = append(at, &extent, "hello\n"); /* data stands where a name would */
    append(at, &end, "");
}

/* ---- the jail ---- */

static struct jail jail;
static sem_t sealed, never;
static int seal_errno;

/* A vCPU that is never let go. */
static void *vcpu(void *unused)
{
    if (jail_seal_thread(&jail, MONITOR_THREAD_VCPU) < 0)
        seal_errno = errno;
    sem_post(&sealed);
    for (;;)
        sem_wait(&never);
    return unused;
}

static int start_and_seal(uint32_t cpu_count)
{
    sem_init(&sealed, 0, 0);
    sem_init(&never, 0, 0);
    for (uint32_t i = 0; i < cpu_count; i++) {
        pthread_t thread;

        errno = pthread_create(&thread, NULL, vcpu, NULL);
        if (errno)
            return err_sys(&err, "cannot start a thread");
        sem_wait(&sealed);
        errno = seal_errno;
        if (errno)
            return err_sys(&err, "cannot seal a thread");
    }
    return jail_seal(&jail, &err);
}

static int stand_in(const struct ipc_record *record)
{
    const struct ipc_probed probed = {.works = true, .loops_per_ms = 1000000, .create_ns = 1};
    const struct ipc_ended ended = {.cause = IPC_END_DONE};
    static struct ipc_machine setup;

    if (record->kind == IPC_PROBE)
        return ipc_send_probed(IPC_FD, &probed, &err);
    if (ipc_get_machine(record, &setup, &err) < 0 || start_and_seal(setup.cpu_count) < 0)
        return -1;
    export();
    say_all();
    return ipc_send_ended(IPC_FD, &ended, &err);
}

int main(void)
{
    static struct ipc_record record;

    if (jail_enter(&jail, &monitor_powers, &err) < 0 || ipc_receive(IPC_FD, &record, &err) != 1 ||
        stand_in(&record) < 0)
        _Exit(err_exit_code(&err));
    _Exit(EXIT_SUCCESS);
}
