/* SPDX-License-Identifier: Apache-2.0 */
/* record.h: private to vmm/ipc: sending a packet for the codecs of record.c. */
#ifndef VMM_IPC_RECORD_H
#define VMM_IPC_RECORD_H

#include "ipc/ipc.h"

int ipc_send(int fd, enum ipc_kind kind, const uint8_t *payload, size_t size, struct err *err);

#endif
