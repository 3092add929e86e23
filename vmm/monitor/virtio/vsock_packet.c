/* SPDX-License-Identifier: Apache-2.0 */
/* vsock_packet.c: see vsock_packet.h. */
#include "monitor/virtio/vsock_packet.h"

#include <assert.h>

#include "base/num.h"

enum {
    AT_SOURCE_CID = 0,
    AT_TARGET_CID = 8,
    AT_SOURCE_PORT = 16,
    AT_TARGET_PORT = 20,
    AT_LENGTH = 24,
    AT_TYPE = 28,
    AT_OP = 30,
    AT_FLAGS = 32,
    AT_BUF_ALLOC = 36,
    AT_FWD_CNT = 40,
};

static_assert((int)AT_FWD_CNT + 4 == (int)PACKET_HEADER_BYTES, "§5.10.6");

struct packet packet_decode(const uint8_t header[PACKET_HEADER_BYTES])
{
    return (struct packet){
        .raw_source_cid = le64_load(header + AT_SOURCE_CID),
        .raw_target_cid = le64_load(header + AT_TARGET_CID),
        .raw_source_port = le32_load(header + AT_SOURCE_PORT),
        .raw_target_port = le32_load(header + AT_TARGET_PORT),
        .raw_payload_bytes = le32_load(header + AT_LENGTH),
        .raw_type = le16_load(header + AT_TYPE),
        .raw_op = le16_load(header + AT_OP),
        .raw_flags = le32_load(header + AT_FLAGS),
        .raw_buffer_bytes = le32_load(header + AT_BUF_ALLOC),
        .raw_consumed_count = le32_load(header + AT_FWD_CNT),
    };
}

void packet_encode(uint8_t header[PACKET_HEADER_BYTES], const struct packet *packet)
{
    le64_store(header + AT_SOURCE_CID, packet->raw_source_cid);
    le64_store(header + AT_TARGET_CID, packet->raw_target_cid);
    le32_store(header + AT_SOURCE_PORT, packet->raw_source_port);
    le32_store(header + AT_TARGET_PORT, packet->raw_target_port);
    le32_store(header + AT_LENGTH, packet->raw_payload_bytes);
    le16_store(header + AT_TYPE, packet->raw_type);
    le16_store(header + AT_OP, packet->raw_op);
    le32_store(header + AT_FLAGS, packet->raw_flags);
    le32_store(header + AT_BUF_ALLOC, packet->raw_buffer_bytes);
    le32_store(header + AT_FWD_CNT, packet->raw_consumed_count);
}
