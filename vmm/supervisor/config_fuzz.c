/* SPDX-License-Identifier: Apache-2.0 */
/*
 * config_fuzz.c: any bytes as a task file: a config or problems, never both and never neither.
 * Corpus: tests/corpus/config/.
 */
#include "supervisor/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct config config;
    struct text_list sets = {0}, problems = {0};
    int failed = config_parse(&config, "t.ini", (const char *)data, size, &sets, &problems);

    must((failed < 0) == (problems.count > 0));
    must(failed < 0 || (config.argv.count > 0 && config.image && config.wall_ns > 0));
    must(failed < 0 || config.task_memory_bytes < config.memory_bytes);
    text_list_free(&problems);
    config_free(&config);
    return 0;
}
