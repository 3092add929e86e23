/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c of vmrun-scribe: turns the raw output of one run into bounded logs and a live copy. Its
 * fds and records are those of ipc.h. The setup record is ours; every byte of the streams is
 * hostile.
 *
 * scribe.c is the process, stream.c moves bytes, log.c keeps them, live.c and event.c show them.
 */
#include <stdlib.h>

#include "scribe/scribe.h"

int main(void)
{
    struct err err = ERR_INIT;

    int failed = scribe_run(&err);

    /* Not return: what libraries do at the end is not among its powers, and not needed. */
    _Exit(failed ? err_exit_code(&err) : EXIT_SUCCESS);
}
