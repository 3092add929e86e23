/* SPDX-License-Identifier: Apache-2.0 */
/*
 * supervise_digest.c: digests of the kernel and the image of a run (supervisor; the files are the
 * user's). A kernel takes 10 to 40 ms, much of a short run: it is hashed in small turns of the
 * event loop while the task runs, and only the rest when the machine is gone. An image takes ten
 * times as long: its digest is that of the plan, or computed once and then remembered.
 */
#include <string.h>

#include "base/clock.h"
#include "base/num.h"
#include "base/text.h"
#include "supervisor/image_verify.h"
#include "supervisor/supervise_internal.h"

/* Half a millisecond with SHA instructions, some without: no deadline is missed by that. */
#define DIGEST_TURN_BYTES (256 * KIB)
/* Between turns, for a guest that shares the processor with us; a timer that is due keeps on
 * firing. */
#define DIGEST_PAUSE_NS (1 * NS_PER_MS)

static void kernel_digest_turn(void *context)
{
    struct supervision *run = context;
    struct outcome_digest *digest = &run->outcome->kernel_digest;
    struct err ignored = ERR_INIT; /* a file that cannot be read has no digest, that is all */
    int more = digest_go_on(&run->kernel_digest, DIGEST_TURN_BYTES, digest->sha256, &ignored);

    digest->known = more == 0;
    if (more > 0)
        loop_timer_set(&run->loop, &run->digest_turn, clock_mono_ns() + DIGEST_PAUSE_NS);
}

void run_digests_start(struct supervision *run)
{
    digest_begin(&run->kernel_digest, run->plan->kernel_fd);
    run->digest_turn = (struct loop_timer){.expired = kernel_digest_turn, .context = run};
    loop_timer_set(&run->loop, &run->digest_turn, clock_mono_ns());
}

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
        !image_digest_lasts(run->plan->image_fd))
        return;
    digest->known = image_digest_compute(run->plan->image_fd, digest->sha256, &ignored) == 0;
}

void run_digests_finish(struct supervision *run)
{
    const struct plan *plan = run->plan;
    struct outcome *outcome = run->outcome;
    struct err ignored = ERR_INIT;

    loop_timer_clear(&run->loop, &run->digest_turn);
    if (!run->kernel_digest.going_on && !outcome->kernel_digest.known)
        digest_begin(&run->kernel_digest, plan->kernel_fd); /* it did not come to a task */
    if (run->kernel_digest.going_on)
        outcome->kernel_digest.known = digest_go_on(&run->kernel_digest, UINT64_MAX,
                                           outcome->kernel_digest.sha256, &ignored) == 0;
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
