/* SPDX-License-Identifier: Apache-2.0 */
/* streams.c: lies about the streams of a run (virtio 1.2 §5.10.6). */
#include "liar/liar.h"

static uint8_t data[64 * KIB + 16];

/* A packet of the stream to PORT with one field set. */
static void packet(uint32_t port, uint16_t op)
{
    const struct vsock_header header = agent_header(port, op);

    (void)vsock_send(&header, NULL, 0);
}

static void send_payload(uint32_t port, uint32_t said, uint32_t sent)
{
    struct vsock_header header = agent_header(port, OP_RW);

    header.bytes = said;
    (void)vsock_send(&header, data, sent);
}

/* REQUEST and data in one go: the answer is not out yet. */
static void rw_before_response(void)
{
    const struct vsock_header request = agent_header(WIRE_PORT_CONTROL, OP_REQUEST);
    struct vsock_header early = agent_header(WIRE_PORT_CONTROL, OP_RW);

    early.bytes = 8;
    vsock_put(&request, NULL, 0);
    (void)vsock_send(&early, data, 8);
}

static void rw_after_shutdown(void)
{
    struct vsock_header header = agent_header(WIRE_PORT_STDOUT, OP_SHUTDOWN);

    header.flags = 2;
    (void)vsock_send(&header, NULL, 0);
    send_payload(WIRE_PORT_STDOUT, 8, 8);
}

/* 512 KiB were granted; without a buffer for its packets the host cannot grant more. */
static void credit_overrun(void)
{
    vsock_up(4);
    vsock.buffers = 0;
    agent_dial_all();
    for (unsigned i = 0; i < 8; i++)
        send_payload(WIRE_PORT_STDOUT, 64 * KIB, 64 * KIB);
    send_payload(WIRE_PORT_STDOUT, 1, 1);
}

static void fwd_cnt(void)
{
    struct vsock_header header = agent_header(WIRE_PORT_CONTROL, OP_CREDIT_UPDATE);

    header.fwd_cnt = 1;
    (void)vsock_send(&header, NULL, 0);
}

static void fwd_cnt_half(void)
{
    struct vsock_header header = agent_header(WIRE_PORT_CONTROL, OP_CREDIT_UPDATE);

    header.fwd_cnt = 1U << 31;
    (void)vsock_send(&header, NULL, 0);
}

static void response(void)
{
    packet(WIRE_PORT_CONTROL, OP_RESPONSE);
}

static void op_0(void)
{
    packet(WIRE_PORT_CONTROL, 0);
}

static void op_8(void)
{
    packet(WIRE_PORT_CONTROL, 8);
}

static void type_seqpacket(void)
{
    struct vsock_header header = agent_header(WIRE_PORT_CONTROL, OP_CREDIT_UPDATE);

    header.type = 2;
    (void)vsock_send(&header, NULL, 0);
}

static void payload_of_shutdown(void)
{
    struct vsock_header header = agent_header(WIRE_PORT_CONTROL, OP_SHUTDOWN);

    header.bytes = 8;
    (void)vsock_send(&header, data, 8);
}

static void payload_too_long(void)
{
    send_payload(WIRE_PORT_CONTROL, 64 * KIB + 1, 64 * KIB + 1);
}

static void payload_past_buffers(void)
{
    send_payload(WIRE_PORT_CONTROL, 9, 8);
}

static void control_reset(void)
{
    packet(WIRE_PORT_CONTROL, OP_RST);
}

static void control_shutdown(void)
{
    struct vsock_header header = agent_header(WIRE_PORT_CONTROL, OP_SHUTDOWN);

    header.flags = 3;
    (void)vsock_send(&header, NULL, 0);
}

static void device_reset(void)
{
    vsock_up(32);
}

/* A broken queue under live streams. Before HELLO the guest might still begin anew. */
static void queue_broken(void)
{
    virtq_offer(&vsock.tx, 9999);
    virtq_kick(&vsock.tx);
    for (;;)
        breathe();
}

/* The same with a disk. */
static void disk_broken(void)
{
    static struct virtq_rings rings;
    const struct device disk = device_find(ID_BLOCK, 1);
    struct virtq queue;

    device_negotiate(&disk, F_VERSION_1);
    queue = virtq_make(&disk, 0, VSOCK_QUEUE_SIZE, &rings);
    virtq_register(&queue);
    status_add(&disk, STATUS_DRIVER_OK);
    virtq_offer(&queue, 9999);
    virtq_kick(&queue);
    for (;;)
        breathe();
}

/* The guest takes nothing: the job cannot be sent. */
static void no_buffer(void)
{
    struct vsock_header header = agent_header(WIRE_PORT_CONTROL, OP_CREDIT_UPDATE);

    header.buf_alloc = 0;
    (void)vsock_send(&header, NULL, 0);
    agent_hello();
    for (;;)
        breathe();
}

/* ---- odd, but allowed: the run goes on and is ok ---- */

static void same_request(void)
{
    for (unsigned i = 0; i < 100; i++)
        packet(WIRE_PORT_CONTROL, OP_REQUEST);
    liar_finish(LIAR_DIALLED);
}

/* A second stream to each port of the run, from below 1024 too. */
static void second_streams(void)
{
    static struct vsock_packet answer;

    for (uint32_t port = WIRE_PORT_CONTROL; port <= WIRE_PORT_STDIN; port++) {
        const struct vsock_header header = vsock_header(900 + port, port, OP_REQUEST);

        (void)vsock_send(&header, NULL, 0);
        do {
            if (!vsock_receive(&answer))
                guest_die("a second stream is not answered");
        } while (answer.header.dst_port != 900 + port);
        if (answer.header.op != OP_RST)
            guest_die("a second stream is not refused");
    }
    liar_finish(LIAR_DIALLED);
}

static void output_reset(void)
{
    packet(WIRE_PORT_STDOUT, OP_RST);
    packet(WIRE_PORT_STDIN, OP_RST);
    liar_finish(LIAR_DIALLED);
}

/* Half-close: no more from the guest, and the host's half stays open. */
static void half_close(void)
{
    struct vsock_header header = agent_header(WIRE_PORT_STDOUT, OP_SHUTDOWN);

    header.flags = 2;
    for (unsigned i = 0; i < 3; i++)
        (void)vsock_send(&header, NULL, 0);
    header.flags = 0xfffffffc; /* reserved */
    (void)vsock_send(&header, NULL, 0);
    liar_finish(LIAR_DIALLED);
}

static void credit_storm(void)
{
    static struct vsock_packet answer;

    for (unsigned i = 0; i < 5000; i++) {
        packet(WIRE_PORT_CONTROL, OP_CREDIT_REQUEST);
        while (vsock.rx.rings->used.idx != vsock.rx.seen)
            (void)vsock_receive(&answer);
    }
    liar_finish(LIAR_DIALLED);
}

/* Data towards the host on the stream that carries the task's input: nobody reads it. */
static void input_backwards(void)
{
    for (unsigned i = 0; i < 16; i++)
        agent_send(WIRE_PORT_STDIN, data, 64 * KIB, 64 * KIB);
    liar_finish(LIAR_DIALLED);
}

/* The buffer for the job shrinks to 16 bytes, less than what may be under way. */
static void small_buffer(void)
{
    static struct vsock_packet answer;
    struct vsock_header header = agent_header(WIRE_PORT_CONTROL, OP_CREDIT_UPDATE);
    uint32_t received = 0;

    header.buf_alloc = 16;
    (void)vsock_send(&header, NULL, 0);
    {
        const struct wire_hello hello = {.version = WIRE_VERSION, .cpu_count = 1};
        uint8_t bytes[256];
        size_t size = wire_put_hello(bytes, sizeof(bytes), &hello);
        struct vsock_header rw = agent_header(WIRE_PORT_CONTROL, OP_RW);

        rw.buf_alloc = 16;
        rw.bytes = (uint32_t)size;
        (void)vsock_send(&rw, bytes, rw.bytes);
    }
    while (received < 160) {
        if (!vsock_receive(&answer))
            guest_die("the job does not go on");
        if (answer.header.src_port != WIRE_PORT_CONTROL || answer.header.op != OP_RW)
            continue;
        if (answer.header.bytes > 16)
            guest_die("more came than there was room for");
        received += answer.header.bytes;
        header.fwd_cnt = received;
        header.buf_alloc = received % 2 ? 0 : 16;
        (void)vsock_send(&header, NULL, 0);
        header.buf_alloc = 16;
        (void)vsock_send(&header, NULL, 0);
    }
    guest_end();
}

/* Output that the guest has no time to ring for, and the end of the machine. */
static void last_words(void)
{
    struct vsock_header header = agent_header(WIRE_PORT_STDOUT, OP_RW);

    header.bytes = 64 * KIB;
    for (unsigned i = 0; i < 7; i++)
        vsock_put(&header, data, header.bytes);
    header.bytes = 1000;
    vsock_put(&header, data, header.bytes);
    guest_end();
}

const struct lie liar_streams[] = {
    {"rw-before-response", LIAR_STARTS, rw_before_response},
    {"rw-after-shutdown", LIAR_DIALLED, rw_after_shutdown},
    {"credit-overrun", LIAR_STARTS, credit_overrun},
    {"fwd-cnt", LIAR_DIALLED, fwd_cnt},
    {"fwd-cnt-half", LIAR_DIALLED, fwd_cnt_half},
    {"response", LIAR_DIALLED, response},
    {"op-0", LIAR_DIALLED, op_0},
    {"op-8", LIAR_DIALLED, op_8},
    {"type-seqpacket", LIAR_DIALLED, type_seqpacket},
    {"payload-of-shutdown", LIAR_DIALLED, payload_of_shutdown},
    {"payload-too-long", LIAR_DIALLED, payload_too_long},
    {"payload-past-buffers", LIAR_DIALLED, payload_past_buffers},
    {"control-reset", LIAR_DIALLED, control_reset},
    {"control-shutdown", LIAR_DIALLED, control_shutdown},
    {"device-reset", LIAR_DIALLED, device_reset},
    {"queue-broken", LIAR_DIALLED, queue_broken},
    {"queue-broken-later", LIAR_WORKS, queue_broken},
    {"disk-broken-later", LIAR_EXITED, disk_broken},
    {"no-buffer", LIAR_DIALLED, no_buffer},
    {"same-request", LIAR_DIALLED, same_request},
    {"second-streams", LIAR_DIALLED, second_streams},
    {"output-reset", LIAR_DIALLED, output_reset},
    {"half-close", LIAR_DIALLED, half_close},
    {"credit-storm", LIAR_DIALLED, credit_storm},
    {"input-backwards", LIAR_DIALLED, input_backwards},
    {"small-buffer", LIAR_DIALLED, small_buffer},
    {"last-words", LIAR_RUNS, last_words},
};
const size_t liar_streams_count = ARRAY_COUNT(liar_streams);
