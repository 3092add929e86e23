/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fake_children.h: stand-ins for monitor, scribe and extractor, which speak ipc.h and misbehave as
 * they are told. The test executable is started under their names.
 */
#ifndef TESTS_UNIT_SUPERVISOR_FAKE_CHILDREN_H
#define TESTS_UNIT_SUPERVISOR_FAKE_CHILDREN_H

/* What the monitor does is the text at MONITOR_FD_KERNEL; see fake_children.c for the words. */
enum {
    SCRIBE_DIES_AT_ONCE = 666, /* as ipc_scribe.cap_bytes[0] */
    SCRIBE_SAYS_NOTHING = 667, /* copies, but sends no totals */
    SCRIBE_LEAVES_A_CHILD = 668,
    SCRIBE_IS_STUCK = 669,   /* once the monitor is gone; it sends two signals, its totals never */
    EXTRACTOR_REFUSES = 666, /* as ipc_extract.max_files */
    EXTRACTOR_CRASHES = 667,
    EXTRACTOR_REPEATS_ITSELF = 668,
    EXTRACTOR_NEVER_ENDS = 669, /* sends entries until it is killed */
    EXTRACTOR_SETS_ID = 665,    /* its file is one that others can run as its owner */
    EXTRACTOR_LINKS = 670,      /* makes a link as well, and ends as if all were well */
};

/* If NAME is a child's, be that child and exit. */
void fake_child(const char *name);

#endif
