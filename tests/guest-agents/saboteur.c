/* SPDX-License-Identifier: Apache-2.0 */
/*
 * saboteur.c: a guest that the task has taken over, for tests of salvage. It becomes the agent, and
 * leaves a process of root's behind that waits for the file /task/go and does what that says:
 * damage the scratch disk below its file system, and lose the machine. In a machine whose scratch
 * disk is read-only, the second one, it leaves the agent alone, unless the first has left a mark
 * that says otherwise.
 */
#include <fcntl.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

enum { BLOCK = 4096, SUPER_AT = 1024, SUPER_SUM_AT = 1020 };

static const char hang_mark[] = "hang";
static uint8_t block[BLOCK];
static int disk;
static off_t disk_bytes;

/* ---- ways to lose the machine ------------------------------------------------------------------
 */

static void reset(void)
{
    reboot(RB_AUTOBOOT);
}

/*
 * The agent does nothing any more: PID 1 ignores every signal, but a tracer stops it at whatever it
 * does, and it stays stopped for as long as that tracer lives.
 */
static void stop_agent(void)
{
    int status;

    while (ptrace(PTRACE_SEIZE, 1, NULL, NULL) < 0 || ptrace(PTRACE_INTERRUPT, 1, NULL, NULL) < 0 ||
           waitpid(1, &status, __WALL) != 1)
        usleep(50000);
}

static void hang(void)
{
    stop_agent();
    for (;;)
        pause();
}

/* Nothing that could be killed is left: the kernel panics. It kills the task before that. */
static void exhaust(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY);

    stop_agent(); /* it would report that, and export */
    (void)!write(fd, "-1000", 5);
    for (;;) {
        uint8_t *memory =
            mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (memory != MAP_FAILED)
            memset(memory, 1, 1 << 20);
    }
}

/* ---- ways to damage the disk -------------------------------------------------------------------
 */

static void noise(void)
{
    static uint64_t state = 88172645463325252ULL;

    for (size_t i = 0; i < BLOCK; i += 8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        memcpy(block + i, &state, 8);
    }
}

static void write_block(off_t at)
{
    (void)!pwrite(disk, block, BLOCK, at);
}

static void fill(off_t from, off_t to, void (*make)(void))
{
    memset(block, 0, BLOCK);
    for (off_t at = from; at < to && at < disk_bytes; at += BLOCK) {
        if (make)
            make();
        write_block(at);
    }
}

/* CRC-32C, as ext4 sums its superblock: it shall be believed. */
static void sum_super(uint8_t *super)
{
    uint32_t sum = ~0U;

    for (int i = 0; i < SUPER_SUM_AT; i++) {
        sum ^= super[i];
        for (int bit = 0; bit < 8; bit++)
            sum = sum >> 1 ^ (sum & 1 ? 0x82f63b78U : 0);
    }
    memcpy(super + SUPER_SUM_AT, &sum, 4);
}

static void change_super(size_t at, uint32_t set)
{
    uint32_t value;

    (void)!pread(disk, block, BLOCK, 0);
    memcpy(&value, block + SUPER_AT + at, 4);
    value |= set;
    memcpy(block + SUPER_AT + at, &value, 4);
    sum_super(block + SUPER_AT);
    write_block(0);
}

/* Every block in which MARK stands, from its beginning or from the mark on. */
static void spoil(const char *mark, int from_mark)
{
    size_t length = strlen(mark);

    for (off_t at = 0; at < disk_bytes; at += BLOCK) {
        uint8_t *found;

        if (pread(disk, block, BLOCK, at) != BLOCK)
            continue;
        found = memmem(block, BLOCK, mark, length);
        if (!found)
            continue;
        if (from_mark)
            memcpy(found, "../../../../../../../../../../", length < 30 ? length : 30);
        else
            memset(block, 0xff, 64);
        write_block(at);
    }
}

/* Extent trees of every inode of the first table: depth 6, more entries than there is room for. */
static void spoil_extents(void)
{
    static const uint8_t magic[] = {0x0a, 0xf3};

    for (off_t at = 0; at < disk_bytes && at < 4 << 20; at += BLOCK) {
        int changed = 0;

        if (pread(disk, block, BLOCK, at) != BLOCK)
            continue;
        for (size_t i = 0x28; i + 12 < BLOCK; i += 128) {
            if (memcmp(block + i, magic, 2) != 0)
                continue;
            memset(block + i + 2, 0x06, 10);
            changed = 1;
        }
        if (changed)
            write_block(at);
    }
}

/* Where ext4 leaves room for a boot sector: the second machine hangs too. */
static void mark(void)
{
    (void)!pread(disk, block, BLOCK, 0);
    memcpy(block, hang_mark, sizeof(hang_mark));
    write_block(0);
}

static int is_marked(void)
{
    return pread(disk, block, BLOCK, 0) == BLOCK &&
           memcmp(block, hang_mark, sizeof(hang_mark)) == 0;
}

static void put(const char *name)
{
    int fd = open(name, O_WRONLY | O_CREAT, 0644);

    (void)!write(fd, "x", 1);
    close(fd);
}

/* What only root can make, in the task's files; and a tree as deep as nobody would walk. */
static void make_odd(void)
{
    static const uint8_t capability[20] = {1, 0, 0, 2, 0, 0, 0x20}; /* CAP_SYS_ADMIN, effective */
    int flags = FS_IMMUTABLE_FL, fd;

    (void)!chdir("/scratch/task/out");
    mknod("zero", S_IFCHR | 0666, makedev(1, 5));
    mknod("disk", S_IFBLK | 0666, makedev(254, 0));
    put("capable");
    setxattr("capable", "security.capability", capability, sizeof(capability), 0);
    put("suid");
    chmod("suid", 06755);
    put("immutable");
    fd = open("immutable", O_RDONLY);
    ioctl(fd, FS_IOC_SETFLAGS, &flags);
    for (int level = 0; level < 1000; level++) {
        mkdir("d", 0755);
        (void)!chdir("d");
    }
    sync();
}

static void damage(const char *how)
{
    if (strcmp(how, "odd") == 0)
        make_odd();
    if (strcmp(how, "mark") == 0)
        mark();
    if (strcmp(how, "zeros") == 0)
        fill(0, disk_bytes, NULL);
    if (strcmp(how, "noise") == 0)
        fill(0, disk_bytes, noise);
    if (strcmp(how, "super") == 0)
        fill(0, BLOCK, noise);
    if (strcmp(how, "metadata") == 0)
        fill(BLOCK, 2 << 20, noise);
    if (strcmp(how, "journal") == 0)
        change_super(0x5c, 4); /* s_feature_compat: has_journal */
    if (strcmp(how, "recover") == 0)
        change_super(0x60, 4); /* s_feature_incompat: recover */
    if (strcmp(how, "unknown") == 0)
        change_super(0x60, 0x40000000);
    if (strcmp(how, "blocksize") == 0)
        change_super(0x18, 60); /* s_log_block_size */
    if (strcmp(how, "panic") == 0)
        change_super(0x3c, 0x00030002); /* s_state: errors; s_errors: panic */
    if (strcmp(how, "directory") == 0)
        spoil("salvage-me", 0);
    if (strcmp(how, "names") == 0)
        spoil("salvage-me", 1);
    if (strcmp(how, "extents") == 0)
        spoil_extents();
}

/* "HOW END": what to do to the disk, and how to end. */
static void sabotage(void)
{
    char how[32] = "", end[32] = "", text[128] = "";
    int readonly = 1, fd;

    while ((disk = open("/dev/vdb", O_RDWR)) < 0 && (disk = open("/dev/vdb", O_RDONLY)) < 0)
        usleep(50000);
    if (ioctl(disk, BLKROGET, &readonly) < 0 || readonly) {
        if (is_marked())
            hang();
        return;
    }
    disk_bytes = lseek(disk, 0, SEEK_END);
    while ((fd = open("/scratch/task/go", O_RDONLY)) < 0)
        usleep(50000);
    (void)!read(fd, text, sizeof(text) - 1);
    sscanf(text, "%31s %31s", how, end);
    damage(how);
    fsync(disk);
    if (strcmp(end, "exhaust") == 0)
        exhaust();
    if (strcmp(end, "hang") == 0)
        hang();
    reset();
}

int main(int argc, char **argv)
{
    (void)argc;
    if (fork() == 0) {
        sabotage();
        _exit(0);
    }
    execv("/agent", argv);
    return 1;
}
