/* SPDX-License-Identifier: Apache-2.0 */
/* init.c: the whole user space of the machines that cold.py compares: it ends the machine. */
#include <sys/reboot.h>
#include <unistd.h>

int main(void)
{
    reboot(RB_AUTOBOOT); /* reboot=t: a triple fault, which ends vmrun-monitor and QEMU alike */
    for (;;)
        pause();
}
