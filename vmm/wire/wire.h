/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h: what the guest agent and the host say to each other over vsock. Compiled into the monitor
 * and into the agent. No I/O and no allocation here: bytes in, values out.
 *
 * The guest dials CID 2 (virtio 1.2 §5.10). Each port is accepted once, and only from a source port
 * below WIRE_SOURCE_PORT_LIMIT, which Linux grants to CAP_NET_BIND_SERVICE alone
 * (net/vmw_vsock/af_vsock.c, LAST_RESERVED_PORT). CONTROL carries messages, the others raw bytes.
 *
 * A message on CONTROL, all fields little-endian:
 *
 *     0  u16  type     enum wire_type
 *     2  u16  zero
 *     4  u32  length   bytes that follow, at most WIRE_GUEST_PAYLOAD_MAX from the guest and
 *                      WIRE_JOB_MAX_BYTES from the host
 *     8  payload
 *
 * One run, in order (G: guest to host, H: host to guest):
 *
 *     G HELLO      the agent is up; control, stdout, stderr and stdin streams are open
 *     H JOB        what to do (job.h)
 *     G STARTED    execve of the task is about to happen, all limits are set
 *     H CANCEL     optional, any time after JOB: end the task now
 *     G EXITED     the main process ended, or never started; what the guest claims about it
 *     G EXPORTED   every task process is dead, output is drained and sent, the archive is on the
 *                  export disk; the last message of a run
 *
 * FATAL may replace any message of the guest: the agent cannot go on; it is then the last one.
 * Everything that the guest says is a claim: nothing on the host depends on its being true.
 */
#ifndef VMM_WIRE_WIRE_H
#define VMM_WIRE_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
    WIRE_VERSION = 1,
    WIRE_MAGIC = 0x314d5256, /* "VRM1" */
    WIRE_HEADER_BYTES = 8,
    WIRE_GUEST_PAYLOAD_MAX = 512,
    WIRE_JOB_MAX_BYTES = 4 << 20,
    WIRE_TEXT_BYTES = 256,   /* longest text of a message, without terminator */
    WIRE_RELEASE_BYTES = 64, /* uname release, NUL-padded */
};

/* Host side of the vsock device: CID and ports. */
enum {
    WIRE_HOST_CID = 2,
    WIRE_GUEST_CID = 3,
    WIRE_PORT_CONTROL = 1,
    WIRE_PORT_STDOUT = 2,
    WIRE_PORT_STDERR = 3,
    WIRE_PORT_STDIN = 4, /* host to guest */
    WIRE_SOURCE_PORT_LIMIT = 1024,
};

/* Where the disks are in the guest: the device tree lists them in this order. */
#define WIRE_DISK_IMAGE   "/dev/vda"
#define WIRE_DISK_SCRATCH "/dev/vdb"
#define WIRE_DISK_EXPORT  "/dev/vdc"
#define WIRE_DISK_IMPORT  "/dev/vdd" /* only when the job says JOB_IMPORT */

enum wire_type {
    WIRE_HELLO = 1,
    WIRE_JOB = 2,
    WIRE_STARTED = 3,
    WIRE_CANCEL = 4,
    WIRE_EXITED = 5,
    WIRE_EXPORTED = 6,
    WIRE_FATAL = 7,
};

struct wire_header {
    uint16_t type;
    uint32_t length; /* payload bytes */
};

/* HELLO, 96 bytes: u32 magic, u32 version, u32 cpu_count, u32 zero, u64 memory_bytes,
 * u64 uptime_ns, u8 release[64]. */
struct wire_hello {
    uint32_t version;
    uint32_t cpu_count;
    uint64_t memory_bytes; /* MemTotal */
    uint64_t uptime_ns;    /* guest CLOCK_MONOTONIC when the agent's main began */
    char release[WIRE_RELEASE_BYTES + 1];
};

/* STARTED, 16 bytes: u64 setup_ns, u64 controls. */
struct wire_started {
    uint64_t setup_ns; /* from JOB complete to just before execve */
    uint64_t controls; /* bits of enum wire_control: read back by the agent, not assumed */
};

enum wire_control {
    WIRE_CONTROL_CGROUP = 1 << 0,     /* own cgroup, task inside */
    WIRE_CONTROL_MEMORY_MAX = 1 << 1, /* memory.max as asked */
    WIRE_CONTROL_PIDS_MAX = 1 << 2,   /* pids.max as asked */
    WIRE_CONTROL_UID = 1 << 3,        /* not root */
    WIRE_CONTROL_NO_NEW_PRIVS = 1 << 4,
    WIRE_CONTROL_NO_CAPS = 1 << 5,    /* effective, permitted, inheritable, bounding, ambient */
    WIRE_CONTROL_NAMESPACES = 1 << 6, /* own pid, mount, ipc, uts, cgroup and net namespaces */
    WIRE_CONTROL_SECCOMP = 1 << 7,
    WIRE_CONTROL_ROOT_READONLY = 1 << 8,
    WIRE_CONTROL_RLIMITS = 1 << 9,
};

enum wire_how {
    WIRE_HOW_EXITED = 1,       /* code: exit status 0 to 255 */
    WIRE_HOW_SIGNALLED = 2,    /* code: signal number 1 to 64 */
    WIRE_HOW_NOT_FOUND = 3,    /* code: errno; the command is not there (127) */
    WIRE_HOW_NOT_STARTED = 4,  /* code: errno; it is there, but execve failed (126) */
    WIRE_HOW_SETUP_FAILED = 5, /* code: errno; an input, the working directory, a limit */
};

enum wire_limit {
    WIRE_LIMIT_WALL = 1 << 0,
    WIRE_LIMIT_CPU = 1 << 1,
    WIRE_LIMIT_MEMORY = 1 << 2,
    WIRE_LIMIT_PROCESSES = 1 << 3,
    WIRE_LIMIT_CANCELLED = 1 << 4,
    WIRE_LIMIT_IDLE = 1 << 5,
    WIRE_LIMIT_DISK = 1 << 6,   /* the scratch disk was full when the main process ended */
    WIRE_LIMIT_INODES = 1 << 7, /* no further file could be made then */
};

/* EXITED: u32 how, u32 code, u32 limits, u32 zero, u64 x 7 in the order below, u16 length + text.
 */
struct wire_exited {
    uint32_t how;
    uint32_t code;
    uint32_t limits; /* bits of enum wire_limit: what the agent ended the task for, or saw hit */
    uint64_t run_ns; /* execve to exit of the main process */
    uint64_t user_ns;
    uint64_t system_ns;
    uint64_t memory_peak_bytes; /* memory.peak of the task's cgroup */
    uint64_t oom_kills;
    uint64_t pids_max_events;
    uint64_t reserved;
    char text[WIRE_TEXT_BYTES +
              1]; /* for how >= NOT_FOUND: what failed; may hold any byte but NUL */
};

/* EXPORTED, 40 bytes: u32 error, u32 zero, u64 archive_bytes, u64 files, u64 skipped, u64
 * export_ns. */
struct wire_exported {
    uint32_t error; /* 0, or the errno that cut the archive short (ENOSPC: the disk is the quota) */
    uint64_t archive_bytes;
    uint64_t files;
    uint64_t skipped;
    uint64_t export_ns;
};

/* FATAL: u32 error, u16 length + text. */
struct wire_fatal {
    uint32_t error; /* errno or 0 */
    char text[WIRE_TEXT_BYTES + 1];
};

/* Encoders write header and payload to BYTES (SIZE of them) and return the length; `must` fits. */
size_t wire_put_header(uint8_t *bytes, size_t size, enum wire_type type, uint32_t length);
size_t wire_put_hello(uint8_t *bytes, size_t size, const struct wire_hello *hello);
size_t wire_put_started(uint8_t *bytes, size_t size, const struct wire_started *started);
size_t wire_put_exited(uint8_t *bytes, size_t size, const struct wire_exited *exited);
size_t wire_put_exported(uint8_t *bytes, size_t size, const struct wire_exported *exported);
size_t wire_put_fatal(uint8_t *bytes, size_t size, const struct wire_fatal *fatal);

/*
 * Decoders take exactly one payload. They accept every value that the type can hold and nothing
 * else: wrong length, wrong magic, unknown enum values and bits, NUL inside text are errors with a
 * text that names the rule.
 */
int wire_get_header(const uint8_t bytes[WIRE_HEADER_BYTES], uint32_t payload_max,
    struct wire_header *header, struct err *err);
int wire_get_hello(const uint8_t *payload, size_t size, struct wire_hello *hello, struct err *err);
int wire_get_started(
    const uint8_t *payload, size_t size, struct wire_started *started, struct err *err);
int wire_get_exited(
    const uint8_t *payload, size_t size, struct wire_exited *exited, struct err *err);
int wire_get_exported(
    const uint8_t *payload, size_t size, struct wire_exported *exported, struct err *err);
int wire_get_fatal(const uint8_t *payload, size_t size, struct wire_fatal *fatal, struct err *err);

#endif
