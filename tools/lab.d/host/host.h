/* SPDX-License-Identifier: Apache-2.0 */
/* The lab's host side: what its files give each other. */
#ifndef LAB_HOST_H
#define LAB_HOST_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../channel.h"

/* Exit statuses of the lab itself; everything else is the command's. README.md lists them. */
enum {
    STATUS_SETUP = 121,   /* wrong usage, something missing: no machine was started */
    STATUS_TIMEOUT = 122, /* the time limit ended a machine that was alive */
    STATUS_OUTER = 123,   /* the outer machine stalled, panicked, or QEMU died */
};

struct options {
    int timeout_s; /* limit for the whole run */
    int silence_s; /* longest silence of the outer machine, its boot included */
    bool console;  /* copy the outer console to stderr */
    bool use_stdin;
    const char *log;   /* file that gets the outer console, or NULL */
    char **job;        /* strings for FRAME_JOB, NULL-terminated */
    char **qemu;       /* QEMU's argv, NULL-terminated */
    char **cold;       /* the same for a second attempt that does not start from a saved machine */
    const char *saved; /* the saved machine that qemu starts from, or NULL */
    const char *save;  /* save the machine in this file (of the current directory) and end */
};

/* The last bytes of a stream. */
struct tail {
    char bytes[6000];
    size_t length;
};

enum ending {
    ENDING_NONE,
    ENDING_EXIT,    /* the command ended: status */
    ENDING_FAILED,  /* the outer machine said why it cannot go on */
    ENDING_SILENT,  /* no frame for silence_s */
    ENDING_TIMEOUT, /* timeout_s is over */
    ENDING_QEMU,    /* QEMU ended by itself */
    ENDING_OUTPUT, /* the caller's stdout or stderr does not take bytes any more: status is errno */
    ENDING_SIGNAL, /* a signal told us to stop: status is its number */
};

struct session {
    const struct options *options;
    pid_t qemu;
    int channel; /* our ends of the two sockets; -1 when closed by QEMU */
    int console;
    int monitor; /* QEMU's command line */
    int log;
    uint64_t start_ms;
    uint64_t heard_ms; /* when the last frame came */
    uint64_t ready_ms; /* when the outer machine was ready for its job, 0 before */
    bool started;      /* the command's process exists */
    bool stdin_wanted;
    uint64_t asked_ms;   /* when FRAME_QUERY was sent, 0 before */
    uint64_t stalled_ms; /* when QEMU was asked what its silent machine does, 0 before */
    bool answered;
    uint8_t *send; /* bytes on their way to the outer machine */
    size_t send_at;
    size_t send_length;
    uint8_t frame[FRAME_HEADER_BYTES + FRAME_PAYLOAD_BYTES];
    size_t frame_length; /* bytes of the current frame that are here */
    char beat[128];      /* text of the last heartbeat */
    struct tail tail;    /* of the outer console */
    struct tail report;  /* of the answer to FRAME_QUERY */
    enum ending ending;
    int status;
};

/* Number of the signal that asked for the end, 0 while there is none. */
extern volatile sig_atomic_t stop_signal;

/* session.c */
/* Runs one outer machine to its end; fills *session. 0, or -1 when QEMU could not be started. */
int session_run(struct session *session, const struct options *options, char **qemu);
uint64_t now_ms(void);

/* qemu.c */
/* Starts QEMU with the channel as fd 3, the console as fd 4, its monitor as fd 5. 0 or -1, with a
 * message. */
int qemu_start(struct session *session, char **argv);
/* Ends QEMU and waits for it. Its wait status. */
int qemu_stop(struct session *session);

/* stream.c */
void tail_add(struct tail *tail, const void *bytes, size_t length);
/* Writes all bytes to a stream of the caller. 0, or errno; EINTR when a stop or the limit came
 * first. */
int stream_write(const struct session *session, int fd, const void *bytes, size_t length);
/* Queues a frame for the outer machine. */
void send_frame(struct session *session, enum frame_type type, const void *bytes, size_t length);
/* Queues the job. */
void send_job(struct session *session);
/* Queues the time and a seed. */
void send_now(struct session *session);
/* Writes what the socket takes of the queue. */
void send_some(struct session *session);

#endif
