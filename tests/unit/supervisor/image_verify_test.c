/* SPDX-License-Identifier: Apache-2.0 */
/* image_verify_test.c: what `vmrun image verify` prints, and what it refuses. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/mem.h"
#include "supervisor/digest.h"
#include "supervisor/image_verify.h"
#include "supervisor/plan_file.h"
#include "tests/unit/unit.h"

/* Of plan_file.c, which has nothing else that is wanted here. */
const char *image_problem(const uint8_t head[IMAGE_HEAD_BYTES], uint64_t size)
{
    (void)size;
    return head[0] == 'x' ? "it is no image" : NULL;
}

static void the_command(void **state)
{
    char root[] = "/tmp/image_verify_test.XXXXXX";
    struct text_list errors = {0};
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    AUTO_FREE char *path = NULL, *expected = NULL, *command = NULL;
    AUTO_FD int image = -1;
    char hex[DIGEST_TEXT_BYTES + 1] = "";

    (void)state;
    assert_non_null(mkdtemp(root));
    setenv("XDG_CACHE_HOME", root, 1);
    path = text_format("%s/image", root);
    image = open(path, O_RDWR | O_CREAT, 0644);
    assert_int_equal(fd_write_all(image, "content", 7), 0);
    assert_int_equal(image_verify(path, false, out, &errors), 0);
    fflush(out);
    memcpy(hex, text, 64);
    assert_int_equal(strlen(hex), 64);
    expected = text_format("  %s\n", path);
    assert_string_equal(text + 64, expected);
    assert_int_equal(pwrite(image, "x", 1, 0), 1);
    assert_int_equal(image_verify(path, false, out, &errors), 1);
    assert_non_null(strstr(errors.items[0], "it is no image"));
    assert_int_equal(image_verify(root, false, out, &errors), 1);
    assert_non_null(strstr(errors.items[1], "it is not a regular file"));
    assert_int_equal(image_verify("/nowhere", false, out, &errors), 1);
    assert_non_null(strstr(errors.items[2], "/nowhere: cannot open it"));
    fclose(out);
    free(text);
    text_list_free(&errors);
    command = text_format("rm -rf %s", root);
    assert_int_equal(system(command), 0);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_command),
};

UNIT_MAIN(tests)
