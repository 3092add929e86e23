/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record.c: codecs of the records of ipc.h. What arrives here comes from one of our own processes,
 * which may have been taken over: every length, count and enum is checked.
 */
#include "ipc/record.h"

#include <string.h>

#include "base/cursor.h"

/* A record that is being written. */
struct draft {
    uint8_t bytes[IPC_RECORD_MAX_BYTES];
    struct writer writer;
};

static struct writer *draft_begin(struct draft *draft)
{
    draft->writer = writer_make(draft->bytes, sizeof(draft->bytes));
    return &draft->writer;
}

static int draft_send(int fd, enum ipc_kind kind, const struct draft *draft, struct err *err)
{
    must(!draft->writer.failed);
    return ipc_send(fd, kind, draft->bytes, draft->writer.used, err);
}

/* Decoding ends here: the record is of KIND, was read to its end, and VALID. */
static int record_check(const struct ipc_record *record, enum ipc_kind kind,
    const struct reader *reader, bool valid, struct err *err)
{
    if (record->kind != kind)
        return err_set(err, "record %u where %u was due", (unsigned)record->kind, (unsigned)kind);
    if (!reader_done(reader) || !valid)
        return err_set(err, "record %u is malformed", (unsigned)kind);
    return 0;
}

static struct reader record_reader(const struct ipc_record *record)
{
    return reader_make(record->payload, record->size);
}

static void put_string(struct writer *writer, const char *text, size_t max)
{
    size_t length = strnlen(text, max);

    writer_u32(writer, (uint32_t)length);
    writer_bytes(writer, text, length);
}

/* TEXT has room for MAX + 1. A NUL inside just ends the text. */
static void get_string(struct reader *reader, char *text, size_t max)
{
    size_t length = reader_u32(reader);

    if (length > max)
        reader->failed = true;
    if (reader->failed)
        length = 0;
    reader_copy(reader, text, length);
    text[length] = '\0';
}

/* A boolean is 0 or 1. */
static bool get_bool(struct reader *reader)
{
    uint8_t value = reader_u8(reader);

    if (value > 1)
        reader->failed = true;
    return value == 1;
}

int ipc_send_machine(int fd, const struct ipc_machine *machine, struct err *err)
{
    struct draft draft;
    struct writer *writer = draft_begin(&draft);

    writer_u32(writer, machine->cpu_count);
    writer_u64(writer, machine->memory_bytes);
    writer_u32(writer, machine->hardware);
    writer_u32(writer, machine->hugepages);
    writer_u8(writer, machine->console);
    writer_u8(writer, machine->has_stdin);
    writer_u64(writer, machine->initrd_bytes);
    writer_u64(writer, machine->job_bytes);
    writer_u32(writer, machine->disk_count);
    for (uint32_t i = 0; i < IPC_DISKS_MAX; i++) {
        writer_u64(writer, machine->disks[i].bytes);
        writer_u8(writer, machine->disks[i].readonly);
        writer_u8(writer, machine->disks[i].punches);
    }
    writer_u32(writer, machine->cpu_mask_count);
    for (uint32_t i = 0; i < machine->cpu_mask_count; i++) {
        writer_u32(writer, machine->cpu_mask[i].leaf);
        writer_u32(writer, machine->cpu_mask[i].subleaf);
        writer_u8(writer, machine->cpu_mask[i].reg);
        writer_u8(writer, machine->cpu_mask[i].bit);
    }
    put_string(writer, machine->cmdline, IPC_TEXT_BYTES);
    return draft_send(fd, IPC_MACHINE, &draft, err);
}

int ipc_get_machine(const struct ipc_record *record, struct ipc_machine *machine, struct err *err)
{
    struct reader reader = record_reader(record);
    bool valid;

    memset(machine, 0, sizeof(*machine));
    machine->cpu_count = reader_u32(&reader);
    machine->memory_bytes = reader_u64(&reader);
    machine->hardware = reader_u32(&reader);
    machine->hugepages = reader_u32(&reader);
    machine->console = get_bool(&reader);
    machine->has_stdin = get_bool(&reader);
    machine->initrd_bytes = reader_u64(&reader);
    machine->job_bytes = reader_u64(&reader);
    machine->disk_count = reader_u32(&reader);
    for (uint32_t i = 0; i < IPC_DISKS_MAX; i++) {
        machine->disks[i].bytes = reader_u64(&reader);
        machine->disks[i].readonly = get_bool(&reader);
        machine->disks[i].punches = get_bool(&reader);
    }
    machine->cpu_mask_count = reader_u32(&reader);
    valid = machine->hardware <= HARDWARE_MPTABLE && machine->hugepages <= HUGEPAGES_NO &&
            machine->disk_count <= IPC_DISKS_MAX && machine->cpu_mask_count <= IPC_CPU_MASK_MAX;
    for (uint32_t i = 0; valid && i < machine->cpu_mask_count; i++) {
        struct ipc_cpu_bit *bit = &machine->cpu_mask[i];

        bit->leaf = reader_u32(&reader);
        bit->subleaf = reader_u32(&reader);
        bit->reg = reader_u8(&reader);
        bit->bit = reader_u8(&reader);
        valid = bit->reg <= 3 && bit->bit <= 31;
    }
    get_string(&reader, machine->cmdline, IPC_TEXT_BYTES);
    return record_check(record, IPC_MACHINE, &reader, valid, err);
}

int ipc_send_running(int fd, const struct ipc_running *running, struct err *err)
{
    struct draft draft;

    writer_u64(draft_begin(&draft), running->mono_ns);
    return draft_send(fd, IPC_RUNNING, &draft, err);
}

int ipc_get_running(const struct ipc_record *record, struct ipc_running *running, struct err *err)
{
    struct reader reader = record_reader(record);

    running->mono_ns = reader_u64(&reader);
    return record_check(record, IPC_RUNNING, &reader, true, err);
}

int ipc_send_ended(int fd, const struct ipc_ended *ended, struct err *err)
{
    struct draft draft;
    struct writer *writer = draft_begin(&draft);

    writer_u32(writer, ended->cause);
    for (size_t i = 0; i < sizeof(ended->detail) / sizeof(ended->detail[0]); i++)
        writer_u64(writer, ended->detail[i]);
    writer_u64(writer, ended->rip);
    writer_u64(writer, ended->rsp);
    writer_u64(writer, ended->cr3);
    writer_u64(writer, ended->rflags);
    writer_u64(writer, ended->exits);
    writer_u64(writer, ended->vcpu_ns);
    put_string(writer, ended->text, IPC_TEXT_BYTES);
    writer_u32(writer, ended->console_bytes);
    must(ended->console_bytes <= IPC_CONSOLE_TAIL_BYTES);
    writer_bytes(writer, ended->console_tail, ended->console_bytes);
    return draft_send(fd, IPC_ENDED, &draft, err);
}

int ipc_get_ended(const struct ipc_record *record, struct ipc_ended *ended, struct err *err)
{
    struct reader reader = record_reader(record);
    bool valid;

    memset(ended, 0, sizeof(*ended));
    ended->cause = reader_u32(&reader);
    for (size_t i = 0; i < sizeof(ended->detail) / sizeof(ended->detail[0]); i++)
        ended->detail[i] = reader_u64(&reader);
    ended->rip = reader_u64(&reader);
    ended->rsp = reader_u64(&reader);
    ended->cr3 = reader_u64(&reader);
    ended->rflags = reader_u64(&reader);
    ended->exits = reader_u64(&reader);
    ended->vcpu_ns = reader_u64(&reader);
    get_string(&reader, ended->text, IPC_TEXT_BYTES);
    ended->console_bytes = reader_u32(&reader);
    valid = ended->cause >= IPC_END_DONE && ended->cause <= IPC_END_KERNEL &&
            ended->console_bytes <= IPC_CONSOLE_TAIL_BYTES;
    if (valid)
        reader_copy(&reader, ended->console_tail, ended->console_bytes);
    return record_check(record, IPC_ENDED, &reader, valid, err);
}

int ipc_send_probed(int fd, const struct ipc_probed *probed, struct err *err)
{
    struct draft draft;
    struct writer *writer = draft_begin(&draft);

    writer_u8(writer, probed->works);
    writer_u64(writer, probed->loops_per_ms);
    writer_u64(writer, probed->create_ns);
    put_string(writer, probed->text, IPC_TEXT_BYTES);
    return draft_send(fd, IPC_PROBED, &draft, err);
}

int ipc_get_probed(const struct ipc_record *record, struct ipc_probed *probed, struct err *err)
{
    struct reader reader = record_reader(record);

    probed->works = get_bool(&reader);
    probed->loops_per_ms = reader_u64(&reader);
    probed->create_ns = reader_u64(&reader);
    get_string(&reader, probed->text, IPC_TEXT_BYTES);
    return record_check(record, IPC_PROBED, &reader, true, err);
}

int ipc_send_scribe(int fd, const struct ipc_scribe *scribe, struct err *err)
{
    struct draft draft;
    struct writer *writer = draft_begin(&draft);

    for (size_t i = 0; i < STREAM_COUNT; i++)
        writer_u64(writer, scribe->cap_bytes[i]);
    for (size_t i = 0; i < STREAM_COUNT; i++)
        writer_u32(writer, scribe->live_form[i]);
    return draft_send(fd, IPC_SCRIBE, &draft, err);
}

int ipc_get_scribe(const struct ipc_record *record, struct ipc_scribe *scribe, struct err *err)
{
    struct reader reader = record_reader(record);
    bool valid = true;

    for (size_t i = 0; i < STREAM_COUNT; i++)
        scribe->cap_bytes[i] = reader_u64(&reader);
    for (size_t i = 0; i < STREAM_COUNT; i++) {
        scribe->live_form[i] = reader_u32(&reader);
        valid = valid && scribe->live_form[i] <= LIVE_EVENTS;
    }
    return record_check(record, IPC_SCRIBE, &reader, valid, err);
}

int ipc_send_stream(int fd, const struct ipc_stream_totals *totals, struct err *err)
{
    struct draft draft;
    struct writer *writer = draft_begin(&draft);

    writer_u32(writer, totals->stream);
    writer_u64(writer, totals->total_bytes);
    writer_u64(writer, totals->kept_bytes);
    writer_u32(writer, totals->error);
    writer_bytes(writer, totals->sha256, sizeof(totals->sha256));
    return draft_send(fd, IPC_STREAM, &draft, err);
}

int ipc_get_stream(
    const struct ipc_record *record, struct ipc_stream_totals *totals, struct err *err)
{
    struct reader reader = record_reader(record);
    bool valid;

    totals->stream = reader_u32(&reader);
    totals->total_bytes = reader_u64(&reader);
    totals->kept_bytes = reader_u64(&reader);
    totals->error = reader_u32(&reader);
    reader_copy(&reader, totals->sha256, sizeof(totals->sha256));
    valid = totals->stream < STREAM_COUNT && totals->error <= 4095 &&
            totals->kept_bytes <= totals->total_bytes;
    return record_check(record, IPC_STREAM, &reader, valid, err);
}

int ipc_send_extract(int fd, const struct ipc_extract *extract, struct err *err)
{
    struct draft draft;
    struct writer *writer = draft_begin(&draft);

    writer_u64(writer, extract->max_total_bytes);
    writer_u64(writer, extract->max_file_bytes);
    writer_u64(writer, extract->max_files);
    writer_u32(writer, extract->max_depth);
    writer_u32(writer, extract->types);
    writer_u8(writer, extract->bundle);
    return draft_send(fd, IPC_EXTRACT, &draft, err);
}

int ipc_get_extract(const struct ipc_record *record, struct ipc_extract *extract, struct err *err)
{
    struct reader reader = record_reader(record);

    extract->max_total_bytes = reader_u64(&reader);
    extract->max_file_bytes = reader_u64(&reader);
    extract->max_files = reader_u64(&reader);
    extract->max_depth = reader_u32(&reader);
    extract->types = reader_u32(&reader);
    extract->bundle = get_bool(&reader);
    return record_check(record, IPC_EXTRACT, &reader, extract->types < 1U << ARTIFACT_TYPES, err);
}

int ipc_send_entry(int fd, const struct ipc_entry *entry, struct err *err)
{
    struct draft draft;
    struct writer *writer = draft_begin(&draft);

    must(entry->name_bytes <= IPC_NAME_MAX_BYTES);
    writer_u32(writer, entry->kind);
    writer_u32(writer, entry->mode);
    writer_u64(writer, entry->size);
    writer_bytes(writer, entry->sha256, sizeof(entry->sha256));
    writer_u32(writer, entry->type);
    put_string(writer, entry->reason, sizeof(entry->reason) - 1);
    put_string(writer, entry->exported, sizeof(entry->exported) - 1);
    writer_u32(writer, entry->name_bytes);
    writer_bytes(writer, entry->name, entry->name_bytes);
    return draft_send(fd, IPC_ENTRY, &draft, err);
}

int ipc_get_entry(const struct ipc_record *record, struct ipc_entry *entry, struct err *err)
{
    struct reader reader = record_reader(record);
    bool valid;

    entry->kind = reader_u32(&reader);
    entry->mode = reader_u32(&reader);
    entry->size = reader_u64(&reader);
    reader_copy(&reader, entry->sha256, sizeof(entry->sha256));
    entry->type = reader_u32(&reader);
    get_string(&reader, entry->reason, sizeof(entry->reason) - 1);
    get_string(&reader, entry->exported, sizeof(entry->exported) - 1);
    entry->name_bytes = reader_u32(&reader);
    valid = entry->kind >= ENTRY_FILE && entry->kind <= ENTRY_SKIPPED && entry->mode <= 07777 &&
            entry->type < ARTIFACT_TYPES && entry->name_bytes <= IPC_NAME_MAX_BYTES;
    if (valid)
        reader_copy(&reader, entry->name, entry->name_bytes);
    return record_check(record, IPC_ENTRY, &reader, valid, err);
}

int ipc_send_extracted(int fd, const struct ipc_extracted *extracted, struct err *err)
{
    struct draft draft;
    struct writer *writer = draft_begin(&draft);

    writer_u32(writer, extracted->status);
    writer_u64(writer, extracted->files);
    writer_u64(writer, extracted->bytes);
    writer_u64(writer, extracted->skipped);
    writer_u64(writer, extracted->bundle_bytes);
    writer_bytes(writer, extracted->bundle_sha256, sizeof(extracted->bundle_sha256));
    put_string(writer, extracted->text, IPC_TEXT_BYTES);
    return draft_send(fd, IPC_EXTRACTED, &draft, err);
}

int ipc_get_extracted(
    const struct ipc_record *record, struct ipc_extracted *extracted, struct err *err)
{
    struct reader reader = record_reader(record);
    bool valid;

    extracted->status = reader_u32(&reader);
    extracted->files = reader_u64(&reader);
    extracted->bytes = reader_u64(&reader);
    extracted->skipped = reader_u64(&reader);
    extracted->bundle_bytes = reader_u64(&reader);
    reader_copy(&reader, extracted->bundle_sha256, sizeof(extracted->bundle_sha256));
    get_string(&reader, extracted->text, IPC_TEXT_BYTES);
    valid = extracted->status >= EXTRACT_COMPLETE && extracted->status <= EXTRACT_FAILED;
    return record_check(record, IPC_EXTRACTED, &reader, valid, err);
}
