/* SPDX-License-Identifier: Apache-2.0 */
/*
 * console.h: the transmit half of a 16550, for `--console` only. Register accesses come from vCPU
 * threads. Each byte goes to the scribe's pipe and into a ring of the last bytes for the diagnosis.
 */
#ifndef VMM_MONITOR_CONSOLE_H
#define VMM_MONITOR_CONSOLE_H

#include <pthread.h>
#include <stdint.h>

#include "ipc/ipc.h"

enum { CONSOLE_REGISTERS = 8 };

struct console {
    pthread_mutex_t lock;
    int fd; /* the scribe's pipe, non-blocking; a full pipe loses bytes rather than stop the guest
             */
    uint8_t lcr, mcr, scratch, ier;
    uint32_t line_bytes;
    uint8_t line[256]; /* not yet written to fd */
    uint64_t tail_total;
    uint8_t tail[IPC_CONSOLE_TAIL_BYTES];
};

void console_init(struct console *console, int fd);
uint8_t console_read(struct console *console, uint32_t offset);
void console_write(struct console *console, uint32_t offset, uint8_t value);

/* Write out what is still buffered and copy the last bytes into ENDED. */
void console_finish(struct console *console, struct ipc_ended *ended);

#endif
