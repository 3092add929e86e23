/* SPDX-License-Identifier: Apache-2.0 */
/* listing.c: see listing.h. The names are the task's: any bytes but '/' and NUL. */
#include "listing.h"

#include <dirent.h>
#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum { LISTING_READ_BYTES = 32 << 10, LISTING_FIRST_BYTES = 4096 };

struct listing_room {
    size_t used;
    size_t size;
};

static int listing_add(struct listing *listing, struct listing_room *room, const char *name)
{
    size_t length = strlen(name) + 1;

    while (room->size - room->used < length) {
        size_t size = room->size ? room->size * 2 : LISTING_FIRST_BYTES;
        char *bytes = size > LISTING_MAX_BYTES ? NULL : realloc(listing->bytes, size);

        if (!bytes)
            return size > LISTING_MAX_BYTES ? EOVERFLOW : ENOMEM;
        listing->bytes = bytes;
        room->size = size;
    }
    memcpy(listing->bytes + room->used, name, length);
    room->used += length;
    listing->count++;
    return 0;
}

static int listing_read_names(struct listing *listing, int fd)
{
    static alignas(struct dirent) char buffer[LISTING_READ_BYTES];
    struct listing_room room = {0};

    for (;;) {
        ssize_t count = getdents64(fd, (void *)buffer, sizeof(buffer));

        if (count < 0)
            return errno;
        if (count == 0)
            return 0;
        for (ssize_t at = 0; at < count;) {
            const struct dirent *entry = (const void *)(buffer + at);
            bool dots = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
            int error = dots ? 0 : listing_add(listing, &room, entry->d_name);

            if (error)
                return error;
            at += entry->d_reclen;
        }
    }
}

static int listing_compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int listing_read(struct listing *listing, int fd)
{
    char *name;
    int error;

    *listing = (struct listing)LISTING_INIT;
    error = listing_read_names(listing, fd);
    if (!error && listing->count) {
        listing->names = calloc(listing->count, sizeof(listing->names[0]));
        error = listing->names ? 0 : ENOMEM;
    }
    if (error) {
        listing_free(listing);
        return error;
    }
    name = listing->bytes;
    for (size_t i = 0; i < listing->count; i++) {
        listing->names[i] = name;
        name += strlen(name) + 1;
    }
    if (listing->count)
        qsort(listing->names, listing->count, sizeof(listing->names[0]), listing_compare);
    return 0;
}

void listing_free(struct listing *listing)
{
    free(listing->bytes);
    free(listing->names);
    *listing = (struct listing)LISTING_INIT;
}
