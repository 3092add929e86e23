/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ipc.h: fixed records between the supervisor and its children, over one SOCK_SEQPACKET socketpair
 * per child. One record is one packet; numbers are little-endian; byte strings are length-bounded
 * and opaque (the supervisor escapes and prints them, it never interprets them).
 *
 * A child is started with exactly the fds listed for it here, at these numbers; fd 0, 1 and 2 are
 * /dev/null (stderr is the supervisor's stderr only in debug builds). It waits for its first
 * record, the setup, before it reads a hostile byte.
 *
 * The children are not trusted: the getters check every field, and what a child says of itself is a
 * claim.
 */
#ifndef VMM_IPC_IPC_H
#define VMM_IPC_IPC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "wire/wire.h"

enum {
    IPC_RECORD_MAX_BYTES = 8192,
    IPC_CHANNEL_BYTES = 104 << 10, /* what a channel holds, as SO_SNDBUF; the kernel doubles it */
    IPC_DISKS_MAX = 4,
    IPC_CPU_MASK_MAX = 32,
    IPC_TEXT_BYTES = 512,
    IPC_CONSOLE_TAIL_BYTES = 2048,
    IPC_NAME_MAX_BYTES = 4096,
    IPC_DIGEST_BYTES = 32,     /* SHA-256 */
    IPC_EXPORTED_BYTES = 3104, /* holds TREE_PATH_BYTES of the extractor */
    /*
     * Longest line of LIVE_EVENTS, newline included. A line is "text":"...", "b64":"..." or
     * "cut":true: the member of a JSON object that the supervisor checks and completes.
     */
    IPC_EVENT_LINE_BYTES = 24 * 1024 + 64,
};

/* What the extractor calls the file in its directory when `bundle` was asked for. */
#define BUNDLE_NAME "artifacts.tar.gz"

/* Fds of the children. IPC is always 3. */
enum ipc_fd {
    IPC_FD = 3,

    MONITOR_FD_KVM = 4,
    MONITOR_FD_KERNEL = 5,
    MONITOR_FD_INITRD = 6,
    MONITOR_FD_JOB = 7,    /* memfd: the payload of WIRE_JOB */
    MONITOR_FD_STDOUT = 8, /* pipe, write end: raw task output to the scribe */
    MONITOR_FD_STDERR = 9,
    MONITOR_FD_CONSOLE = 10, /* the same for the 16550; /dev/null without --console */
    MONITOR_FD_STDIN = 11,   /* pipe, read end, from the supervisor; /dev/null without stdin */
    MONITOR_FD_DISK = 12,    /* first disk; disk N is at MONITOR_FD_DISK + N */

    SCRIBE_FD_IN = 4,  /* pipes, read ends: stream N at SCRIBE_FD_IN + N */
    SCRIBE_FD_LOG = 7, /* log files, read-write, empty: stream N at SCRIBE_FD_LOG + N */
    SCRIBE_FD_LIVE =
        10, /* pipes to the supervisor: what it shows live; /dev/null when it does not */

    EXTRACTOR_FD_DISK = 4, /* the export disk, reopened read-only */
    EXTRACTOR_FD_OUT = 5,  /* directory: files are created beneath it */

    CHILD_FD_LOCK = 24, /* of every child: a share of the run's lock; never used, only held */
};

enum ipc_stream {
    STREAM_STDOUT = 0,
    STREAM_STDERR = 1,
    STREAM_CONSOLE = 2,
    STREAM_COUNT = 3,
};

enum ipc_kind {
    /* supervisor to monitor */
    IPC_MACHINE = 1, /* struct ipc_machine: the setup; the gate is open once it arrives */
    IPC_CANCEL = 2,  /* no fields: pass WIRE_CANCEL to the agent */
    IPC_HALT = 3,    /* no fields: stop the vCPUs, report ENDED with IPC_END_HALTED, exit */
    IPC_PROBE = 4, /* no fields: instead of MACHINE: measure what KVM does with guest kernel code */
    /* monitor to supervisor */
    IPC_RUNNING = 10,  /* struct ipc_running: just before the first KVM_RUN */
    IPC_HELLO = 11,    /* struct wire_hello */
    IPC_STARTED = 12,  /* struct wire_started */
    IPC_EXITED = 13,   /* struct wire_exited */
    IPC_EXPORTED = 14, /* struct wire_exported */
    IPC_ENDED = 15,    /* struct ipc_ended: the vCPUs stand still; the monitor's last record */
    IPC_PROBED = 16,   /* struct ipc_probed: the answer to IPC_PROBE */
    /* supervisor to scribe */
    IPC_SCRIBE = 20, /* struct ipc_scribe: the setup */
    /* scribe to supervisor */
    IPC_STREAM = 21, /* struct ipc_stream_totals, once per stream at its end */
    /* supervisor to extractor */
    IPC_EXTRACT = 30, /* struct ipc_extract: the setup */
    /* extractor to supervisor */
    IPC_ENTRY = 31,     /* struct ipc_entry: one per file, directory and skipped path */
    IPC_EXTRACTED = 32, /* struct ipc_extracted: the last record */
};

enum ipc_disk_role {
    DISK_IMAGE = 0,
    DISK_SCRATCH = 1,
    DISK_EXPORT = 2,
    DISK_IMPORT = 3,
};

/* How the guest learns about the hardware. */
enum ipc_hardware {
    HARDWARE_DEVICETREE = 0,
    HARDWARE_MPTABLE = 1, /* kernels without device tree: MP table and virtio_mmio.device= */
};

enum ipc_hugepages {
    HUGEPAGES_AUTO = 0, /* madvise when the kernel offers it */
    HUGEPAGES_YES = 1,  /* refuse when they cannot be had */
    HUGEPAGES_NO = 2,
};

/* One CPUID bit that the guest must not see. */
struct ipc_cpu_bit {
    uint32_t leaf;
    uint32_t subleaf;
    uint8_t reg; /* 0 EAX, 1 EBX, 2 ECX, 3 EDX */
    uint8_t bit; /* 0 to 31 */
};

/* A file that is a disk. */
struct ipc_disk {
    uint64_t bytes; /* its size: a multiple of 512 */
    bool readonly;
    bool punches; /* its file system can punch holes */
};

struct ipc_machine {
    uint32_t cpu_count;
    uint64_t memory_bytes; /* multiple of 2 MiB */
    uint32_t hardware;     /* enum ipc_hardware */
    uint32_t hugepages;    /* enum ipc_hugepages */
    bool console;
    bool has_stdin;
    uint64_t initrd_bytes, job_bytes; /* sizes of these files */
    uint32_t disk_count;
    struct ipc_disk disks[IPC_DISKS_MAX];
    uint32_t cpu_mask_count;
    struct ipc_cpu_bit cpu_mask[IPC_CPU_MASK_MAX];
    char cmdline[IPC_TEXT_BYTES + 1]; /* whole kernel command line but for device arguments */
};

struct ipc_running {
    uint64_t mono_ns; /* host CLOCK_MONOTONIC just before the first KVM_RUN */
};

enum ipc_end {
    IPC_END_DONE = 1,       /* EXPORTED arrived and all output is with the scribe */
    IPC_END_HALTED = 2,     /* IPC_HALT was obeyed */
    IPC_END_FATAL = 3,      /* the agent said FATAL: text, detail[0] its errno or 0 */
    IPC_END_SHUTDOWN = 4,   /* KVM_EXIT_SHUTDOWN: triple fault or reboot */
    IPC_END_FAIL_ENTRY = 5, /* KVM_EXIT_FAIL_ENTRY: detail[0] hardware reason */
    IPC_END_INTERNAL = 6,   /* KVM_EXIT_INTERNAL_ERROR: detail[0] suberror, more in detail[1..] */
    IPC_END_UNKNOWN_EXIT =
        7,                /* another exit that a running guest must not cause: detail[0] reason */
    IPC_END_PROTOCOL = 8, /* the agent broke the protocol: text names the rule */
    IPC_END_DEVICE = 9,   /* the guest broke a device so that it cannot go on: text */
    IPC_END_HOST = 10,    /* the monitor could not do its job: text, with a remedy */
    IPC_END_DISK = 11,    /* the host could not read or write a disk (ENOSPC, EIO): text */
    IPC_END_KERNEL = 12,  /* the user's kernel or initramfs cannot be booted: text says why */
};

struct ipc_ended {
    uint32_t cause; /* enum ipc_end */
    uint64_t detail[4];
    uint64_t rip, rsp, cr3,
        rflags;       /* of the vCPU that caused the end; on aarch64 pc, sp, ttbr, pstate */
    uint64_t exits;   /* exits to the monitor, all vCPUs */
    uint64_t vcpu_ns; /* CPU time of the vCPU threads */
    char text[IPC_TEXT_BYTES + 1];                /* opaque */
    uint32_t console_bytes;                       /* used bytes of console_tail */
    uint8_t console_tail[IPC_CONSOLE_TAIL_BYTES]; /* last bytes of the 16550; opaque */
};

struct ipc_probed {
    bool works;                    /* guest kernel code ran */
    uint64_t loops_per_ms;         /* iterations of a two-instruction loop in 64-bit kernel mode */
    uint64_t create_ns;            /* KVM_CREATE_VM to first KVM_RUN */
    char text[IPC_TEXT_BYTES + 1]; /* capabilities that are missing, or why it does not work */
};

/* The form of a live stream. stdout and stderr are often different kinds of files. */
enum ipc_live {
    LIVE_RAW = 0,
    LIVE_ESCAPED = 1, /* for a terminal */
    LIVE_EVENTS = 2,  /* lines for --events, see IPC_EVENT_LINE_BYTES */
};

struct ipc_scribe {
    uint64_t cap_bytes[STREAM_COUNT]; /* most bytes that the log of a stream may have */
    uint32_t live_form[STREAM_COUNT]; /* enum ipc_live */
};

struct ipc_stream_totals {
    uint32_t stream; /* enum ipc_stream */
    uint64_t total_bytes;
    uint64_t kept_bytes;
    uint32_t error;                   /* errno of a log file that could not be written, else 0 */
    uint8_t sha256[IPC_DIGEST_BYTES]; /* of the kept bytes */
};

/* What the content of a file is, as far as it was looked at. */
enum artifact_type {
    ARTIFACT_DATA = 0, /* none of those below */
    ARTIFACT_PNG = 1,
    ARTIFACT_JPEG = 2,
    ARTIFACT_PDF = 3,
    ARTIFACT_CSV = 4, /* text, and its name says so */
    ARTIFACT_JSON = 5,
    ARTIFACT_TEXT = 6, /* UTF-8 without control characters but for tabs and ends of lines */
    ARTIFACT_TYPES = 7,
};

struct ipc_extract {
    uint64_t max_total_bytes;
    uint64_t max_file_bytes;
    uint64_t max_files; /* files and directories */
    uint32_t max_depth;
    uint32_t types; /* bits 1 << enum artifact_type that a file may have; 0: any */
    bool bundle;    /* one tar.gz instead of a directory */
};

enum ipc_entry_kind {
    ENTRY_FILE = 1,
    ENTRY_DIR = 2,
    ENTRY_SKIPPED = 3,
};

/* The name is a byte string from the guest. */
struct ipc_entry {
    uint32_t kind;                    /* enum ipc_entry_kind */
    uint32_t mode;                    /* FILE, DIR: the mode that the guest claims; SKIPPED: 0 */
    uint64_t size;                    /* FILE: bytes */
    uint8_t sha256[IPC_DIGEST_BYTES]; /* FILE */
    uint32_t type;                    /* FILE: enum artifact_type */
    char reason[32];                  /* SKIPPED: why, one of our own words; else "" */
    /* FILE, DIR: the path below the output directory, or in the bundle; plain text; else "" */
    char exported[IPC_EXPORTED_BYTES];
    uint32_t name_bytes;
    uint8_t name[IPC_NAME_MAX_BYTES];
};

enum ipc_extract_status {
    EXTRACT_COMPLETE = 1, /* everything that the archive holds was written, nothing was skipped */
    EXTRACT_PARTIAL = 2,  /* something was skipped: an ENTRY_SKIPPED each */
    EXTRACT_REFUSED = 3,  /* the archive broke a rule: text */
    EXTRACT_FAILED = 4,   /* the host could not write: text */
};

struct ipc_extracted {
    uint32_t status; /* enum ipc_extract_status */
    uint64_t files;
    uint64_t bytes;
    uint64_t skipped;
    uint64_t bundle_bytes; /* 0 without a bundle */
    uint8_t bundle_sha256[IPC_DIGEST_BYTES];
    char text[IPC_TEXT_BYTES + 1];
};

/* Any record: the packet as it came, already checked to be whole. */
struct ipc_record {
    enum ipc_kind kind;
    size_t size; /* of payload */
    uint8_t payload[IPC_RECORD_MAX_BYTES];
};

/*
 * Both ends of a new channel, close-on-exec. It holds fewer than 1000 records that were not
 * received, whatever the host's default for sockets is.
 */
int ipc_channel(int fds[2], struct err *err);

/*
 * Receive one record. Returns 1, 0 when the other side is gone, -1 on error (a packet that is too
 * short, too long, of no known kind, or carries fds). Blocks unless FD is non-blocking; then -1
 * with err->errnum EAGAIN.
 */
int ipc_receive(int fd, struct ipc_record *record, struct err *err);

int ipc_send_machine(int fd, const struct ipc_machine *machine, struct err *err);
int ipc_send_plain(int fd, enum ipc_kind kind, struct err *err); /* CANCEL, HALT, PROBE */
int ipc_send_running(int fd, const struct ipc_running *running, struct err *err);
/* HELLO, STARTED, EXITED, EXPORTED: PAYLOAD is the checked payload of the message of wire.h. */
int ipc_send_wire(int fd, enum ipc_kind kind, const uint8_t *payload, size_t size, struct err *err);
int ipc_send_ended(int fd, const struct ipc_ended *ended, struct err *err);
int ipc_send_probed(int fd, const struct ipc_probed *probed, struct err *err);
int ipc_send_scribe(int fd, const struct ipc_scribe *scribe, struct err *err);
int ipc_send_stream(int fd, const struct ipc_stream_totals *totals, struct err *err);
int ipc_send_extract(int fd, const struct ipc_extract *extract, struct err *err);
int ipc_send_entry(int fd, const struct ipc_entry *entry, struct err *err);
int ipc_send_extracted(int fd, const struct ipc_extracted *extracted, struct err *err);

/* Decode a record of the kind in the name; checks kind, length and every enum and count. */
int ipc_get_machine(const struct ipc_record *record, struct ipc_machine *machine, struct err *err);
int ipc_get_running(const struct ipc_record *record, struct ipc_running *running, struct err *err);
int ipc_get_ended(const struct ipc_record *record, struct ipc_ended *ended, struct err *err);
int ipc_get_probed(const struct ipc_record *record, struct ipc_probed *probed, struct err *err);
int ipc_get_scribe(const struct ipc_record *record, struct ipc_scribe *scribe, struct err *err);
int ipc_get_stream(
    const struct ipc_record *record, struct ipc_stream_totals *totals, struct err *err);
int ipc_get_extract(const struct ipc_record *record, struct ipc_extract *extract, struct err *err);
int ipc_get_entry(const struct ipc_record *record, struct ipc_entry *entry, struct err *err);
int ipc_get_extracted(
    const struct ipc_record *record, struct ipc_extracted *extracted, struct err *err);

#endif
