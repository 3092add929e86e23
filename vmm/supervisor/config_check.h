/* SPDX-License-Identifier: Apache-2.0 */
/* config_check.h: the rules between keys, private to the config stage (supervisor). */
#ifndef VMM_SUPERVISOR_CONFIG_CHECK_H
#define VMM_SUPERVISOR_CONFIG_CHECK_H

#include "supervisor/config.h"

/* Guest RAM that the task cannot have: kernel, agent, page tables. */
uint64_t config_memory_reserve(uint64_t memory_bytes);

/* Derive what is derived, then report each broken rule. */
void config_check(struct config *config, struct text_list *problems);

#endif
