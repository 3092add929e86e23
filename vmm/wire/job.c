/* SPDX-License-Identifier: Apache-2.0 */
/* job.c: codec of the job; see job.h. */
#include "wire/job.h"

#include <assert.h>
#include <string.h>

void job_put_bytes(struct writer *writer, enum job_tag tag, const void *bytes, size_t size)
{
    if (size > UINT32_MAX) {
        writer->failed = true;
        return;
    }
    writer_u32(writer, (uint32_t)tag);
    writer_u32(writer, (uint32_t)size);
    writer_bytes(writer, bytes, size);
}

void job_put_number(struct writer *writer, enum job_tag tag, uint64_t value)
{
    writer_u32(writer, (uint32_t)tag);
    writer_u32(writer, 8);
    writer_u64(writer, value);
}

static bool job_tag_is_text(uint32_t tag)
{
    return tag == JOB_ARG || tag == JOB_ENV || tag == JOB_WORKDIR || tag == JOB_HOSTNAME ||
           tag == JOB_COLLECT || tag == JOB_UNPACK;
}

static bool job_tag_repeats(uint32_t tag)
{
    return tag == JOB_ARG || tag == JOB_ENV || tag == JOB_COLLECT || tag == JOB_UNPACK;
}

static_assert(JOB_TAG_LAST < 32, "each tag has a bit in SEEN");

int job_next(struct reader *reader, uint32_t *seen, struct job_field *field, struct err *err)
{
    uint32_t tag, size;

    if (reader->left == 0 && !reader->failed)
        return 0;
    tag = reader_u32(reader);
    size = reader_u32(reader);
    if (reader->failed || tag < JOB_ARG || tag > JOB_TAG_LAST)
        return err_set(err, "the job has a malformed or unknown field (tag %u)", tag);
    if (!job_tag_repeats(tag) && (*seen & (1U << tag)))
        return err_set(err, "the job has field %u twice", tag);
    *seen |= 1U << tag;
    *field = (struct job_field){.tag = (enum job_tag)tag};
    if (job_tag_is_text(tag)) {
        field->size = size;
        field->bytes = reader_bytes(reader, size);
        if (field->bytes && memchr(field->bytes, '\0', size))
            return err_set(err, "field %u of the job holds a NUL byte", tag);
    } else {
        if (size != 8)
            return err_set(err, "field %u of the job is not a number", tag);
        field->number = reader_u64(reader);
    }
    if (reader->failed)
        return err_set(err, "the job ends inside field %u", tag);
    return 1;
}
