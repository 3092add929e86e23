/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_test.c: every message comes back as it was; each field inside its range, at its end, one
 * past it; every shorter and every longer payload is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "base/num.h"
#include "tests/unit/unit.h"
#include "wire/wire.h"

enum { PAYLOAD_MAX = WIRE_GUEST_PAYLOAD_MAX };

/* A message of each type, as the encoder makes it, and its decoder behind one signature. */
static struct wire_hello hello;
static struct wire_started started;
static struct wire_exited exited;
static struct wire_exported exported;
static struct wire_fatal fatal;
static uint8_t message[WIRE_HEADER_BYTES + PAYLOAD_MAX];
static size_t message_bytes;

static int decode_hello(const uint8_t *payload, size_t size, struct err *err)
{
    return wire_get_hello(payload, size, &hello, err);
}

static int decode_started(const uint8_t *payload, size_t size, struct err *err)
{
    return wire_get_started(payload, size, &started, err);
}

static int decode_exited(const uint8_t *payload, size_t size, struct err *err)
{
    return wire_get_exited(payload, size, &exited, err);
}

static int decode_exported(const uint8_t *payload, size_t size, struct err *err)
{
    return wire_get_exported(payload, size, &exported, err);
}

static int decode_fatal(const uint8_t *payload, size_t size, struct err *err)
{
    return wire_get_fatal(payload, size, &fatal, err);
}

typedef int decoder(const uint8_t *payload, size_t size, struct err *err);

/* Decode a copy of exactly SIZE bytes, so that the sanitizer sees a read past it. */
static int decode(decoder *get, const uint8_t *payload, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    struct err err = ERR_INIT;
    int result;

    assert_non_null(copy);
    memcpy(copy, payload, size);
    result = get(copy, size, &err);
    free(copy);
    assert_int_equal(err_is_set(&err), result != 0);
    return result;
}

static void make_hello(void)
{
    hello = (struct wire_hello){.version = WIRE_VERSION,
        .cpu_count = 3,
        .memory_bytes = 0x1122334455667788ULL,
        .uptime_ns = UINT64_MAX,
        .release = "6.1.0-vmrun"};
    message_bytes = wire_put_hello(message, sizeof(message), &hello);
}

static void make_started(void)
{
    started = (struct wire_started){.setup_ns = 5, .controls = (WIRE_CONTROL_RLIMITS << 1) - 1};
    message_bytes = wire_put_started(message, sizeof(message), &started);
}

static void make_exited(void)
{
    exited = (struct wire_exited){.how = WIRE_HOW_NOT_FOUND,
        .code = 2,
        .limits = WIRE_LIMIT_WALL | WIRE_LIMIT_CANCELLED,
        .run_ns = 1,
        .user_ns = 2,
        .system_ns = 3,
        .memory_peak_bytes = 4,
        .oom_kills = 5,
        .pids_max_events = 6,
        .text = "no such file\xff\x1b"};
    message_bytes = wire_put_exited(message, sizeof(message), &exited);
}

static void make_exported(void)
{
    exported = (struct wire_exported){
        .error = 28, .archive_bytes = 1, .files = 2, .skipped = 3, .export_ns = 4};
    message_bytes = wire_put_exported(message, sizeof(message), &exported);
}

static void make_fatal(void)
{
    fatal = (struct wire_fatal){.error = 5, .text = "cannot mount"};
    message_bytes = wire_put_fatal(message, sizeof(message), &fatal);
}

static const struct {
    enum wire_type type;
    void (*make)(void);
    decoder *get;
    size_t fixed_bytes; /* payload length of a fixed message, 0 of one with a text */
} kinds[] = {
    {WIRE_HELLO, make_hello, decode_hello, 96},
    {WIRE_STARTED, make_started, decode_started, 16},
    {WIRE_EXITED, make_exited, decode_exited, 0},
    {WIRE_EXPORTED, make_exported, decode_exported, 40},
    {WIRE_FATAL, make_fatal, decode_fatal, 0},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static void headers_agree_with_payloads(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        struct wire_header header;
        struct err err = ERR_INIT;

        kinds[i].make();
        assert_int_equal(wire_get_header(message, PAYLOAD_MAX, &header, &err), 0);
        assert_int_equal(header.type, kinds[i].type);
        assert_int_equal(header.length, message_bytes - WIRE_HEADER_BYTES);
        if (kinds[i].fixed_bytes)
            assert_int_equal(header.length, kinds[i].fixed_bytes);
    }
}

static void every_other_length_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS; i++) {
        size_t whole;

        kinds[i].make();
        whole = message_bytes - WIRE_HEADER_BYTES;
        assert_int_equal(decode(kinds[i].get, message + WIRE_HEADER_BYTES, whole), 0);
        for (size_t size = 0; size < whole; size++)
            assert_int_equal(decode(kinds[i].get, message + WIRE_HEADER_BYTES, size), -1);
        assert_int_equal(decode(kinds[i].get, message + WIRE_HEADER_BYTES, whole + 1), -1);
    }
}

static void values_come_back(void **state)
{
    (void)state;
    make_hello();
    memset(&hello, 0xee, sizeof(hello));
    assert_int_equal(decode(decode_hello, message + 8, message_bytes - 8), 0);
    assert_true(hello.version == WIRE_VERSION && hello.cpu_count == 3);
    assert_true(hello.memory_bytes == 0x1122334455667788ULL && hello.uptime_ns == UINT64_MAX);
    assert_string_equal(hello.release, "6.1.0-vmrun");
    make_started();
    memset(&started, 0xee, sizeof(started));
    assert_int_equal(decode(decode_started, message + 8, message_bytes - 8), 0);
    assert_true(started.setup_ns == 5 && started.controls == (WIRE_CONTROL_RLIMITS << 1) - 1);
    make_exited();
    memset(&exited, 0xee, sizeof(exited));
    assert_int_equal(decode(decode_exited, message + 8, message_bytes - 8), 0);
    assert_true(exited.how == WIRE_HOW_NOT_FOUND && exited.code == 2);
    assert_true(exited.limits == (WIRE_LIMIT_WALL | WIRE_LIMIT_CANCELLED));
    assert_true(exited.run_ns == 1 && exited.user_ns == 2 && exited.system_ns == 3);
    assert_true(exited.memory_peak_bytes == 4 && exited.oom_kills == 5);
    assert_true(exited.pids_max_events == 6 && exited.reserved == 0);
    assert_string_equal(exited.text, "no such file\xff\x1b");
    make_exported();
    memset(&exported, 0xee, sizeof(exported));
    assert_int_equal(decode(decode_exported, message + 8, message_bytes - 8), 0);
    assert_true(exported.error == 28 && exported.archive_bytes == 1 && exported.files == 2);
    assert_true(exported.skipped == 3 && exported.export_ns == 4);
    make_fatal();
    memset(&fatal, 0xee, sizeof(fatal));
    assert_int_equal(decode(decode_fatal, message + 8, message_bytes - 8), 0);
    assert_true(fatal.error == 5);
    assert_string_equal(fatal.text, "cannot mount");
}

/* The payload that MAKE makes, with the u32 at OFFSET changed to VALUE. */
static int decode_with(size_t kind, size_t offset, uint32_t value)
{
    kinds[kind].make();
    le32_store(message + WIRE_HEADER_BYTES + offset, value);
    return decode(kinds[kind].get, message + WIRE_HEADER_BYTES, message_bytes - WIRE_HEADER_BYTES);
}

static void hello_fields(void **state)
{
    (void)state;
    assert_int_equal(decode_with(0, 0, WIRE_MAGIC), 0);
    assert_int_equal(decode_with(0, 0, WIRE_MAGIC + 1), -1);
    assert_int_equal(decode_with(0, 4, WIRE_VERSION + 1), -1);
    assert_int_equal(decode_with(0, 4, WIRE_VERSION - 1), -1);
    assert_int_equal(decode_with(0, 8, UINT32_MAX), 0); /* a claim: any count */
    assert_int_equal(decode_with(0, 12, 1), -1);        /* reserved */
    /* Padding of the release: all NUL after the first one. */
    assert_int_equal(decode_with(0, 32 + 60, 1U << 24), -1);
    make_hello();
    memset(message + 8 + 32, 'x', WIRE_RELEASE_BYTES);
    assert_int_equal(decode(decode_hello, message + 8, 96), 0);
    assert_int_equal(strlen(hello.release), WIRE_RELEASE_BYTES);
    memset(hello.release, 'y', sizeof(hello.release)); /* the encoder cuts what is too long */
    assert_int_equal(wire_put_hello(message, sizeof(message), &hello), 8 + 96);
}

static void started_fields(void **state)
{
    (void)state;
    for (uint32_t bit = 0; bit < 32; bit++)
        assert_int_equal(decode_with(1, 8, 1U << bit), 1U << bit <= WIRE_CONTROL_RLIMITS ? 0 : -1);
    assert_int_equal(decode_with(1, 12, 1), -1);
    assert_int_equal(decode_with(1, 0, UINT32_MAX), 0);
}

static int decode_how(uint32_t how, uint32_t code)
{
    make_exited();
    le32_store(message + WIRE_HEADER_BYTES, how);
    le32_store(message + WIRE_HEADER_BYTES + 4, code);
    return decode(decode_exited, message + WIRE_HEADER_BYTES, message_bytes - WIRE_HEADER_BYTES);
}

static void exited_fields(void **state)
{
    (void)state;
    assert_int_equal(decode_how(0, 0), -1);
    assert_int_equal(decode_how(WIRE_HOW_EXITED, 0), 0);
    assert_int_equal(decode_how(WIRE_HOW_EXITED, 255), 0);
    assert_int_equal(decode_how(WIRE_HOW_EXITED, 256), -1);
    assert_int_equal(decode_how(WIRE_HOW_SIGNALLED, 0), -1);
    assert_int_equal(decode_how(WIRE_HOW_SIGNALLED, 1), 0);
    assert_int_equal(decode_how(WIRE_HOW_SIGNALLED, 64), 0);
    assert_int_equal(decode_how(WIRE_HOW_SIGNALLED, 65), -1);
    for (uint32_t how = WIRE_HOW_NOT_FOUND; how <= WIRE_HOW_SETUP_FAILED; how++) {
        assert_int_equal(decode_how(how, 4095), 0);
        assert_int_equal(decode_how(how, 4096), -1);
    }
    assert_int_equal(decode_how(WIRE_HOW_SETUP_FAILED + 1, 0), -1);
    assert_int_equal(decode_how(UINT32_MAX, 0), -1);
    for (uint32_t bit = 0; bit < 32; bit++)
        assert_int_equal(decode_with(2, 8, 1U << bit), 1U << bit <= WIRE_LIMIT_INODES ? 0 : -1);
    assert_int_equal(decode_with(2, 12, 1), -1); /* reserved */
    assert_int_equal(decode_with(2, 64, 1), -1); /* the reserved u64 */
    assert_int_equal(decode_with(2, 68, 1U << 31), -1);
}

/* Texts of LENGTH bytes whose length field says CLAIMED. */
static int decode_text(size_t kind, size_t length, size_t claimed, char fill)
{
    uint8_t payload[8 + 2 * WIRE_TEXT_BYTES + 128] = {0};
    size_t text_at = kind == 2 ? 72 : 4;

    kinds[kind].make();
    memcpy(payload, message + WIRE_HEADER_BYTES, text_at);
    le16_store(payload + text_at, (uint16_t)claimed);
    memset(payload + text_at + 2, fill, length);
    return decode(kinds[kind].get, payload, text_at + 2 + length);
}

static void texts(void **state)
{
    static const size_t with_text[] = {2, 4};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(decode_text(with_text[i], 0, 0, 'x'), 0);
        assert_int_equal(decode_text(with_text[i], WIRE_TEXT_BYTES, WIRE_TEXT_BYTES, 'x'), 0);
        assert_int_equal(
            decode_text(with_text[i], WIRE_TEXT_BYTES + 1, WIRE_TEXT_BYTES + 1, 'x'), -1);
        assert_int_equal(decode_text(with_text[i], 10, 11, 'x'), -1);
        assert_int_equal(decode_text(with_text[i], 11, 10, 'x'), -1);
        assert_int_equal(decode_text(with_text[i], 10, UINT16_MAX, 'x'), -1);
        assert_int_equal(decode_text(with_text[i], 10, 10, '\0'), -1);
        assert_int_equal(decode_text(with_text[i], 10, 10, '\xff'), 0);
    }
    decode_text(4, WIRE_TEXT_BYTES, WIRE_TEXT_BYTES, 'x');
    assert_int_equal(strlen(fatal.text), WIRE_TEXT_BYTES);
}

static void errors_are_errnos(void **state)
{
    (void)state;
    assert_int_equal(decode_with(3, 0, 4095), 0);
    assert_int_equal(decode_with(3, 0, 4096), -1);
    assert_int_equal(decode_with(3, 4, 1), -1); /* reserved */
    assert_int_equal(decode_with(4, 0, 0), 0);
    assert_int_equal(decode_with(4, 0, 4095), 0);
    assert_int_equal(decode_with(4, 0, 4096), -1);
}

static int header_with(uint32_t type_and_zero, uint32_t length, uint32_t max)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    struct wire_header header;
    struct err err = ERR_INIT;

    le32_store(bytes, type_and_zero);
    le32_store(bytes + 4, length);
    return wire_get_header(bytes, max, &header, &err);
}

static void headers(void **state)
{
    uint8_t bytes[WIRE_HEADER_BYTES];
    struct wire_header header;
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(header_with(0, 0, 512), -1);
    for (uint32_t type = WIRE_HELLO; type <= WIRE_FATAL; type++)
        assert_int_equal(header_with(type, 0, 512), 0);
    assert_int_equal(header_with(WIRE_FATAL + 1, 0, 512), -1);
    assert_int_equal(header_with(UINT16_MAX, 0, 512), -1);
    assert_int_equal(header_with(WIRE_HELLO | 1U << 16, 0, 512), -1);
    assert_int_equal(header_with(WIRE_HELLO | 1U << 31, 0, 512), -1);
    assert_int_equal(header_with(WIRE_HELLO, 511, 512), 0);
    assert_int_equal(header_with(WIRE_HELLO, 512, 512), 0);
    assert_int_equal(header_with(WIRE_HELLO, 513, 512), -1);
    assert_int_equal(header_with(WIRE_HELLO, UINT32_MAX, WIRE_JOB_MAX_BYTES), -1);
    assert_int_equal(wire_put_header(bytes, sizeof(bytes), WIRE_JOB, 0x01020304), 8);
    assert_int_equal(wire_get_header(bytes, UINT32_MAX, &header, &err), 0);
    assert_true(header.type == WIRE_JOB && header.length == 0x01020304);
}

static void the_longest_message_fits(void **state)
{
    (void)state;
    memset(exited.text, 'x', WIRE_TEXT_BYTES);
    exited.text[WIRE_TEXT_BYTES] = '\0';
    assert_true(wire_put_exited(message, sizeof(message), &exited) <=
                WIRE_HEADER_BYTES + WIRE_GUEST_PAYLOAD_MAX);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(headers_agree_with_payloads),
    cmocka_unit_test(every_other_length_is_refused),
    cmocka_unit_test(values_come_back),
    cmocka_unit_test(hello_fields),
    cmocka_unit_test(started_fields),
    cmocka_unit_test(exited_fields),
    cmocka_unit_test(texts),
    cmocka_unit_test(errors_are_errnos),
    cmocka_unit_test(headers),
    cmocka_unit_test(the_longest_message_fits),
};

UNIT_MAIN(tests)
