/* SPDX-License-Identifier: Apache-2.0 */
/* LINK: tests/unit/monitor/virtio/fake_ram.c tests/unit/monitor/virtio/driver.c */
/* queue_test.c: split virtqueues: every rule inside the limit, at it, one past it. */
#include "monitor/virtio/queue.h"
#include "tests/unit/unit.h"

#include <string.h>

#include "base/num.h"
#include "tests/unit/monitor/virtio/driver.h"
#include "tests/unit/monitor/virtio/fake_ram.h"

enum { DATA = 0x100000 };

struct fixture {
    struct guest_mem mem;
    struct driver_ring ring;
    struct queue queue;
    struct queue_chain chain;
    struct err err;
};

static int set_up_size(void **state, uint16_t size)
{
    static struct fixture fixture;

    fixture = (struct fixture){.err = ERR_INIT};
    fake_ram_make(&fixture.mem);
    fixture.ring = ring_place(&fixture.mem, 0, size);
    *state = &fixture;
    return queue_activate(&fixture.queue, &fixture.mem, &fixture.ring.registers, &fixture.err);
}

static int set_up(void **state)
{
    return set_up_size(state, 8);
}

static int set_up_largest(void **state)
{
    return set_up_size(state, QUEUE_SIZE_MAX);
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    fake_ram_free(&f->mem);
    return 0;
}

/* The queue refuses what is in the ring, says RULE, and stays broken. */
static void assert_broken(struct fixture *f, const char *rule)
{
    f->err = (struct err)ERR_INIT;
    assert_true(queue_has_work(&f->queue));
    assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), -1);
    assert_non_null(strstr(f->err.text, rule));
    assert_true(f->chain.part_count <= f->queue.size);
    assert_true(f->queue.broken);
    assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 0);
    assert_false(queue_has_work(&f->queue));
}

static int activate(struct fixture *f, const struct queue_registers *registers)
{
    f->err = (struct err)ERR_INIT;
    return queue_activate(&f->queue, &f->mem, registers, &f->err);
}

static void sizes_are_powers_of_two_up_to_256(void **state)
{
    static const uint32_t good[] = {1, 2, 8, 128, 256};
    static const uint32_t bad[] = {0, 3, 6, 255, 257, 512, 32768, 65536, 0x10000008, UINT32_MAX};
    struct fixture *f = *state;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        f->ring.registers.raw_size = good[i];
        assert_int_equal(activate(f, &f->ring.registers), 0);
        assert_int_equal(f->queue.size, good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        f->ring.registers.raw_size = bad[i];
        assert_int_equal(activate(f, &f->ring.registers), -1);
        assert_non_null(strstr(f->err.text, "power of two"));
        assert_null(f->queue.desc);
        assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 0);
    }
}

static void rings_are_aligned(void **state)
{
    struct fixture *f = *state;
    struct queue_registers registers = f->ring.registers;

    for (uint64_t off = 1; off <= 16; off++) {
        registers = f->ring.registers;
        registers.raw_desc_gpa += off;
        assert_int_equal(activate(f, &registers), off % 16 ? -1 : 0);
        registers = f->ring.registers;
        registers.raw_avail_gpa += off;
        assert_int_equal(activate(f, &registers), off % 2 ? -1 : 0);
        registers = f->ring.registers;
        registers.raw_used_gpa += off;
        assert_int_equal(activate(f, &registers), off % 4 ? -1 : 0);
    }
}

/* SIZE bytes at the end of RAM fit, one step of ALIGN further they do not. */
static void assert_place(struct fixture *f, struct queue_registers *registers, uint64_t *field,
    uint64_t size, uint64_t align)
{
    uint64_t good = *field, last = (FAKE_LOW_BYTES - size) & ~(align - 1);
    const uint64_t bad[] = {last + align, FAKE_LOW_BYTES, FAKE_HIGH_GPA - align,
        FAKE_HIGH_GPA + FAKE_HIGH_BYTES, 0 - align, 1ULL << 63};

    *field = last;
    assert_int_equal(activate(f, registers), 0);
    *field = FAKE_HIGH_GPA;
    assert_int_equal(activate(f, registers), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        *field = bad[i];
        assert_int_equal(activate(f, registers), -1);
        assert_non_null(strstr(f->err.text, "not in RAM"));
    }
    *field = good;
}

static void rings_lie_in_ram(void **state)
{
    struct fixture *f = *state;
    struct queue_registers registers = f->ring.registers;

    assert_place(f, &registers, &registers.raw_desc_gpa, 16 * 8, 16);
    assert_place(f, &registers, &registers.raw_avail_gpa, 6 + 2 * 8, 2);
    assert_place(f, &registers, &registers.raw_used_gpa, 6 + 8 * 8, 4);
}

static void nothing_is_there_at_first(void **state)
{
    struct fixture *f = *state;
    struct queue inactive = QUEUE_INIT;

    assert_false(queue_has_work(&f->queue));
    assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 0);
    assert_int_equal(queue_pop(&inactive, &f->chain, &f->err), 0);
    assert_false(queue_has_work(&inactive));
    assert_false(queue_wants_interrupt(&inactive));
}

static void a_chain_is_copied(void **state)
{
    struct fixture *f = *state;
    uint32_t head, length;

    ring_describe(&f->ring, 3, DATA, 16, DESC_NEXT, 1);
    ring_describe(&f->ring, 1, DATA + 100, 7, DESC_NEXT, 7);
    ring_describe(&f->ring, 7, FAKE_HIGH_GPA, 512, DESC_NEXT | DESC_WRITE, 0);
    ring_describe(&f->ring, 0, DATA + 1000, 1, DESC_WRITE, 55); /* next is not looked at */
    ring_offer(&f->ring, 3);
    assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 1);
    assert_int_equal(f->chain.head, 3);
    assert_int_equal(f->chain.part_count, 4);
    assert_int_equal(f->chain.readable_count, 2);
    assert_int_equal(f->chain.readable_bytes, 23);
    assert_int_equal(f->chain.writable_bytes, 513);
    assert_ptr_equal(f->chain.parts[2].host, fake_ram_at(&f->mem, FAKE_HIGH_GPA, 512));
    /* What the guest changes now comes too late. */
    ring_describe(&f->ring, 1, UINT64_MAX, UINT32_MAX, 0xffff, 0xffff);
    assert_int_equal(f->chain.parts[1].size_bytes, 7);
    queue_push(&f->queue, &f->chain, 513);
    assert_true(ring_take(&f->ring, &head, &length));
    assert_int_equal(head, 3);
    assert_int_equal(length, 513);
    assert_false(ring_take(&f->ring, &head, &length));
    assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 0);
}

static void indices_wrap(void **state)
{
    struct fixture *f = *state;
    uint32_t head, length;

    for (uint16_t i = 0; i < 8; i++)
        ring_describe(&f->ring, i, DATA, 1, 0, 0);
    for (uint32_t i = 0; i < 0x10000 + 20; i++) {
        ring_offer(&f->ring, (uint16_t)(i % 8));
        assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 1);
        queue_push(&f->queue, &f->chain, 0);
        assert_true(ring_take(&f->ring, &head, &length));
        assert_int_equal(head, i % 8);
    }
}

static void the_avail_index_is_at_most_the_size_ahead(void **state)
{
    struct fixture *f = *state;

    ring_describe(&f->ring, 0, DATA, 1, 0, 0);
    ring_set_avail_idx(&f->ring, 8); /* eight times descriptor 0 */
    for (int i = 0; i < 8; i++)
        assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 1);
    assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 0);
    ring_set_avail_idx(&f->ring, 8 + 9);
    assert_broken(f, "avail.idx is 9 ahead");
}

static void the_avail_index_does_not_go_back(void **state)
{
    struct fixture *f = *state;

    ring_set_avail_idx(&f->ring, 0xffff);
    assert_broken(f, "avail.idx is 65535 ahead");
}

static void heads_are_below_the_size(void **state)
{
    struct fixture *f = *state;

    ring_describe(&f->ring, 7, DATA, 1, 0, 0);
    ring_offer(&f->ring, 7);
    assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 1);
    ring_describe(&f->ring, 8, DATA, 1, 0, 0);
    ring_offer(&f->ring, 8);
    assert_broken(f, "descriptor index 8");
}

static void nexts_are_below_the_size(void **state)
{
    struct fixture *f = *state;

    ring_describe(&f->ring, 0, DATA, 1, DESC_NEXT, 8);
    ring_describe(&f->ring, 8, DATA, 1, 0, 0);
    ring_offer(&f->ring, 0);
    assert_broken(f, "descriptor index 8");
}

static void a_chain_has_at_most_the_size(void **state)
{
    struct fixture *f = *state;

    for (uint16_t i = 0; i < 8; i++)
        ring_describe(&f->ring, i, DATA, 1, i == 7 ? 0 : DESC_NEXT, (uint16_t)(i + 1));
    ring_offer(&f->ring, 0);
    assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 1);
    assert_int_equal(f->chain.part_count, 8);
    ring_describe(&f->ring, 7, DATA, 1, DESC_NEXT, 0); /* a loop */
    ring_offer(&f->ring, 0);
    assert_broken(f, "longer than the queue");
}

static void a_largest_chain_fits(void **state)
{
    struct fixture *f = *state;

    for (uint16_t i = 0; i < 256; i++)
        ring_describe(&f->ring, i, DATA + i, 1, i == 255 ? 0 : DESC_NEXT, (uint16_t)(i + 1));
    ring_offer(&f->ring, 0);
    assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 1);
    assert_int_equal(f->chain.part_count, 256);
    ring_describe(&f->ring, 255, DATA, 1, DESC_NEXT, 255);
    ring_offer(&f->ring, 0);
    assert_broken(f, "longer than the queue");
}

static void buffers_lie_in_ram(void **state)
{
    static const struct {
        uint64_t address;
        uint32_t length;
        bool good;
    } cases[] = {
        {FAKE_LOW_BYTES - 1, 1, true},
        {FAKE_LOW_BYTES - 512, 512, true},
        {0, FAKE_LOW_BYTES, true},
        {FAKE_LOW_BYTES - 512, 513, false}, /* start inside, end not (CVE-2019-18960) */
        {FAKE_LOW_BYTES, 1, false},
        {0xd0000000, 4, false}, /* where devices are */
        {FAKE_HIGH_GPA - 1, 2, false},
        {FAKE_LOW_BYTES - 1, UINT32_MAX, false}, /* across the hole */
        {FAKE_HIGH_GPA + FAKE_HIGH_BYTES - 1, 1, true},
        {FAKE_HIGH_GPA + FAKE_HIGH_BYTES - 1, 2, false},
        {UINT64_MAX, 1, false},
        {UINT64_MAX, 2, false},
        {UINT64_MAX - 0xfffffffe, UINT32_MAX, false},
        {DATA, 0, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct fixture *f;

        assert_int_equal(tear_down(state), 0);
        assert_int_equal(set_up(state), 0);
        f = *state;
        ring_describe(&f->ring, 0, cases[i].address, cases[i].length, 0, 0);
        ring_offer(&f->ring, 0);
        if (cases[i].good)
            assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 1);
        else
            assert_broken(f, cases[i].length == 0 ? "length 0" : "not in RAM");
    }
}

static void readable_comes_before_writable(void **state)
{
    struct fixture *f = *state;

    ring_describe(&f->ring, 0, DATA, 1, DESC_NEXT | DESC_WRITE, 1);
    ring_describe(&f->ring, 1, DATA, 1, 0, 0);
    ring_offer(&f->ring, 0);
    assert_broken(f, "readable descriptor behind a writable one");
}

static void only_negotiated_flags(void **state)
{
    for (int bit = 2; bit < 16; bit++) {
        struct fixture *f;

        assert_int_equal(tear_down(state), 0);
        assert_int_equal(set_up(state), 0);
        f = *state;
        /* Indirect: what a driver that had negotiated it would write. */
        ring_describe(&f->ring, 0, DATA, 16, (uint16_t)(1 << bit), 0);
        ring_offer(&f->ring, 0);
        assert_broken(f, "not negotiated");
    }
}

/* RAM of 4 MiB makes 1024 descriptors necessary for 2^32 bytes; a larger fake region does it in
 * two. */
static void a_chain_is_shorter_than_4_gib(void **state)
{
    struct fixture *f = *state;
    uint64_t half = 1ULL << 31;
    struct guest_mem_region *high = &f->mem.regions[1];
    uint64_t real = high->size_bytes;

    high->size_bytes = half; /* nothing in this test looks at the bytes */
    ring_describe(&f->ring, 0, FAKE_HIGH_GPA, (uint32_t)half, DESC_NEXT, 1);
    ring_describe(&f->ring, 1, FAKE_HIGH_GPA, (uint32_t)(half - 1), DESC_WRITE, 0);
    ring_offer(&f->ring, 0);
    assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 1);
    ring_describe(&f->ring, 1, FAKE_HIGH_GPA, (uint32_t)half, DESC_WRITE, 0);
    ring_offer(&f->ring, 0);
    assert_broken(f, "longer than 32 bits");
    high->size_bytes = real;
}

static void interrupts_can_be_suppressed(void **state)
{
    struct fixture *f = *state;

    ring_describe(&f->ring, 0, DATA, 1, 0, 0);
    ring_set_avail_idx(&f->ring, 3);
    assert_false(queue_wants_interrupt(&f->queue));
    assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 1);
    assert_false(queue_wants_interrupt(&f->queue));
    queue_push(&f->queue, &f->chain, 0);
    assert_true(queue_wants_interrupt(&f->queue));
    assert_false(queue_wants_interrupt(&f->queue));
    ring_set_avail_flags(&f->ring, 1);
    assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 1);
    queue_push(&f->queue, &f->chain, 0);
    assert_false(queue_wants_interrupt(&f->queue));
    ring_set_avail_flags(&f->ring, 0xfffe); /* other bits mean nothing */
    assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 1);
    queue_push(&f->queue, &f->chain, 0);
    assert_true(queue_wants_interrupt(&f->queue));
}

/* A chain of 3 + 5 + 4 readable and 2 + 6 writable bytes. */
static void offer_parts(struct fixture *f)
{
    ring_describe(&f->ring, 0, DATA, 3, DESC_NEXT, 1);
    ring_describe(&f->ring, 1, DATA + 10, 5, DESC_NEXT, 2);
    ring_describe(&f->ring, 2, DATA + 20, 4, DESC_NEXT, 3);
    ring_describe(&f->ring, 3, DATA + 30, 2, DESC_NEXT | DESC_WRITE, 4);
    ring_describe(&f->ring, 4, DATA + 40, 6, DESC_WRITE, 0);
    ring_offer(&f->ring, 0);
    memcpy(fake_ram_at(&f->mem, DATA, 3), "abc", 3);
    memcpy(fake_ram_at(&f->mem, DATA + 10, 5), "defgh", 5);
    memcpy(fake_ram_at(&f->mem, DATA + 20, 4), "ijkl", 4);
    assert_int_equal(queue_pop(&f->queue, &f->chain, &f->err), 1);
}

static void chains_are_read_across_parts(void **state)
{
    struct fixture *f = *state;

    offer_parts(f);
    for (uint32_t offset = 0; offset <= 13; offset++) {
        for (uint32_t size = 0; size <= 14; size++) {
            char bytes[16] = "";
            bool fits = offset + size <= 12;

            assert_int_equal(queue_chain_read(&f->chain, offset, bytes, size), fits);
            if (fits)
                assert_memory_equal(bytes, &"abcdefghijkl"[offset], size);
            else
                assert_string_equal(bytes, "");
        }
    }
    assert_false(queue_chain_read(&f->chain, UINT32_MAX, f, 2));
    assert_false(queue_chain_read(&f->chain, 2, f, UINT32_MAX));
}

static void chains_are_written_across_parts(void **state)
{
    struct fixture *f = *state;

    offer_parts(f);
    assert_false(queue_chain_write(&f->chain, 0, "123456789", 9));
    assert_false(queue_chain_write(&f->chain, 8, "1", 1));
    assert_int_equal(*fake_ram_at(&f->mem, DATA + 30, 1), 0);
    assert_true(queue_chain_write(&f->chain, 0, "12345678", 8));
    assert_memory_equal(fake_ram_at(&f->mem, DATA + 30, 3), "12", 3);
    assert_memory_equal(fake_ram_at(&f->mem, DATA + 40, 7), "345678", 7);
    assert_true(queue_chain_write(&f->chain, 1, "xy", 2));
    assert_memory_equal(fake_ram_at(&f->mem, DATA + 30, 3), "1x", 3);
    assert_memory_equal(fake_ram_at(&f->mem, DATA + 40, 7), "y45678", 7);
    /* The readable parts are not written. */
    assert_memory_equal(fake_ram_at(&f->mem, DATA, 4), "abc", 4);
}

static void an_iov_describes_the_same(void **state)
{
    struct fixture *f = *state;
    struct iovec iov[QUEUE_SIZE_MAX];

    offer_parts(f);
    assert_int_equal(queue_chain_iov(&f->chain, false, 4, 7, iov), 2);
    assert_ptr_equal(iov[0].iov_base, fake_ram_at(&f->mem, DATA + 11, 4));
    assert_int_equal(iov[0].iov_len, 4);
    assert_int_equal(iov[1].iov_len, 3);
    assert_int_equal(queue_chain_iov(&f->chain, false, 0, 12, iov), 3);
    assert_int_equal(queue_chain_iov(&f->chain, false, 0, 13, iov), 0);
    assert_int_equal(queue_chain_iov(&f->chain, true, 2, 6, iov), 1);
    assert_ptr_equal(iov[0].iov_base, fake_ram_at(&f->mem, DATA + 40, 6));
    assert_int_equal(queue_chain_iov(&f->chain, true, 8, 0, iov), 0);
    assert_int_equal(queue_chain_iov(&f->chain, true, 7, 2, iov), 0);
}

#define QUEUE_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

static const struct CMUnitTest tests[] = {
    QUEUE_TEST(sizes_are_powers_of_two_up_to_256),
    QUEUE_TEST(rings_are_aligned),
    QUEUE_TEST(rings_lie_in_ram),
    QUEUE_TEST(nothing_is_there_at_first),
    QUEUE_TEST(a_chain_is_copied),
    QUEUE_TEST(indices_wrap),
    QUEUE_TEST(the_avail_index_is_at_most_the_size_ahead),
    QUEUE_TEST(the_avail_index_does_not_go_back),
    QUEUE_TEST(heads_are_below_the_size),
    QUEUE_TEST(nexts_are_below_the_size),
    QUEUE_TEST(a_chain_has_at_most_the_size),
    cmocka_unit_test_setup_teardown(a_largest_chain_fits, set_up_largest, tear_down),
    QUEUE_TEST(buffers_lie_in_ram),
    QUEUE_TEST(readable_comes_before_writable),
    QUEUE_TEST(only_negotiated_flags),
    QUEUE_TEST(a_chain_is_shorter_than_4_gib),
    QUEUE_TEST(interrupts_can_be_suppressed),
    QUEUE_TEST(chains_are_read_across_parts),
    QUEUE_TEST(chains_are_written_across_parts),
    QUEUE_TEST(an_iov_describes_the_same),
};

UNIT_MAIN(tests)
