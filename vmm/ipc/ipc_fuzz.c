/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc_fuzz.c: one packet of a child that was taken over, to the getter of its kind. What is
 * accepted must be inside the ranges that the supervisor relies on.
 */
#include <string.h>

#include "base/num.h"
#include "ipc/ipc.h"

static void fuzz_monitor(const struct ipc_record *record)
{
    static struct ipc_ended ended;
    struct ipc_running running;
    struct ipc_probed probed;
    struct err err = ERR_INIT;

    if (ipc_get_ended(record, &ended, &err) == 0) {
        must(ended.cause >= IPC_END_DONE && ended.cause <= IPC_END_KERNEL);
        must(ended.console_bytes <= sizeof(ended.console_tail));
        must(memchr(ended.text, '\0', sizeof(ended.text)) != NULL);
    }
    if (ipc_get_probed(record, &probed, &err) == 0)
        must(memchr(probed.text, '\0', sizeof(probed.text)) != NULL);
    (void)ipc_get_running(record, &running, &err);
}

static void fuzz_scribe_and_extractor(const struct ipc_record *record)
{
    static struct ipc_entry entry;
    struct ipc_stream_totals totals;
    struct ipc_extracted extracted;
    struct err err = ERR_INIT;

    if (ipc_get_stream(record, &totals, &err) == 0)
        must(totals.stream < STREAM_COUNT && totals.kept_bytes <= totals.total_bytes);
    if (ipc_get_entry(record, &entry, &err) == 0) {
        must(entry.kind >= ENTRY_FILE && entry.kind <= ENTRY_SKIPPED && entry.mode <= 07777);
        must(entry.name_bytes <= sizeof(entry.name) && entry.type < ARTIFACT_TYPES);
        must(memchr(entry.exported, '\0', sizeof(entry.exported)) != NULL);
        must(memchr(entry.reason, '\0', sizeof(entry.reason)) != NULL);
    }
    if (ipc_get_extracted(record, &extracted, &err) == 0) {
        must(extracted.status >= EXTRACT_COMPLETE && extracted.status <= EXTRACT_FAILED);
        must(memchr(extracted.text, '\0', sizeof(extracted.text)) != NULL);
    }
}

/* What the supervisor sends: trusted, but decoded by the same means. */
static void fuzz_setups(const struct ipc_record *record)
{
    static struct ipc_machine machine;
    struct ipc_extract extract;
    struct ipc_scribe scribe;
    struct err err = ERR_INIT;

    if (ipc_get_machine(record, &machine, &err) == 0) {
        must(machine.disk_count <= IPC_DISKS_MAX && machine.cpu_mask_count <= IPC_CPU_MASK_MAX);
        must(memchr(machine.cmdline, '\0', sizeof(machine.cmdline)) != NULL);
    }
    (void)ipc_get_extract(record, &extract, &err);
    (void)ipc_get_scribe(record, &scribe, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ipc_record record;

    if (size < 4 || size - 4 > sizeof(record.payload))
        return 0;
    record.kind = (enum ipc_kind)(le32_load(data) & 63); /* the sender's kinds are all below 64 */
    record.size = size - 4;
    memcpy(record.payload, data + 4, record.size);
    fuzz_monitor(&record);
    fuzz_scribe_and_extractor(&record);
    fuzz_setups(&record);
    return 0;
}
