/* SPDX-License-Identifier: Apache-2.0 */
/* ring.h: a byte ring of fixed size (monitor; the bytes are the guest's or the session's). */
#ifndef VMM_MONITOR_VIRTIO_RING_H
#define VMM_MONITOR_VIRTIO_RING_H

#include <stddef.h>
#include <stdint.h>

struct ring {
    uint8_t *bytes; /* the owner's */
    uint32_t size;
    uint32_t start; /* of what is in it; less than size */
    uint32_t used;
};

/* A piece of a ring's memory. */
struct ring_piece {
    uint8_t *bytes;
    uint32_t size;
};

static inline struct ring ring_make(uint8_t *bytes, uint32_t size)
{
    return (struct ring){.bytes = bytes, .size = size};
}

static inline uint32_t ring_space(const struct ring *ring)
{
    return ring->size - ring->used;
}

/* Where the first COUNT used bytes are, in order; the second piece may be empty. */
void ring_used_pieces(const struct ring *ring, uint32_t count, struct ring_piece pieces[2]);

/* Where the next COUNT bytes go; ring_grow() makes them used. */
void ring_space_pieces(const struct ring *ring, uint32_t count, struct ring_piece pieces[2]);
void ring_grow(struct ring *ring, uint32_t count);

/* Forget the first COUNT used bytes. */
void ring_drop(struct ring *ring, uint32_t count);

#endif
