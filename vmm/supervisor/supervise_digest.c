/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise_digest.c: digests of the kernel and the image of a run (supervisor; the files are the
 * user's). Both are recalled from the user's cache, so that only the first run with a file reads it
 * through. A kernel takes 10 to 40 ms and has its digest always; an image takes ten times as long.
 */
#include <string.h>

#include "base/text.h"
#include "supervisor/file_digest.h"
#include "supervisor/supervise_internal.h"

/* A file that was written meanwhile has no digest that says what the guest got. */
static void compare(struct outcome_digest *digest, const struct file_stamp *then, int fd)
{
    struct stat status;
    struct file_stamp now;

    if (fstat(fd, &status) < 0)
        return;
    now = file_stamp_of(&status);
    digest->changed = !file_stamp_unwritten(then, &now);
    digest->known = digest->known && !digest->changed;
}

/*
 * Once for each image, at the end of the first run that it has: later ones recall it. Not where
 * that would be for nothing, and not when somebody waits for the end.
 */
static void learn_image_digest(struct supervision *run)
{
    struct outcome_digest *digest = &run->outcome->image_digest;
    struct err ignored = ERR_INIT;

    if (digest->known || !run->outcome->has_started || run->signal_count > 0 ||
        !file_digest_lasts(run->plan->image_fd))
        return;
    digest->known = file_digest_compute(run->plan->image_fd, digest->sha256, &ignored) == 0;
}

void run_digests_finish(struct supervision *run)
{
    const struct plan *plan = run->plan;
    struct outcome *outcome = run->outcome;
    struct err ignored = ERR_INIT;

    outcome->kernel_digest.known =
        file_digest_recall(plan->kernel_fd, outcome->kernel_digest.sha256) ||
        file_digest_compute(plan->kernel_fd, outcome->kernel_digest.sha256, &ignored) == 0;
    compare(&outcome->kernel_digest, &plan->kernel_stamp, plan->kernel_fd);
    outcome->image_digest.known = plan->image_digest_known;
    memcpy(outcome->image_digest.sha256, plan->image_digest, DIGEST_BYTES);
    learn_image_digest(run);
    compare(&outcome->image_digest, &plan->image_stamp, plan->image_fd);
    if (outcome->image_digest.changed && plan->config->image_has_sha256 &&
        outcome->cause == CAUSE_NONE) {
        /* That the image has its digest was asked for, and is not sure any more. */
        outcome->cause = CAUSE_HOST;
        text_copy(outcome->host_text, sizeof(outcome->host_text),
            "the image was written while the run went on, so that [image] sha256 does not hold");
    }
}
