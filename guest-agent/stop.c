/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c: see stop.h. */
#include "stop.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/num.h"
#include "wire/wire.h"

/* One line for the kernel log, at the level that every console shows. */
static void stop_log(const char *text)
{
    char line[WIRE_TEXT_BYTES + 64];
    AUTO_FD int fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT) { /* it went wrong before /dev was mounted */
        (void)mount("devtmpfs", "/dev", "devtmpfs", MS_NOSUID | MS_NOEXEC, NULL);
        fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC);
    }
    snprintf(line, sizeof(line), "<0>vmrun-agent: %.*s", WIRE_TEXT_BYTES, text);
    if (fd < 0 || write(fd, line, strlen(line)) < 0)
        (void)!write(STDERR_FILENO, line, strlen(line));
}

_Noreturn void stop_wait(void)
{
    for (;;)
        pause();
}

_Noreturn void stop_reset(const char *reason)
{
    stop_log(reason);
    (void)reboot(RB_AUTOBOOT);
    stop_wait();
}

_Noreturn void stop_fatal(const struct channel *channel, const struct err *err)
{
    uint8_t message[WIRE_HEADER_BYTES + WIRE_GUEST_PAYLOAD_MAX];
    struct wire_fatal fatal = {.error = (uint32_t)err->errnum};
    struct err ignored = ERR_INIT;
    size_t size;

    if (channel->control < 0)
        stop_reset(err->text);
    stop_log(err->text);
    memcpy(fatal.text, err->text, strnlen(err->text, WIRE_TEXT_BYTES));
    size = wire_put_fatal(message, sizeof(message), &fatal);
    if (channel_send(channel, message, size, &ignored) < 0)
        stop_reset(ignored.text);
    stop_wait();
}
