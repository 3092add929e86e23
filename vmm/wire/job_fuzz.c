/* SPDX-License-Identifier: Apache-2.0 */
/* job_fuzz.c: a job of any bytes: it ends, and every field that is handed out lies inside of it. */
#include <string.h>

#include "wire/job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct reader reader = reader_make(data, size);
    uint32_t seen = 0;

    for (;;) {
        struct err err = ERR_INIT;
        struct job_field field;
        size_t left = reader.left;
        int result = job_next(&reader, &seen, &field, &err);

        must(err_is_set(&err) == (result < 0));
        if (result <= 0)
            break;
        must(reader.left < left);
        must(field.tag >= JOB_ARG && field.tag <= JOB_TAG_LAST);
        if (field.size > 0) {
            must(field.bytes >= data && field.size <= size);
            must((size_t)(field.bytes - data) <= size - field.size);
            must(memchr(field.bytes, '\0', field.size) == NULL);
        }
    }
    return 0;
}
