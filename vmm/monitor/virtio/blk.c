/* SPDX-License-Identifier: Apache-2.0 */
/* blk.c: virtio-blk on one raw file (monitor; input: the guest's). See blk.h. */
#include "monitor/virtio/blk.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/num.h"

/* Feature bits (§5.2.3). */
#define BLK_F_SIZE_MAX     (1ULL << 1)
#define BLK_F_SEG_MAX      (1ULL << 2)
#define BLK_F_RO           (1ULL << 5)
#define BLK_F_BLK_SIZE     (1ULL << 6)
#define BLK_F_FLUSH        (1ULL << 9)
#define BLK_F_DISCARD      (1ULL << 13)
#define BLK_F_WRITE_ZEROES (1ULL << 14)

/* Configuration space (§5.2.4): offsets of what we offer. */
enum {
    CONFIG_CAPACITY = 0,                  /* u64, sectors */
    CONFIG_SIZE_MAX = 8,                  /* u32 */
    CONFIG_SEG_MAX = 12,                  /* u32 */
    CONFIG_BLK_SIZE = 20,                 /* u32 */
    CONFIG_MAX_DISCARD_SECTORS = 36,      /* u32 */
    CONFIG_MAX_DISCARD_SEG = 40,          /* u32 */
    CONFIG_DISCARD_ALIGNMENT = 44,        /* u32, sectors */
    CONFIG_MAX_WRITE_ZEROES_SECTORS = 48, /* u32 */
    CONFIG_MAX_WRITE_ZEROES_SEG = 52,     /* u32 */
    CONFIG_WRITE_ZEROES_MAY_UNMAP = 56,   /* u8 */
    CONFIG_BYTES = 60,
};

enum { DISCARD_ALIGNMENT_SECTORS = 8 }; /* 4 KiB: smaller holes free nothing */

/* A request (§5.2.6): u32 type, u32 reserved, u64 sector; data; u8 status, written last. */
enum {
    REQUEST_HEADER_BYTES = 16,
    REQUEST_STATUS_BYTES = 1,

    REQUEST_IN = 0,
    REQUEST_OUT = 1,
    REQUEST_FLUSH = 4,
    REQUEST_GET_ID = 8,
    REQUEST_DISCARD = 11,
    REQUEST_WRITE_ZEROES = 13,
};

/* A range of DISCARD and WRITE_ZEROES: u64 sector, u32 sectors, u32 flags. */
enum {
    RANGE_BYTES = 16,
    RANGE_FLAG_UNMAP = 1,
};

enum blk_status {
    BLK_OK = 0,
    BLK_IOERR = 1,
    BLK_UNSUPP = 2,
};

struct request {
    uint32_t raw_type;
    uint64_t raw_sector;
    uint32_t out_bytes; /* data that the device reads */
    uint32_t in_bytes;  /* room for data that the device writes */
};

static_assert((int)CONFIG_BYTES <= (int)MMIO_CONFIG_MAX_BYTES, "the configuration space fits");
static_assert((int)BLK_SEGMENTS_MAX + 2 <= (int)QUEUE_SIZE_MAX, "a largest request fits the queue");

/* Remember the first error of the host; later ones follow from it or say the same. */
static enum blk_status blk_fail(struct blk *blk, const struct err *err)
{
    if (!err_is_set(&blk->host_error)) {
        blk->host_error = *err;
        (void)err_wrap(&blk->host_error, "%s", blk->options.name);
        if (blk->options.host_failed)
            blk->options.host_failed(blk->options.host_failed_context, &blk->host_error);
    }
    return BLK_IOERR;
}

/* Step over COUNT bytes that were transferred. */
static void iov_advance(struct iovec **iov, uint32_t *iov_count, size_t count)
{
    while (*iov_count > 0 && count >= (*iov)->iov_len) {
        count -= (*iov)->iov_len;
        (*iov)++;
        (*iov_count)--;
    }
    if (count > 0) {
        (*iov)->iov_base = (uint8_t *)(*iov)->iov_base + count;
        (*iov)->iov_len -= count;
    }
}

/* Move all of the request's data between guest RAM and the file; the range was checked. */
static enum blk_status blk_transfer(struct blk *blk, bool write, uint64_t offset, uint32_t bytes)
{
    uint32_t skip = write ? REQUEST_HEADER_BYTES : 0;
    uint32_t count = queue_chain_iov(&blk->chain, !write, skip, bytes, blk->iov);
    struct iovec *iov = blk->iov;
    struct err err = ERR_INIT;

    while (count > 0) {
        ssize_t moved = write ? pwritev(blk->options.fd, iov, (int)count, (off_t)offset)
                              : preadv(blk->options.fd, iov, (int)count, (off_t)offset);

        if (moved < 0 && errno == EINTR)
            continue;
        if (moved < 0) {
            (void)err_sys(&err, "cannot %s at byte %" PRIu64, write ? "write" : "read", offset);
            return blk_fail(blk, &err);
        }
        if (moved == 0) {
            (void)err_set(&err, "ends at byte %" PRIu64 ", it had %" PRIu64 " at the start", offset,
                blk->options.bytes);
            return blk_fail(blk, &err);
        }
        offset += (uint64_t)moved;
        iov_advance(&iov, &count, (size_t)moved);
    }
    return BLK_OK;
}

/* IN and OUT. */
static enum blk_status blk_read_write(struct blk *blk, const struct request *request)
{
    bool write = request->raw_type == REQUEST_OUT;
    uint32_t bytes = write ? request->out_bytes : request->in_bytes;
    uint64_t offset;

    /* Data in the wrong direction is no request of ours. */
    if ((write ? request->in_bytes : request->out_bytes) != 0)
        return BLK_IOERR;
    if (bytes % BLK_SECTOR_BYTES != 0 || bytes > BLK_REQUEST_MAX_BYTES)
        return BLK_IOERR;
    if (!u64_mul(request->raw_sector, BLK_SECTOR_BYTES, &offset) ||
        !range_within(offset, bytes, blk->options.bytes))
        return BLK_IOERR;
    return blk_transfer(blk, write, offset, bytes);
}

static enum blk_status blk_get_id(const struct blk *blk, const struct request *request)
{
    if (request->in_bytes < BLK_ID_BYTES)
        return BLK_IOERR;
    return queue_chain_write(&blk->chain, 0, blk->id, BLK_ID_BYTES) ? BLK_OK : BLK_IOERR;
}

/* One range: a hole reads as zeroes, which is what both requests may (DISCARD) or must leave. */
static enum blk_status blk_punch(struct blk *blk, uint64_t offset, uint64_t bytes)
{
    struct err err = ERR_INIT;
    int result;

    if (bytes == 0)
        return BLK_OK;
    do {
        result = fallocate(blk->options.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
            (off_t)offset, (off_t)bytes);
    } while (result < 0 && errno == EINTR);
    if (result == 0)
        return BLK_OK;
    if (errno == EOPNOTSUPP)
        return BLK_UNSUPP;
    (void)err_sys(&err, "cannot punch a hole at byte %" PRIu64, offset);
    return blk_fail(blk, &err);
}

/* Check one range, already a copy of ours (§5.2.6.2). */
static enum blk_status blk_check_range(const struct blk *blk, const struct request *request,
    const uint8_t *range, uint64_t *offset, uint64_t *bytes)
{
    uint32_t raw_sectors = le32_load(range + 8);
    uint32_t raw_flags = le32_load(range + 12);
    uint32_t allowed = request->raw_type == REQUEST_WRITE_ZEROES ? RANGE_FLAG_UNMAP : 0;

    if (raw_flags & ~allowed)
        return BLK_UNSUPP;
    if (raw_sectors > BLK_RANGE_MAX_SECTORS)
        return BLK_IOERR;
    *bytes = (uint64_t)raw_sectors * BLK_SECTOR_BYTES;
    if (!u64_mul(le64_load(range), BLK_SECTOR_BYTES, offset) ||
        !range_within(*offset, *bytes, blk->options.bytes))
        return BLK_IOERR;
    return BLK_OK;
}

/* DISCARD and WRITE_ZEROES: nothing is done unless every range is right. */
static enum blk_status blk_ranges(struct blk *blk, const struct request *request, uint64_t feature)
{
    uint8_t ranges[BLK_RANGES_MAX * RANGE_BYTES];
    uint64_t offset[BLK_RANGES_MAX], bytes[BLK_RANGES_MAX];
    uint32_t count = request->out_bytes / RANGE_BYTES;

    if (!blk->can_punch || !mmio_has_feature(&blk->device, feature))
        return BLK_UNSUPP;
    if (request->out_bytes % RANGE_BYTES != 0 || count == 0 || count > BLK_RANGES_MAX ||
        request->in_bytes != 0)
        return BLK_IOERR;
    if (!queue_chain_read(&blk->chain, REQUEST_HEADER_BYTES, ranges, request->out_bytes))
        return BLK_IOERR;
    for (uint32_t i = 0; i < count; i++) {
        enum blk_status status =
            blk_check_range(blk, request, ranges + (size_t)i * RANGE_BYTES, &offset[i], &bytes[i]);

        if (status != BLK_OK)
            return status;
    }
    for (uint32_t i = 0; i < count; i++) {
        enum blk_status status = blk_punch(blk, offset[i], bytes[i]);

        if (status != BLK_OK)
            return status;
    }
    return BLK_OK;
}

static bool request_changes(const struct request *request)
{
    return request->raw_type == REQUEST_OUT || request->raw_type == REQUEST_DISCARD ||
           request->raw_type == REQUEST_WRITE_ZEROES;
}

static enum blk_status blk_serve(struct blk *blk, const struct request *request)
{
    /* Ours to enforce, not the driver's to promise: no look at F_RO. */
    if (blk->options.readonly && request_changes(request))
        return BLK_IOERR;
    switch (request->raw_type) {
    case REQUEST_IN:
    case REQUEST_OUT:
        return blk_read_write(blk, request);
    case REQUEST_FLUSH: /* a disk dies with its run, and is read back through the page cache */
        return BLK_OK;
    case REQUEST_GET_ID:
        return blk_get_id(blk, request);
    case REQUEST_DISCARD:
        return blk_ranges(blk, request, BLK_F_DISCARD);
    case REQUEST_WRITE_ZEROES:
        return blk_ranges(blk, request, BLK_F_WRITE_ZEROES);
    default:
        return BLK_UNSUPP;
    }
}

/* The chain at hand is one request: serve it, write its status, give it back. */
static int blk_request(struct blk *blk, struct queue *queue, struct err *err)
{
    struct queue_chain *chain = &blk->chain;
    uint8_t header[REQUEST_HEADER_BYTES];
    struct request request = {.raw_type = 0};
    enum blk_status result = BLK_IOERR;
    uint32_t written;
    uint8_t status;

    if (chain->writable_bytes < REQUEST_STATUS_BYTES)
        return err_set(err, "request without room for a status");
    request.in_bytes = chain->writable_bytes - REQUEST_STATUS_BYTES;
    if (queue_chain_read(chain, 0, header, sizeof(header))) {
        request.raw_type = le32_load(header);
        request.raw_sector = le64_load(header + 8);
        request.out_bytes = chain->readable_bytes - REQUEST_HEADER_BYTES;
        result = blk_serve(blk, &request);
    }
    status = (uint8_t)result;
    queue_chain_put(chain, request.in_bytes, &status, sizeof(status));
    /* §2.7.8.2: at least that many bytes from the start were written. A failed read may have left a
     * gap in front of the status. */
    written = request.in_bytes == 0 ? REQUEST_STATUS_BYTES : 0;
    if (result == BLK_OK && request.raw_type == REQUEST_IN)
        written = request.in_bytes + REQUEST_STATUS_BYTES;
    if (result == BLK_OK && request.raw_type == REQUEST_GET_ID)
        written = BLK_ID_BYTES;
    queue_push(queue, chain, written);
    return 0;
}

static int blk_process(void *context, struct mmio_device *device, struct err *err)
{
    struct blk *blk = context;
    struct queue *queue = mmio_queue(device, 0);
    uint64_t bytes = 0;

    for (int i = 0; i < BLK_BATCH_MAX_REQUESTS && bytes < BLK_BATCH_MAX_BYTES; i++) {
        int popped = queue_pop(queue, &blk->chain, err);

        if (popped < 0)
            return err_wrap(err, "request queue");
        if (popped == 0)
            return 0;
        bytes += (uint64_t)blk->chain.readable_bytes + blk->chain.writable_bytes;
        if (blk_request(blk, queue, err) < 0)
            return -1;
    }
    return queue_has_work(queue);
}

static const struct virtio_ops blk_ops = {
    .device_id = VIRTIO_ID_BLOCK,
    .queue_count = 1,
    .process = blk_process,
};

static void blk_describe(const struct blk *blk, struct virtio_model *model)
{
    uint8_t *config = model->config;

    model->features = BLK_F_SIZE_MAX | BLK_F_SEG_MAX | BLK_F_BLK_SIZE | BLK_F_FLUSH;
    if (blk->options.readonly)
        model->features |= BLK_F_RO;
    model->config_bytes = CONFIG_BYTES;
    le64_store(config + CONFIG_CAPACITY, blk->options.bytes / BLK_SECTOR_BYTES);
    le32_store(config + CONFIG_SIZE_MAX, BLK_SEGMENT_MAX_BYTES);
    le32_store(config + CONFIG_SEG_MAX, BLK_SEGMENTS_MAX);
    le32_store(config + CONFIG_BLK_SIZE, BLK_SECTOR_BYTES);
    if (!blk->can_punch)
        return;
    model->features |= BLK_F_DISCARD | BLK_F_WRITE_ZEROES;
    le32_store(config + CONFIG_MAX_DISCARD_SECTORS, BLK_RANGE_MAX_SECTORS);
    le32_store(config + CONFIG_MAX_DISCARD_SEG, BLK_RANGES_MAX);
    le32_store(config + CONFIG_DISCARD_ALIGNMENT, DISCARD_ALIGNMENT_SECTORS);
    le32_store(config + CONFIG_MAX_WRITE_ZEROES_SECTORS, BLK_RANGE_MAX_SECTORS);
    le32_store(config + CONFIG_MAX_WRITE_ZEROES_SEG, BLK_RANGES_MAX);
    config[CONFIG_WRITE_ZEROES_MAY_UNMAP] = 1;
}

int blk_init(struct blk *blk, const struct blk_options *options, const struct guest_mem *mem,
    struct err *err)
{
    struct virtio_model model = {.ops = &blk_ops, .context = blk, .name = options->name};
    size_t id_bytes = options->id ? strlen(options->id) : 0;

    *blk = (struct blk){.options = *options};
    must(id_bytes <= BLK_ID_BYTES);
    if (id_bytes > 0)
        memcpy(blk->id, options->id, id_bytes);
    if (options->bytes == 0 || options->bytes % BLK_SECTOR_BYTES != 0 || options->bytes > INT64_MAX)
        return err_set(err, "%s: size %" PRIu64 " is not a multiple of %d bytes, 1 at least",
            options->name, options->bytes, BLK_SECTOR_BYTES);
    blk->can_punch = options->punches && !options->readonly;
    blk_describe(blk, &model);
    return mmio_init(&blk->device, &model, mem, err);
}

void blk_fini(struct blk *blk)
{
    mmio_fini(&blk->device);
}
