/* SPDX-License-Identifier: Apache-2.0 */
/* matches.c: see matches.h. No recursion: a pattern may have two thousand components. */
#include "matches.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "listing.h"
#include "wire/archive.h"
#include "wire/pattern.h"

/* Directories open at once: one for each component that has matched so far. */
enum { MATCHES_DEPTH_MAX = 64 };

struct match_level {
    int fd; /* of the directory */
    struct listing names;
    size_t next;           /* of the names */
    const char *component; /* of the pattern, for these names */
    size_t component_bytes;
    size_t path_length; /* of the directory */
};

struct match_walk {
    struct matches *matches;
    bool full;
    char path[ARCHIVE_NAME_MAX_BYTES + 1 + 255 + 1];
    struct match_level levels[MATCHES_DEPTH_MAX];
    size_t depth;
};

static bool matches_put(struct matches *matches, const char *path)
{
    size_t size = strlen(path) + 1;

    if (matches->count == MATCHES_MAX || matches->bytes + size > MATCHES_BYTES_MAX)
        return false;
    if ((matches->count & (matches->count - 1)) == 0) { /* grow at powers of two */
        size_t room = matches->count ? 2 * matches->count : 1;
        char **grown = reallocarray(matches->paths, room, sizeof(*grown));

        if (!grown)
            return false;
        matches->paths = grown;
    }
    matches->paths[matches->count] = strdup(path);
    if (!matches->paths[matches->count])
        return false;
    matches->count++;
    matches->bytes += size;
    return true;
}

/* The one name that a component without `*` and `?` means. */
static bool listing_of_one(struct listing *listing, const char *name, size_t size)
{
    *listing = (struct listing){
        .bytes = strndup(name, size), .names = calloc(1, sizeof(char *)), .count = 1};
    if (!listing->bytes || !listing->names) {
        listing_free(listing);
        return false;
    }
    listing->names[0] = listing->bytes;
    return true;
}

/* Go on with REST of the pattern in the directory FD, which is taken. Unreadable: no match. */
static void match_enter(struct match_walk *walk, int fd, const char *rest, size_t path_length)
{
    struct match_level *level = &walk->levels[walk->depth];
    size_t size = strcspn(rest, "/");
    bool listed;

    if (walk->depth == MATCHES_DEPTH_MAX) {
        walk->full = true;
        fd_close(&fd);
        return;
    }
    *level = (struct match_level){
        .fd = fd, .component = rest, .component_bytes = size, .path_length = path_length};
    listed = pattern_is_glob(rest, size) ? listing_read(&level->names, fd) == 0
                                         : listing_of_one(&level->names, rest, size);
    if (listed)
        walk->depth++;
    else
        fd_close(&level->fd);
}

/* NAME, which matches the component of LEVEL: a match, or a directory to look into. */
static void match_name(struct match_walk *walk, const struct match_level *level, const char *name)
{
    const char *rest = level->component + level->component_bytes;
    size_t length = level->path_length, name_length = strlen(name);
    struct stat status;
    int fd;

    if (fstatat(level->fd, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
        length + 1 + name_length >= sizeof(walk->path))
        return;
    if (length)
        walk->path[length++] = '/';
    memcpy(walk->path + length, name, name_length + 1);
    if (*rest == '\0' || S_ISLNK(status.st_mode)) {
        walk->full = !matches_put(walk->matches, walk->path);
        return;
    }
    if (!S_ISDIR(status.st_mode))
        return;
    fd = openat(level->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_NOATIME | O_CLOEXEC);
    if (fd >= 0)
        match_enter(walk, fd, rest + 1, length + name_length);
}

static void match_walk_all(struct match_walk *walk)
{
    while (walk->depth > 0) {
        struct match_level *level = &walk->levels[walk->depth - 1];
        const char *name;

        if (level->next == level->names.count || walk->full) {
            listing_free(&level->names);
            fd_close(&level->fd);
            walk->depth--;
            continue;
        }
        name = level->names.names[level->next++];
        if (pattern_matches_name(level->component, level->component_bytes, name, strlen(name)))
            match_name(walk, level, name);
    }
}

bool matches_add(struct matches *matches, int root_fd, const char *pattern)
{
    static struct match_walk walk; /* too large for a stack */
    size_t before = matches->count;
    int fd;

    if (!pattern_is_glob(pattern, strlen(pattern)))
        return matches_put(matches, pattern);
    fd = openat(root_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return false;
    walk.matches = matches;
    walk.full = false;
    match_enter(&walk, fd, pattern, 0);
    match_walk_all(&walk);
    if (!walk.full && matches->count == before)
        return matches_put(matches, pattern);
    return !walk.full;
}

void matches_free(struct matches *matches)
{
    for (size_t i = 0; i < matches->count; i++)
        free(matches->paths[i]);
    free(matches->paths);
    *matches = (struct matches)MATCHES_INIT;
}
