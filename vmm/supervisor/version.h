/* SPDX-License-Identifier: Apache-2.0 */
/* version.h: the version of vmrun as a whole. */
#ifndef VMM_SUPERVISOR_VERSION_H
#define VMM_SUPERVISOR_VERSION_H

#define VMRUN_VERSION "0.1.0"

#endif
