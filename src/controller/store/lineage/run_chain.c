/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/store/lineage/run_chain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

void
run_chain_fini(struct run_chain *chain)
{
    free(chain->links);
    *chain = (struct run_chain){0};
}

static void
add(struct run_chain *chain, uint64_t run, int64_t last)
{
    chain->links = xrealloc_array(chain->links, chain->count + 1, sizeof(chain->links[0]));
    chain->links[chain->count++] = (struct run_link){.run = run, .last = last};
}

/* The oldest runs lose their names. */
static void
shorten(struct run_chain *chain)
{
    size_t more = chain->count > RUN_CHAIN_MOST ? chain->count - RUN_CHAIN_MOST : 0;

    if (more == 0)
        return;
    if (chain->links[more - 1].last > chain->unnamed)
        chain->unnamed = chain->links[more - 1].last;
    chain->count -= more;
    memmove(chain->links, chain->links + more, chain->count * sizeof(chain->links[0]));
}

void
run_chain_parse(const char *text, struct run_chain *ret_chain)
{
    uint64_t run;
    int64_t last;
    int length = 0;

    *ret_chain = (struct run_chain){0};
    if (text == NULL
        || sscanf(text, "%" SCNd64 " %" SCNd64 "%n", &ret_chain->unnamed, &ret_chain->epoch,
                  &length)
               != 2) {
        *ret_chain = (struct run_chain){0};
        return;
    }
    for (text += length; sscanf(text, " %" SCNx64 ":%" SCNd64 "%n", &run, &last, &length) == 2;
         text += length)
        add(ret_chain, run, last);
}

char *
run_chain_format(const struct run_chain *chain)
{
    struct strbuf text = STRBUF_INIT;

    strbuf_printf(&text, "%" PRId64 " %" PRId64, chain->unnamed, chain->epoch);
    for (size_t i = 0; i < chain->count; i++)
        strbuf_printf(&text, " %016" PRIx64 ":%" PRId64, chain->links[i].run, chain->links[i].last);
    return strbuf_take(&text);
}

void
run_chain_open(struct run_chain *chain, uint64_t run, int64_t epoch, int64_t found)
{
    if (chain->count > 0)
        chain->links[chain->count - 1].last = found;
    /* A controller of a release without runs may have had the store last. */
    if (chain->count == 0 || epoch != chain->epoch + 1)
        chain->unnamed = found;
    chain->epoch = epoch;
    add(chain, run, 0);
    shorten(chain);
}

/* Whether the brief form names the run that is so many runs old. Their number
 * rises with the logarithm of the age.
 */
static bool
is_brief(size_t number, size_t age)
{
    size_t step = 1;

    while (age >= RUN_CHAIN_NEWEST * step * 2)
        step *= 2;
    return age < RUN_CHAIN_NEWEST || number % (step * 4) == 0;
}

void
run_chain_write_brief(const struct run_chain *chain, int64_t revision, struct strbuf *out)
{
    unsigned n = 0;

    for (size_t i = chain->count; i-- > 0 && n < RUN_CHAIN_BRIEF;) {
        if (!is_brief(i, chain->count - 1 - i))
            continue;
        strbuf_printf(out, "%s%016" PRIx64 ":%" PRId64, n++ > 0 ? "," : "", chain->links[i].run,
                      i + 1 == chain->count ? revision : chain->links[i].last);
    }
}

/* The last revision of the run in the chain, or -1. */
static int64_t
find(const struct run_chain *chain, int64_t revision, uint64_t run)
{
    for (size_t i = chain->count; i-- > 0;)
        if (chain->links[i].run == run)
            return i + 1 == chain->count ? revision : chain->links[i].last;
    return -1;
}

static int64_t
least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

int64_t
run_chain_common(const struct run_chain *chain, int64_t revision, uint64_t mark_run,
                 int64_t mark_revision, const char *brief)
{
    int64_t own = find(chain, revision, mark_run);
    uint64_t run;
    int64_t last;
    int length = 0;

    if (own >= 0)
        return least(own, mark_revision);
    for (; brief != NULL && sscanf(brief, "%" SCNx64 ":%" SCNd64 "%n", &run, &last, &length) == 2;
         brief += length + (brief[length] == ',')) {
        own = find(chain, revision, run);
        if (own >= 0)
            return least(own, last);
    }
    return least(chain->unnamed, mark_revision);
}
