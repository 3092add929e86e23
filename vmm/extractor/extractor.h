/* SPDX-License-Identifier: Apache-2.0 */
/* extractor.h: the whole extractor, from its setup record to its last one. */
#ifndef VMM_EXTRACTOR_EXTRACTOR_H
#define VMM_EXTRACTOR_EXTRACTOR_H

#include "base/err.h"

/*
 * Works on the fds of ipc.h. Returns 0 when IPC_EXTRACTED was sent, whatever it says; an error when
 * the supervisor could not be heard or told.
 */
int extractor_run(struct err *err);

#endif
