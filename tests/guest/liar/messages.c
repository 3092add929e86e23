/* SPDX-License-Identifier: Apache-2.0 */
/* messages.c: lies in the messages of a run (vmm/wire/wire.h). */
#include "liar/liar.h"

/* Offsets in a message. */
enum { TYPE = 0, ZERO = 2, LENGTH = 4, PAYLOAD = 8, TEXT = PAYLOAD + 72 };

static uint8_t message[WIRE_HEADER_BYTES + 4096];
static size_t message_bytes;

static void put(size_t offset, unsigned size, uint64_t value)
{
    for (unsigned i = 0; i < size; i++)
        message[offset + i] = (uint8_t)(value >> (8 * i));
}

/* The length field follows the payload; what BYTES adds is zero. */
static void resize(size_t bytes)
{
    message_bytes = bytes;
    put(LENGTH, 4, bytes - WIRE_HEADER_BYTES);
}

static void say_it(void)
{
    agent_send(WIRE_PORT_CONTROL, message, message_bytes, 4096);
}

static void hello(void)
{
    const struct wire_hello value = {
        .version = WIRE_VERSION, .cpu_count = 1, .memory_bytes = 64 * MIB, .release = "liar"};

    message_bytes = wire_put_hello(message, sizeof(message), &value);
}

static void started(void)
{
    const struct wire_started value = {.setup_ns = 1};

    message_bytes = wire_put_started(message, sizeof(message), &value);
}

static void exited(void)
{
    static struct wire_exited value = {.how = WIRE_HOW_EXITED};

    message_bytes = wire_put_exited(message, sizeof(message), &value);
}

static void exported(void)
{
    const struct wire_exported value = {.error = 0};

    message_bytes = wire_put_exported(message, sizeof(message), &value);
}

static void fatal(const char *text)
{
    static struct wire_fatal value;

    memcpy(value.text, text, strlen(text) + 1);
    message_bytes = wire_put_fatal(message, sizeof(message), &value);
}

/* MAKE, one field set, sent. */
#define LIE_FIELD(name, make, offset, size, value)                                                 \
    static void name(void)                                                                         \
    {                                                                                              \
        make();                                                                                    \
        put(offset, size, value);                                                                  \
        say_it();                                                                                  \
    }

/* MAKE with another length, sent. */
#define LIE_LENGTH(name, make, bytes)                                                              \
    static void name(void)                                                                         \
    {                                                                                              \
        make();                                                                                    \
        resize(WIRE_HEADER_BYTES + (bytes));                                                       \
        say_it();                                                                                  \
    }

#define LIE_PLAIN(name, make) LIE_FIELD(name, make, sizeof(message) - 1, 1, 0)

/* ---- the header ---- */

LIE_FIELD(type_0, hello, TYPE, 2, 0)
LIE_FIELD(type_8, hello, TYPE, 2, 8)
LIE_FIELD(type_65535, hello, TYPE, 2, 65535)
LIE_FIELD(header_zero, hello, ZERO, 2, 1)
LIE_FIELD(length_513, hello, LENGTH, 4, 513)
LIE_FIELD(length_max, hello, LENGTH, 4, 0xffffffff)
LIE_FIELD(job_of_guest, hello, TYPE, 2, WIRE_JOB)
LIE_FIELD(cancel_of_guest, hello, TYPE, 2, WIRE_CANCEL)

/* ---- HELLO ---- */

LIE_LENGTH(hello_0, hello, 0)
LIE_LENGTH(hello_95, hello, 95)
LIE_LENGTH(hello_97, hello, 97)
LIE_FIELD(hello_magic, hello, PAYLOAD, 4, 0x12345678)
LIE_FIELD(hello_version, hello, PAYLOAD + 4, 4, WIRE_VERSION + 1)
LIE_FIELD(hello_zero, hello, PAYLOAD + 12, 4, 1)
LIE_FIELD(hello_release, hello, PAYLOAD + 32 + 63, 1, 'x')
LIE_PLAIN(hello_twice, hello)

static void hello_early(void)
{
    agent_dial(WIRE_PORT_CONTROL);
    hello();
    say_it();
}

/* All that HELLO can claim; the run is ok. */
static void hello_claims(void)
{
    hello();
    put(PAYLOAD + 8, 4, 0xffffffff);
    put(PAYLOAD + 16, 8, -1ULL);
    put(PAYLOAD + 24, 8, -1ULL);
    for (unsigned i = 0; i < WIRE_RELEASE_BYTES; i++)
        put(PAYLOAD + 32 + i, 1, i % 2 ? 0x1b : 0xff);
    say_it();
    agent_await_job();
    liar_finish(LIAR_WORKS);
}

/* A message in pieces of one byte is a message. */
static void hello_in_bytes(void)
{
    hello();
    agent_send(WIRE_PORT_CONTROL, message, message_bytes, 1);
    agent_await_job();
    liar_finish(LIAR_WORKS);
}

/* Half a message, and then nothing. */
static void hello_half(void)
{
    hello();
    agent_send(WIRE_PORT_CONTROL, message, message_bytes - 1, 4096);
    for (;;)
        breathe();
}

/* ---- out of order ---- */

LIE_PLAIN(started_first, started)
LIE_PLAIN(exited_first, exited)
LIE_PLAIN(exported_first, exported)
LIE_PLAIN(exported_before_exited, exported)
LIE_PLAIN(started_twice, started)
LIE_PLAIN(started_after_exited, started)
LIE_PLAIN(exited_twice, exited)

static void exported_before_output_ends(void)
{
    exited();
    say_it();
    exported();
    say_it();
}

static void nothing(void)
{
    for (;;)
        breathe();
}

/* EXPORTED, then more of anything: the run was over with it. */
static void after_exported(void)
{
    exported();
    for (unsigned i = 0; i < 8; i++)
        say_it();
}

/* ---- STARTED ---- */

LIE_LENGTH(started_15, started, 15)
LIE_LENGTH(started_17, started, 17)
LIE_FIELD(started_control, started, PAYLOAD + 8, 8, 1ULL << 63)

static void started_claims(void)
{
    started();
    put(PAYLOAD, 8, -1ULL);
    say_it();
    liar_finish(LIAR_RUNS);
}

/* ---- EXITED ---- */

LIE_FIELD(exited_how_0, exited, PAYLOAD, 4, 0)
LIE_FIELD(exited_how_6, exited, PAYLOAD, 4, 6)
LIE_FIELD(exited_code_256, exited, PAYLOAD + 4, 4, 256)
LIE_FIELD(exited_limit, exited, PAYLOAD + 8, 4, 1U << 31)
LIE_FIELD(exited_zero, exited, PAYLOAD + 12, 4, 1)
LIE_FIELD(exited_reserved, exited, PAYLOAD + 64, 8, 1)
LIE_LENGTH(exited_short, exited, 73)
LIE_LENGTH(exited_long, exited, 75)
LIE_FIELD(exited_text_past_end, exited, TEXT, 2, 1)

static void exited_signal(uint32_t number)
{
    exited();
    put(PAYLOAD, 4, WIRE_HOW_SIGNALLED);
    put(PAYLOAD + 4, 4, number);
    say_it();
}

static void exited_signal_0(void)
{
    exited_signal(0);
}

static void exited_signal_65(void)
{
    exited_signal(65);
}

static void exited_text(uint16_t length, uint8_t filling)
{
    exited();
    put(TEXT, 2, length);
    memset(message + TEXT + 2, filling, length);
    resize(TEXT + 2 + (size_t)length);
    say_it();
}

static void exited_text_257(void)
{
    exited_text(257, 'x');
}

static void exited_text_nul(void)
{
    exited_text(8, 0);
}

/* Every number as large as it can be, a text of control characters: a claim, and the run is ok. */
static void exited_claims(void)
{
    agent_end_output();
    exited();
    for (unsigned i = 0; i < 6; i++)
        put(PAYLOAD + 16 + 8 * i, 8, -1ULL);
    put(TEXT, 2, 200);
    memset(message + TEXT + 2, 0x1b, 200);
    resize(TEXT + 2 + 200);
    say_it();
    liar_finish(LIAR_EXITED);
}

/* ---- EXPORTED ---- */

LIE_LENGTH(exported_39, exported, 39)
LIE_LENGTH(exported_41, exported, 41)
LIE_FIELD(exported_zero, exported, PAYLOAD + 4, 4, 1)
LIE_FIELD(exported_error, exported, PAYLOAD, 4, 4096)

static void exported_claims(void)
{
    exported();
    for (unsigned i = 0; i < 4; i++)
        put(PAYLOAD + 8 + 8 * i, 8, -1ULL);
    say_it();
}

/* ---- FATAL ---- */

static void fatal_escapes(void)
{
    fatal("\033[2J\033]0;owned\007\r\n\342\200\256liar");
    say_it();
}

static void fatal_short(void)
{
    fatal("x");
    resize(message_bytes - 1);
    say_it();
}

static void fatal_error(void)
{
    fatal("x");
    put(PAYLOAD, 4, 4096);
    say_it();
}

static void fatal_text_513(void)
{
    fatal("x");
    put(PAYLOAD + 4, 2, 506);
    memset(message + PAYLOAD + 6, 'x', 506);
    resize(PAYLOAD + 6 + 506);
    say_it();
}

/* ---- without end ---- */

static void output_without_end(void)
{
    static uint8_t output[32 * KIB];

    memset(output, 'x', sizeof(output));
    for (;;)
        agent_send(WIRE_PORT_STDOUT, output, sizeof(output), sizeof(output));
}

/* Control bytes and broken UTF-8, on both streams, past their limits, then a proper end. */
static void output_wild(void)
{
    static uint8_t output[32 * KIB];

    for (unsigned i = 0; i < sizeof(output); i++)
        output[i] = (uint8_t)random_next();
    for (unsigned i = 0; i < 16; i++) {
        agent_send(WIRE_PORT_STDOUT, output, sizeof(output), 1000);
        agent_send(WIRE_PORT_STDERR, output, sizeof(output), sizeof(output));
    }
    liar_finish(LIAR_RUNS);
}

const struct lie liar_messages[] = {
    {"type-0", LIAR_DIALLED, type_0},
    {"type-8", LIAR_DIALLED, type_8},
    {"type-65535", LIAR_DIALLED, type_65535},
    {"header-zero", LIAR_DIALLED, header_zero},
    {"length-513", LIAR_DIALLED, length_513},
    {"length-max", LIAR_DIALLED, length_max},
    {"job-of-guest", LIAR_DIALLED, job_of_guest},
    {"cancel-of-guest", LIAR_DIALLED, cancel_of_guest},
    {"hello-early", LIAR_STARTS, hello_early},
    {"hello-0", LIAR_DIALLED, hello_0},
    {"hello-95", LIAR_DIALLED, hello_95},
    {"hello-97", LIAR_DIALLED, hello_97},
    {"hello-magic", LIAR_DIALLED, hello_magic},
    {"hello-version", LIAR_DIALLED, hello_version},
    {"hello-zero", LIAR_DIALLED, hello_zero},
    {"hello-release", LIAR_DIALLED, hello_release},
    {"hello-twice", LIAR_WORKS, hello_twice},
    {"hello-claims", LIAR_DIALLED, hello_claims},
    {"hello-in-bytes", LIAR_DIALLED, hello_in_bytes},
    {"hello-half", LIAR_DIALLED, hello_half},
    {"started-first", LIAR_DIALLED, started_first},
    {"exited-first", LIAR_DIALLED, exited_first},
    {"exported-first", LIAR_DIALLED, exported_first},
    {"fatal-escapes", LIAR_DIALLED, fatal_escapes},
    {"fatal-short", LIAR_DIALLED, fatal_short},
    {"fatal-error", LIAR_DIALLED, fatal_error},
    {"fatal-text-513", LIAR_DIALLED, fatal_text_513},
    {"started-15", LIAR_WORKS, started_15},
    {"started-17", LIAR_WORKS, started_17},
    {"started-control", LIAR_WORKS, started_control},
    {"started-claims", LIAR_WORKS, started_claims},
    {"started-twice", LIAR_RUNS, started_twice},
    {"exported-before-exited", LIAR_RUNS, exported_before_exited},
    {"exported-before-output-ends", LIAR_RUNS, exported_before_output_ends},
    {"exited-how-0", LIAR_RUNS, exited_how_0},
    {"exited-how-6", LIAR_RUNS, exited_how_6},
    {"exited-code-256", LIAR_RUNS, exited_code_256},
    {"exited-signal-0", LIAR_RUNS, exited_signal_0},
    {"exited-signal-65", LIAR_RUNS, exited_signal_65},
    {"exited-limit", LIAR_RUNS, exited_limit},
    {"exited-zero", LIAR_RUNS, exited_zero},
    {"exited-reserved", LIAR_RUNS, exited_reserved},
    {"exited-short", LIAR_RUNS, exited_short},
    {"exited-long", LIAR_RUNS, exited_long},
    {"exited-text-past-end", LIAR_RUNS, exited_text_past_end},
    {"exited-text-257", LIAR_RUNS, exited_text_257},
    {"exited-text-nul", LIAR_RUNS, exited_text_nul},
    {"exited-claims", LIAR_RUNS, exited_claims},
    {"started-after-exited", LIAR_EXITED, started_after_exited},
    {"exited-twice", LIAR_EXITED, exited_twice},
    {"exported-39", LIAR_EXITED, exported_39},
    {"exported-41", LIAR_EXITED, exported_41},
    {"exported-zero", LIAR_EXITED, exported_zero},
    {"exported-error", LIAR_EXITED, exported_error},
    {"exported-claims", LIAR_EXITED, exported_claims},
    {"after-exported", LIAR_EXITED, after_exported},
    {"silent-working", LIAR_WORKS, nothing},
    {"silent-running", LIAR_RUNS, nothing},
    {"silent-exited", LIAR_EXITED, nothing},
    {"output-without-end", LIAR_RUNS, output_without_end},
    {"output-wild", LIAR_RUNS, output_wild},
};
const size_t liar_messages_count = ARRAY_COUNT(liar_messages);
