/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vsock.h: the virtio-vsock device (virtio 1.2 §5.10) and the host's end of its streams in one.
 * Runs in the monitor; every packet comes from the guest.
 *
 * The guest dials WIRE_HOST_CID, the host never dials. Which port is answered is for the session to
 * say (accept); everything else is reset. All memory is taken in vsock_make(): what a guest claims
 * about itself (buf_alloc, fwd_cnt, len) never sizes anything, it only ever makes us send less.
 *
 * A stream belongs to the session from accept() until it calls vsock_close(). When the guest closes
 * or resets it, or breaks a rule, or resets the device, the session is told through closed() and
 * may still read what had arrived before.
 *
 * All calls and callbacks are on the loop thread. Callbacks run with the device lock held: they may
 * call every vsock_* function but vsock_free(), and must not wait for a vCPU thread.
 */
#ifndef VMM_MONITOR_VIRTIO_VSOCK_H
#define VMM_MONITOR_VIRTIO_VSOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "monitor/guest_mem.h"
#include "monitor/virtio/mmio.h"

enum {
    VSOCK_STREAMS_MAX = 8,
    VSOCK_RECEIVE_BYTES =
        512 << 10,               /* guest to host, per stream: the buf_alloc that we advertise */
    VSOCK_SEND_BYTES = 64 << 10, /* host to guest, per stream */
};

struct vsock;
struct vsock_stream;

/* What is over, as flags for closed(). They add up and are never taken back. */
enum vsock_closed {
    VSOCK_CLOSED_RECEIVE =
        1,                 /* the guest receives no more: vsock_send() takes nothing any longer */
    VSOCK_CLOSED_SEND = 2, /* the guest sends no more: what can be peeked at is the rest */
    VSOCK_CLOSED_GONE = 4, /* the connection is gone as a whole; comes with the other two */
    VSOCK_CLOSED_RULE = 8, /* ... because the guest broke a rule of the protocol (or reset the
                              device): with GONE; vsock_stream_fault() names it */
};

struct vsock_ops {
    /*
     * The guest dials HOST_PORT from GUEST_PORT. True: STREAM is the session's; it may be used at
     * once. False: the guest gets a reset.
     */
    bool (*accept)(
        void *context, struct vsock_stream *stream, uint32_t host_port, uint32_t guest_port);
    /* There are new bytes to vsock_peek() at. */
    void (*received)(void *context, struct vsock_stream *stream);
    /* vsock_send() took less than it was offered earlier; now there is room. */
    void (*writable)(void *context, struct vsock_stream *stream);
    /* FLAGS (enum vsock_closed), all that are set by now. */
    void (*closed)(void *context, struct vsock_stream *stream, uint32_t flags);
};

/* One device with GUEST_CID, its memory included. OPS stays the caller's. */
struct vsock *vsock_make(uint32_t guest_cid, const struct vsock_ops *ops, void *context,
    const struct guest_mem *mem, struct err *err);
/* Safe on NULL. */
void vsock_free(struct vsock *vsock);

struct mmio_device *vsock_device(struct vsock *vsock);

/*
 * The bytes that came in and were not consumed, as far as they lie in one piece; returns their
 * count, 0 when there are none. Valid until the next vsock_consume() or vsock_close().
 */
size_t vsock_peek(const struct vsock_stream *stream, const uint8_t **bytes);
/* COUNT of the peeked bytes are done with: the guest may send as many more. */
void vsock_consume(struct vsock_stream *stream, size_t count);

/*
 * Send up to SIZE bytes; returns how many were taken into the stream's buffer. When not all were,
 * writable() tells when to go on, unless the stream is closed for sending.
 */
size_t vsock_send(struct vsock_stream *stream, const void *bytes, size_t size);

/* No more vsock_send(): the guest reads end of file after what was taken before. */
void vsock_shutdown(struct vsock_stream *stream);

/* Done with STREAM: the guest gets a reset if it is not gone yet. STREAM is invalid afterwards. */
void vsock_close(struct vsock_stream *stream);

/* The rule that was broken (VSOCK_CLOSED_RULE), else "". Static text of ours. */
const char *vsock_stream_fault(const struct vsock_stream *stream);

#endif
