/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c: the villain, a guest that uses every device wrongly from inside and checks the answers by
 * the specification. Its argument names a group of cases, or one way to end.
 */
#include "villain/villain.h"

#include "liar/liar.h"

struct blk villain_disk;

void expect_broken(const struct device *device)
{
    expect(status_await(device, STATUS_NEEDS_RESET), "no DEVICE_NEEDS_RESET");
    expect(interrupt_await(device, INTERRUPT_CONFIG), "no configuration interrupt");
}

void villain_disk_serves(void)
{
    static uint8_t out[SECTOR_BYTES], in[SECTOR_BYTES];

    blk_up(&villain_disk, DISK_SCRATCH, ~0ULL, BLK_QUEUE_SIZE);
    memset(out, (int)(random_next() & 0xff), sizeof(out));
    memset(in, 0, sizeof(in));
    expect_equal("a correct write afterwards",
        blk_request(&villain_disk, BLK_OUT, 7, out, sizeof(out)), BLK_OK);
    expect_equal(
        "a correct read afterwards", blk_request(&villain_disk, BLK_IN, 7, in, sizeof(in)), BLK_OK);
    expect(memcmp(out, in, sizeof(in)) == 0, "what was written is not what is read");
    expect(interrupt_await(&villain_disk.device, INTERRUPT_USED), "no used buffer notification");
}

/* ---- ways to end that leave nothing to report ---- */

static void end_triple_fault(void)
{
    guest_end();
}

static void end_loop(void)
{
    for (;;)
        barrier();
}

static void end_halt(void)
{
    for (;;)
        __asm__ volatile("cli; hlt");
}

/* KVM has to emulate what is fetched from where there is no memory. */
static void end_fetch(void)
{
    uint64_t nowhere = 0xe0000000;

    __asm__ volatile("call *%0" : : "r"(nowhere) : "memory");
}

/* No stack: the processor cannot even push the first fault. */
static void end_stack(void)
{
    __asm__ volatile("mov %0, %%rsp; push %%rax" : : "r"(0x7fffffffff00ULL) : "memory");
}

static void end_exits(void)
{
    for (;;)
        breathe();
}

/* Kicks without end, on queues that were never set up and on a broken one. */
static void end_kicks(void)
{
    blk_up(&villain_disk, DISK_SCRATCH, ~0ULL, BLK_QUEUE_SIZE);
    virtq_offer(&villain_disk.queue, 9999);
    for (;;) {
        virtq_kick(&villain_disk.queue);
        for (uint64_t i = 0; i < 4; i++)
            access_write(villain_disk.device.gpa + i * WINDOW_BYTES + REG_QUEUE_NOTIFY, 4, i & 1);
    }
}

/* Resets without end, with requests under way. */
static void end_resets(void)
{
    static uint8_t data[SECTOR_BYTES];
    const struct piece pieces[] = {{&blk_header, sizeof(blk_header), false},
        {data, sizeof(data), true}, {&blk_status, 1, true}};

    for (;;) {
        blk_up(&villain_disk, DISK_SCRATCH, ~0ULL, BLK_QUEUE_SIZE);
        blk_send(&villain_disk, pieces, ARRAY_COUNT(pieces));
    }
}

static const struct {
    const char *name;
    void (*run)(void);
    bool reports;
} groups[] = {
    {"mmio", villain_mmio, true},
    {"queue", villain_queue, true},
    {"hole", villain_hole, true},
    {"blk", villain_blk, true},
    {"vsock", villain_vsock, true},
    {"cpu", villain_cpu, true},
    {"race", villain_race, true},
    {"triple-fault", end_triple_fault, false},
    {"loop", end_loop, false},
    {"halt", end_halt, false},
    {"fetch", end_fetch, false},
    {"stack", end_stack, false},
    {"exits", end_exits, false},
    {"kicks", end_kicks, false},
    {"resets", end_resets, false},
};

void guest_main(const char *argument)
{
    for (size_t i = 0; i < ARRAY_COUNT(groups); i++) {
        if (!text_equal(argument, groups[i].name))
            continue;
        groups[i].run();
        if (groups[i].reports) {
            cases_end();
            agent_serve("served\n"); /* after all that, a run that is ok */
        }
        return;
    }
    if (!liar_run(argument))
        guest_die("the argument names nothing");
}
