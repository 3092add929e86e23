/* SPDX-License-Identifier: Apache-2.0 */
/*
 * actor.c: PID 1 of a guest that does what the agent never would. It greets the host, takes the
 * job, and takes the job's arguments not for a command but for a part to play, word by word:
 *
 *     started exited exported   send that message, whatever the order
 *     hello                     send it again
 *     unknown                   a message of a type that there is not
 *     say=TEXT                  write TEXT to the stdout stream
 *     sleep=MS                  do nothing for so long
 *     spin                      use the processor for ever
 *     wait                      do nothing for ever
 *     hog                       take memory until there is none
 *     leave                     end, which the kernel does not survive
 *
 * It puts the task into no cgroup, mounts nothing and answers no CANCEL.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../guest-agent/channel.h"
#include "base/clock.h"
#include "base/num.h"
#include "wire/job.h"
#include "wire/wire.h"

enum { ACT_BYTES = 64, UNKNOWN_TYPE = 99 };

static uint8_t job_bytes[WIRE_JOB_MAX_BYTES];
static struct channel channel = CHANNEL_INIT;

static void act_wait(void)
{
    for (;;)
        pause();
}

static void act_spin(void)
{
    for (volatile unsigned turns = 0;; turns = turns + 1)
        continue;
}

static void act_hog(void)
{
    for (;;) {
        void *room = mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (room != MAP_FAILED)
            memset(room, 1, MIB);
    }
}

/* Encodes the message that WORD names; 0 when it names none. */
static size_t encode(const char *word, uint8_t *message, size_t size)
{
    struct wire_hello hello = {.version = WIRE_VERSION, .cpu_count = 1, .release = "actor"};
    struct wire_started started = {.controls = 0};
    struct wire_exited exited = {.how = WIRE_HOW_EXITED};
    struct wire_exported exported = {0};

    if (strcmp(word, "hello") == 0)
        return wire_put_hello(message, size, &hello);
    if (strcmp(word, "started") == 0)
        return wire_put_started(message, size, &started);
    if (strcmp(word, "exited") == 0)
        return wire_put_exited(message, size, &exited);
    if (strcmp(word, "exported") == 0)
        return wire_put_exported(message, size, &exported);
    if (strcmp(word, "unknown") == 0)
        return wire_put_header(message, size, (enum wire_type)UNKNOWN_TYPE, 0);
    return 0;
}

static void act(const char *word)
{
    uint8_t message[WIRE_HEADER_BYTES + WIRE_GUEST_PAYLOAD_MAX];
    struct err err = ERR_INIT;
    size_t size = encode(word, message, sizeof(message));

    if (size > 0)
        (void)channel_send(&channel, message, size, &err);
    else if (strncmp(word, "say=", 4) == 0)
        (void)!write(channel.stdout_fd, word + 4, strlen(word + 4));
    else if (strncmp(word, "sleep=", 6) == 0)
        usleep((useconds_t)atoi(word + 6) * 1000);
    else if (strcmp(word, "spin") == 0)
        act_spin();
    else if (strcmp(word, "wait") == 0)
        act_wait();
    else if (strcmp(word, "hog") == 0)
        act_hog();
    else
        exit(1); /* "leave", or a word that is no act */
}

int main(void)
{
    struct err err = ERR_INIT;
    struct job_field field;
    struct reader reader;
    uint32_t seen = 0;
    size_t size;

    if (channel_open(&channel, &err) < 0)
        return 1;
    act("hello");
    if (channel_receive_job(&channel, job_bytes, &size, &err) < 0)
        return 1;
    reader = reader_make(job_bytes, size);
    while (job_next(&reader, &seen, &field, &err) > 0) {
        char word[ACT_BYTES];

        if (field.tag != JOB_ARG)
            continue;
        snprintf(word, sizeof(word), "%.*s", (int)field.size, (const char *)field.bytes);
        act(word);
    }
    act_wait();
}
