/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.c: codec of the control messages; see wire.h. Input is the other side's: hostile on the
 * host, trusted in the guest.
 */
#include "wire/wire.h"

#include <string.h>

#include "base/cursor.h"

enum {
    WIRE_LIMITS_ALL = (WIRE_LIMIT_INODES << 1) - 1,
    WIRE_CONTROLS_ALL = (WIRE_CONTROL_RLIMITS << 1) - 1,
};

static struct writer message_begin(uint8_t *bytes, size_t size, enum wire_type type)
{
    struct writer writer = writer_make(bytes, size);

    writer_u16(&writer, (uint16_t)type);
    writer_u16(&writer, 0);
    writer_u32(&writer, 0); /* length: message_end() */
    return writer;
}

static size_t message_end(struct writer *writer)
{
    struct writer length = writer_make(writer->bytes + 4, 4);

    must(!writer->failed && writer->used >= WIRE_HEADER_BYTES);
    writer_u32(&length, (uint32_t)(writer->used - WIRE_HEADER_BYTES));
    return writer->used;
}

static void put_text(struct writer *writer, const char *text)
{
    size_t length = strnlen(text, WIRE_TEXT_BYTES);

    writer_u16(writer, (uint16_t)length);
    writer_bytes(writer, text, length);
}

/* Text runs to the end of its message. */
static void get_text(struct reader *reader, char text[WIRE_TEXT_BYTES + 1])
{
    size_t length = reader_u16(reader);

    if (length > WIRE_TEXT_BYTES)
        reader->failed = true;
    if (reader->failed)
        length = 0;
    reader_copy(reader, text, length);
    text[length] = '\0';
    if (strlen(text) != length)
        reader->failed = true;
}

/* A reserved field. */
static void get_zero(struct reader *reader, size_t size)
{
    const uint8_t *bytes = reader_bytes(reader, size);

    for (size_t i = 0; bytes && i < size; i++) {
        if (bytes[i] != 0)
            reader->failed = true;
    }
}

size_t wire_put_header(uint8_t *bytes, size_t size, enum wire_type type, uint32_t length)
{
    struct writer writer = writer_make(bytes, size);

    writer_u16(&writer, (uint16_t)type);
    writer_u16(&writer, 0);
    writer_u32(&writer, length);
    must(!writer.failed);
    return writer.used;
}

size_t wire_put_hello(uint8_t *bytes, size_t size, const struct wire_hello *hello)
{
    struct writer writer = message_begin(bytes, size, WIRE_HELLO);
    char release[WIRE_RELEASE_BYTES] = {0};

    memcpy(release, hello->release, strnlen(hello->release, sizeof(release)));
    writer_u32(&writer, WIRE_MAGIC);
    writer_u32(&writer, hello->version);
    writer_u32(&writer, hello->cpu_count);
    writer_u32(&writer, 0);
    writer_u64(&writer, hello->memory_bytes);
    writer_u64(&writer, hello->uptime_ns);
    writer_bytes(&writer, release, sizeof(release));
    return message_end(&writer);
}

size_t wire_put_started(uint8_t *bytes, size_t size, const struct wire_started *started)
{
    struct writer writer = message_begin(bytes, size, WIRE_STARTED);

    writer_u64(&writer, started->setup_ns);
    writer_u64(&writer, started->controls);
    return message_end(&writer);
}

size_t wire_put_exited(uint8_t *bytes, size_t size, const struct wire_exited *exited)
{
    struct writer writer = message_begin(bytes, size, WIRE_EXITED);

    writer_u32(&writer, exited->how);
    writer_u32(&writer, exited->code);
    writer_u32(&writer, exited->limits);
    writer_u32(&writer, 0);
    writer_u64(&writer, exited->run_ns);
    writer_u64(&writer, exited->user_ns);
    writer_u64(&writer, exited->system_ns);
    writer_u64(&writer, exited->memory_peak_bytes);
    writer_u64(&writer, exited->oom_kills);
    writer_u64(&writer, exited->pids_max_events);
    writer_u64(&writer, 0);
    put_text(&writer, exited->text);
    return message_end(&writer);
}

size_t wire_put_exported(uint8_t *bytes, size_t size, const struct wire_exported *exported)
{
    struct writer writer = message_begin(bytes, size, WIRE_EXPORTED);

    writer_u32(&writer, exported->error);
    writer_u32(&writer, 0);
    writer_u64(&writer, exported->archive_bytes);
    writer_u64(&writer, exported->files);
    writer_u64(&writer, exported->skipped);
    writer_u64(&writer, exported->export_ns);
    return message_end(&writer);
}

size_t wire_put_fatal(uint8_t *bytes, size_t size, const struct wire_fatal *fatal)
{
    struct writer writer = message_begin(bytes, size, WIRE_FATAL);

    writer_u32(&writer, fatal->error);
    put_text(&writer, fatal->text);
    return message_end(&writer);
}

int wire_get_header(const uint8_t bytes[WIRE_HEADER_BYTES], uint32_t payload_max,
    struct wire_header *header, struct err *err)
{
    struct reader reader = reader_make(bytes, WIRE_HEADER_BYTES);
    uint16_t zero;

    header->type = reader_u16(&reader);
    zero = reader_u16(&reader);
    header->length = reader_u32(&reader);
    if (header->type < WIRE_HELLO || header->type > WIRE_FATAL || zero != 0)
        return err_set(err, "message type %u is not part of the protocol", header->type);
    if (header->length > payload_max)
        return err_set(err, "message of type %u says %u bytes; at most %u are allowed",
            header->type, header->length, payload_max);
    return 0;
}

int wire_get_hello(const uint8_t *payload, size_t size, struct wire_hello *hello, struct err *err)
{
    struct reader reader = reader_make(payload, size);
    uint32_t magic = reader_u32(&reader);

    hello->version = reader_u32(&reader);
    hello->cpu_count = reader_u32(&reader);
    get_zero(&reader, 4);
    hello->memory_bytes = reader_u64(&reader);
    hello->uptime_ns = reader_u64(&reader);
    reader_copy(&reader, hello->release, WIRE_RELEASE_BYTES);
    hello->release[WIRE_RELEASE_BYTES] = '\0';
    for (size_t i = strlen(hello->release); i < WIRE_RELEASE_BYTES; i++) {
        if (hello->release[i] != '\0')
            reader.failed = true;
    }
    if (!reader_done(&reader))
        return err_set(err, "HELLO has a wrong length (%zu bytes) or padding", size);
    if (magic != WIRE_MAGIC)
        return err_set(err, "HELLO has a wrong magic number (0x%x)", magic);
    if (hello->version != WIRE_VERSION)
        return err_set(err, "the agent speaks version %u of the protocol, vmrun speaks %u",
            hello->version, (unsigned)WIRE_VERSION);
    return 0;
}

int wire_get_started(
    const uint8_t *payload, size_t size, struct wire_started *started, struct err *err)
{
    struct reader reader = reader_make(payload, size);

    started->setup_ns = reader_u64(&reader);
    started->controls = reader_u64(&reader);
    if (!reader_done(&reader))
        return err_set(err, "STARTED has a wrong length (%zu bytes)", size);
    if (started->controls & ~(uint64_t)WIRE_CONTROLS_ALL)
        return err_set(err, "STARTED names a control that does not exist");
    return 0;
}

/* The code must be one that the way of ending can have. */
static bool exited_code_valid(const struct wire_exited *exited)
{
    switch (exited->how) {
    case WIRE_HOW_EXITED:
        return exited->code <= 255;
    case WIRE_HOW_SIGNALLED:
        return exited->code >= 1 && exited->code <= 64;
    case WIRE_HOW_NOT_FOUND:
    case WIRE_HOW_NOT_STARTED:
    case WIRE_HOW_SETUP_FAILED:
        return exited->code <= 4095;
    default:
        return false;
    }
}

int wire_get_exited(
    const uint8_t *payload, size_t size, struct wire_exited *exited, struct err *err)
{
    struct reader reader = reader_make(payload, size);

    exited->how = reader_u32(&reader);
    exited->code = reader_u32(&reader);
    exited->limits = reader_u32(&reader);
    get_zero(&reader, 4);
    exited->run_ns = reader_u64(&reader);
    exited->user_ns = reader_u64(&reader);
    exited->system_ns = reader_u64(&reader);
    exited->memory_peak_bytes = reader_u64(&reader);
    exited->oom_kills = reader_u64(&reader);
    exited->pids_max_events = reader_u64(&reader);
    exited->reserved = 0;
    get_zero(&reader, 8);
    get_text(&reader, exited->text);
    if (!reader_done(&reader))
        return err_set(err, "EXITED has a wrong length (%zu bytes), text or reserved field", size);
    if (exited->limits & ~(uint32_t)WIRE_LIMITS_ALL)
        return err_set(err, "EXITED names a limit that does not exist");
    if (!exited_code_valid(exited))
        return err_set(
            err, "EXITED says how %u with code %u, which cannot be", exited->how, exited->code);
    return 0;
}

int wire_get_exported(
    const uint8_t *payload, size_t size, struct wire_exported *exported, struct err *err)
{
    struct reader reader = reader_make(payload, size);

    exported->error = reader_u32(&reader);
    get_zero(&reader, 4);
    exported->archive_bytes = reader_u64(&reader);
    exported->files = reader_u64(&reader);
    exported->skipped = reader_u64(&reader);
    exported->export_ns = reader_u64(&reader);
    if (!reader_done(&reader))
        return err_set(err, "EXPORTED has a wrong length (%zu bytes) or reserved field", size);
    if (exported->error > 4095)
        return err_set(err, "EXPORTED has error %u, which is no errno", exported->error);
    return 0;
}

int wire_get_fatal(const uint8_t *payload, size_t size, struct wire_fatal *fatal, struct err *err)
{
    struct reader reader = reader_make(payload, size);

    fatal->error = reader_u32(&reader);
    get_text(&reader, fatal->text);
    if (!reader_done(&reader))
        return err_set(err, "FATAL has a wrong length or text (%zu bytes)", size);
    if (fatal->error > 4095)
        return err_set(err, "FATAL has error %u, which is no errno", fatal->error);
    return 0;
}
