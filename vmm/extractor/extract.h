/* SPDX-License-Identifier: Apache-2.0 */
/*
 * extract.h: one archive to checked files and a report (extractor). The archive is hostile; the
 * limits and the output directory are ours.
 */
#ifndef VMM_EXTRACTOR_EXTRACT_H
#define VMM_EXTRACTOR_EXTRACT_H

#include "base/err.h"
#include "extractor/reader.h"
#include "ipc/ipc.h"

/*
 * Most names that are looked at. An archive with more is cut there: the rest counts as skipped, so
 * that a disk full of tiny records cannot keep the host busy.
 */
enum { EXTRACT_NAMES_MAX = 1 << 18 };

/* Where entries go, in the order of the archive; a file's comes when its content is complete. */
struct extract_sink {
    int (*entry)(void *context, const struct ipc_entry *entry, struct err *err);
    void *context;
};

/*
 * Extract into OUT_FD, an empty directory, in which a bundle is the only file at the end. RESULT
 * always has a status: REFUSED when the archive broke a rule, FAILED when the host could not read
 * or write; what was written before then stays there.
 *
 * `exported` of an ENTRY_FILE or ENTRY_DIR is where it is below OUT_FD, or in the bundle: a name
 * that cannot be one on the host is called f-N there. At most max_files ENTRY_SKIPPED are reported;
 * the rest is only counted, and the text says so.
 */
void extract_archive(const struct archive_source *source, const struct ipc_extract *limits,
    int out_fd, const struct extract_sink *sink, struct ipc_extracted *result);

#endif
