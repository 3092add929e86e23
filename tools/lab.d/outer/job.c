/* SPDX-License-Identifier: Apache-2.0 */
/* The job's strings into a struct job. Input is the lab's own host side; values are the user's
 * bytes. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "outer.h"

static const char *const default_env[] = {
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG=C.UTF-8",
    "VMRUN_LAB=1",
};

static void env_set(char **env, size_t *count, char *assignment)
{
    const char *equals = strchr(assignment, '=');
    if (!equals || equals == assignment)
        lab_fail("not an environment variable: '%s'", assignment);
    const size_t name_bytes = (size_t)(equals - assignment) + 1;
    for (size_t i = 0; i < *count; i++) {
        if (!strncmp(env[i], assignment, name_bytes)) {
            env[i] = assignment;
            return;
        }
    }
    env[(*count)++] = assignment;
}

static const char *value_of(const char *string, const char *key)
{
    const size_t key_bytes = strlen(key);
    return strncmp(string, key, key_bytes) ? NULL : string + key_bytes;
}

static void job_take(struct job *job, char *string, size_t *env_count, size_t *arg_count)
{
    const char *value;
    if (value_of(string, "arg="))
        job->arg[(*arg_count)++] = string + strlen("arg=");
    else if (value_of(string, "env="))
        env_set(job->env, env_count, string + strlen("env="));
    else if ((value = value_of(string, "tree=")))
        job->tree = value;
    else if ((value = value_of(string, "tree9p=")))
        job->tree_options = value;
    else if ((value = value_of(string, "root9p=")))
        job->root_options = value;
    else if ((value = value_of(string, "cwd=")))
        job->cwd = value;
    else if (!strcmp(string, "user=1"))
        job->user = true;
    else if (!strcmp(string, "stdin=1"))
        job->use_stdin = true;
    else
        lab_fail("unknown job line '%s'", string);
}

void job_parse(struct job *job, char *bytes, size_t length)
{
    if (length == 0 || bytes[length - 1] != '\0')
        lab_fail("the job is cut off");
    size_t strings = 0;
    for (size_t i = 0; i < length; i++)
        strings += bytes[i] == '\0';

    *job = (struct job){.tree_options = "", .root_options = ""};
    const size_t defaults = sizeof(default_env) / sizeof(default_env[0]);
    job->env = calloc(strings + defaults + 2, sizeof(char *));
    job->arg = calloc(strings + 1, sizeof(char *));
    if (!job->env || !job->arg)
        lab_fail("no memory for the job");

    size_t env_count = 0;
    size_t arg_count = 0;
    for (size_t i = 0; i < defaults; i++)
        job->env[env_count++] = strdup(default_env[i]);
    /* The home directory depends on a line that may come later: a slot for it, set at the end. */
    char root_home[] = "HOME=/root";
    const size_t home = env_count++;
    job->env[home] = root_home;
    for (char *at = bytes; at < bytes + length; at += strlen(at) + 1)
        job_take(job, at, &env_count, &arg_count);
    if (job->env[home] == root_home)
        job->env[home] = strdup(job->user ? "HOME=/home/lab" : root_home);
    if (!job->tree || !job->cwd || arg_count == 0)
        lab_fail("the job lacks tree, cwd or arg");
}
