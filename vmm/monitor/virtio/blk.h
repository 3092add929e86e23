/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blk.h: virtio-blk (virtio 1.2 §5.2) on one raw file. Runs in the monitor; every request comes
 * from the guest.
 *
 * The file is raw, always: its content is never looked at, so a guest cannot write a header that
 * makes the next reader treat it as another format. Requests are done one after the other, whole,
 * on the loop thread. Served: IN, OUT, FLUSH (which waits for nothing), GET_ID, and DISCARD and
 * WRITE_ZEROES where the file system can punch holes; anything else is VIRTIO_BLK_S_UNSUPP. A
 * read-only disk refuses to be changed whatever the driver negotiated.
 *
 * System calls after init: preadv, pwritev, fallocate.
 */
#ifndef VMM_MONITOR_VIRTIO_BLK_H
#define VMM_MONITOR_VIRTIO_BLK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/err.h"
#include "monitor/guest_mem.h"
#include "monitor/virtio/mmio.h"
#include "monitor/virtio/queue.h"

enum {
    BLK_SECTOR_BYTES = 512,
    BLK_ID_BYTES = 20,
    BLK_SEGMENTS_MAX = 126,            /* seg_max: header and status need a descriptor each */
    BLK_SEGMENT_MAX_BYTES = 128 << 10, /* size_max */
    BLK_REQUEST_MAX_BYTES = BLK_SEGMENTS_MAX * BLK_SEGMENT_MAX_BYTES,
    BLK_BATCH_MAX_BYTES = 16 << 20, /* per kick: what may keep the loop from other events */
    BLK_BATCH_MAX_REQUESTS = 64,
    BLK_RANGES_MAX = 16, /* ranges of one DISCARD or WRITE_ZEROES */
    BLK_RANGE_MAX_SECTORS = 1 << 22,
};

struct blk_options {
    const char *name; /* for messages, static: "disk 0" */
    int fd;           /* stays the caller's */
    uint64_t bytes;   /* its size */
    bool readonly;
    bool punches;   /* fallocate(FALLOC_FL_PUNCH_HOLE) works on it */
    const char *id; /* GET_ID: at most BLK_ID_BYTES characters */
    /*
     * The host could not read or write the file (ENOSPC, EIO, a file that became shorter): the
     * guest gets an I/O error, but the run must not be blamed for it. Called once, on the loop
     * thread, with the device lock held. May be NULL.
     */
    void (*host_failed)(void *context, const struct err *err);
    void *host_failed_context;
};

struct blk {
    struct mmio_device device;
    struct blk_options options;
    bool can_punch;
    uint8_t id[BLK_ID_BYTES];
    struct err host_error;    /* the first one */
    struct queue_chain chain; /* the request at hand */
    struct iovec iov[QUEUE_SIZE_MAX];
};

/* Refuses a size that is 0 or not a multiple of 512 bytes. BLK stays put until blk_fini(). */
int blk_init(struct blk *blk, const struct blk_options *options, const struct guest_mem *mem,
    struct err *err);
/* Safe on zeroed memory. */
void blk_fini(struct blk *blk);

#endif
