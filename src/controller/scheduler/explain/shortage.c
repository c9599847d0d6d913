/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/explain/shortage.h"

#include <inttypes.h>
#include <string.h>

#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/profile.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/framework/volume_book.h"
#include "lib/allocator/capacity.h"
#include "lib/allocator/occupancy.h"
#include "lib/api/job/job_reason.h"
#include "lib/api/node/node.h"
#include "lib/api/pod/pod.h"
#include "lib/api/value/quantity.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define DEVICES "kiln.hpc/"

static const struct pod_view *
pod_of_shortage(const struct shortage *s)
{
    return s->cycle->pod;
}

bool
shortage_is_plain(const struct shortage *s)
{
    const struct pod_view *pod = pod_of_shortage(s);

    return pod->requests.ephemeral_bytes == 0 && pod->requests.n_scalars == 0
           && !pod->demand->is_exclusive && s->scratch_bytes == 0
           && pod->demand->numa_policy <= NUMA_BEST_EFFORT;
}

/* ---- Texts ---- */

/* "gpu" of "kiln.hpc/gpu" */
static const char *
short_name(const char *resource)
{
    return strncmp(resource, DEVICES, strlen(DEVICES)) == 0 ? resource + strlen(DEVICES) : resource;
}

static void
add_bytes(struct strbuf *out, int64_t bytes)
{
    const int64_t mib = INT64_C(1) << 20;
    struct quantity q = quantity_of((bytes + mib - 1) / mib * mib, QUANTITY_BINARY_SI);
    char text[QUANTITY_TEXT_SIZE];

    quantity_format(&q, text);
    strbuf_add_text(out, text);
}

static void
add_cpus(struct strbuf *out, int64_t mcpu)
{
    if (mcpu % 1000 == 0)
        strbuf_printf(out, "%" PRId64, mcpu / 1000);
    else
        strbuf_printf(out, "%.3g", (double)mcpu / 1000.0);
}

static bool
is_of_bytes(const char *name)
{
    return strcmp(name, "memory") == 0 || strcmp(name, "scratch") == 0
           || strcmp(name, "ephemeral-storage") == 0 || strncmp(name, "hugepages-", 10) == 0;
}

/* Example: "has 4 CPUs of the 10 needed". */
static void
describe_size(const char *name, int64_t needs, int64_t has, struct strbuf *out)
{
    if (strcmp(name, "cpu") == 0) {
        strbuf_add_text(out, "has ");
        add_cpus(out, has);
        strbuf_add_text(out, " CPUs of the ");
        add_cpus(out, needs);
    } else if (is_of_bytes(name)) {
        strbuf_add_text(out, "has ");
        add_bytes(out, has);
        strbuf_printf(out, " of %s of the ", name);
        add_bytes(out, needs);
    } else if (has == 0) {
        strbuf_printf(out, "has no %s of the %" PRId64, short_name(name), needs);
    } else {
        strbuf_printf(out, "has %" PRId64 " %s of the %" PRId64, has, short_name(name), needs);
    }
    strbuf_add_text(out, " needed");
}

/* Example: "lacks 2 free CPUs". */
static void
describe_lack(const char *name, int64_t lacks, struct strbuf *out)
{
    strbuf_add_text(out, "lacks ");
    if (strcmp(name, "cpu") == 0) {
        add_cpus(out, lacks);
        strbuf_printf(out, " free CPU%s", lacks == 1000 ? "" : "s");
    } else if (is_of_bytes(name)) {
        add_bytes(out, lacks);
        strbuf_printf(out, " of free %s", name);
    } else {
        strbuf_printf(out, "%" PRId64 " free %s", lacks, short_name(name));
    }
}

/* ---- Amounts ---- */

/* An amount that the pod requests, and what a node has of it. */
struct asked_amount {
    const char *name;
    int64_t needs, has, used;
};

static unsigned
count_amounts(const struct shortage *s)
{
    return 3 + pod_of_shortage(s)->requests.n_scalars;
}

static struct asked_amount
asked_at(const struct shortage *s, const struct node_view *node, unsigned at)
{
    const struct amounts *needs = &pod_of_shortage(s)->requests;
    const struct amounts *has = &node->allocatable, *used = &node->ledger.requested;
    const struct amount *scalar;

    switch (at) {
    case 0:
        return (struct asked_amount){"cpu", needs->cpu_milli, has->cpu_milli, used->cpu_milli};
    case 1:
        return (struct asked_amount){"memory", needs->memory_bytes, has->memory_bytes,
                                     used->memory_bytes};
    case 2:
        return (struct asked_amount){"ephemeral-storage", needs->ephemeral_bytes,
                                     has->ephemeral_bytes, used->ephemeral_bytes};
    default:
        scalar = &needs->scalars[at - 3];
        return (struct asked_amount){string_ids_text(s->resources, scalar->resource), scalar->value,
                                     amounts_scalar(has, scalar->resource),
                                     amounts_scalar(used, scalar->resource)};
    }
}

static bool
describe_sizes(const struct shortage *s, const struct node_view *node, struct strbuf *out)
{
    int64_t scratch = s->scratch_bytes > 0 ? node_scratch_bytes(node->node) : 0;

    for (unsigned i = 0; i < count_amounts(s); i++) {
        struct asked_amount a = asked_at(s, node, i);

        if (a.needs > 0 && a.needs > a.has) {
            if (out != NULL)
                describe_size(a.name, a.needs, a.has, out);
            return true;
        }
    }
    if (s->scratch_bytes <= scratch)
        return false;
    if (out != NULL) {
        strbuf_add_text(out, "has ");
        add_bytes(out, scratch);
        strbuf_add_text(out, " of scratch of the ");
        add_bytes(out, s->scratch_bytes);
        strbuf_add_text(out, " needed");
    }
    return true;
}

/* The node's amounts suffice, but not its cores and devices, where the profile
 * gives these out.
 */
static bool
is_of_shape(const struct shortage *s, const struct node_view *node)
{
    return node->ledger.occupancy != NULL && profile_find(s->profile, "NumaFit") != PLUGIN_NONE
           && !capacity_fits(node->ledger.occupancy->topology_index, pod_of_shortage(s)->demand);
}

bool
shortage_is_of_size(const struct shortage *s, const struct node_view *node)
{
    return describe_sizes(s, node, NULL);
}

bool
shortage_is_of_hardware(const struct shortage *s, const struct node_view *node)
{
    return describe_sizes(s, node, NULL) || is_of_shape(s, node);
}

int64_t
shortage_mcpu(const struct shortage *s, const struct node_view *node)
{
    struct asked_amount cpu = asked_at(s, node, 0);
    int64_t lacks = cpu.needs > cpu.has ? cpu.needs - cpu.has : cpu.needs - (cpu.has - cpu.used);

    return lacks > 0 ? lacks : 0;
}

static int64_t
free_scratch(const struct shortage *s, const struct node_view *node)
{
    return node_scratch_bytes(node->node) - volume_book_promised(s->volumes, node->name);
}

bool
shortage_has_scratch(const struct shortage *s, const struct node_view *node)
{
    return s->scratch_bytes == 0 || s->scratch_bytes <= free_scratch(s, node);
}

static bool
describe_lacks(const struct shortage *s, const struct node_view *node, struct strbuf *out)
{
    for (unsigned i = 0; i < count_amounts(s); i++) {
        struct asked_amount a = asked_at(s, node, i);

        if (a.needs > 0 && a.needs > a.has - a.used) {
            describe_lack(a.name, a.needs - (a.has - a.used), out);
            return true;
        }
    }
    if (!shortage_has_scratch(s, node)) {
        strbuf_add_text(out, "lacks ");
        add_bytes(out, s->scratch_bytes - free_scratch(s, node));
        strbuf_add_text(out, " of free scratch");
        return true;
    }
    if (node->pods.count >= node->allowed_pods) {
        strbuf_add_text(out, "has its maximum number of pods");
        return true;
    }
    return false;
}

/* Lets the profile's plugins say what the node lacks; without a node (NULL),
 * what the pod needs.
 */
static bool
describe_by_plugins(const struct shortage *s, const struct node_view *node, struct strbuf *out)
{
    const struct profile *p = s->profile;
    size_t before = out->length;

    for (unsigned i = 0; i < p->n_entries && out->length == before; i++)
        if (p->entries[i].plugin->explain != NULL)
            p->entries[i].plugin->explain(p->entries[i].self, s->cycle, node, out);
    return out->length > before;
}

/* For a pod that requests whole cores, the plugins are asked first, because the
 * number of free CPUs says little.
 */
void
shortage_format(const struct shortage *s, const struct node_view *node, struct strbuf *out)
{
    bool is_exact = pod_of_shortage(s)->demand->is_exclusive;

    if (describe_sizes(s, node, out) || (is_exact && describe_by_plugins(s, node, out))
        || describe_lacks(s, node, out))
        return;
    if (!is_exact)
        (void)describe_by_plugins(s, node, out);
}

/* ---- Short texts ---- */

static void
add_amount(const char *name, int64_t value, struct strbuf *out)
{
    if (strcmp(name, "cpu") == 0) {
        add_cpus(out, value);
        strbuf_printf(out, " CPU%s", value == 1000 ? "" : "s");
    } else if (is_of_bytes(name)) {
        job_reason_add_bytes(value, out);
        strbuf_printf(out, " of %s", name);
    } else {
        strbuf_printf(out, "%" PRId64 " %s%s", value, short_name(name),
                      short_name(name) != name && value != 1 ? "s" : "");
    }
}

static void
add_devices(const struct demand *demand, struct strbuf *out)
{
    for (unsigned i = 0; i < demand->n_devices; i++) {
        const struct demand_device *d = &demand->devices[i];

        strbuf_printf(out, "%s%u %s%s", i > 0 ? ", " : "", d->count, d->type,
                      d->count == 1 ? "" : "s");
        if (d->model != NULL)
            strbuf_printf(out, " (%.40s)", d->model);
    }
}

static bool
is_one_of(const char *code, const char *const *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(code, codes[i]) == 0)
            return true;
    return false;
}

void
shortage_format_short(const struct shortage *s, const char *code, const char *text, size_t length,
                      struct strbuf *out)
{
    static const char *const of_memory[] = {"InsufficientMemory", "NoFreeMemory"};
    static const char *const of_devices[] = {"NoFreeDevices", "NoSuchDevices"};
    const size_t skip = strlen("Insufficient ");
    const struct pod_view *pod = pod_of_shortage(s);

    /* Another node may have as many CPUs, but not on such cores. */
    if (strcmp(code, "NodeTooSmall") == 0 && describe_by_plugins(s, NULL, out))
        return;
    if (is_one_of(code, of_devices, ARRAY_SIZE(of_devices)) && pod->demand->n_devices > 0) {
        add_devices(pod->demand, out);
        return;
    }
    if (is_one_of(code, of_memory, ARRAY_SIZE(of_memory))) {
        add_amount("memory", pod->requests.memory_bytes, out);
        return;
    }
    for (unsigned i = 2; i < count_amounts(s) && length > skip; i++) {
        struct asked_amount a = {.needs = 0};

        if (i == 2)
            a = (struct asked_amount){"ephemeral-storage", pod->requests.ephemeral_bytes, 0, 0};
        else
            a = (struct asked_amount){
                string_ids_text(s->resources, pod->requests.scalars[i - 3].resource),
                pod->requests.scalars[i - 3].value, 0, 0};
        if (strlen(a.name) == length - skip && strncmp(a.name, text + skip, length - skip) == 0) {
            add_amount(a.name, a.needs, out);
            return;
        }
    }
    add_amount("cpu", pod->requests.cpu_milli, out);
}

/* Scratch comes after the others. */
unsigned
shortage_count_amounts(const struct shortage *s)
{
    return count_amounts(s) + 1;
}

bool
shortage_exceeds(const struct shortage *s, const struct node_view *node, unsigned amount)
{
    struct asked_amount a;

    if (amount == count_amounts(s))
        return s->scratch_bytes > 0 && s->scratch_bytes > node_scratch_bytes(node->node);
    a = asked_at(s, node, amount);
    return a.needs > a.has;
}

void
shortage_format_amount(const struct shortage *s, unsigned amount, struct strbuf *out)
{
    const struct amounts *needs = &pod_of_shortage(s)->requests;

    if (amount == count_amounts(s))
        add_amount("scratch", s->scratch_bytes, out);
    else if (amount == 0)
        add_amount("cpu", needs->cpu_milli, out);
    else if (amount == 1)
        add_amount("memory", needs->memory_bytes, out);
    else if (amount == 2)
        add_amount("ephemeral-storage", needs->ephemeral_bytes, out);
    else
        add_amount(string_ids_text(s->resources, needs->scalars[amount - 3].resource),
                   needs->scalars[amount - 3].value, out);
}

/* The plugins' text names these already. */
static bool
is_named_by_plugin(const char *resource)
{
    return strncmp(resource, "hugepages-", 10) == 0 || strncmp(resource, "kiln.hpc/", 9) == 0;
}

static void
add_comma(struct strbuf *out)
{
    if (out->length > 0)
        strbuf_add_text(out, ", ");
}

void
shortage_format_needs(const struct shortage *s, struct strbuf *out)
{
    const struct pod_view *pod = pod_of_shortage(s);
    bool is_told_by_plugin = describe_by_plugins(s, NULL, out);

    if (!is_told_by_plugin && pod->requests.cpu_milli > 0) {
        add_cpus(out, pod->requests.cpu_milli);
        strbuf_printf(out, " CPU%s", pod->requests.cpu_milli == 1000 ? "" : "s");
    }
    if (!is_told_by_plugin && pod->requests.memory_bytes > 0) {
        add_comma(out);
        add_bytes(out, pod->requests.memory_bytes);
        strbuf_add_text(out, " of memory");
    }
    for (uint32_t i = 0; i < pod->requests.n_scalars; i++) {
        const struct amount *a = &pod->requests.scalars[i];
        const char *name = string_ids_text(s->resources, a->resource);

        if (a->value == 0 || (is_told_by_plugin && is_named_by_plugin(name)))
            continue;
        add_comma(out);
        strbuf_printf(out, "%" PRId64 " %s", a->value, name);
    }
    if (s->scratch_bytes > 0) {
        add_comma(out);
        add_bytes(out, s->scratch_bytes);
        strbuf_add_text(out, " of scratch");
    }
}
