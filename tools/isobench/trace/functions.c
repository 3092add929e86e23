/* SPDX-License-Identifier: Apache-2.0 */
/*
 * functions.c: isofunctions TRACE_PIPE_RAW...: prints the distinct addresses of the kernel's
 * functions that the function tracer of ftrace reports, one a line, and at the end a line "lost N":
 * entries that the kernel dropped. Reads until its standard input ends and the buffers are empty.
 * Runs on the machine that is traced, as root; its input is its own kernel's.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* events/header_page and header_event in tracefs; Documentation/trace/ring-buffer-design.rst. */
enum {
    PAGE_BYTES = 4096,
    PAGE_HEADER = 16, /* time stamp, then how many bytes are used, with two marks */
    USED_MASK = 0xfffff,
    TYPE_PADDING = 29,
    TYPE_FUNCTION = 1, /* events/ftrace/function/format: the id, and where the address stands */
    ADDRESS_AT = 8,
    SLOTS = 1 << 17, /* Debian's kernel has 41,000 functions that can be traced */
    PIPES_MAX = 256,
    TURN_MS = 100,
};
static const uint32_t missed_mark = 1U << 31;

struct seen {
    uint64_t slots[SLOTS]; /* open addressing; 0 is no address */
    size_t count;
    unsigned long long lost;
};

static void add(struct seen *seen, uint64_t address)
{
    size_t slot = (size_t)((address * 0x9e3779b97f4a7c15U) >> 47) % SLOTS;
    while (seen->slots[slot] != address) {
        if (seen->slots[slot] == 0 && seen->count < SLOTS / 2) {
            seen->slots[slot] = address;
            seen->count++;
            return;
        }
        if (seen->slots[slot] == 0) {
            seen->lost++;
            return;
        }
        slot = (slot + 1) % SLOTS;
    }
}

static uint64_t load(const unsigned char *at, size_t size)
{
    uint64_t value = 0;
    memcpy(&value, at, size); /* the kernel's own order of bytes */
    return value;
}

static void add_page(struct seen *seen, const unsigned char *page)
{
    const uint32_t commit = (uint32_t)load(page + 8, 4);
    const size_t end = PAGE_HEADER + (commit & USED_MASK);
    if (commit & missed_mark)
        seen->lost++;
    for (size_t at = PAGE_HEADER; at + 4 <= end && end <= PAGE_BYTES;) {
        const uint32_t head = (uint32_t)load(page + at, 4);
        const uint32_t type = head & 31;
        at += 4;
        if (type == TYPE_PADDING && head >> 5 == 0)
            return; /* the rest of the page is empty */
        /* Of padding and of long entries the length, with itself, stands first. */
        const size_t length = type == 0 || type == TYPE_PADDING ? (size_t)load(page + at, 4)
                              : type < TYPE_PADDING             ? type * 4U
                                                                : 4U;
        if (type > 0 && type < TYPE_PADDING && load(page + at, 2) == TYPE_FUNCTION)
            add(seen, load(page + at + ADDRESS_AT, 8));
        at += length;
    }
}

/* Reads what there is. Returns 0 when all buffers are empty. */
static int drain(struct seen *seen, struct pollfd *pipes, nfds_t count)
{
    static unsigned char page[PAGE_BYTES + 32]; /* an entry that is cut off is read within it */
    int found = 0;
    for (nfds_t i = 1; i < count; i++) {
        for (;;) {
            const ssize_t got = read(pipes[i].fd, page, PAGE_BYTES);
            if (got < PAGE_HEADER)
                break;
            add_page(seen, page);
            found = 1;
        }
    }
    return found;
}

int main(int argc, char **argv)
{
    static struct seen seen;
    static struct pollfd pipes[PIPES_MAX];
    if (argc < 2 || argc > PIPES_MAX) {
        fprintf(stderr, "usage: isofunctions TRACE_PIPE_RAW...\n");
        return 2;
    }
    pipes[0] = (struct pollfd){.fd = STDIN_FILENO, .events = POLLIN};
    for (int i = 1; i < argc; i++) {
        pipes[i] = (struct pollfd){.fd = open(argv[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC)};
        if (pipes[i].fd < 0) {
            fprintf(stderr, "isofunctions: %s: %s\n", argv[i], strerror(errno));
            return 1;
        }
    }
    /* Woken by the clock: what is traced would be woken up for, and traced, by each page. */
    do {
        if (poll(pipes, 1, TURN_MS) < 0 && errno != EINTR)
            return 1;
        (void)drain(&seen, pipes, (nfds_t)argc);
    } while (pipes[0].revents == 0);
    while (drain(&seen, pipes, (nfds_t)argc))
        ;
    for (size_t i = 0; i < SLOTS; i++)
        if (seen.slots[i])
            printf("%llx\n", (unsigned long long)seen.slots[i]);
    printf("lost %llu\n", seen.lost);
    return fflush(stdout) ? 1 : 0;
}
