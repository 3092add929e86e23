/* SPDX-License-Identifier: Apache-2.0 */
/* ipc_test.c: the channel: what is a record and what is refused before anybody decodes it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/num.h"
#include "ipc/ipc.h"
#include "tests/unit/unit.h"

static int ends[2];
static struct ipc_record record;

static int set_up(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    memset(&record, 0, sizeof(record));
    return ipc_channel(ends, &err);
}

static int tear_down(void **state)
{
    (void)state;
    close(ends[0]);
    if (ends[1] >= 0)
        close(ends[1]);
    return 0;
}

static int receive(struct err *err)
{
    *err = (struct err)ERR_INIT;
    return ipc_receive(ends[0], &record, err);
}

static void the_channel_is_close_on_exec(void **state)
{
    (void)state;
    assert_int_equal(fcntl(ends[0], F_GETFD), FD_CLOEXEC);
    assert_int_equal(fcntl(ends[1], F_GETFD), FD_CLOEXEC);
}

/* A child that is gone has left no more than this: who empties its channel can bound that. */
static void a_channel_holds_few_records(void **state)
{
    struct err err = ERR_INIT;
    size_t count = 0;

    (void)state;
    for (int i = 0; i < 2; i++) {
        socklen_t length = sizeof(int);
        int bytes = 0;

        assert_int_equal(getsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &bytes, &length), 0);
        assert_in_range(bytes, 1, 2 * IPC_CHANNEL_BYTES);
    }
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    while (ipc_send_plain(ends[1], IPC_CANCEL, &err) == 0)
        count++;
    assert_in_range(count, 16, 999);
}

static void plain_records_pass(void **state)
{
    static const enum ipc_kind kinds[] = {IPC_CANCEL, IPC_HALT, IPC_PROBE};
    struct err err = ERR_INIT;

    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(ipc_send_plain(ends[1], kinds[i], &err), 0);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(receive(&err), 1);
        assert_int_equal(record.kind, kinds[i]);
        assert_int_equal(record.size, 0);
    }
}

static void payloads_of_the_wire_pass_unchanged(void **state)
{
    static const enum ipc_kind kinds[] = {IPC_HELLO, IPC_STARTED, IPC_EXITED, IPC_EXPORTED};
    uint8_t payload[WIRE_GUEST_PAYLOAD_MAX];
    struct err err = ERR_INIT;

    (void)state;
    memset(payload, 0xa5, sizeof(payload));
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(ipc_send_wire(ends[1], kinds[i], payload, sizeof(payload), &err), 0);
        assert_int_equal(receive(&err), 1);
        assert_int_equal(record.kind, kinds[i]);
        assert_int_equal(record.size, sizeof(payload));
        assert_memory_equal(record.payload, payload, sizeof(payload));
    }
}

static int receive_raw(uint32_t kind, size_t size)
{
    static uint8_t packet[4 + IPC_RECORD_MAX_BYTES + 64];
    struct err err;
    int result;

    if (size >= 4)
        le32_store(packet, kind);
    assert_int_equal(send(ends[1], packet, size, 0), size);
    result = receive(&err);
    assert_int_equal(err_is_set(&err), result < 0);
    return result;
}

static void lengths_are_checked(void **state)
{
    (void)state;
    for (size_t size = 1; size < 4; size++)
        assert_int_equal(receive_raw(0, size), -1);
    assert_int_equal(receive_raw(IPC_CANCEL, 4), 1);
    assert_int_equal(receive_raw(IPC_ENTRY, 4 + IPC_RECORD_MAX_BYTES), 1);
    assert_int_equal(record.size, IPC_RECORD_MAX_BYTES);
    assert_int_equal(receive_raw(IPC_ENTRY, 4 + IPC_RECORD_MAX_BYTES + 1), -1);
    assert_int_equal(receive_raw(IPC_CANCEL, 4), 1); /* the rest of a refused one is gone */
    assert_int_equal(receive_raw(0, 0), -1);         /* not the end of the channel */
    assert_int_equal(send(ends[1], "", 0, 0), 0);
    assert_int_equal(receive_raw(IPC_CANCEL, 4), -1); /* the empty one before it */
    assert_int_equal(receive_raw(IPC_CANCEL, 4), 1);
}

static void unknown_kinds_are_refused(void **state)
{
    static const uint32_t known[] = {1, 2, 3, 4, 10, 11, 12, 13, 14, 15, 16, 20, 21, 30, 31, 32};
    size_t next = 0;

    (void)state;
    for (uint32_t kind = 0; kind < 64; kind++) {
        bool is_known = next < sizeof(known) / sizeof(known[0]) && known[next] == kind;

        assert_int_equal(receive_raw(kind, 8), is_known ? 1 : -1);
        next += is_known;
    }
    assert_int_equal(receive_raw(UINT32_MAX, 8), -1);
}

static ino_t inode_of(int fd)
{
    struct stat info;

    return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

/* A child must not be able to plant descriptors in the supervisor. */
static void descriptors_are_refused_and_not_kept(void **state)
{
    uint8_t head[4];
    char control[CMSG_SPACE(sizeof(int))] = {0};
    struct iovec part = {.iov_base = head, .iov_len = sizeof(head)};
    struct msghdr message = {.msg_iov = &part,
        .msg_iovlen = 1,
        .msg_control = control,
        .msg_controllen = sizeof(control)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    int sent = open("/dev/null", O_RDONLY | O_CLOEXEC);
    int next = dup(sent);
    struct err err;

    (void)state;
    assert_true(next > sent);
    close(next);
    le32_store(head, IPC_CANCEL);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &sent, sizeof(sent));
    assert_int_equal(sendmsg(ends[1], &message, 0), sizeof(head));
    assert_int_equal(receive(&err), -1);
    assert_int_equal(fcntl(next, F_GETFD), -1); /* nothing new took the lowest free number */
    assert_true(inode_of(sent) != 0);
    close(sent);
}

static void the_end_is_the_end(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(ipc_send_plain(ends[1], IPC_HALT, &err), 0);
    close(ends[1]);
    ends[1] = -1;
    assert_int_equal(receive(&err), 1); /* what was sent before still comes */
    assert_int_equal(receive(&err), 0);
    assert_int_equal(ipc_send_plain(ends[0], IPC_HALT, &err), -1); /* and no SIGPIPE */
    assert_int_equal(err.errnum, EPIPE);
}

static void an_end_with_unread_records_is_an_end_too(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    assert_int_equal(ipc_send_plain(ends[0], IPC_HALT, &err), 0);
    close(ends[1]);
    ends[1] = -1;
    assert_int_equal(receive(&err), 0);
    assert_int_equal(receive(&err), 0);
}

static void an_empty_nonblocking_channel_says_eagain(void **state)
{
    struct err err;

    (void)state;
    assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(receive(&err), -1);
    assert_int_equal(err.errnum, EAGAIN);
}

#define IPC_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
static const struct CMUnitTest tests[] = {
    IPC_TEST(a_channel_holds_few_records),
    IPC_TEST(the_channel_is_close_on_exec),
    IPC_TEST(plain_records_pass),
    IPC_TEST(payloads_of_the_wire_pass_unchanged),
    IPC_TEST(lengths_are_checked),
    IPC_TEST(unknown_kinds_are_refused),
    IPC_TEST(descriptors_are_refused_and_not_kept),
    IPC_TEST(the_end_is_the_end),
    IPC_TEST(an_end_with_unread_records_is_an_end_too),
    IPC_TEST(an_empty_nonblocking_channel_says_eagain),
};

UNIT_MAIN(tests)
