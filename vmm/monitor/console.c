/* SPDX-License-Identifier: Apache-2.0 */
/*
 * console.c: see console.h. Runs in the monitor, on vCPU threads; every value is the guest's. A
 * kernel console polls, so there are no interrupts: IIR always says that none is pending.
 */
#include "monitor/console.h"

#include <string.h>
#include <unistd.h>

/* Registers of a 16550 (offsets) and the bits that matter to a polled transmitter. */
enum {
    UART_DATA = 0,
    UART_IER = 1,
    UART_IIR = 2,
    UART_LCR = 3,
    UART_MCR = 4,
    UART_LSR = 5,
    UART_MSR = 6,
    UART_SCRATCH = 7,
    UART_IIR_NONE = 0x01,
    UART_LCR_DLAB = 0x80,
    UART_LSR_EMPTY = 0x60,
    UART_MSR_READY = 0xb0,
};

void console_init(struct console *console, int fd)
{
    memset(console, 0, sizeof(*console));
    pthread_mutex_init(&console->lock, NULL);
    console->fd = fd;
}

static void console_flush(struct console *console)
{
    ssize_t written = write(console->fd, console->line, console->line_bytes);

    (void)written; /* the console is a help for people: it must not hold up the guest */
    console->line_bytes = 0;
}

static void console_put(struct console *console, uint8_t byte)
{
    console->tail[console->tail_total % sizeof(console->tail)] = byte;
    console->tail_total++;
    console->line[console->line_bytes++] = byte;
    if (byte == '\n' || console->line_bytes == sizeof(console->line))
        console_flush(console);
}

uint8_t console_read(struct console *console, uint32_t offset)
{
    uint8_t value = 0;

    pthread_mutex_lock(&console->lock);
    switch (offset) {
    case UART_IER:
        value = console->lcr & UART_LCR_DLAB ? 0 : console->ier;
        break;
    case UART_IIR:
        value = UART_IIR_NONE;
        break;
    case UART_LCR:
        value = console->lcr;
        break;
    case UART_MCR:
        value = console->mcr;
        break;
    case UART_LSR:
        value = UART_LSR_EMPTY;
        break;
    case UART_MSR:
        value = UART_MSR_READY;
        break;
    case UART_SCRATCH:
        value = console->scratch;
        break;
    default:
        break;
    }
    pthread_mutex_unlock(&console->lock);
    return value;
}

void console_write(struct console *console, uint32_t offset, uint8_t value)
{
    pthread_mutex_lock(&console->lock);
    switch (offset) {
    case UART_DATA:
        if (!(console->lcr & UART_LCR_DLAB))
            console_put(console, value);
        break;
    case UART_IER:
        if (!(console->lcr & UART_LCR_DLAB))
            console->ier = value & 0x0f;
        break;
    case UART_LCR:
        console->lcr = value;
        break;
    case UART_MCR:
        console->mcr = value & 0x1f;
        break;
    case UART_SCRATCH:
        console->scratch = value;
        break;
    default:
        break;
    }
    pthread_mutex_unlock(&console->lock);
}

void console_finish(struct console *console, struct ipc_ended *ended)
{
    uint64_t kept, first;

    pthread_mutex_lock(&console->lock);
    console_flush(console);
    kept =
        console->tail_total < sizeof(console->tail) ? console->tail_total : sizeof(console->tail);
    first = console->tail_total - kept;
    for (uint64_t i = 0; i < kept; i++)
        ended->console_tail[i] = console->tail[(first + i) % sizeof(console->tail)];
    ended->console_bytes = (uint32_t)kept;
    pthread_mutex_unlock(&console->lock);
}
