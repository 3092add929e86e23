/* SPDX-License-Identifier: Apache-2.0 */
/* importing.c: see importing.h. */
#include "tests/unit/supervisor/importing.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"

char root[64];
struct config config;
int sources[CONFIG_INPUTS_MAX];
int archive = -1;
struct err err;

char *in_root(const char *name)
{
    return text_format("%s/%s", root, name);
}

void make_file(const char *name, const char *content, mode_t mode)
{
    AUTO_FREE char *path = in_root(name);
    AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode);

    assert_true(fd >= 0);
    assert_int_equal(fd_write_all(fd, content, strlen(content)), 0);
}

void make_directory(const char *name)
{
    AUTO_FREE char *path = in_root(name);

    assert_int_equal(mkdir(path, 0700), 0);
}

/* NAME in the root becomes DESTINATION. */
void add_input(const char *destination, const char *name)
{
    AUTO_FREE char *path = in_root(name);
    struct config_input *input = &config.inputs[config.input_count];

    *input = (struct config_input){.destination = text_clone(destination, strlen(destination)),
        .source = text_clone(name, strlen(name)),
        .where = text_clone("t.ini:1", 7)};
    sources[config.input_count] = open(path, O_RDONLY | O_NOFOLLOW);
    assert_true(sources[config.input_count] >= 0);
    config.input_count++;
}

int set_up(void **state)
{
    (void)state;
    strcpy(root, "/tmp/import_test.XXXXXX");
    assert_non_null(mkdtemp(root));
    archive = memfd_create("archive", 0);
    config.input_total_bytes = 1ULL << 30;
    config.input_files = 1000;
    config.input_depth = 64;
    config.input_follow = 0;
    err = (struct err)ERR_INIT;
    return archive < 0;
}

int tear_down(void **state)
{
    AUTO_FREE char *command = text_format("rm -rf %s", root);

    (void)state;
    for (size_t i = 0; i < config.input_count; i++) {
        free(config.inputs[i].destination);
        free(config.inputs[i].source);
        free(config.inputs[i].where);
        fd_close(&sources[i]);
    }
    config.input_count = 0;
    fd_close(&archive);
    return system(command);
}

void assert_refused(const char *message)
{
    uint64_t bytes;

    err = (struct err)ERR_INIT;
    assert_int_equal(import_pack(&config, sources, archive, &bytes, &err), -1);
    if (!strstr(err.text, message))
        fail_msg("\"%s\" lacks \"%s\"", err.text, message);
}
