/* SPDX-License-Identifier: Apache-2.0 */
/*
 * disk.c: reads and writes a file in a guest so that each byte goes through its disk (blocks.py).
 *
 *     disk scan FOLDER TIMES        read all files in FOLDER one after the other, and forget them
 * again disk jump FILE BYTES COUNT    COUNT times BYTES at places of FILE that are never the same
 * twice disk write FILE MIB TIMES     write it, flush it, forget it disk read FILE TIMES read it,
 * and forget it again disk hole FILE MIB            write it, flush it, remove it, flush that
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 1 << 17, MIB_BYTES = 1 << 20 };

static uint8_t buffer[BUFFER_BYTES];

static int must_open(const char *path, int flags)
{
    int fd = open(path, flags | O_CLOEXEC, 0644);

    if (fd < 0) {
        perror(path);
        exit(1);
    }
    return fd;
}

/* What is in the page cache of a file is gone; nothing of it may wait to be written. */
static void forget(int fd)
{
    if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        exit(1);
}

static uint64_t read_file(const char *path)
{
    int fd = must_open(path, O_RDONLY);
    uint64_t total = 0;

    for (ssize_t count; (count = read(fd, buffer, sizeof(buffer))) > 0;)
        total += (uint64_t)count;
    forget(fd);
    close(fd);
    return total;
}

static uint64_t scan(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    uint64_t total = 0;

    while (folder && (entry = readdir(folder))) {
        char file[1024];
        struct stat status;

        snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
        if (lstat(file, &status) == 0 && S_ISREG(status.st_mode))
            total += read_file(file);
    }
    return total;
}

/* 7919 is prime, so that its multiples go through all places before one comes again. */
static uint64_t jump(const char *path, uint64_t bytes, uint64_t count)
{
    int fd = must_open(path, O_RDONLY);
    struct stat status;
    uint64_t total = 0, places;

    if (fstat(fd, &status) != 0 || bytes == 0 || bytes > sizeof(buffer) ||
        posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM) != 0)
        exit(1);
    forget(fd);
    places = (uint64_t)status.st_size / bytes;
    for (uint64_t i = 0; i < count && places > 0; i++) {
        if (i % places == 0)
            forget(fd);
        total += (uint64_t)pread(fd, buffer, bytes, (off_t)(i * 7919 % places * bytes));
    }
    forget(fd);
    return total;
}

static uint64_t write_file(const char *path, uint64_t mib)
{
    int fd = must_open(path, O_WRONLY | O_CREAT | O_TRUNC);

    for (uint64_t done = 0; done < mib * MIB_BYTES; done += sizeof(buffer)) {
        if (write(fd, buffer, sizeof(buffer)) != (ssize_t)sizeof(buffer)) {
            perror("write");
            exit(1);
        }
    }
    if (fsync(fd) != 0) {
        perror("fsync");
        exit(1);
    }
    forget(fd);
    close(fd);
    return mib * MIB_BYTES;
}

int main(int argc, char **argv)
{
    const char *what = argc > 2 ? argv[1] : "";
    uint64_t first = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    uint64_t second = argc > 4 ? strtoull(argv[4], NULL, 10) : 0;
    uint64_t total = 0;

    memset(buffer, 'x', sizeof(buffer));
    if (strcmp(what, "jump") == 0)
        total = jump(argv[2], first, second);
    for (uint64_t i = 0; strcmp(what, "scan") == 0 && i < first; i++)
        total += scan(argv[2]);
    for (uint64_t i = 0; strcmp(what, "read") == 0 && i < first; i++)
        total += read_file(argv[2]);
    for (uint64_t i = 0; strcmp(what, "write") == 0 && i < second; i++)
        total += write_file(argv[2], first);
    if (strcmp(what, "hole") == 0) {
        total = write_file(argv[2], first);
        unlink(argv[2]);
        sync();
    }
    printf("%llu\n", (unsigned long long)total);
    return 0;
}
