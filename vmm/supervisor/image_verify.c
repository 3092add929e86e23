/* SPDX-License-Identifier: Apache-2.0 */
/* image_verify.c: see image_verify.h. */
#include "supervisor/image_verify.h"

#include <fcntl.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "supervisor/file_digest.h"
#include "supervisor/json_memory.h"
#include "supervisor/plan_file.h"
#include "supervisor/result_parts.h"

static int print_digest(const char *path, int fd, const uint8_t digest[DIGEST_BYTES],
    const char *problem, bool as_json, FILE *out)
{
    uint8_t verity[DIGEST_BYTES];
    char text[DIGEST_TEXT_BYTES];
    json_t *object;

    text_hex(text, digest, DIGEST_BYTES);
    if (!as_json) {
        fprintf(out, "%s  %s\n", text, path);
        return 0;
    }
    json_memory_use();
    json_memory_begin();
    object = json_object();
    put_text(object, "schema", "vmrun.image/1");
    put_text(object, "path", path);
    put_text(object, "sha256", text);
    if (file_digest_verity(fd, verity))
        put_digest(object, "verity_sha256", verity);
    else
        put(object, "verity_sha256", json_null());
    put_text(object, "problem", problem);
    if (!json_memory_failed()) {
        json_dumpf(object, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
        fputc('\n', out);
    }
    json_decref(object);
    return json_memory_failed() ? -1 : 0;
}

int image_verify(const char *path, bool json, FILE *out, struct text_list *errors)
{
    AUTO_FD int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    uint8_t digest[DIGEST_BYTES], head[IMAGE_HEAD_BYTES] = {0};
    struct err err = ERR_INIT;
    const char *problem;
    struct stat status;

    if (fd < 0 || fstat(fd, &status) < 0)
        err_sys(&err, "cannot open it");
    else if (!S_ISREG(status.st_mode))
        err_set(&err, "it is not a regular file");
    else if (fd_pread_all(fd, head, sizeof(head), 0) < 0)
        err_sys(&err, "cannot read it");
    if (err_is_set(&err) || file_digest_compute(fd, digest, &err) < 0) {
        text_list_addf(errors, "%s: %s", path, err.text);
        return 1;
    }
    problem = image_problem(head, (uint64_t)status.st_size);
    if (print_digest(path, fd, digest, problem, json, out) < 0)
        errors->failed = true;
    if (problem && !json)
        text_list_addf(errors, "%s: %s", path, problem);
    return problem || errors->failed;
}
