/* SPDX-License-Identifier: Apache-2.0 */
/* artifact_type.h: the words for enum artifact_type, in task.ini and in results (supervisor). */
#ifndef VMM_SUPERVISOR_ARTIFACT_TYPE_H
#define VMM_SUPERVISOR_ARTIFACT_TYPE_H

#include <stdint.h>

#include "ipc/ipc.h"

/* "png", "data", ...; NULL for a number that is no type. */
const char *artifact_type_name(uint32_t type);

#endif
