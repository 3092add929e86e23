/* SPDX-License-Identifier: Apache-2.0 */
/* ring.c: see ring.h. Counts come from our own code, which has checked them. */
#include "monitor/virtio/ring.h"

#include "base/err.h"

static void ring_pieces(
    const struct ring *ring, uint32_t from, uint32_t count, struct ring_piece pieces[2])
{
    uint32_t first = ring->size - from;

    if (first > count)
        first = count;
    pieces[0] = (struct ring_piece){.bytes = ring->bytes + from, .size = first};
    pieces[1] = (struct ring_piece){.bytes = ring->bytes, .size = count - first};
}

void ring_used_pieces(const struct ring *ring, uint32_t count, struct ring_piece pieces[2])
{
    must(count <= ring->used);
    ring_pieces(ring, ring->start, count, pieces);
}

void ring_space_pieces(const struct ring *ring, uint32_t count, struct ring_piece pieces[2])
{
    must(count <= ring_space(ring));
    ring_pieces(ring, (ring->start + ring->used) % ring->size, count, pieces);
}

void ring_grow(struct ring *ring, uint32_t count)
{
    must(count <= ring_space(ring));
    ring->used += count;
}

void ring_drop(struct ring *ring, uint32_t count)
{
    must(count <= ring->used);
    ring->used -= count;
    /* An empty ring begins at the front again: pieces stay whole and memory stays untouched. */
    ring->start = ring->used == 0 ? 0 : (ring->start + count) % ring->size;
}
