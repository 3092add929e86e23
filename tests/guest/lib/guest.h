/* SPDX-License-Identifier: Apache-2.0 */
/*
 * guest.h: what a test guest stands on. A test guest is a freestanding program that the real
 * monitor boots in place of Linux; it has one vCPU, the first 5 GiB mapped one to one, no
 * interrupts, and the devices of vmm/ipc/place_x86_64.h.
 *
 * The initramfs that the task names is its argument: a line of words that say what to do. What it
 * finds goes out through the 16550 of `vmrun --console`, as TAP.
 */
#ifndef TESTS_GUEST_LIB_GUEST_H
#define TESTS_GUEST_LIB_GUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KIB 1024ULL
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The program's own main; ARGUMENT is the initramfs, cut at the first control character. */
void guest_main(const char *argument);

/* Text for the host, printf's %s %u %x (32 bits) and %lx (64 bits). */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Leave: a triple fault, which the host answers with the verdict guest_failed. */
_Noreturn void guest_end(void);
/* Say why and leave. */
_Noreturn void guest_die(const char *why);

/* End of RAM below the hole, and above 4 GiB (0 when there is none). */
uint64_t ram_low_end(void);
uint64_t ram_high_end(void);

/*
 * Give the host's event loop time: TRIES of these take seconds, on the slowest host too. Each is an
 * exit to the monitor.
 */
enum { PATIENCE = 200000 };
void breathe(void);

/* The compiler neither keeps memory in registers nor moves accesses across it. */
static inline void barrier(void)
{
    __asm__ volatile("" : : : "memory");
}

/* x86 orders a store before an earlier load of another place only with this. */
static inline void full_barrier(void)
{
    __asm__ volatile("mfence" : : : "memory");
}

bool text_equal(const char *left, const char *right);
/* The number behind PREFIX, which TEXT begins with; false when it does not. */
bool text_number(const char *text, const char *prefix, uint32_t *number);

void *memcpy(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *left, const void *right, size_t size);
size_t strlen(const char *text);
size_t strnlen(const char *text, size_t size);

/* A value that is different each time, and the same in each run. */
uint32_t random_next(void);

#endif
