/* SPDX-License-Identifier: Apache-2.0 */
/* The text is stored in up to a hundred thousand pods and shown in a column, so it is short
 * and cut at a word, and it says one thing: what is missing, and of how many nodes. The
 * refusal of a quota is read back from upstream's message, because the controller gets it as
 * any client does.
 */
#include "lib/api/job/job_wait.h"

#include <string.h>

#include "lib/api/pod/pod.h"
#include "lib/api/value/quantity.h"
#include "lib/api/value/quota_refusal.h"
#include "lib/base/alloc.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

#define QUOTA_HEAD    "quota "
#define LABEL_FEATURE "feature.kiln.hpc/"

/* A message is shown in a column and stored in up to a hundred thousand pods.
 * The text of an API refusal is stored only in one Job, and people read all of
 * it; as they do who lack a right, whom it tells which.
 */
#define WORDS_MAX   120
#define REFUSAL_MAX 300
#define WORD_MOST   40 /* bytes; a longer word is cut inside */

/* ---- Requirements on nodes ---- */

static const struct node_selector *
required_nodes(const struct pod_spec *spec)
{
    return spec->affinity != NULL && spec->affinity->node_affinity != NULL
               ? spec->affinity->node_affinity->required
               : NULL;
}

/* With several terms any one suffices, so no single term is required. */
static const struct node_selector_term *
only_term(const struct pod_spec *spec)
{
    const struct node_selector *s = required_nodes(spec);

    return s != NULL && s->terms.count == 1 ? &s->terms.items[0] : NULL;
}

static bool
is_one_of(const struct selector_requirement *r, const char *key)
{
    return strcmp(r->key, key) == 0 && strcmp(r->operator_, "In") == 0 && r->values.count == 1;
}

const char *
job_wait_node(const struct pod_spec *spec)
{
    const struct node_selector_term *term = only_term(spec);
    const char *host = string_map_find(&spec->node_selector, LABEL_HOSTNAME);

    for (unsigned i = 0; term != NULL && i < term->match_fields.count; i++)
        if (is_one_of(&term->match_fields.items[i], "metadata.name"))
            return term->match_fields.items[i].values.items[0];
    return host;
}

const char *
job_wait_partition(const struct pod_spec *spec)
{
    return pod_spec_partition(spec);
}

/* Appends "feature avx512" or "zone=east". */
static void
add_label(struct strbuf *out, const char *key, const char *value)
{
    const size_t n = strlen(LABEL_FEATURE);

    if (out->length > 0)
        strbuf_add_text(out, " and ");
    if (strncmp(key, LABEL_FEATURE, n) == 0)
        strbuf_printf(out, "feature %.60s", key + n);
    else if (value != NULL)
        strbuf_printf(out, "%.60s=%.60s", key, value);
    else
        strbuf_printf(out, "%.60s", key);
}

static void
add_labels_of_term(const struct node_selector_term *term, struct strbuf *out)
{
    for (unsigned i = 0; i < term->match_expressions.count; i++) {
        const struct selector_requirement *r = &term->match_expressions.items[i];

        if (strcmp(r->operator_, "Exists") == 0)
            add_label(out, r->key, NULL);
        else if (strcmp(r->operator_, "In") == 0 && r->values.count > 0)
            add_label(out, r->key, r->values.items[0]);
    }
}

/* The labels that are required, without the partition's. With several terms any
 * one suffices; nothing is added if one of them asks for no label.
 */
static void
add_labels(const struct pod_spec *spec, struct strbuf *out)
{
    const struct node_selector *required = required_nodes(spec);
    CLEANUP_STRBUF struct strbuf any = STRBUF_INIT;

    for (unsigned i = 0; i < spec->node_selector.count; i++) {
        const struct string_entry *e = &spec->node_selector.items[i];

        if (strcmp(e->key, LABEL_PARTITION) != 0 && strcmp(e->key, LABEL_HOSTNAME) != 0)
            add_label(out, e->key, e->value);
    }
    for (unsigned i = 0; required != NULL && i < required->terms.count; i++) {
        CLEANUP_STRBUF struct strbuf term = STRBUF_INIT;

        add_labels_of_term(&required->terms.items[i], &term);
        if (term.length == 0)
            return;
        strbuf_printf(&any, "%s%s", i > 0 ? " or " : "", term.text);
    }
    if (any.length > 0)
        strbuf_printf(out, "%s%s", out->length > 0 ? " and " : "", any.text);
}

/* Every node is in the partition "all" (PARTITION_ALL), so naming it would say
 * nothing.
 */
static const char *
narrow_partition(const struct pod_spec *spec)
{
    const char *partition = job_wait_partition(spec);

    return partition != NULL && strcmp(partition, "all") != 0 ? partition : NULL;
}

/* Whether the pod excludes the node, as ksub -x does; NULL: any node. */
static bool
is_excluded(const struct pod_spec *spec, const char *node)
{
    const struct node_selector_term *term = only_term(spec);

    for (unsigned i = 0; term != NULL && i < term->match_fields.count; i++) {
        const struct selector_requirement *r = &term->match_fields.items[i];

        for (unsigned k = 0; strcmp(r->operator_, "NotIn") == 0 && k < r->values.count; k++)
            if (node == NULL || strcmp(r->values.items[k], node) == 0)
                return true;
    }
    return false;
}

static const char *
no_node(const struct pod_spec *spec)
{
    return is_excluded(spec, NULL) ? "no node that is not excluded" : "no node";
}

void
job_wait_format_nodes(const struct pod_spec *spec, struct strbuf *out)
{
    const char *node = job_wait_node(spec), *partition = narrow_partition(spec);
    CLEANUP_STRBUF struct strbuf labels = STRBUF_INIT;

    if (node != NULL) {
        strbuf_printf(out, "node %.100s", node);
        return;
    }
    strbuf_add_text(out, no_node(spec));
    add_labels(spec, &labels);
    if (partition != NULL)
        strbuf_printf(out, " of partition %.100s", partition);
    if (labels.length > 0)
        strbuf_printf(out, " with %s", labels.text);
}

/* No node meets the requirement: the node or partition does not exist, or no
 * node has the labels.
 */
static void
describe_unwanted(const struct job_wait *w, const struct pod_spec *spec, struct strbuf *out)
{
    const char *node = job_wait_node(spec);
    const char *partition = job_wait_partition(spec);
    CLEANUP_STRBUF struct strbuf labels = STRBUF_INIT;

    add_labels(spec, &labels);
    if (w->what != NULL)
        strbuf_add_text(out, w->what);
    else if (node != NULL && is_excluded(spec, node))
        strbuf_printf(out, "node %s is asked for and also excluded", node);
    else if (node != NULL && w->is_outside)
        strbuf_printf(out, "node %s is not in partition %s", node, partition);
    else if (labels.length > 0 && node != NULL)
        strbuf_printf(out, "node %s does not have %s", node, labels.text);
    else if (labels.length > 0 && narrow_partition(spec) != NULL)
        strbuf_printf(out, "%s of partition %s has %s", no_node(spec), partition, labels.text);
    else if (labels.length > 0)
        strbuf_printf(out, "%s has %s", no_node(spec), labels.text);
    else if (node != NULL && partition != NULL)
        strbuf_printf(out, "node %s is not in partition %s", node, partition);
    else if (node == NULL && is_excluded(spec, NULL))
        strbuf_printf(out, "every node%s%s is excluded",
                      narrow_partition(spec) != NULL ? " of partition " : "",
                      narrow_partition(spec) != NULL ? partition : "");
    else if (partition != NULL && node == NULL && required_nodes(spec) == NULL)
        strbuf_printf(out, "partition %s has no nodes", partition);
    else
        strbuf_add_text(out, "no node is one of those that it asks for");
}

static enum job_reason
describe_closed(const struct job_wait *w, const struct pod_spec *spec, struct strbuf *out)
{
    const char *partition = job_wait_partition(spec);
    const char *node = job_wait_node(spec);
    const char *state = w->kind == WAIT_SILENT ? "silent" : "closed";
    bool is_whole = partition != NULL && node == NULL && w->is_all && w->nodes < w->total;

    if (w->node != NULL)
        strbuf_printf(out, "node %s is %s", w->node, state);
    else if (is_whole)
        strbuf_printf(out, "the %u nodes of partition %s are %s", w->nodes, partition, state);
    else
        strbuf_printf(out, "%u of %u nodes are %s", w->nodes, w->total, state);
    if (w->what != NULL && w->kind == WAIT_CLOSED)
        strbuf_printf(out, " (%s)", w->what);
    if (w->kind == WAIT_SILENT)
        return JOB_REASON_NODE_DOWN;
    return is_whole ? JOB_REASON_PARTITION_DOWN : JOB_REASON_NOT_AVAILABLE;
}

static enum job_reason
describe_wait(const struct job_wait *w, const struct pod_spec *spec, struct strbuf *out)
{
    switch (w->kind) {
    case WAIT_NO_NODES:
        strbuf_add_text(out, "the cluster has no nodes");
        return JOB_REASON_NOT_AVAILABLE;
    case WAIT_ROOM:
        strbuf_printf(out, "waits for %s", w->what);
        if (w->node != NULL)
            strbuf_printf(out, " on %s", w->node);
        return JOB_REASON_RESOURCES;
    case WAIT_CLOSED:
    case WAIT_SILENT:
        return describe_closed(w, spec, out);
    case WAIT_TOO_LARGE:
        job_wait_format_nodes(spec, out);
        strbuf_printf(out, job_wait_node(spec) != NULL ? " does not have %s" : " has %s", w->what);
        return JOB_REASON_BAD_CONSTRAINTS;
    case WAIT_UNWANTED:
        describe_unwanted(w, spec, out);
        return JOB_REASON_BAD_CONSTRAINTS;
    case WAIT_MAKING_ROOM:
        strbuf_printf(out, "other jobs leave %s for it", w->node);
        return JOB_REASON_RESOURCES;
    case WAIT_WORDS:
        break;
    }
    strbuf_add_text(out, w->what != NULL ? w->what : "no reason is known");
    return w->reason;
}

/* Cuts the text after a word, or inside a very long word at a character
 * boundary.
 */
static void
cut(struct strbuf *out, size_t before, size_t most)
{
    size_t end = before + most, blank = end;

    if (out->length <= end)
        return;
    while (blank > before && end - blank < WORD_MOST && out->text[blank] != ' ')
        blank--;
    if (blank > before && out->text[blank] == ' ') {
        end = blank;
        while (end > before && strchr(" ,;:(-", out->text[end - 1]) != NULL)
            end--;
    }
    while (end > before && ((unsigned char)out->text[end] & 0xc0) == 0x80)
        end--;
    strbuf_truncate(out, end);
    strbuf_add_text(out, "...");
}

enum job_reason
job_wait_format(const struct job_wait *wait, const struct pod_spec *spec, struct strbuf *out)
{
    size_t before = out->length;
    enum job_reason reason = describe_wait(wait, spec, out);

    cut(out, before, reason == JOB_REASON_NOT_ALLOWED ? REFUSAL_MAX : WORDS_MAX);
    return reason;
}

/* ---- Refusals ---- */

static enum job_reason
reason_of_resource(const char *name, size_t n, const char **ret_words)
{
    static const struct {
        const char *name, *words;
        enum job_reason reason;
    } known[] = {
        {"cpu", " CPUs", JOB_REASON_GROUP_CPUS},
        {"requests.cpu", " CPUs", JOB_REASON_GROUP_CPUS},
        {"limits.cpu", " CPUs", JOB_REASON_GROUP_CPUS},
        {"memory", " of memory", JOB_REASON_GROUP_MEMORY},
        {"requests.memory", " of memory", JOB_REASON_GROUP_MEMORY},
        {"limits.memory", " of memory", JOB_REASON_GROUP_MEMORY},
        {"pods", " pods", JOB_REASON_GROUP_JOBS},
        {"count/pods", " pods", JOB_REASON_GROUP_JOBS},
    };

    for (unsigned i = 0; i < ARRAY_SIZE(known); i++)
        if (strlen(known[i].name) == n && strncmp(known[i].name, name, n) == 0) {
            *ret_words = known[i].words;
            return known[i].reason;
        }
    return JOB_REASON_GROUP_OTHER;
}

static bool
read_amount(const char *text, size_t n, struct quantity *ret_amount)
{
    CLEANUP_FREE char *copy = xstrndup(text, n);

    return quantity_parse(copy, ret_amount) == 0;
}

/* Whether the pod asks for more than the quota allows, whatever jobs end. */
static bool
is_never_met(const struct quota_pair *pair)
{
    struct quantity asks, most;

    return read_amount(pair->asks, pair->n_asks, &asks)
           && read_amount(pair->most, pair->n_most, &most) && quantity_compare(&asks, &most) > 0;
}

/* Finds the first resource that can never be met, because waiting for the
 * others is futile then; otherwise the first one. False: the text has another
 * form.
 */
static bool
find_pair(const struct quota_refusal *refusal, struct quota_pair *ret_pair)
{
    struct quota_pair pair;
    const char *at = NULL;
    bool is_any = false;

    while (quota_refusal_next(refusal, &at, &pair)) {
        if (!is_any)
            *ret_pair = pair;
        is_any = true;
        if (is_never_met(&pair)) {
            *ret_pair = pair;
            return true;
        }
    }
    return is_any;
}

/* Describes a refusal of the form
 * "exceeded quota: chem, requested: requests.cpu=2, used: requests.cpu=4,
 * limited: requests.cpu=4".
 */
static enum job_reason
describe_quota(const struct quota_refusal *refusal, struct strbuf *out)
{
    const char *words = NULL;
    struct quota_pair pair;
    enum job_reason reason;
    bool is_vain;

    if (!find_pair(refusal, &pair))
        return JOB_REASON_NONE;
    is_vain = is_never_met(&pair);
    reason = reason_of_resource(pair.name, pair.n_name, &words);
    strbuf_printf(out, QUOTA_HEAD "%.*s: ", (int)refusal->n_quota, refusal->quota);
    if (is_vain)
        strbuf_add(out, pair.asks, pair.n_asks);
    else
        strbuf_add(out, pair.has, pair.n_has);
    if (words != NULL)
        strbuf_add_text(out, words);
    else {
        strbuf_add_char(out, ' ');
        strbuf_add(out, pair.name, pair.n_name);
    }
    strbuf_add_text(out, is_vain ? " wanted, it has " : " used of ");
    strbuf_add(out, pair.most, pair.n_most);
    if (is_vain)
        strbuf_add_text(out, " in all");
    return reason;
}

enum job_reason
job_wait_format_refusal(const char *refusal, struct strbuf *out)
{
    size_t before = out->length;
    enum job_reason reason = JOB_REASON_NONE;
    struct quota_refusal quota;

    if (quota_refusal_parse(refusal, &quota) && quota.kind == QUOTA_REFUSAL_EXCEEDED)
        reason = describe_quota(&quota, out);
    if (reason == JOB_REASON_NONE) {
        strbuf_truncate(out, before);
        strbuf_add(out, refusal, strcspn(refusal, "\n"));
        reason = JOB_REASON_OTHER;
    }
    cut(out, before, REFUSAL_MAX);
    return reason;
}

const char *
job_wait_find_quota(const char *message, size_t *ret_length)
{
    const size_t n = strlen(QUOTA_HEAD);

    if (message == NULL || strncmp(message, QUOTA_HEAD, n) != 0 || strchr(message, ':') == NULL)
        return NULL;
    *ret_length = strcspn(message + n, ":");
    return message + n;
}
