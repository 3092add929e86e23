/* SPDX-License-Identifier: Apache-2.0 */
/* vsock_packet.h: the header of a vsock packet (virtio 1.2 §5.10.6). Bytes in, values out. */
#ifndef VMM_MONITOR_VIRTIO_VSOCK_PACKET_H
#define VMM_MONITOR_VIRTIO_VSOCK_PACKET_H

#include <stdint.h>

enum {
    PACKET_HEADER_BYTES = 44,
    PACKET_PAYLOAD_MAX_BYTES = 64 << 10, /* what Linux sends at most, and we too */

    PACKET_STREAM = 1, /* the only type without a feature bit */

    PACKET_REQUEST = 1,
    PACKET_RESPONSE = 2,
    PACKET_RST = 3,
    PACKET_SHUTDOWN = 4,
    PACKET_RW = 5,
    PACKET_CREDIT_UPDATE = 6,
    PACKET_CREDIT_REQUEST = 7,

    PACKET_SHUTDOWN_RECEIVE = 1,
    PACKET_SHUTDOWN_SEND = 2,
};

/* As decoded: nothing is checked yet. */
struct packet {
    uint64_t raw_source_cid;
    uint64_t raw_target_cid;
    uint32_t raw_source_port;
    uint32_t raw_target_port;
    uint32_t raw_payload_bytes;
    uint16_t raw_type;
    uint16_t raw_op;
    uint32_t raw_flags;
    uint32_t raw_buffer_bytes;   /* buf_alloc */
    uint32_t raw_consumed_count; /* fwd_cnt */
};

struct packet packet_decode(const uint8_t header[PACKET_HEADER_BYTES]);
void packet_encode(uint8_t header[PACKET_HEADER_BYTES], const struct packet *packet);

#endif
