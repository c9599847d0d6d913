/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/plugins/resources/resource_score.h"

#include <errno.h>
#include <string.h>

#include "controller/scheduler/framework/framework.h"
#include "lib/api/value/rows.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

static const struct field resource_weight_fields[] = {
    OPAQUE(STRING, "name", REQUIRED),
    OPAQUE(INT64, "weight", 0),
};
OPAQUE_RECORD(resource_weight, "ResourceSpec");

static bool
has_name(const struct resource_score *s, const char *name)
{
    for (unsigned i = 0; i < s->count; i++)
        if (strcmp(s->weights[i].name, name) == 0)
            return true;
    return false;
}

static struct resource_weight
weight_of(const char *name, int64_t weight)
{
    return (struct resource_weight){
        .name = xstrdup(name),
        .kind = strcmp(name, "cpu") == 0      ? RESOURCE_CPU
                : strcmp(name, "memory") == 0 ? RESOURCE_MEMORY
                                              : RESOURCE_OTHER,
        .weight = weight,
    };
}

static int
add_weight(struct resource_score *s, const struct json *entry, const char *where, unsigned at,
           struct error *err)
{
    const char *name = json_get_text(entry, "name");
    int64_t weight = json_get_int(entry, "weight", 1);

    if (s->count == RESOURCE_SCORE_MAX)
        return error_set(err, -EINVAL, "%s: more than %d", where, RESOURCE_SCORE_MAX);
    if (name == NULL || *name == '\0')
        return error_set(err, -EINVAL, "%s[%u].name is required", where, at);
    if (has_name(s, name))
        return error_set(err, -EINVAL, "%s[%u].name: \"%s\" is listed twice", where, at, name);
    if (weight < 0 || weight > 100)
        return error_set(err, -EINVAL, "%s[%u].weight: %lld is not between 1 and 100", where, at,
                         (long long)weight);
    s->weights[s->count++] = weight_of(name, weight != 0 ? weight : 1);
    return 0;
}

int
resource_score_init(struct resource_score *s, struct string_ids *resources, const struct json *list,
                    const char *where, bool real_requests, struct error *err)
{
    memset(s, 0, sizeof(*s));
    s->resources = resources;
    s->real_requests = real_requests;
    for (uint32_t i = 0; i < json_count(list); i++) {
        int r = add_weight(s, json_at(list, i), where, i, err);

        if (r < 0) {
            resource_score_fini(s);
            return r;
        }
    }
    if (s->count > 0)
        return 0;
    s->weights[0] = weight_of("cpu", 1);
    s->weights[1] = weight_of("memory", 1);
    s->count = 2;
    return 0;
}

void
resource_score_fini(struct resource_score *s)
{
    for (unsigned i = 0; i < s->count; i++)
        free(s->weights[i].name);
    s->count = 0;
}

static void
read_other(const struct resource_score *s, const char *name, const struct pod_view *pod,
           const struct node_view *node, int64_t *requested, int64_t *allocatable)
{
    int64_t wanted = amounts_value(&pod->requests, s->resources, name);

    if (wanted == 0 && amounts_is_scalar(name))
        return;
    *allocatable = amounts_value(&node->allocatable, s->resources, name);
    *requested =
        *allocatable != 0 ? amounts_value(&node->ledger.requested, s->resources, name) + wanted : 0;
}

static int64_t
wanted_of(const struct resource_score *s, enum resource_kind kind, const struct pod_view *pod)
{
    if (kind == RESOURCE_CPU)
        return s->real_requests ? pod->requests.cpu_milli : pod->nonzero_cpu_milli;
    return s->real_requests ? pod->requests.memory_bytes : pod->nonzero_memory_bytes;
}

static int64_t
used_of(const struct resource_score *s, enum resource_kind kind, const struct node_view *node)
{
    if (kind == RESOURCE_CPU)
        return s->real_requests ? node->ledger.requested.cpu_milli : node->ledger.nonzero_cpu_milli;
    return s->real_requests ? node->ledger.requested.memory_bytes
                            : node->ledger.nonzero_memory_bytes;
}

void
resource_score_read(const struct resource_score *s, const struct pod_view *pod,
                    const struct node_view *node, int64_t *ret_requested, int64_t *ret_allocatable)
{
    for (unsigned i = 0; i < s->count; i++) {
        const struct resource_weight *w = &s->weights[i];

        ret_requested[i] = ret_allocatable[i] = 0;
        if (w->kind == RESOURCE_OTHER) {
            read_other(s, w->name, pod, node, &ret_requested[i], &ret_allocatable[i]);
            continue;
        }
        ret_allocatable[i] =
            w->kind == RESOURCE_CPU ? node->allocatable.cpu_milli : node->allocatable.memory_bytes;
        if (ret_allocatable[i] != 0)
            ret_requested[i] = used_of(s, w->kind, node) + wanted_of(s, w->kind, pod);
    }
}

bool
resource_score_span(const struct resource_score *s, unsigned at, const struct pod_view *pod,
                    const struct bounds *bounds, struct resource_span *ret_span)
{
    enum resource_kind kind = s->weights[at].kind;
    const struct range *used, *there;
    int64_t wanted;

    if (kind == RESOURCE_OTHER)
        return false;
    if (kind == RESOURCE_CPU) {
        used = s->real_requests ? &bounds->cpu_used : &bounds->nonzero_cpu;
        there = &bounds->cpu_milli;
    } else {
        used = s->real_requests ? &bounds->memory_used : &bounds->nonzero_memory;
        there = &bounds->memory_bytes;
    }
    wanted = wanted_of(s, kind, pod);
    *ret_span = (struct resource_span){
        .least_used = used->least + wanted,
        .most_used = used->most + wanted,
        .least_there = there->least,
        .most_there = there->most,
    };
    return true;
}

void
requests_sign(const struct pod_view *pod, struct strbuf *out)
{
    const int64_t amounts[] = {
        pod->requests.cpu_milli, pod->requests.memory_bytes, pod->requests.ephemeral_bytes,
        pod->nonzero_cpu_milli,  pod->nonzero_memory_bytes,
    };

    for (unsigned i = 0; i < ARRAY_SIZE(amounts); i++) {
        strbuf_add_char(out, ' ');
        strbuf_add_int(out, amounts[i]);
    }
    for (uint32_t i = 0; i < pod->requests.n_scalars; i++) {
        strbuf_add_char(out, ' ');
        strbuf_add_int(out, pod->requests.scalars[i].resource);
        strbuf_add_char(out, ':');
        strbuf_add_int(out, pod->requests.scalars[i].value);
    }
}
