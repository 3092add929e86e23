/* SPDX-License-Identifier: Apache-2.0 */
/*
 * main.c of vmrun-extractor: turns the export disk of a run that is over into checked files. Its
 * fds and records are those of ipc.h. The setup record is ours; every byte of the disk is hostile.
 *
 * extractor.c is the process, extract.c the way from an archive to files and a report; reader.c
 * judges the format, names.c and tree.c the names, writer.c creates.
 */
#include <stdlib.h>

#include "extractor/extractor.h"

int main(void)
{
    struct err err = ERR_INIT;

    int failed = extractor_run(&err);

    /* Not return: what libraries do at the end is not among its powers, and not needed. */
    _Exit(failed ? err_exit_code(&err) : EXIT_SUCCESS);
}
