/* SPDX-License-Identifier: Apache-2.0 */
/* rig.c: see rig.h. */
#include "tests/jail/rig.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "jail/proof.h"

enum { RIG_FD_DIR = 5 }; /* EXTRACTOR_FD_OUT: a directory, for the path of the extractor's powers */

int report_failed;
static int report_count;

void report(bool good, const char *format, ...)
{
    va_list args;

    printf("%sok %d - ", good ? "" : "not ", ++report_count);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    fflush(stdout);
    report_failed += !good;
}

static bool has_limit(const struct powers *powers, uint32_t resource)
{
    for (size_t i = 0; i < powers->limit_count; i++) {
        if ((uint32_t)powers->limits[i].resource == resource)
            return true;
    }
    return false;
}

static void order_make(
    struct jail_order *order, const struct powers *powers, const struct jail_ground *ground)
{
    static const struct jail_limit limits[] = {{RLIMIT_CORE, 0}, {RLIMIT_MEMLOCK, 0},
        {RLIMIT_AS, 256 * MIB}, {RLIMIT_FSIZE, MIB}, {RLIMIT_NOFILE, 32}, {RLIMIT_CPU, 60},
        {RLIMIT_DATA, 8 * MIB}, {RLIMIT_NPROC, 4}};

    *order = (struct jail_order){
        .kind = ground->kind, .uid = ground->uid, .gid = ground->gid, .debug = ground->debug};
    for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        if (has_limit(powers, limits[i].resource) &&
            (limits[i].resource != RLIMIT_NPROC || ground->kind != JAIL_WEAK))
            order->limits[order->limit_count++] = limits[i];
    }
}

static void become_inside(
    struct rig *rig, int channel, int directory, void (*inside)(struct jail *jail))
{
    static struct jail jail;
    struct err err = ERR_INIT;
    int high[3] = {fcntl(channel, F_DUPFD, 64), fcntl(rig->ground->parent_fd, F_DUPFD, 64),
        fcntl(directory, F_DUPFD, 64)};

    if (jail_ground_arrive(rig->ground) < 0)
        _exit(40);
    close_range(3, 63, 0);
    dup2(high[0], JAIL_FD);
    dup2(high[1], JAIL_FD_PARENT);
    dup2(high[2], RIG_FD_DIR);
    close_range(64, ~0U, 0);
    if (jail_enter(&jail, rig->powers, &err) == 0)
        inside(&jail);
    _exit(41);
}

bool rig_spawn(struct rig *rig, const struct powers *powers, const struct jail_ground *ground,
    void (*inside)(struct jail *jail))
{
    AUTO_FD int directory = open("/tmp", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct err err = ERR_INIT;
    int channel[2];

    *rig = (struct rig){.powers = powers, .ground = ground, .pid_fd = -1};
    order_make(&rig->order, powers, ground);
    if (jail_channel(channel, &err) < 0)
        return false;
    rig->jail = channel[0];
    rig->pid = jail_ground_fork(ground, &rig->pid_fd, &err);
    if (rig->pid == 0)
        become_inside(rig, channel[1], directory, inside);
    close(channel[1]);
    if (rig->pid > 0 && jail_send_order(rig->jail, &rig->order, &err) == 0)
        return true;
    report(false, "%s is started: %s", powers->name, err.text);
    return false;
}

bool rig_confined(struct rig *rig)
{
    static const int fds[] = {0, 1, 2, RIG_FD_DIR, JAIL_FD};
    struct jail_message message = {.word = JAIL_FAILED};
    struct err err = ERR_INIT;

    if (jail_hear(rig->jail, &message, &err) == 1 && message.word == JAIL_CONFINED &&
        proof_confined(rig->pid, rig->ground, fds, sizeof(fds) / sizeof(fds[0]), message.number,
            &rig->controls, &err) == 0)
        return true;
    report(false, "%s is confined: %s%s", rig->powers->name, err.text, message.text);
    return false;
}

bool rig_start(struct rig *rig, const struct powers *powers, const struct jail_ground *ground,
    void (*inside)(struct jail *jail))
{
    return rig_spawn(rig, powers, ground, inside) && rig_confined(rig) &&
           jail_say(rig->jail, JAIL_GATE, 0, NULL) == 0;
}

int rig_end(struct rig *rig)
{
    int status = -1;

    fd_close(&rig->jail);
    while (rig->pid > 0 && waitpid(rig->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    fd_close(&rig->pid_fd);
    return status;
}

void rig_say(bool good, const char *format, ...)
{
    char text[400];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    jail_say(JAIL_FD, JAIL_FAILED, good, text);
}

void rig_listen(struct rig *rig)
{
    struct jail_message message;
    struct err err = ERR_INIT;

    while (jail_hear(rig->jail, &message, &err) == 1 && message.word == JAIL_FAILED)
        report(message.number == 1, "%s: %s", rig->powers->name, message.text);
    if (err_is_set(&err))
        report(false, "%s: %s", rig->powers->name, err.text);
}
