/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_fuzz.c: a stream of control messages from a hostile guest. What decodes must encode to the
 * same bytes again: nothing is accepted that the protocol does not have a form for.
 */
#include <stdlib.h>
#include <string.h>

#include "wire/wire.h"

/* PAYLOAD is a copy of exactly its size, so that the sanitizer sees a read past it. */
static void fuzz_payload(
    const uint8_t *message, const uint8_t *payload, const struct wire_header *header)
{
    uint8_t again[WIRE_HEADER_BYTES + WIRE_GUEST_PAYLOAD_MAX];
    struct err err = ERR_INIT;
    size_t size = 0;

    if (header->type == WIRE_HELLO) {
        struct wire_hello hello;

        if (wire_get_hello(payload, header->length, &hello, &err) == 0)
            size = wire_put_hello(again, sizeof(again), &hello);
    } else if (header->type == WIRE_STARTED) {
        struct wire_started started;

        if (wire_get_started(payload, header->length, &started, &err) == 0)
            size = wire_put_started(again, sizeof(again), &started);
    } else if (header->type == WIRE_EXITED) {
        struct wire_exited exited;

        if (wire_get_exited(payload, header->length, &exited, &err) == 0)
            size = wire_put_exited(again, sizeof(again), &exited);
    } else if (header->type == WIRE_EXPORTED) {
        struct wire_exported exported;

        if (wire_get_exported(payload, header->length, &exported, &err) == 0)
            size = wire_put_exported(again, sizeof(again), &exported);
    } else if (header->type == WIRE_FATAL) {
        struct wire_fatal fatal;

        if (wire_get_fatal(payload, header->length, &fatal, &err) == 0)
            size = wire_put_fatal(again, sizeof(again), &fatal);
    }
    if (size > 0) {
        must(size == WIRE_HEADER_BYTES + header->length);
        must(memcmp(again, message, size) == 0);
    } else if (header->type != WIRE_JOB && header->type != WIRE_CANCEL) {
        must(err_is_set(&err));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    while (size >= WIRE_HEADER_BYTES) {
        struct wire_header header;
        struct err err = ERR_INIT;
        uint8_t *payload;

        if (wire_get_header(data, WIRE_GUEST_PAYLOAD_MAX, &header, &err) < 0)
            break;
        must(header.length <= WIRE_GUEST_PAYLOAD_MAX);
        if (header.length > size - WIRE_HEADER_BYTES)
            break;
        payload = malloc(header.length ? header.length : 1);
        must(payload != NULL);
        memcpy(payload, data + WIRE_HEADER_BYTES, header.length);
        fuzz_payload(data, payload, &header);
        free(payload);
        data += WIRE_HEADER_BYTES + header.length;
        size -= WIRE_HEADER_BYTES + header.length;
    }
    return 0;
}
