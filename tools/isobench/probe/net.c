/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net.c: tries to hand a word to a listener of the host. The host says whether it arrived.
 */
#include "probe.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { WAIT_S = 2, DNS_PORT = 53, DNS_HEADER = 12, DNS_TAIL = 5 };

/* The length of the address, or 0. */
static socklen_t parse(const char *text, long long port, struct sockaddr_storage *out)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1) {
        memcpy(out, &v4, sizeof v4);
        return sizeof v4;
    }
    if (inet_pton(AF_INET6, text, &v6.sin6_addr) == 1) {
        memcpy(out, &v6, sizeof v6);
        return sizeof v6;
    }
    return 0;
}

static void hand_over(
    int type, const void *address, socklen_t length, const void *bytes, size_t size)
{
    const struct timeval wait = {.tv_sec = WAIT_S};
    const int family = ((const struct sockaddr *)address)->sa_family;
    const int fd = socket(family, type | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        fact_int("errno", errno);
        return;
    }
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    const int failed = connect(fd, address, length) != 0 || send(fd, bytes, size, MSG_NOSIGNAL) < 0;
    fact_int("errno", failed ? errno : 0);
    close(fd);
}

static void to_address(int type, char **words)
{
    struct sockaddr_storage address = {0};
    const socklen_t length = parse(words[1], number(words[2]), &address);
    if (length)
        hand_over(type, &address, length, words[3], strlen(words[3]));
    else
        fact_int("errno", EINVAL);
}

/* tcp ADDRESS PORT WORD */
static void tcp(int count, char **words)
{
    (void)count;
    to_address(SOCK_STREAM, words);
}

/* udp ADDRESS PORT WORD */
static void udp(int count, char **words)
{
    (void)count;
    to_address(SOCK_DGRAM, words);
}

/* dns SERVER NAME: ask for the address of NAME; RFC 1035, 4.1. */
static void dns(int count, char **words)
{
    (void)count;
    unsigned char query[512] = {0x15, 0xb0, 1, 0, 0, 1};
    size_t used = DNS_HEADER;
    for (const char *label = words[2]; *label && used < sizeof query - 64 - DNS_TAIL;) {
        const size_t length = strcspn(label, ".");
        if (length > 63)
            break;
        query[used++] = (unsigned char)length;
        memcpy(query + used, label, length);
        used += length;
        label += length + (label[length] == '.');
    }
    memcpy(query + used, "\0\0\1\0\1", DNS_TAIL);
    struct sockaddr_storage address = {0};
    const socklen_t length = parse(words[1], DNS_PORT, &address);
    if (length)
        hand_over(SOCK_DGRAM, &address, length, query, used + DNS_TAIL);
    else
        fact_int("errno", EINVAL);
}

/* unix NAME WORD: a path, or behind an @ an abstract name. */
static void unix_socket(int count, char **words)
{
    (void)count;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = strlen(words[1]);
    if (length >= sizeof address.sun_path) {
        fact_int("errno", ENAMETOOLONG);
        return;
    }
    memcpy(address.sun_path, words[1], length);
    if (words[1][0] == '@')
        address.sun_path[0] = 0;
    const size_t size = offsetof(struct sockaddr_un, sun_path) + length + (words[1][0] != '@');
    hand_over(SOCK_STREAM, &address, (socklen_t)size, words[2], strlen(words[2]));
}

const struct probe net_probes[] = {
    {"tcp", 3, tcp},
    {"udp", 3, udp},
    {"dns", 2, dns},
    {"unix", 2, unix_socket},
    {0},
};
