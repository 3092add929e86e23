/* SPDX-License-Identifier: Apache-2.0 */
/* scribe.h: the whole scribe, from its setup record to the end of the last stream. */
#ifndef VMM_SCRIBE_SCRIBE_H
#define VMM_SCRIBE_SCRIBE_H

#include "base/err.h"

/* Works on the fds of ipc.h. Returns 0 when all streams have ended, are logged and are shown. */
int scribe_run(struct err *err);

#endif
