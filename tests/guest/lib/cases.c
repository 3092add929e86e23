/* SPDX-License-Identifier: Apache-2.0 */
/* cases.c: see cases.h. */
#include "lib/cases.h"

static unsigned case_count;

static struct {
    const char *what; /* NULL: all was met */
    bool compared;
    uint64_t got, wanted;
} unmet;

void expect(bool met, const char *what)
{
    if (met || unmet.what)
        return;
    unmet.what = what;
    unmet.compared = false;
}

void expect_equal(const char *what, uint64_t got, uint64_t wanted)
{
    if (got == wanted || unmet.what)
        return;
    unmet.what = what;
    unmet.compared = true;
    unmet.got = got;
    unmet.wanted = wanted;
}

static void report(const struct guest_case *test)
{
    case_count++;
    say("%s %u - %s (%s)\n", unmet.what ? "not ok" : "ok", case_count, test->name, test->rule);
    if (unmet.what && unmet.compared)
        say("# %s: 0x%lx, not 0x%lx\n", unmet.what, unmet.got, unmet.wanted);
    else if (unmet.what)
        say("# %s\n", unmet.what);
}

void cases_run(const struct guest_case *cases, size_t count, void (*serve)(void))
{
    for (size_t i = 0; i < count; i++) {
        unmet.what = NULL;
        cases[i].run(cases[i].argument);
        if (serve)
            serve();
        report(&cases[i]);
    }
}

void cases_end(void)
{
    say("1..%u\n", case_count);
}
