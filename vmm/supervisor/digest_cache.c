/* SPDX-License-Identifier: Apache-2.0 */
/* digest_cache.c: see digest_cache.h. */
#include "supervisor/digest_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/text.h"
#include "supervisor/config_value.h"
#include "supervisor/text_list.h"

static const char cache_head[] = "vmrun digests 1\n";
static const char cache_name[] = "digests";

enum { HEAD_BYTES = sizeof(cache_head) - 1 };

/* ---- the text -------------------------------------------------------------------------------- */

/* A decimal number up to END, which *AT is moved behind. */
static bool take_number(const char **at, const char *stop, char end, uint64_t *value)
{
    const char *from = *at;

    *value = 0;
    for (; *at < stop && **at >= '0' && **at <= '9'; (*at)++) {
        if (*value > (UINT64_MAX - 9) / 10)
            return false;
        *value = *value * 10 + (uint64_t)(**at - '0');
    }
    if (*at == from || *at == stop || **at != end)
        return false;
    (*at)++;
    return true;
}

static bool take_digest(const char **at, const char *stop, char end, uint8_t digest[DIGEST_BYTES])
{
    char text[DIGEST_TEXT_BYTES];
    struct err ignored = ERR_INIT;

    if (stop - *at < DIGEST_TEXT_BYTES || (*at)[DIGEST_TEXT_BYTES - 1] != end)
        return false;
    memcpy(text, *at, DIGEST_TEXT_BYTES - 1);
    text[DIGEST_TEXT_BYTES - 1] = '\0';
    *at += DIGEST_TEXT_BYTES;
    return value_sha256(text, digest, &ignored) == 0;
}

static bool take_line(
    const char **at, const char *stop, struct digest_key *key, uint8_t digest[DIGEST_BYTES])
{
    memset(key, 0, sizeof(*key));
    if (!take_number(at, stop, ' ', &key->device) || !take_number(at, stop, ' ', &key->inode) ||
        !take_number(at, stop, ' ', &key->size) || !take_number(at, stop, '.', &key->modified_s) ||
        !take_number(at, stop, ' ', &key->modified_ns) ||
        !take_number(at, stop, '.', &key->changed_s) ||
        !take_number(at, stop, ' ', &key->changed_ns))
        return false;
    if (stop - *at >= 2 && (*at)[0] == '-' && (*at)[1] == ' ') {
        *at += 2;
    } else {
        key->has_verity = true;
        if (!take_digest(at, stop, ' ', key->verity))
            return false;
    }
    return take_digest(at, stop, '\n', digest);
}

/* Entries of TEXT, all of which are well-formed; 0 for a text that has anything else in it. */
static size_t cache_parse(
    const char *text, size_t size, struct digest_key *keys, uint8_t (*digests)[DIGEST_BYTES])
{
    const char *at = text + HEAD_BYTES, *stop = text + size;
    size_t count = 0;

    if (size < HEAD_BYTES || memcmp(text, cache_head, HEAD_BYTES) != 0)
        return 0;
    while (at < stop) {
        if (count == DIGEST_CACHE_ENTRIES_MAX ||
            !take_line(&at, stop, &keys[count], digests[count]))
            return 0;
        count++;
    }
    return count;
}

static bool same_key(const struct digest_key *a, const struct digest_key *b)
{
    if (a->has_verity != b->has_verity)
        return false;
    if (a->has_verity)
        return memcmp(a->verity, b->verity, DIGEST_BYTES) == 0;
    return a->device == b->device && a->inode == b->inode && a->size == b->size &&
           a->modified_s == b->modified_s && a->modified_ns == b->modified_ns &&
           a->changed_s == b->changed_s && a->changed_ns == b->changed_ns;
}

struct cache {
    struct digest_key keys[DIGEST_CACHE_ENTRIES_MAX];
    uint8_t digests[DIGEST_CACHE_ENTRIES_MAX][DIGEST_BYTES];
};

bool digest_cache_find(
    const char *text, size_t size, const struct digest_key *key, uint8_t digest[DIGEST_BYTES])
{
    AUTO_FREE struct cache *cache = malloc(sizeof(*cache));
    size_t count;

    count = cache ? cache_parse(text, size, cache->keys, cache->digests) : 0;
    for (size_t i = 0; i < count; i++) {
        if (!same_key(&cache->keys[i], key))
            continue;
        memcpy(digest, cache->digests[i], DIGEST_BYTES);
        return true;
    }
    return false;
}

static size_t put_line(char *to, const struct digest_key *key, const uint8_t digest[DIGEST_BYTES])
{
    char verity[DIGEST_TEXT_BYTES] = "-", text[DIGEST_TEXT_BYTES];
    int length;

    if (key->has_verity)
        text_hex(verity, key->verity, DIGEST_BYTES);
    text_hex(text, digest, DIGEST_BYTES);
    length = snprintf(to, DIGEST_CACHE_LINE_BYTES,
        "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 ".%" PRIu64 " %" PRIu64 ".%" PRIu64
        " %s %s\n",
        key->device, key->inode, key->size, key->modified_s, key->modified_ns, key->changed_s,
        key->changed_ns, verity, text);
    must(length > 0 && length < DIGEST_CACHE_LINE_BYTES);
    return (size_t)length;
}

size_t digest_cache_put(char *to, const char *text, size_t size, const struct digest_key *key,
    const uint8_t digest[DIGEST_BYTES])
{
    AUTO_FREE struct cache *cache = malloc(sizeof(*cache));
    size_t used = HEAD_BYTES, kept = 1, count;

    count = cache ? cache_parse(text, size, cache->keys, cache->digests) : 0;
    memcpy(to, cache_head, HEAD_BYTES);
    used += put_line(to + used, key, digest);
    /* A line fewer than there is room for: the head takes some. */
    for (size_t i = 0; i < count && kept < DIGEST_CACHE_ENTRIES_MAX - 1; i++) {
        const struct digest_key *old = &cache->keys[i];

        if ((old->device == key->device && old->inode == key->inode) || same_key(old, key))
            continue;
        used += put_line(to + used, old, cache->digests[i]);
        kept++;
    }
    return used;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* Nobody else can have put anything there. */
static bool is_ours(const struct stat *status, mode_t forbidden)
{
    return status->st_uid == geteuid() && !(status->st_mode & forbidden);
}

/* The directory of the cache, made on request; -1 when there is none that can be trusted. */
static int cache_open_directory(bool create)
{
    const char *base = secure_getenv("XDG_CACHE_HOME");
    const char *home = secure_getenv("HOME");
    AUTO_FREE char *cache_home = NULL;
    AUTO_FREE char *path = NULL;
    AUTO_FD int fd = -1;
    struct stat status;

    if (base && base[0] == '/')
        cache_home = text_clone(base, strlen(base));
    else if (home && home[0] == '/')
        cache_home = text_format("%s/.cache", home);
    else
        return -1;
    path = cache_home ? text_format("%s/vmrun", cache_home) : NULL;
    if (!path)
        return -1;
    if (create && mkdir(path, 0700) < 0 && errno == ENOENT && mkdir(cache_home, 0700) == 0)
        (void)mkdir(path, 0700);
    fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0 || !is_ours(&status, 022))
        return -1;
    return fd_take(&fd);
}

/* What the file holds; its length, or 0. */
static size_t cache_load(int directory, char *text)
{
    AUTO_FD int fd =
        openat(directory, cache_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    struct stat status;
    ssize_t size;

    if (fd < 0 || fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || !is_ours(&status, 077) ||
        status.st_nlink != 1 || status.st_size > DIGEST_CACHE_MAX_BYTES)
        return 0;
    size = fd_read_all(fd, text, DIGEST_CACHE_MAX_BYTES);
    return size > 0 ? (size_t)size : 0;
}

bool digest_cache_get(const struct digest_key *key, uint8_t digest[DIGEST_BYTES])
{
    AUTO_FREE char *text = malloc(DIGEST_CACHE_MAX_BYTES);
    AUTO_FD int directory = cache_open_directory(false);

    return text && directory >= 0 &&
           digest_cache_find(text, cache_load(directory, text), key, digest);
}

/* Of two that write at once one wins; what the other knew is computed again. */
void digest_cache_keep(const struct digest_key *key, const uint8_t digest[DIGEST_BYTES])
{
    AUTO_FREE char *old = malloc(DIGEST_CACHE_MAX_BYTES);
    AUTO_FREE char *text = malloc(DIGEST_CACHE_MAX_BYTES);
    AUTO_FREE char *partial = text_format(".%s.%ld.partial", cache_name, (long)getpid());
    AUTO_FD int directory = cache_open_directory(true);
    AUTO_FD int fd = -1;
    size_t size;

    if (!old || !text || !partial || directory < 0)
        return;
    size = digest_cache_put(text, old, cache_load(directory, old), key, digest);
    (void)unlinkat(directory, partial, 0); /* of a process of that number that was killed */
    fd = openat(directory, partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    /* Not synced: after a crash a cache that is cut short is one that is empty. */
    if (fd_write_all(fd, text, size) < 0 || renameat(directory, partial, directory, cache_name) < 0)
        (void)unlinkat(directory, partial, 0);
}
