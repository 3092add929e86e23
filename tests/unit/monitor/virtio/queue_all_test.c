/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/virtio/fake_ram.c tests/unit/monitor/virtio/driver.c */
/*
 * queue_all_test.c: queues of 1, 2 and 4 descriptors in every state that tells one from another:
 * all chains, all distances of the indices, all short histories across the wrap at 65536. What is
 * right is said a second time here, from the specification (virtio 1.2 §2.7), in other words.
 */
#include "monitor/virtio/queue.h"
#include "tests/unit/unit.h"

#include <string.h>

#include "base/num.h"
#include "tests/unit/monitor/virtio/driver.h"
#include "tests/unit/monitor/virtio/fake_ram.h"

enum {
    DATA = 0x100000,
    SIZE_MAX_HERE = 4,
    KINDS = 5 + 4 * (SIZE_MAX_HERE + 1), /* of descriptors; see kind() */
};

static struct guest_mem mem;
static struct driver_ring ring;
static struct queue queue;
static struct queue_chain chain;

static int set_up(void **state)
{
    (void)state;
    fake_ram_make(&mem);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_ram_free(&mem);
    return 0;
}

static void place(uint16_t size)
{
    struct err err = ERR_INIT;

    ring = ring_place(&mem, 0, size);
    assert_int_equal(queue_activate(&queue, &mem, &ring.registers, &err), 0);
}

/* The state after INDEX chains came and went. */
static void wind_to(uint16_t index)
{
    queue.next_avail = queue.next_used = index;
    queue.broken = false;
    ring_set_avail_idx(&ring, index);
}

/* ---- chains ---- */

struct kind {
    uint16_t flags;
    uint16_t next;
    uint32_t bytes;
};

/* Number 0 to KINDS - 1: what makes a difference in a descriptor of a queue of SIZE. */
static struct kind kind(unsigned number, uint16_t size)
{
    unsigned next = (number - 5) / 4;

    if (number == 0)
        return (struct kind){.flags = DESC_INDIRECT, .bytes = 16};
    if (number < 5)
        return (struct kind){
            .flags = number % 2 ? DESC_WRITE : 0, .next = 1, .bytes = number < 3 ? 8 : 0};
    return (struct kind){
        .flags = (uint16_t)(DESC_NEXT | (number % 2 ? DESC_WRITE : 0)),
        .next = next < size ? (uint16_t)next : (uint16_t)(size + 0xfff0 * (next % 2)),
        .bytes = number / 2 % 2 ? 8 : 0,
    };
}

/* Is the chain from HEAD one that a device takes? *COUNT is its length. */
static bool chain_is_right(const struct kind *kinds, uint16_t size, uint16_t head, uint32_t *count)
{
    bool seen[SIZE_MAX_HERE] = {false}, writes = false;
    uint16_t at = head;

    for (*count = 0;; at = kinds[at].next) {
        if (at >= size || seen[at] || kinds[at].bytes == 0 || kinds[at].flags == DESC_INDIRECT)
            return false;
        seen[at] = true;
        if (writes && !(kinds[at].flags & DESC_WRITE))
            return false;
        writes |= kinds[at].flags & DESC_WRITE;
        ++*count;
        if (!(kinds[at].flags & DESC_NEXT))
            return true;
    }
}

static void check_chain(const struct kind *kinds, uint16_t size, uint16_t head)
{
    struct err err = ERR_INIT;
    uint32_t count;
    bool right = chain_is_right(kinds, size, head, &count);
    int popped;

    wind_to(65535);
    ring_offer(&ring, head);
    popped = queue_pop(&queue, &chain, &err);
    if (popped != (right ? 1 : -1) || queue.broken == right)
        fail_msg("size %u, head %u: %d", size, head, popped);
    if (!right)
        return;
    if (chain.part_count != count || chain.head != head ||
        chain.readable_bytes + chain.writable_bytes != 8 * count)
        fail_msg("size %u, head %u: %u parts", size, head, chain.part_count);
}

/* All tables of descriptors, all heads. */
static void every_chain_of(uint16_t size)
{
    unsigned numbers[SIZE_MAX_HERE] = {0}, at;
    struct kind kinds[SIZE_MAX_HERE];
    unsigned count = 5 + 4 * (size + 1U);

    place(size);
    do {
        for (uint16_t i = 0; i < size; i++) {
            kinds[i] = kind(numbers[i], size);
            ring_describe(&ring, i, DATA, kinds[i].bytes, kinds[i].flags, kinds[i].next);
        }
        for (uint16_t head = 0; head <= size; head++)
            check_chain(kinds, size, head);
        for (at = 0; at < size && ++numbers[at] == count; at++)
            numbers[at] = 0;
    } while (at < size);
}

static void every_chain(void **state)
{
    (void)state;
    for (uint16_t size = 1; size <= SIZE_MAX_HERE; size *= 2)
        every_chain_of(size);
}

/* ---- indices ---- */

static const uint16_t places[] = {
    0, 1, 2, 3, 4, 5, 32766, 32767, 32768, 32769, 65530, 65531, 65532, 65533, 65534, 65535};

/* The device stands at INDEX and finds avail.idx AHEAD of it. */
static void check_distance(uint16_t size, uint16_t index, uint16_t ahead)
{
    struct err err = ERR_INIT;
    int wanted = ahead == 0 ? 0 : ahead <= size ? 1 : -1;

    wind_to(index);
    ring_set_avail_idx(&ring, (uint16_t)(index + ahead));
    if (queue_has_work(&queue) != (ahead != 0) || queue_waiting(&queue) != ahead ||
        queue_pop(&queue, &chain, &err) != wanted || queue.broken != (wanted < 0) ||
        queue.next_avail != (uint16_t)(index + (wanted > 0)))
        fail_msg("size %u at %u, %u ahead", size, index, ahead);
    if (wanted > 0 && chain.head != index % size)
        fail_msg("size %u at %u: head %u", size, index, chain.head);
}

static void every_distance(void **state)
{
    (void)state;
    for (uint16_t size = 1; size <= SIZE_MAX_HERE; size *= 2) {
        place(size);
        for (uint16_t i = 0; i < size; i++) {
            ring_describe(&ring, i, DATA, 8, 0, 0);
            le16_store(fake_ram_at(&mem, ring.registers.raw_avail_gpa + 4 + 2ULL * i, 2), i);
        }
        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
            for (uint32_t ahead = 0; ahead <= UINT16_MAX; ahead++)
                check_distance(size, places[i], (uint16_t)ahead);
        }
    }
}

/* ---- histories: offers, pops and pushes in every order ---- */

enum { STEPS = 9, HISTORIES = 19683 /* 3 to the power of STEPS */ };

struct model {
    uint16_t offered, popped, pushed; /* since the start */
    uint16_t heads[STEPS];            /* what was popped, in order */
};

static void step_offer(struct model *model, uint16_t size)
{
    if ((uint16_t)(model->offered - model->pushed) < size)
        ring_offer(&ring, (uint16_t)(model->offered++ % size));
}

static void step_pop(struct model *model, uint16_t size)
{
    struct err err = ERR_INIT;
    int popped = queue_pop(&queue, &chain, &err);

    assert_int_equal(popped, model->popped < model->offered);
    if (!popped)
        return;
    assert_int_equal(chain.head, model->popped % size);
    model->heads[model->popped++] = chain.head;
}

static void step_push(struct model *model, uint16_t start, uint16_t size)
{
    const uint8_t *used = fake_ram_at(&mem, ring.registers.raw_used_gpa, 6 + 8ULL * size);
    const uint8_t *element = used + 4 + 8 * ((uint16_t)(start + model->pushed) % size);

    if (model->pushed == model->popped)
        return;
    chain.head = model->heads[model->pushed];
    queue_push(&queue, &chain, model->pushed);
    assert_int_equal(le32_load(element), model->heads[model->pushed]);
    assert_int_equal(le32_load(element + 4), model->pushed);
    model->pushed++;
    assert_int_equal(le16_load(used + 2), (uint16_t)(start + model->pushed));
    assert_memory_equal(used + 4 + 8 * size, "\0\0", 2); /* nothing behind the ring */
}

static void check_history(unsigned history, uint16_t start, uint16_t size)
{
    struct model model = {.offered = 0};

    wind_to(start);
    for (int i = 0; i < STEPS; i++, history /= 3) {
        if (history % 3 == 0)
            step_offer(&model, size);
        else if (history % 3 == 1)
            step_pop(&model, size);
        else
            step_push(&model, start, size);
        assert_int_equal(queue_waiting(&queue), model.offered - model.popped);
    }
    assert_false(queue.broken);
}

static void every_history(void **state)
{
    static const uint16_t starts[] = {0, 65528, 65532, 65534, 65535};

    (void)state;
    for (uint16_t size = 1; size <= SIZE_MAX_HERE; size *= 2) {
        place(size);
        for (uint16_t i = 0; i < size; i++)
            ring_describe(&ring, i, DATA, 16, DESC_WRITE, 0);
        for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
            for (unsigned history = 0; history < HISTORIES; history++)
                check_history(history, starts[i], size);
        }
    }
}

#define ALL_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct CMUnitTest tests[] = {
    ALL_TEST(every_chain),
    ALL_TEST(every_distance),
    ALL_TEST(every_history),
};

UNIT_MAIN(tests)
