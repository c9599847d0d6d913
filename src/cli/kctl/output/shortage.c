/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/output/shortage.h"

#include <inttypes.h>
#include <string.h>

#include "cli/kctl/output/describe_output.h"
#include "cli/kctl/output/free_capacity.h"
#include "cli/outlook/bid.h"
#include "cli/outlook/outlook.h"
#include "cli/print/human.h"
#include "lib/allocator/shortfall.h"
#include "lib/api/object/kind.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define NEAREST 3u

/* The demand's own lines name these resources already. */
static bool
is_told(const char *resource)
{
    return strcmp(resource, "cpu") == 0 || strcmp(resource, "memory") == 0
           || strncmp(resource, "hugepages-", 10) == 0
           || strncmp(resource, "kiln.hpc/", 9) == 0;
}

static void
tell_need(const struct bid *bid, struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    char bytes[HUMAN_TEXT_SIZE];

    shortfall_format_need(&bid->demand, &text);
    for (unsigned i = 0; i < bid->n_amounts; i++)
        if (!is_told(bid->amounts[i].name) && bid->amounts[i].amount > 0)
            strbuf_printf(&text,
                          "%s%" PRId64 " %s",
                          text.length > 0 ? ", " : "",
                          bid->amounts[i].amount,
                          bid->amounts[i].name);
    if (bid->scratch_bytes > 0) {
        human_bytes(bid->scratch_bytes, bytes);
        strbuf_printf(&text,
                      "%s%s of scratch",
                      text.length > 0 ? ", " : "",
                      bytes);
    }
    if (text.length > 0)
        describe_output_add(out, 2, "Needs", "%s", text.text);
}

/* CPUs and memory by amount, and nothing else. */
static bool
is_plain(const struct bid *bid)
{
    for (unsigned i = 0; i < bid->n_amounts; i++)
        if (strcmp(bid->amounts[i].name, "cpu") != 0
            && strcmp(bid->amounts[i].name, "memory") != 0)
            return false;
    return !bid->demand.is_exclusive && bid->scratch_bytes == 0
           && bid->demand.numa_policy <= NUMA_BEST_EFFORT;
}

static void
tell_nearest(const struct outlook *o, struct strbuf *out)
{
    unsigned told = 0;

    for (unsigned i = 0; i < o->n_nodes && told < NEAREST; i++)
        if (o->nodes[i].is_open)
            describe_output_add(out,
                                2,
                                told++ == 0 ? "Nearest" : "",
                                "%s %s",
                                o->nodes[i].name,
                                o->nodes[i].words);
}

void
shortage_describe(const struct outlook *outlook,
                  const struct json *pod,
                  struct strbuf *out)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP(object_unrefp) const struct object *object = NULL;
    CLEANUP_BID struct bid bid = {0};

    json_print(pod, &text);
    if (object_parse(&pod_kind, text.text, text.length, &object, NULL) < 0)
        return;
    bid_init(&bid, &pod_of(object)->spec);
    tell_need(&bid, out);
    if (is_plain(&bid))
        free_capacity_describe(outlook, bid.cpu_milli, bid.memory_bytes, out);
    else
        tell_nearest(outlook, out);
}
