/* SPDX-License-Identifier: Apache-2.0 */
/* blk.c: see blk.h. */
#include "lib/blk.h"

struct blk_header blk_header;
volatile uint8_t blk_status;

static struct virtq_rings rings;

void blk_up(struct blk *blk, unsigned index, uint64_t features, uint16_t size)
{
    blk->device = device_find(ID_BLOCK, index);
    device_negotiate(&blk->device, features_offered(&blk->device) & (features | F_VERSION_1));
    blk->queue = virtq_make(&blk->device, 0, size, &rings);
    virtq_register(&blk->queue);
    status_add(&blk->device, STATUS_DRIVER_OK);
}

uint64_t blk_sectors(const struct blk *blk)
{
    return access_read(blk->device.gpa + REG_CONFIG, 8);
}

void blk_send(struct blk *blk, const struct piece *pieces, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        virtq_desc(&blk->queue, (uint16_t)i, (uint64_t)pieces[i].at, pieces[i].bytes,
            (uint16_t)((pieces[i].write ? DESC_WRITE : 0) | (i + 1 < count ? DESC_NEXT : 0)),
            (uint16_t)(i + 1));
    blk_status = BLK_UNTOUCHED;
    virtq_offer(&blk->queue, 0);
    virtq_kick(&blk->queue);
}

uint32_t blk_answer(struct blk *blk, uint32_t *bytes)
{
    struct virtq *queue = &blk->queue;

    for (unsigned i = 0; i < PATIENCE; i++) {
        if (queue->rings->used.idx != queue->seen) {
            uint32_t id;

            (void)virtq_take(queue, &id, bytes);
            return blk_status;
        }
        if (reg_read(&blk->device, REG_STATUS) & STATUS_NEEDS_RESET)
            return BLK_NEEDS_RESET;
    }
    return BLK_SILENT;
}

uint32_t blk_request(
    struct blk *blk, uint32_t type, uint64_t sector, volatile void *data, uint32_t bytes)
{
    bool in = type == BLK_IN || type == BLK_GET_ID;
    struct piece pieces[3] = {{&blk_header, sizeof(blk_header), false}};
    unsigned count = 1;

    blk_header = (struct blk_header){.type = type, .sector = sector};
    if (bytes > 0)
        pieces[count++] = (struct piece){data, bytes, in};
    pieces[count++] = (struct piece){&blk_status, 1, true};
    blk_send(blk, pieces, count);
    return blk_answer(blk, &bytes);
}
