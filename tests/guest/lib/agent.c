/* SPDX-License-Identifier: Apache-2.0 */
/* agent.c: see agent.h. */
#include "lib/agent.h"

enum { STREAMS = WIRE_PORT_STDIN + 1 };

static struct {
    bool open;
    uint32_t received; /* bytes, all consumed */
    uint32_t sent, host_fwd_cnt, host_buf_alloc;
} streams[STREAMS];

struct vsock_header agent_header(uint32_t host_port, uint16_t op)
{
    struct vsock_header header = vsock_header(AGENT_SOURCE_PORT + host_port, host_port, op);

    header.fwd_cnt = streams[host_port].received;
    return header;
}

/* Take one packet and note what it says; false when none comes. */
static bool agent_receive(struct vsock_packet *packet)
{
    uint32_t port;

    if (!vsock_receive(packet))
        return false;
    port = packet->header.src_port;
    if (port >= STREAMS)
        return true;
    streams[port].host_fwd_cnt = packet->header.fwd_cnt;
    streams[port].host_buf_alloc = packet->header.buf_alloc;
    streams[port].received += packet->header.bytes;
    if (packet->header.op == OP_RESPONSE)
        streams[port].open = true;
    if (packet->header.op == OP_RST)
        streams[port].open = false;
    return true;
}

void agent_dial(uint32_t host_port)
{
    const struct vsock_header header = agent_header(host_port, OP_REQUEST);
    static struct vsock_packet packet;

    (void)vsock_send(&header, NULL, 0);
    while (!streams[host_port].open) {
        if (!agent_receive(&packet) || packet.header.op == OP_RST)
            guest_die("the host does not answer");
    }
}

void agent_send(uint32_t host_port, const void *bytes, size_t size, uint32_t piece)
{
    static struct vsock_packet packet;
    const uint8_t *at = bytes;

    while (size > 0) {
        uint32_t count = size < piece ? (uint32_t)size : piece;
        struct vsock_header header;

        while (streams[host_port].sent - streams[host_port].host_fwd_cnt + count >
               streams[host_port].host_buf_alloc) {
            if (!agent_receive(&packet))
                guest_die("the host gives no credit");
        }
        header = agent_header(host_port, OP_RW);
        header.bytes = count;
        if (!vsock_send(&header, at, count))
            guest_die("the host takes no packet");
        streams[host_port].sent += count;
        at += count;
        size -= count;
    }
}

void agent_dial_all(void)
{
    for (uint32_t port = WIRE_PORT_CONTROL; port <= WIRE_PORT_STDIN; port++)
        agent_dial(port);
}

void agent_hello(void)
{
    const struct wire_hello hello = {
        .version = WIRE_VERSION, .cpu_count = 1, .memory_bytes = 64 * MIB, .release = "villain"};
    uint8_t bytes[WIRE_HEADER_BYTES + WIRE_GUEST_PAYLOAD_MAX];

    agent_send(WIRE_PORT_CONTROL, bytes, wire_put_hello(bytes, sizeof(bytes), &hello), 4096);
}

void agent_await_job(void)
{
    static struct vsock_packet packet;
    static uint8_t head[WIRE_HEADER_BYTES];
    uint32_t before = streams[WIRE_PORT_CONTROL].received, wanted = sizeof(head), got = 0;

    while (got < wanted) {
        if (!agent_receive(&packet))
            guest_die("the job does not come");
        if (packet.header.src_port != WIRE_PORT_CONTROL || packet.header.op != OP_RW)
            continue;
        for (uint32_t i = 0; i < packet.header.bytes && got + i < sizeof(head); i++)
            head[got + i] = packet.payload[i];
        got = streams[WIRE_PORT_CONTROL].received - before;
        if (got >= sizeof(head))
            wanted =
                (uint32_t)sizeof(head) + (head[4] | (uint32_t)head[5] << 8 |
                                             (uint32_t)head[6] << 16 | (uint32_t)head[7] << 24);
        /* The host may have room for one packet only. */
        const struct vsock_header credit = agent_header(WIRE_PORT_CONTROL, OP_CREDIT_UPDATE);
        (void)vsock_send(&credit, NULL, 0);
    }
    if (head[0] != WIRE_JOB)
        guest_die("the first message is not the job");
}

void agent_started(void)
{
    const struct wire_started started = {.setup_ns = 1, .controls = 0};
    uint8_t bytes[64];

    agent_send(WIRE_PORT_CONTROL, bytes, wire_put_started(bytes, sizeof(bytes), &started), 4096);
}

void agent_end_output(void)
{
    for (uint32_t port = WIRE_PORT_STDOUT; port <= WIRE_PORT_STDERR; port++) {
        struct vsock_header header = agent_header(port, OP_SHUTDOWN);

        header.flags = 3;
        (void)vsock_send(&header, NULL, 0);
    }
}

void agent_exited(uint32_t code)
{
    static const struct wire_exited nothing;
    struct wire_exited exited = nothing;
    uint8_t bytes[WIRE_HEADER_BYTES + WIRE_GUEST_PAYLOAD_MAX];

    exited.how = WIRE_HOW_EXITED;
    exited.code = code;
    agent_send(WIRE_PORT_CONTROL, bytes, wire_put_exited(bytes, sizeof(bytes), &exited), 4096);
}

void agent_exported(void)
{
    const struct wire_exported exported = {.error = 0};
    uint8_t bytes[64];

    agent_send(WIRE_PORT_CONTROL, bytes, wire_put_exported(bytes, sizeof(bytes), &exported), 4096);
}

_Noreturn void agent_wait(void)
{
    for (unsigned i = 0; i < 10 * PATIENCE; i++)
        breathe();
    guest_die("the host did not stop this machine");
}

_Noreturn void agent_serve(const char *text)
{
    vsock_up(32);
    agent_dial_all();
    agent_hello();
    agent_await_job();
    agent_started();
    agent_send(WIRE_PORT_STDOUT, text, strlen(text), 4096);
    agent_end_output();
    agent_exited(0);
    agent_exported();
    agent_wait();
}
