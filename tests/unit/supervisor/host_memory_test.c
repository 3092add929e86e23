/* SPDX-License-Identifier: Apache-2.0 */
/* host_memory_test.c: what is left is the least that the host and any cgroup around us leave. */
#include "supervisor/host_memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "base/num.h"
#include "tests/unit/unit.h"

static char root[64];
static struct host_memory memory;

static void put(const char *path, const char *content)
{
    AUTO_FREE char *whole = text_format("%s/%s", root, path);
    AUTO_FD int fd = -1;

    for (char *slash = strchr(whole + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(whole, 0700);
        *slash = '/';
    }
    fd = open(whole, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(fd_write_all(fd, content, strlen(content)), 0);
}

static int set_up(void **state)
{
    (void)state;
    strcpy(root, "/tmp/host_memory_test.XXXXXX");
    assert_non_null(mkdtemp(root));
    put("proc/meminfo", "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:   600 kB\n");
    return 0;
}

static int tear_down(void **state)
{
    AUTO_FREE char *command = text_format("rm -rf %s", root);

    (void)state;
    return system(command);
}

static void assert_memory(uint64_t total_kib, uint64_t available_kib)
{
    struct err err = ERR_INIT;

    assert_int_equal(host_memory_read(root, &memory, &err), 0);
    assert_int_equal(memory.total_bytes, total_kib * KIB);
    assert_int_equal(memory.available_bytes, available_kib * KIB);
}

static void without_cgroups_the_host_counts(void **state)
{
    (void)state;
    assert_memory(1000, 600);
    put("proc/self/cgroup", "0::/none\n");
    assert_memory(1000, 600);
}

static void the_least_of_all_cgroups_counts(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/a/b\n");
    put("sys/fs/cgroup/a/b/memory.max", "max\n");
    put("sys/fs/cgroup/a/b/memory.current", "102400\n");
    assert_memory(1000, 600);
    put("sys/fs/cgroup/a/memory.max", "409600\n");
    put("sys/fs/cgroup/a/memory.current", "204800\n");
    assert_memory(400, 200);
    put("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 51200\n");
    assert_memory(400, 250);
    put("sys/fs/cgroup/a/b/memory.max", "153600\n");
    assert_memory(150, 50);
    put("sys/fs/cgroup/a/b/memory.current", "1024000\n"); /* above its limit */
    assert_memory(150, 0);
}

static void version_1_counts_too(void **state)
{
    (void)state;
    put("proc/self/cgroup", "5:cpu:/x\n4:memory:/job\n0::/y\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/memory.usage_in_bytes", "1\n");
    assert_memory(1000, 600);
    put("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "307200\n");
    put("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "204800\n");
    put("sys/fs/cgroup/memory/job/memory.stat", "inactive_file 1\ntotal_inactive_file 102400\n");
    assert_memory(300, 200);
}

static void from_inside_a_namespace_its_root_counts(void **state)
{
    (void)state;
    put("proc/self/cgroup", "0::/../../elsewhere\n");
    put("sys/fs/cgroup/memory.max", "409600\n");
    put("sys/fs/cgroup/memory.current", "102400\n");
    assert_memory(400, 300);
}

static void a_host_without_numbers_is_an_error(void **state)
{
    struct err err = ERR_INIT;

    (void)state;
    put("proc/meminfo", "MemTotal: 1000 kB\n");
    assert_int_equal(host_memory_read(root, &memory, &err), -1);
    assert_non_null(strstr(err.text, "MemAvailable"));
}

static void a_run_needs_its_guest_and_ours(void **state)
{
    static struct config config = {.memory_bytes = 256 * MIB};

    (void)state;
    assert_int_equal(run_memory_bytes(&config), 256 * MIB + 2 * MIB + RUN_OVERHEAD_BYTES);
}

static void what_is_resident_is_seen(void **state)
{
    uint64_t before = run_resident_bytes(getpid());
    size_t size = 32 * MIB;
    char *memory_used =
        mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_ptr_not_equal(memory_used, MAP_FAILED);
    memset(memory_used, 1, size);
    assert_true(before > 0 && run_resident_bytes(getpid()) >= before + 24 * MIB);
    munmap(memory_used, size);
}

static void processes_killed_for_memory_are_counted_by_the_kernel(void **state)
{
    (void)state;
    assert_true(host_oom_kills(root) == HOST_OOM_UNKNOWN);
    put("proc/vmstat", "nr_free_pages 7\npgsteal_oom_kill 5\n");
    assert_true(host_oom_kills(root) == HOST_OOM_UNKNOWN);
    put("proc/vmstat", "nr_free_pages 7\noom_kill 0\n");
    assert_int_equal(host_oom_kills(root), 0);
    put("proc/vmstat", "oom_kill 12\nnr_free_pages 7\n");
    assert_int_equal(host_oom_kills(root), 12);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(without_cgroups_the_host_counts),
        TEST(the_least_of_all_cgroups_counts),
        TEST(version_1_counts_too),
        TEST(from_inside_a_namespace_its_root_counts),
        TEST(a_host_without_numbers_is_an_error),
        TEST(a_run_needs_its_guest_and_ours),
        TEST(what_is_resident_is_seen),
        cmocka_unit_test_setup_teardown(
            processes_killed_for_memory_are_counted_by_the_kernel, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
