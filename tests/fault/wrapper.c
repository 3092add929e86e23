/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wrapper.c: stands where vmrun looks for one of its children, and becomes the real program with an
 * environment that the supervisor, rightly, did not pass on (tests only). DIR/NAME is this file;
 * DIR/NAME.env, when there is one, is the environment, a variable per line; DIR/../real/NAME is the
 * program. All fds stay as they are.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { VARIABLES_MAX = 8 };

int main(int argc, char **argv)
{
    char self[4096], path[4200], text[4096] = "";
    char *variables[VARIABLES_MAX + 1] = {NULL};
    size_t count = 0;
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
    char *slash, *rest;
    int fd;

    if (length < 0 || argc < 1)
        return 120;
    self[length] = '\0';
    snprintf(path, sizeof(path), "%s.env", self);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd >= 0 && read(fd, text, sizeof(text) - 1) < 0)
        return 121;
    for (char *line = strtok_r(text, "\n", &rest); line && count < VARIABLES_MAX;
         line = strtok_r(NULL, "\n", &rest))
        variables[count++] = line;
    slash = strrchr(self, '/');
    *slash = '\0';
    snprintf(path, sizeof(path), "%s/../real/%s", self, slash + 1);
    execve(path, argv, variables);
    return 122;
}
