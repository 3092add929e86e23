/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vsock.c: vsock packets for no stream, wrongly (virtio 1.2 §5.10.6). What goes wrong on a stream
 * of the run ends the run, and so is the liar's (liar/liar.c).
 */
#include "villain/villain.h"

#include "lib/vsock.h"

enum {
    PORT = 4000,     /* ours: not one that the agent may dial from */
    SENTINEL = 4999, /* ours, of the packet that shows that nothing came before its answer */
    NO_PORT = 77,    /* the host's, where nobody answers */
    BUFFERS = 32,
    BATCH = 16,
};

static struct vsock_packet packet;

/* The next packet is a RST for what HEADER was. */
static void expect_reset(const struct vsock_header *header)
{
    if (!vsock_receive(&packet)) {
        expect(false, "no RST");
        return;
    }
    expect_equal("op", packet.header.op, OP_RST);
    expect_equal("source CID", packet.header.src_cid, VSOCK_HOST);
    expect_equal("target CID", packet.header.dst_cid, VSOCK_SELF);
    expect_equal("source port", packet.header.src_port, header->dst_port);
    expect_equal("target port", packet.header.dst_port, header->src_port);
    expect_equal("type", packet.header.type, header->type);
    expect_equal("payload", packet.header.bytes, 0);
}

/* Also what a correct use of the device is without a session: a REQUEST that is refused. */
static void expect_silence(void)
{
    const struct vsock_header header = vsock_header(SENTINEL, NO_PORT, OP_REQUEST);

    expect(vsock_send(&header, NULL, 0), "a packet was not taken");
    expect_reset(&header);
}

static void serves(void)
{
    vsock_up(BUFFERS);
    expect_silence();
    expect_equal("guest_cid", access_read(vsock.device.gpa + REG_CONFIG, 8), VSOCK_SELF);
}

static void send(const struct vsock_header *header)
{
    expect(vsock_send(header, NULL, 0), "a packet was not taken");
}

/* CIDs that are not the guest's own, or not the host's. */
static const uint64_t cids[] = {
    0, 1, 4, 0xffffffff, 3ULL | 1ULL << 32, 2ULL | 1ULL << 32, 3ULL | 1ULL << 63, -1ULL};

static void source_cid(unsigned which)
{
    struct vsock_header header = vsock_header(PORT, NO_PORT, OP_REQUEST);

    vsock_up(BUFFERS);
    header.src_cid = cids[which];
    send(&header);
    expect_silence();
}

static void target_cid(unsigned which)
{
    struct vsock_header header = vsock_header(PORT, NO_PORT, OP_REQUEST);

    vsock_up(BUFFERS);
    header.dst_cid = cids[which];
    send(&header);
    expect_silence();
}

static void own_cid(unsigned host_is_source)
{
    struct vsock_header header = vsock_header(PORT, NO_PORT, OP_REQUEST);

    vsock_up(BUFFERS);
    header.src_cid = host_is_source ? VSOCK_HOST : VSOCK_SELF;
    header.dst_cid = header.src_cid;
    send(&header);
    expect_silence();
}

static void port(unsigned host_port)
{
    const struct vsock_header header = vsock_header(PORT, host_port, OP_REQUEST);

    vsock_up(BUFFERS);
    send(&header);
    expect_reset(&header);
    expect_silence();
}

/* The run's ports from below 1024 are the agent's; from anywhere else they are refused. */
static void source_port(unsigned guest_port)
{
    for (uint32_t host_port = 1; host_port <= 4; host_port++) {
        const struct vsock_header header = vsock_header(guest_port, host_port, OP_REQUEST);

        vsock_up(BUFFERS);
        send(&header);
        expect_reset(&header);
    }
}

static void type(unsigned value)
{
    struct vsock_header header = vsock_header(PORT, 1, OP_REQUEST);

    vsock_up(BUFFERS);
    header.type = (uint16_t)value;
    send(&header);
    expect_reset(&header);
    expect_silence();
}

/* Any operation but RST, for a stream that is not there. */
static void op(unsigned value)
{
    const struct vsock_header header = vsock_header(PORT, 1, (uint16_t)value);

    vsock_up(BUFFERS);
    send(&header);
    expect_reset(&header);
    expect_silence();
}

/* In batches: the device takes what one kick offers in its own portions. */
static void reset_of_nothing(unsigned batches)
{
    const struct vsock_header header = vsock_header(PORT, 1, OP_RST);

    vsock_up(BUFFERS);
    for (unsigned i = 0; i < batches; i++) {
        for (unsigned j = 1; j < BATCH && batches > 1; j++)
            vsock_put(&header, NULL, 0);
        send(&header);
    }
    expect_silence();
}

/* BYTES are announced, 16 come. */
static void length(unsigned bytes)
{
    static uint8_t payload[16];
    struct vsock_header header = vsock_header(PORT, NO_PORT, OP_RW);

    vsock_up(BUFFERS);
    header.bytes = bytes;
    expect(vsock_send(&header, payload, sizeof(payload)), "a packet was not taken");
    expect_reset(&header);
    expect_silence();
}

static void header_short(unsigned bytes)
{
    static struct vsock_header header;
    uint32_t id, used;

    vsock_up(BUFFERS);
    header = vsock_header(PORT, NO_PORT, OP_REQUEST);
    virtq_desc(&vsock.tx, 60, (uint64_t)&header, bytes, 0, 0);
    virtq_offer(&vsock.tx, 60);
    virtq_kick(&vsock.tx);
    expect(virtq_take(&vsock.tx, &id, &used), "a packet was not taken");
    expect_equal("id", id, 60);
    expect_equal("used length", used, 0);
    expect_silence();
}

static void header_in_bytes(unsigned unused)
{
    static struct vsock_header header;
    uint32_t id, used;

    (void)unused;
    vsock_up(BUFFERS);
    header = vsock_header(PORT, NO_PORT, OP_REQUEST);
    for (uint16_t i = 0; i < VSOCK_HEADER_BYTES; i++)
        virtq_desc(&vsock.tx, i, (uint64_t)&header + i, 1,
            i + 1 < VSOCK_HEADER_BYTES ? DESC_NEXT : 0, i + 1);
    virtq_offer(&vsock.tx, 0);
    virtq_kick(&vsock.tx);
    expect(virtq_take(&vsock.tx, &id, &used), "a packet was not taken");
    expect_reset(&header);
}

/* A packet in a buffer that only the device may write: there is nothing to read. */
static void packet_writable(unsigned unused)
{
    static struct vsock_header header;
    uint32_t id, used;

    (void)unused;
    vsock_up(BUFFERS);
    header = vsock_header(PORT, NO_PORT, OP_REQUEST);
    virtq_desc(&vsock.tx, 60, (uint64_t)&header, sizeof(header), DESC_WRITE, 0);
    virtq_offer(&vsock.tx, 60);
    virtq_kick(&vsock.tx);
    expect(virtq_take(&vsock.tx, &id, &used), "a packet was not taken");
    expect_equal("used length", used, 0);
    expect_silence();
}

/* A buffer for the host's packets that is too small, or not to be written: it comes back empty. */
static void buffer(unsigned bytes)
{
    const struct vsock_header header = vsock_header(PORT, NO_PORT, OP_REQUEST);
    uint32_t id, used;

    vsock_up(0);
    vsock_offer_buffer(5, bytes > 0 ? bytes : 4096);
    if (bytes == 0)
        vsock.rx.rings->desc[5].flags = 0;
    virtq_kick(&vsock.rx);
    send(&header);
    expect(virtq_take(&vsock.rx, &id, &used), "the buffer did not come back");
    expect_equal("id", id, 5);
    expect_equal("used length", used, bytes < VSOCK_HEADER_BYTES ? 0 : VSOCK_HEADER_BYTES);
    vsock_offer_buffer(6, 4096);
    virtq_kick(&vsock.rx);
    if (bytes < VSOCK_HEADER_BYTES)
        expect_reset(&header);
    else
        expect_silence();
}

/* Requests without end, each answered: the table of answers neither grows nor ends. */
static void storm(unsigned batches)
{
    struct vsock_header headers[BATCH];

    vsock_up(BUFFERS);
    for (unsigned i = 0; i < batches; i++) {
        for (unsigned j = 0; j < BATCH; j++) {
            headers[j] =
                vsock_header(PORT + BATCH * i + j, j % 2 ? NO_PORT : 1 + j / 2 % 4, OP_REQUEST);
            vsock_put(&headers[j], NULL, 0);
        }
        virtq_kick(&vsock.tx);
        for (unsigned j = 0; j < BATCH; j++)
            expect_reset(&headers[j]);
        vsock.tx.seen = vsock.tx.rings->used.idx;
    }
}

/*
 * Requests without a buffer for their answers: after a while no more are taken; with buffers, all
 * are, and each is answered once.
 */
static void storm_unanswered(unsigned count)
{
    struct vsock_header header;
    uint32_t id, used;
    unsigned taken = 0, answered = 0;

    vsock_up(0);
    for (unsigned i = 0; i < count; i++) {
        header = vsock_header(PORT + i, NO_PORT, OP_REQUEST);
        vsock_put(&header, NULL, 0);
        virtq_kick(&vsock.tx);
        for (unsigned j = 0; j < 20; j++)
            breathe();
    }
    while (vsock.tx.rings->used.idx != vsock.tx.seen && virtq_take(&vsock.tx, &id, &used))
        taken++;
    expect(taken < count, "answers are kept without end");
    vsock.buffers = BUFFERS;
    for (unsigned i = 0; i < BUFFERS; i++)
        vsock_offer_buffer(i, VSOCK_BUFFER_BYTES);
    virtq_kick(&vsock.rx);
    while (answered < count && vsock_receive(&packet)) {
        expect_equal("target port", packet.header.dst_port, PORT + answered);
        answered++;
    }
    expect_equal("answers", answered, count);
}

/* The event queue: what it is given it keeps, as there are no events. */
static void events(unsigned unused)
{
    static uint8_t event[16];

    (void)unused;
    vsock_up(BUFFERS);
    for (uint16_t i = 0; i < 8; i++) {
        virtq_desc(&vsock.event, i, (uint64_t)event, sizeof(event), i % 2 ? DESC_WRITE : 0, 0);
        virtq_offer(&vsock.event, i);
        virtq_kick(&vsock.event);
    }
    expect_silence();
    expect_equal("used.idx of the event queue", vsock.event.rings->used.idx, 0);
}

/* A broken chain in QUEUE breaks the device. */
static void broken_queue(unsigned queue)
{
    struct virtq *broken = queue == VSOCK_RX ? &vsock.rx : &vsock.tx;
    const struct vsock_header header = vsock_header(PORT, NO_PORT, OP_REQUEST);

    vsock_up(0);
    virtq_desc(broken, 63, 1ULL << 50, 100, queue == VSOCK_RX ? DESC_WRITE : 0, 0);
    virtq_offer(broken, 63);
    if (queue == VSOCK_RX)
        vsock_put(&header, NULL, 0); /* nothing is taken from RX before there is an answer */
    virtq_kick(&vsock.tx);
    expect_broken(&vsock.device);
}

/* The device forgets its answers with a reset. */
static void reset_with_answers(unsigned unused)
{
    const struct vsock_header header = vsock_header(PORT, NO_PORT, OP_REQUEST);

    (void)unused;
    for (unsigned round = 0; round < 50; round++) {
        vsock_up(0);
        for (unsigned i = 0; i < 20; i++)
            vsock_put(&header, NULL, 0);
        virtq_kick(&vsock.tx);
        vsock_up(BUFFERS);
        expect_silence();
    }
}

static const struct guest_case cases[] = {
    {"source CID 0", "5.10.6", source_cid, 0},
    {"source CID 1", "5.10.6", source_cid, 1},
    {"source CID 4", "5.10.6", source_cid, 2},
    {"source CID 2^32 - 1", "5.10.6", source_cid, 3},
    {"source CID right in 32 bits", "5.10.6", source_cid, 4},
    {"source CID of the host in 32 bits", "5.10.6", source_cid, 5},
    {"source CID right in 63 bits", "5.10.6", source_cid, 6},
    {"source CID 2^64 - 1", "5.10.6", source_cid, 7},
    {"target CID 0", "5.10.6", target_cid, 0},
    {"target CID 1", "5.10.6", target_cid, 1},
    {"target CID 4", "5.10.6", target_cid, 2},
    {"target CID 2^32 - 1", "5.10.6", target_cid, 3},
    {"target CID of the guest in 32 bits", "5.10.6", target_cid, 4},
    {"target CID right in 32 bits", "5.10.6", target_cid, 5},
    {"target CID of the guest in 63 bits", "5.10.6", target_cid, 6},
    {"target CID 2^64 - 1", "5.10.6", target_cid, 7},
    {"from the guest to itself", "5.10.6", own_cid, 0},
    {"from the host to itself", "5.10.6", own_cid, 1},
    {"host port 0", "5.10.6.5", port, 0},
    {"host port 5", "5.10.6.5", port, 5},
    {"host port 65536 + 1", "5.10.6.5", port, 65537},
    {"host port 2^32 - 1", "5.10.6.5", port, 0xffffffff},
    {"the agent's ports from port 1024", "wire.h", source_port, 1024},
    {"the agent's ports from port 65536", "wire.h", source_port, 65536},
    {"the agent's ports from port 2^32 - 1", "wire.h", source_port, 0xffffffff},
    {"type 0", "5.10.6.4", type, 0},
    {"type 2, SEQPACKET", "5.10.6.4", type, 2},
    {"type 65535", "5.10.6.4", type, 65535},
    {"operation 0", "5.10.6", op, 0},
    {"RESPONSE to nothing", "5.10.6.5", op, OP_RESPONSE},
    {"SHUTDOWN of nothing", "5.10.6.5", op, OP_SHUTDOWN},
    {"RW without a connection", "5.10.6.5", op, OP_RW},
    {"CREDIT_UPDATE of nothing", "5.10.6.5", op, OP_CREDIT_UPDATE},
    {"CREDIT_REQUEST of nothing", "5.10.6.5", op, OP_CREDIT_REQUEST},
    {"operation 8", "5.10.6", op, 8},
    {"operation 65535", "5.10.6", op, 65535},
    {"RST of nothing", "5.10.6.5", reset_of_nothing, 1},
    {"10,000 RSTs of nothing", "5.10.6.5", reset_of_nothing, 10000 / BATCH},
    {"payload 1 longer than its buffers", "5.10.6", length, 17},
    {"payload of 64 KiB and 1", "5.10.6", length, 65537},
    {"payload of 2^31", "5.10.6", length, 1U << 31},
    {"payload of 2^32 - 1", "5.10.6", length, 0xffffffff},
    {"header of 1 byte", "5.10.6", header_short, 1},
    {"header of 43 bytes", "5.10.6", header_short, 43},
    {"header in 44 pieces", "2.7.4", header_in_bytes, 0},
    {"a packet in a writable buffer", "2.7.5", packet_writable, 0},
    {"a buffer that is not to be written", "2.7.5", buffer, 0},
    {"a buffer of 1 byte", "5.10.6", buffer, 1},
    {"a buffer of 43 bytes", "5.10.6", buffer, 43},
    {"a buffer of 44 bytes", "5.10.6", buffer, 44},
    {"10,000 connections", "5.10.6.5", storm, 10000 / BATCH},
    {"60 requests and no buffer for answers", "5.10.6.3", storm_unanswered, 60},
    {"the event queue", "5.10.6.7", events, 0},
    {"a broken chain in the TX queue", "2.7.5", broken_queue, VSOCK_TX},
    {"a broken chain in the RX queue", "2.7.5", broken_queue, VSOCK_RX},
    {"reset with answers under way", "2.4.1", reset_with_answers, 0},
};

void villain_vsock(void)
{
    cases_run(cases, ARRAY_COUNT(cases), serves);
}
