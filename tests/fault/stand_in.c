/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stand_in.c: stands for vmrun-monitor where the faults are those of the other processes: it says
 * and writes what a monitor does whose guest ran the task of drive.py, within a millisecond and
 * without a guest (tests only).
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "ipc/ipc.h"
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

static uint64_t append(uint64_t at, const struct archive_record *record, const char *name)
{
    const int disk = MONITOR_FD_DISK + DISK_EXPORT;
    uint8_t bytes[ARCHIVE_RECORD_BYTES];

    archive_put_record(bytes, record);
    fd_pwrite_all(disk, bytes, sizeof(bytes), at);
    fd_pwrite_all(disk, name, strlen(name), at + sizeof(bytes));
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
    fd_pwrite_all(MONITOR_FD_DISK + DISK_EXPORT, header, sizeof(header), 0);
    at = append(at, &file, "out");
    at = append(at, &extent, "hello\n"); /* data stands where a name would */
    append(at, &end, "");
}

int main(void)
{
    static struct ipc_record record;
    const struct ipc_probed probed = {.works = true, .loops_per_ms = 1000000, .create_ns = 1};
    const struct ipc_ended ended = {.cause = IPC_END_DONE};

    if (ipc_receive(IPC_FD, &record, &err) != 1)
        return EXIT_FAILURE;
    if (record.kind == IPC_PROBE)
        return ipc_send_probed(IPC_FD, &probed, &err) < 0;
    export();
    say_all();
    return ipc_send_ended(IPC_FD, &ended, &err) < 0;
}
