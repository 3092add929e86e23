/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gc_rig.h: a base of run directories and an output directory for the tests of gc, and what killed
 * runs leave in them. Its users link with --wrap=syscall.
 */
#ifndef TESTS_UNIT_SUPERVISOR_GC_RIG_H
#define TESTS_UNIT_SUPERVISOR_GC_RIG_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "supervisor/gc.h"
#include "supervisor/output_dir.h"
#include "supervisor/run_dir.h"
#include "tests/unit/unit.h"

#define ID "20240101-000000-0123abcd"

static char root[64];
static int root_fd = -1, base_fd = -1, output_fd = -1;
static struct text_list said, errors;
static struct gc_request request;

static int openat2_errnum; /* 0: it works */

long __real_syscall(long number, ...);
long __wrap_syscall(long number, long a, long b, long c, long d, long e);

/* As many as come in registers, whatever the caller gives. */
long __wrap_syscall(long number, long a, long b, long c, long d, long e)
{
    if (number == SYS_openat2 && openat2_errnum) {
        errno = openat2_errnum;
        return -1;
    }
    return __real_syscall(number, a, b, c, d, e);
}

static inline void say(const char *text)
{
    text_list_add(&said, text);
}

static inline char *below(const char *name)
{
    return text_format("%s/%s", root, name);
}

static inline int open_output(void)
{
    char *path = below("out");
    struct err err = ERR_INIT;
    bool created;
    int fd = output_create(path, &created, &err);

    free(path);
    return fd;
}

static inline int set_up(void **state)
{
    struct err err = ERR_INIT;
    char *path;

    (void)state;
    strcpy(root, "/tmp/gc_test.XXXXXX");
    assert_non_null(mkdtemp(root));
    root_fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    path = below("base");
    base_fd = run_base_open(path, true, &err);
    free(path);
    output_fd = open_output();
    request = (struct gc_request){.files_max = 1000, .verbose = true, .say = say};
    return base_fd < 0 || output_fd < 0;
}

static inline int tear_down(void **state)
{
    char *command = text_format("rm -rf %s", root);
    int status = system(command);

    (void)state;
    free(command);
    fd_close(&output_fd);
    fd_close(&base_fd);
    fd_close(&root_fd);
    text_list_free(&said);
    text_list_free(&errors);
    return status;
}

static inline bool has(const char *path)
{
    return faccessat(root_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static inline void put_file(int fd, const char *path)
{
    AUTO_FD int file = openat(fd, path, O_WRONLY | O_CREAT, 0600);

    assert_int_equal(write(file, "x", 1), 1);
}

static inline uint64_t gc(void)
{
    text_list_free(&said);
    text_list_free(&errors);
    return gc_base(&request, base_fd, "base", &errors);
}

static inline bool said_has(const char *part)
{
    for (size_t i = 0; i < said.count; i++) {
        if (strstr(said.items[i], part))
            return true;
    }
    return false;
}

static inline struct run_dir begin(const char *id)
{
    struct err err = ERR_INIT;
    struct run_dir run;

    if (run_dir_create_in(&run, fcntl(base_fd, F_DUPFD_CLOEXEC, 0), id, &err) < 0)
        fail_msg("%s", err.text);
    return run;
}

/* A run that was killed with both kinds of files half-made; what the user keeps is there too. */
static inline void leave_killed_run(void)
{
    struct run_dir run = begin(ID);
    struct err err = ERR_INIT;

    assert_int_equal(run_dir_record(&run, output_fd, &err), 0);
    assert_int_equal(mkdirat(output_fd, ".artifacts." ID ".partial", 0700), 0);
    put_file(output_fd, ".artifacts." ID ".partial/a");
    put_file(output_fd, ".result.json." ID ".partial");
    put_file(output_fd, "stdout");
    run_dir_close(&run);
}

#define GC_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
