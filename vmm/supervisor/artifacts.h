/* SPDX-License-Identifier: Apache-2.0 */
/*
 * artifacts.h: what the extractor reported against what the user asked for (supervisor). Names in
 * it are the guest's: they are compared with the user's patterns, and escaped where they are shown.
 */
#ifndef VMM_SUPERVISOR_ARTIFACTS_H
#define VMM_SUPERVISOR_ARTIFACTS_H

#include "supervisor/config.h"
#include "supervisor/outcome.h"

/*
 * To be called once, with outcome->has_extracted. A file that nobody asked for refuses everything,
 * and so does, with on_violation = refuse, one that cannot come; what is optional and missing is no
 * violation. Sets outcome->extracted.status and its text.
 */
void artifacts_judge(const struct config *config, struct outcome *outcome);

/* True when a file or directory came that the pattern means, or that lies below one. */
bool artifacts_have(const struct outcome *outcome, const char *pattern);

#endif
