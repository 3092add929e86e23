/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record_test.c: every record comes back as it was sent; every other length, kind, enum and count
 * out of its range is refused.
 */
#include <string.h>
#include <unistd.h>

#include "base/num.h"
#include "ipc/ipc.h"
#include "tests/unit/unit.h"

static int ends[2];
static struct ipc_record record; /* what came through the channel */

static int set_up(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    return ipc_channel(ends, &err);
}

static int tear_down(void **state)
{
    (void)state;
    close(ends[0]);
    close(ends[1]);
    return 0;
}

typedef int getter(const struct ipc_record *record, struct err *err);

static int get(getter *getter)
{
    struct err err = ERR_INIT;
    int result = getter(&record, &err);

    assert_int_equal(err_is_set(&err), result != 0);
    return result;
}

/* The record in the channel decodes; shorter, longer and of any other kind it does not. */
static void receive_and_cut(getter *getter)
{
    static struct ipc_record whole;
    struct err err = ERR_INIT;

    assert_int_equal(ipc_receive(ends[0], &record, &err), 1);
    assert_true(record.size < IPC_RECORD_MAX_BYTES);
    whole = record;
    for (size_t size = 0; size < whole.size; size++) {
        record.size = size;
        assert_int_equal(get(getter), -1);
    }
    record.size = whole.size + 1;
    assert_int_equal(get(getter), -1);
    record = whole;
    record.kind = record.kind == IPC_ENTRY ? IPC_STREAM : IPC_ENTRY;
    assert_int_equal(get(getter), -1);
    record = whole;
    assert_int_equal(get(getter), 0);
}

/* The same record with the byte or the u32 at OFFSET changed. */
static int get_with_byte(getter *getter, size_t offset, uint8_t value)
{
    uint8_t kept = record.payload[offset];
    int result;

    record.payload[offset] = value;
    result = get(getter);
    record.payload[offset] = kept;
    return result;
}

static int get_with_u32(getter *getter, size_t offset, uint32_t value)
{
    uint32_t kept = le32_load(record.payload + offset);
    int result;

    le32_store(record.payload + offset, value);
    result = get(getter);
    le32_store(record.payload + offset, kept);
    return result;
}

#define GETTER(name)                                                                               \
    static struct ipc_##name got_##name;                                                           \
    static int get_##name(const struct ipc_record *from, struct err *err)                          \
    {                                                                                              \
        memset(&got_##name, 0xee, sizeof(got_##name));                                             \
        return ipc_get_##name(from, &got_##name, err);                                             \
    }

GETTER(machine)
GETTER(running)
GETTER(ended)
GETTER(probed)
GETTER(scribe)
GETTER(extract)
GETTER(entry)
GETTER(extracted)

static struct ipc_stream_totals got_stream;
static int get_stream(const struct ipc_record *from, struct err *err)
{
    memset(&got_stream, 0xee, sizeof(got_stream));
    return ipc_get_stream(from, &got_stream, err);
}

static void machine(void **state)
{
    struct ipc_machine sent = {.cpu_count = 2,
        .memory_bytes = 1ULL << 33,
        .hardware = HARDWARE_MPTABLE,
        .hugepages = HUGEPAGES_NO,
        .console = true,
        .has_stdin = true,
        .disk_count = IPC_DISKS_MAX,
        .initrd_bytes = 5ULL << 32,
        .job_bytes = 7,
        .disks = {{1ULL << 40, true, false}, {512, false, true}, {1024, false, true},
            {4096, true, false}},
        .cpu_mask_count = IPC_CPU_MASK_MAX,
        .cmdline = "panic=-1"};
    struct err err = ERR_INIT;

    (void)state;
    for (uint32_t i = 0; i < IPC_CPU_MASK_MAX; i++)
        sent.cpu_mask[i] =
            (struct ipc_cpu_bit){.leaf = i, .subleaf = ~i, .reg = i & 3, .bit = (uint8_t)i};
    assert_int_equal(ipc_send_machine(ends[1], &sent, &err), 0);
    receive_and_cut(get_machine);
    assert_true(got_machine.cpu_count == 2 && got_machine.memory_bytes == 1ULL << 33);
    assert_true(got_machine.hardware == HARDWARE_MPTABLE && got_machine.hugepages == HUGEPAGES_NO);
    assert_true(got_machine.console && got_machine.has_stdin && got_machine.disk_count == 4);
    assert_true(got_machine.initrd_bytes == 5ULL << 32 && got_machine.job_bytes == 7);
    for (int i = 0; i < IPC_DISKS_MAX; i++) {
        assert_int_equal(got_machine.disks[i].bytes, sent.disks[i].bytes);
        assert_int_equal(got_machine.disks[i].readonly, sent.disks[i].readonly);
        assert_int_equal(got_machine.disks[i].punches, sent.disks[i].punches);
    }
    assert_true(got_machine.cpu_mask_count == IPC_CPU_MASK_MAX);
    for (uint32_t i = 0; i < IPC_CPU_MASK_MAX; i++) {
        assert_true(got_machine.cpu_mask[i].leaf == i && got_machine.cpu_mask[i].subleaf == ~i);
        assert_true(got_machine.cpu_mask[i].reg == (i & 3) && got_machine.cpu_mask[i].bit == i);
    }
    assert_string_equal(got_machine.cmdline, "panic=-1");
    assert_int_equal(get_with_u32(get_machine, 12, HARDWARE_MPTABLE + 1), -1);
    assert_int_equal(get_with_u32(get_machine, 16, HUGEPAGES_NO + 1), -1);
    assert_int_equal(get_with_byte(get_machine, 20, 2), -1);
    assert_int_equal(get_with_byte(get_machine, 21, 255), -1);
    assert_int_equal(get_with_u32(get_machine, 38, IPC_DISKS_MAX + 1), -1);
    assert_int_equal(get_with_byte(get_machine, 42 + 8, 2), -1);
    assert_int_equal(get_with_byte(get_machine, 42 + 9, 2), -1);
    assert_int_equal(get_with_u32(get_machine, 82, IPC_CPU_MASK_MAX + 1), -1);
    assert_int_equal(get_with_u32(get_machine, 82, UINT32_MAX), -1);
    assert_int_equal(get_with_byte(get_machine, 86 + 8, 4), -1);
    assert_int_equal(get_with_byte(get_machine, 86 + 9, 32), -1);
}

static void running(void **state)
{
    struct ipc_running sent = {.mono_ns = UINT64_MAX};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(ipc_send_running(ends[1], &sent, &err), 0);
    receive_and_cut(get_running);
    assert_true(got_running.mono_ns == UINT64_MAX);
}

static void ended(void **state)
{
    static struct ipc_ended sent = {.cause = IPC_END_DISK,
        .detail = {1, 2, 3, 4},
        .rip = 5,
        .rsp = 6,
        .cr3 = 7,
        .rflags = 8,
        .exits = 9,
        .vcpu_ns = 10,
        .console_bytes = IPC_CONSOLE_TAIL_BYTES};
    struct err err = ERR_INIT;
    size_t count_at = 4 + 10 * 8 + 4 + IPC_TEXT_BYTES;

    (void)state;
    memset(sent.text, 't', IPC_TEXT_BYTES);
    memset(sent.console_tail, 0xff, IPC_CONSOLE_TAIL_BYTES);
    assert_int_equal(ipc_send_ended(ends[1], &sent, &err), 0);
    receive_and_cut(get_ended);
    assert_true(got_ended.cause == IPC_END_DISK && got_ended.detail[0] == 1 &&
                got_ended.detail[3] == 4 && got_ended.rip == 5 && got_ended.rsp == 6);
    assert_true(got_ended.cr3 == 7 && got_ended.rflags == 8 && got_ended.exits == 9 &&
                got_ended.vcpu_ns == 10);
    assert_int_equal(strlen(got_ended.text), IPC_TEXT_BYTES);
    assert_memory_equal(got_ended.console_tail, sent.console_tail, IPC_CONSOLE_TAIL_BYTES);
    assert_int_equal(get_with_u32(get_ended, 0, 0), -1);
    assert_int_equal(get_with_u32(get_ended, 0, IPC_END_DONE), 0);
    assert_int_equal(get_with_u32(get_ended, 0, IPC_END_KERNEL + 1), -1);
    assert_int_equal(get_with_u32(get_ended, 84, IPC_TEXT_BYTES + 1), -1);
    assert_int_equal(get_with_u32(get_ended, 84, UINT32_MAX), -1);
    assert_int_equal(get_with_u32(get_ended, count_at, IPC_CONSOLE_TAIL_BYTES + 1), -1);
    assert_int_equal(get_with_u32(get_ended, count_at, IPC_CONSOLE_TAIL_BYTES - 1), -1);
    assert_int_equal(get_with_byte(get_ended, 88, '\0'), 0); /* a NUL just ends the text */
}

static void probed(void **state)
{
    struct ipc_probed sent = {
        .works = true, .loops_per_ms = 1, .create_ns = 2, .text = "KVM_CAP_IRQFD is missing"};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(ipc_send_probed(ends[1], &sent, &err), 0);
    receive_and_cut(get_probed);
    assert_true(got_probed.works && got_probed.loops_per_ms == 1 && got_probed.create_ns == 2);
    assert_string_equal(got_probed.text, sent.text);
    assert_int_equal(get_with_byte(get_probed, 0, 2), -1);
    assert_int_equal(get_with_byte(get_probed, 0, 0), 0);
}

static void scribe(void **state)
{
    struct ipc_scribe sent = {
        .cap_bytes = {1, UINT64_MAX, 3}, .live_form = {LIVE_ESCAPED, LIVE_RAW, LIVE_EVENTS}};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(ipc_send_scribe(ends[1], &sent, &err), 0);
    receive_and_cut(get_scribe);
    assert_true(got_scribe.cap_bytes[0] == 1 && got_scribe.cap_bytes[1] == UINT64_MAX &&
                got_scribe.cap_bytes[2] == 3 && got_scribe.live_form[0] == LIVE_ESCAPED &&
                got_scribe.live_form[1] == LIVE_RAW);
    assert_int_equal(get_with_byte(get_scribe, 32, LIVE_EVENTS + 1), -1);
}

static void stream(void **state)
{
    struct ipc_stream_totals sent = {
        .stream = STREAM_CONSOLE, .total_bytes = 500, .kept_bytes = 500, .error = 28};
    struct err err = ERR_INIT;

    (void)state;
    memset(sent.sha256, 0xab, sizeof(sent.sha256));
    assert_int_equal(ipc_send_stream(ends[1], &sent, &err), 0);
    receive_and_cut(get_stream);
    assert_true(got_stream.stream == STREAM_CONSOLE && got_stream.total_bytes == 500 &&
                got_stream.kept_bytes == 500 && got_stream.error == 28);
    assert_memory_equal(got_stream.sha256, sent.sha256, sizeof(sent.sha256));
    assert_int_equal(get_with_u32(get_stream, 0, STREAM_COUNT), -1);
    assert_int_equal(get_with_u32(get_stream, 12, 501), -1); /* more kept than there was */
    assert_int_equal(get_with_u32(get_stream, 12, 499), 0);
    assert_int_equal(get_with_u32(get_stream, 20, 4095), 0);
    assert_int_equal(get_with_u32(get_stream, 20, 4096), -1);
}

static void extract(void **state)
{
    struct ipc_extract sent = {.max_total_bytes = UINT64_MAX,
        .max_file_bytes = 2,
        .max_files = 3,
        .max_depth = 4,
        .types = 1U << ARTIFACT_TEXT,
        .bundle = true};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(ipc_send_extract(ends[1], &sent, &err), 0);
    receive_and_cut(get_extract);
    assert_true(got_extract.max_total_bytes == UINT64_MAX && got_extract.max_file_bytes == 2 &&
                got_extract.max_files == 3 && got_extract.max_depth == 4 &&
                got_extract.types == 1U << ARTIFACT_TEXT && got_extract.bundle);
    assert_int_equal(get_with_u32(get_extract, 28, (1U << ARTIFACT_TYPES) - 1), 0);
    assert_int_equal(get_with_u32(get_extract, 28, 1U << ARTIFACT_TYPES), -1);
    assert_int_equal(get_with_byte(get_extract, 32, 2), -1);
}

static void entry(void **state)
{
    static struct ipc_entry sent = {.kind = ENTRY_SKIPPED,
        .mode = 07777,
        .size = UINT64_MAX,
        .reason = "31 characters are the most here",
        .name_bytes = IPC_NAME_MAX_BYTES};
    struct err err = ERR_INIT;
    size_t exported_at = 20 + IPC_DIGEST_BYTES + 4 + 31;
    size_t name_at = exported_at + 4 + IPC_EXPORTED_BYTES - 1;

    (void)state;
    assert_int_equal(strlen(sent.reason), 31);
    memset(sent.sha256, 1, sizeof(sent.sha256));
    memset(sent.name, '\n', sizeof(sent.name));
    memset(sent.exported, 'e', sizeof(sent.exported) - 1);
    sent.type = ARTIFACT_TEXT;
    assert_int_equal(ipc_send_entry(ends[1], &sent, &err), 0);
    receive_and_cut(get_entry);
    assert_true(got_entry.kind == ENTRY_SKIPPED && got_entry.mode == 07777 &&
                got_entry.size == UINT64_MAX && got_entry.name_bytes == IPC_NAME_MAX_BYTES);
    assert_string_equal(got_entry.reason, sent.reason);
    assert_string_equal(got_entry.exported, sent.exported);
    assert_int_equal(got_entry.type, ARTIFACT_TEXT);
    assert_memory_equal(got_entry.sha256, sent.sha256, sizeof(sent.sha256));
    assert_memory_equal(got_entry.name, sent.name, sizeof(sent.name));
    assert_int_equal(get_with_u32(get_entry, 0, 0), -1);
    assert_int_equal(get_with_u32(get_entry, 0, ENTRY_SKIPPED + 1), -1);
    assert_int_equal(get_with_u32(get_entry, 4, 010000), -1);
    assert_int_equal(get_with_u32(get_entry, 48, ARTIFACT_TYPES), -1);
    assert_int_equal(get_with_u32(get_entry, 52, 32), -1);
    assert_int_equal(get_with_u32(get_entry, exported_at, IPC_EXPORTED_BYTES), -1);
    assert_int_equal(get_with_u32(get_entry, name_at, IPC_NAME_MAX_BYTES + 1), -1);
    assert_int_equal(get_with_u32(get_entry, name_at, UINT32_MAX), -1);
    sent.name_bytes = 0;
    sent.reason[0] = '\0';
    assert_int_equal(ipc_send_entry(ends[1], &sent, &err), 0);
    receive_and_cut(get_entry);
    assert_true(got_entry.name_bytes == 0 && got_entry.reason[0] == '\0');
}

static void extracted(void **state)
{
    struct ipc_extracted sent = {.status = EXTRACT_FAILED,
        .files = 1,
        .bytes = 2,
        .skipped = 3,
        .text = "cannot write an output file: No space left on device"};
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(ipc_send_extracted(ends[1], &sent, &err), 0);
    receive_and_cut(get_extracted);
    assert_true(got_extracted.status == EXTRACT_FAILED && got_extracted.files == 1 &&
                got_extracted.bytes == 2 && got_extracted.skipped == 3);
    assert_string_equal(got_extracted.text, sent.text);
    assert_int_equal(get_with_u32(get_extracted, 0, 0), -1);
    assert_int_equal(get_with_u32(get_extracted, 0, EXTRACT_COMPLETE), 0);
    assert_int_equal(get_with_u32(get_extracted, 0, EXTRACT_FAILED + 1), -1);
}

#define RECORD_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    RECORD_TEST(machine),
    RECORD_TEST(running),
    RECORD_TEST(ended),
    RECORD_TEST(probed),
    RECORD_TEST(scribe),
    RECORD_TEST(stream),
    RECORD_TEST(extract),
    RECORD_TEST(entry),
    RECORD_TEST(extracted),
};

UNIT_MAIN(tests)
