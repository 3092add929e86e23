/* SPDX-License-Identifier: Apache-2.0 */
/* artifact_type.c: see artifact_type.h. */
#include "supervisor/artifact_type.h"

#include <stddef.h>

const char *artifact_type_name(uint32_t type)
{
    static const char *const names[ARTIFACT_TYPES] = {[ARTIFACT_DATA] = "data",
        [ARTIFACT_PNG] = "png",
        [ARTIFACT_JPEG] = "jpeg",
        [ARTIFACT_PDF] = "pdf",
        [ARTIFACT_CSV] = "csv",
        [ARTIFACT_JSON] = "json",
        [ARTIFACT_TEXT] = "text"};

    return type < ARTIFACT_TYPES ? names[type] : NULL;
}
