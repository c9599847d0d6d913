/* SPDX-License-Identifier: Apache-2.0 */
/* A cycle gives hundreds of answers, and the user wants to know what to do. So the answers are
 * ordered by what they mean for him: waiting helps (in use), somebody may open it (closed),
 * asking for less helps (too small), asking for something else helps (unwanted). Within one
 * meaning the most frequent reason is named. Proving that no node is large enough may take a
 * look at all nodes; beyond a bound the cause is not claimed, because a wrong one is worse
 * than a general one.
 */
#include "controller/scheduler/explain/wait_cause.h"

#include <string.h>

#include "controller/scheduler/explain/refusal_meaning.h"
#include "controller/scheduler/explain/shortage.h"
#include "controller/scheduler/framework/cycle.h"
#include "controller/scheduler/framework/diagnosis.h"
#include "controller/scheduler/framework/node_reservations.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/snapshot.h"
#include "controller/scheduler/framework/string_ids.h"
#include "controller/scheduler/framework/timeline.h"
#include "controller/scheduler/state/cache.h"
#include "lib/api/job/job_wait.h"
#include "lib/api/node/node.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/api/pod/pod.h"
#include "lib/api/pod/refusals.h"
#include "lib/api/policy/node_reservation.h"
#include "lib/base/alloc.h"
#include "lib/base/strbuf.h"

#define AMOUNTS_MOST 32u

#define CLOSERS 2 /* how many reasons for closed nodes are named */

/* A reason, and the nodes that gave it. */
struct found {
    struct refusal_meaning known;
    const char *code;
    unsigned nodes;
    const struct node_view *first;
    const char *text; /* as the plugin gave it */
    size_t length;
};

struct cause_search {
    const struct wait_cause_facts *f;
    const struct pod_view *pod;
    const struct pod_spec *spec;
    struct found *items; /* by reason, in the order of the counts */
    unsigned count;
};

/* If a reason has several lines, only the first is used; the last says least.
 */
static struct found
understand(const struct cause_search *s, const struct reason_nodes *r)
{
    const char *text = string_ids_text(s->f->reasons, r->reason);
    struct found found = {
        .nodes = r->nodes,
        .first = r->first,
        .text = text,
        .length = strcspn(text, "\n"),
    };
    bool ignored;

    found.code = refusals_code(text, found.length, &ignored);
    found.known = refusal_meaning_of(found.code);
    return found;
}

static unsigned
count_of(const struct cause_search *s, enum meaning meaning)
{
    unsigned nodes = 0;

    for (unsigned i = 0; i < s->count; i++)
        if (s->items[i].known.meaning == meaning)
            nodes += s->items[i].nodes;
    return nodes;
}

/* The reason of the most nodes, or NULL. */
static const struct found *
find_most(const struct cause_search *s, enum meaning meaning)
{
    const struct found *best = NULL;

    for (unsigned i = 0; i < s->count; i++)
        if (s->items[i].known.meaning == meaning
            && (best == NULL || s->items[i].nodes > best->nodes))
            best = &s->items[i];
    return best;
}

/* ---- Nodes of one meaning ---- */

static bool
is_wanted(const struct cause_search *s, const struct node_view *node)
{
    return pod_spec_wants_node(s->spec, &node->node->meta.labels, node->name);
}

/* The nodes of one meaning that the pod asks for, and how many of these are
 * large enough. If not all nodes were checked, `is_complete` is false.
 */
struct scan {
    unsigned wanted, large;
    const struct node_view *first_wanted, *first_large;
    bool is_complete;
};

static int
meaning_of(const struct cause_search *s, const struct node_view *node)
{
    uint32_t reason = diagnosis_answer(s->f->diagnosis, node).reason;

    for (unsigned i = 0; i < s->count; i++)
        if (s->f->counts->items[i].reason == reason)
            return (int)s->items[i].known.meaning;
    return -1;
}

/* Stops after `enough` nodes that are large enough. */
static struct scan
scan_nodes(const struct cause_search *s, enum meaning meaning, unsigned enough)
{
    const struct snapshot *all = s->f->diagnosis->snapshot;
    struct scan scan = {.is_complete = true};
    unsigned looked = 0;

    for (uint32_t i = 0; i < all->n_nodes && scan.large < enough; i++) {
        const struct node_view *node = all->nodes[i];

        if (looked == s->f->scan_most) {
            scan.is_complete = false;
            break;
        }
        looked++;
        if (meaning_of(s, node) != (int)meaning || !is_wanted(s, node))
            continue;
        if (scan.wanted++ == 0)
            scan.first_wanted = node;
        if (shortage_is_of_hardware(s->f->shortage, node))
            continue;
        if (scan.large++ == 0)
            scan.first_large = node;
    }
    return scan;
}

/* ---- The text for each meaning ---- */

static enum job_reason
format_wait(const struct cause_search *s, struct job_wait wait, struct strbuf *out)
{
    wait.total = s->f->diagnosis->snapshot->n_nodes;
    return job_wait_format(&wait, s->spec, out);
}

/* False: no node of this meaning is large enough, even when it is empty. */
static bool
describe_room(const struct cause_search *s, struct strbuf *out, struct wait_cause *ret)
{
    const struct found *most = find_most(s, MEANS_ROOM);
    CLEANUP_STRBUF struct strbuf what = STRBUF_INIT;
    unsigned nodes = count_of(s, MEANS_ROOM);
    const struct node_view *node;
    struct scan scan;

    if (most == NULL)
        return false;
    node = most->first;
    if (nodes > 1 || shortage_is_of_hardware(s->f->shortage, node)) {
        scan = scan_nodes(s, MEANS_ROOM, 2);
        if (scan.is_complete && scan.large == 0)
            return false;
        node = scan.is_complete && scan.large == 1 ? scan.first_large : NULL;
    }
    if (most->known.words != NULL)
        strbuf_add_text(&what, most->known.words);
    else
        shortage_format_short(s->f->shortage, most->code, most->text, most->length, &what);
    ret->is_for_room = true;
    ret->reason = format_wait(s,
                              (struct job_wait){
                                  .kind = WAIT_ROOM,
                                  .node = node != NULL ? node->name : NULL,
                                  .what = what.text,
                              },
                              out);
    return true;
}

/* Adds "virtual" for "node(s) had untolerated taint {kiln.hpc/virtual: }". */
static void
add_closer(const struct found *found, struct strbuf *out)
{
    const char *end = found->text + found->length;
    const char *open = memchr(found->text, '{', found->length);
    const char *stop, *slash;

    if (out->length > 0)
        strbuf_add_text(out, ", ");
    if (open == NULL) {
        strbuf_add_text(out, "cordoned");
        return;
    }
    open++;
    stop = memchr(open, ':', (size_t)(end - open));
    if (stop == NULL)
        stop = end;
    slash = memchr(open, '/', (size_t)(stop - open));
    if (slash != NULL)
        open = slash + 1;
    strbuf_add(out, open, (size_t)(stop - open));
}

static bool
is_silence(const struct found *found)
{
    static const char key[] = "node.kubernetes.io/unreachable";

    return memmem(found->text, found->length, key, strlen(key)) != NULL;
}

/* Adds the reasons that close most nodes, so that people know what to ask for.
 */
static void
add_closers(struct cause_search *s, struct strbuf *out, bool *ret_is_silent)
{
    *ret_is_silent = false;
    for (unsigned n = 0; n < CLOSERS; n++) {
        const struct found *most = find_most(s, MEANS_CLOSED);

        if (most == NULL)
            break;
        if (n == 0)
            *ret_is_silent = is_silence(most);
        add_closer(most, out);
        s->items[most - s->items].nodes = 0;
        s->items[most - s->items].known.meaning = MEANS_WORDS;
    }
}

static bool
describe_closed(struct cause_search *s, struct strbuf *out, struct wait_cause *ret)
{
    CLEANUP_STRBUF struct strbuf what = STRBUF_INIT;
    unsigned nodes = count_of(s, MEANS_CLOSED);
    const struct node_view *only = NULL;
    struct scan scan;
    bool is_silent;

    if (nodes == 0)
        return false;
    scan = scan_nodes(s, MEANS_CLOSED, UINT32_MAX);
    if (scan.is_complete) {
        if (scan.large == 0)
            return false;
        nodes = scan.large;
        only = scan.large == 1 ? scan.first_large : NULL;
    }
    add_closers(s, &what, &is_silent);
    ret->reason =
        format_wait(s,
                    (struct job_wait){
                        .kind = is_silent ? WAIT_SILENT : WAIT_CLOSED,
                        .nodes = nodes,
                        .is_all = count_of(s, MEANS_ROOM) == 0 && count_of(s, MEANS_TOO_LARGE) == 0,
                        .node = only != NULL ? only->name : NULL,
                        .what = what.text,
                    },
                    out);
    return true;
}

/* The amounts of the pod that the nodes it asks for have, and lack, when empty. */
struct sizes {
    unsigned wanted;
    bool is_complete;
    bool is_had[AMOUNTS_MOST];     /* by one of them */
    bool is_lacking[AMOUNTS_MOST]; /* on one of them */
};

static unsigned
count_amounts(const struct cause_search *s)
{
    const unsigned count = shortage_count_amounts(s->f->shortage);

    return count < AMOUNTS_MOST ? count : AMOUNTS_MOST;
}

static void
scan_sizes(const struct cause_search *s, struct sizes *ret)
{
    const struct snapshot *all = s->f->diagnosis->snapshot;

    *ret = (struct sizes){.is_complete = all->n_nodes <= s->f->scan_most};
    for (uint32_t i = 0; i < all->n_nodes && i < s->f->scan_most; i++) {
        const int meaning = meaning_of(s, all->nodes[i]);

        if (meaning == (int)MEANS_UNWANTED || !is_wanted(s, all->nodes[i]))
            continue;
        ret->wanted++;
        for (unsigned k = 0; k < count_amounts(s); k++) {
            const bool exceeds = shortage_exceeds(s->f->shortage, all->nodes[i], k);

            ret->is_had[k] |= !exceeds;
            ret->is_lacking[k] |= exceeds;
        }
    }
}

/* Appends the first amount that no node has; or if each is on some node, those
 * that no node has together: "40 CPUs and 500 GiB of memory together". False:
 * some node may have all.
 */
static bool
add_excess(const struct cause_search *s, const struct sizes *sizes, struct strbuf *out)
{
    unsigned n = 0;

    for (unsigned i = 0; i < count_amounts(s); i++)
        if (sizes->is_lacking[i] && !sizes->is_had[i]) {
            shortage_format_amount(s->f->shortage, i, out);
            return true;
        }
    for (unsigned i = 0; i < count_amounts(s); i++) {
        if (!sizes->is_lacking[i])
            continue;
        strbuf_add_text(out, n++ > 0 ? " and " : "");
        shortage_format_amount(s->f->shortage, i, out);
    }
    if (n > 1)
        strbuf_add_text(out, " together");
    return n > 1;
}

/* Amounts come first, because people can change them. */
static bool
describe_too_large(const struct cause_search *s, struct strbuf *out, struct wait_cause *ret)
{
    CLEANUP_STRBUF struct strbuf what = STRBUF_INIT;
    const struct found *devices = find_most(s, MEANS_TOO_LARGE);
    struct sizes sizes;

    if (devices == NULL && find_most(s, MEANS_ROOM) == NULL && find_most(s, MEANS_CLOSED) == NULL)
        return false;
    scan_sizes(s, &sizes);
    if (sizes.wanted == 0)
        return false;
    if (!sizes.is_complete || !add_excess(s, &sizes, &what)) {
        if (devices != NULL)
            shortage_format_short(s->f->shortage, devices->code, devices->text, devices->length,
                                  &what);
        else
            shortage_format_needs(s->f->shortage, &what);
    }
    ret->reason = format_wait(s,
                              (struct job_wait){
                                  .kind = WAIT_TOO_LARGE,
                                  .what = what.text,
                              },
                              out);
    return true;
}

static bool
describe_words(const struct cause_search *s, enum meaning meaning, struct strbuf *out,
               struct wait_cause *ret)
{
    const struct found *most = find_most(s, meaning);
    CLEANUP_STRBUF struct strbuf what = STRBUF_INIT;
    size_t skip = 0;

    if (most == NULL)
        return false;
    if (strncmp(most->text, "node(s) ", 8) == 0)
        skip = 8;
    if (most->known.words != NULL)
        strbuf_add_text(&what, most->known.words);
    else
        strbuf_add(&what, most->text + skip, most->length - skip);
    ret->reason = format_wait(s,
                              (struct job_wait){
                                  .kind = WAIT_WORDS,
                                  .what = what.text,
                                  .reason = most->known.reason,
                              },
                              out);
    return true;
}

/* The Reservation that gets a node before the pod would end, and its window. */
struct withholder {
    const struct object *reservation; /* NULL: it was deleted meanwhile */
    struct reserved_window window;
    bool is_alone; /* it withholds all such nodes */
};

static struct withholder
find_withholder(const struct cause_search *s, const struct found *most)
{
    const struct snapshot *all = s->f->diagnosis->snapshot;
    int64_t now_us = s->f->now_us;
    int64_t end_us = timeline_end_us(s->pod, now_us);
    struct withholder w = {.is_alone = true};

    w.reservation = node_reservations_withholder(most->first, now_us, end_us, &w.window);
    for (uint32_t i = 0; i < all->n_nodes && i < s->f->scan_most; i++) {
        struct reserved_window ignored;

        if (meaning_of(s, all->nodes[i]) == MEANS_WITHHELD)
            w.is_alone &= node_reservations_withholder(all->nodes[i], now_us, end_us, &ignored)
                          == w.reservation;
    }
    return w;
}

/* Example: "would still run when reservation night begins at
 * 2026-11-24T18:00:00Z, on every node with room".
 */
static bool
describe_withheld(const struct cause_search *s, struct strbuf *out, struct wait_cause *ret)
{
    const struct found *most = find_most(s, MEANS_WITHHELD);
    CLEANUP_STRBUF struct strbuf what = STRBUF_INIT;
    struct withholder w;
    bool has_begun;
    char time[TIME_TEXT_SIZE];

    if (most == NULL)
        return false;
    w = find_withholder(s, most);
    if (w.reservation == NULL)
        return describe_words(s, MEANS_WITHHELD, out, ret);
    has_begun = w.window.from_us <= s->f->now_us;
    time_format(has_begun ? w.window.until_us : w.window.from_us, false, time);
    if (!has_begun)
        strbuf_printf(&what, "would still run when reservation %.40s begins at %s%s",
                      w.reservation->meta->name, time,
                      w.is_alone ? ", on every node with room" : ", or another");
    else
        strbuf_printf(&what, "reservation %.40s%s keeps every node with room%s%s",
                      w.reservation->meta->name, w.is_alone ? "" : ", or another,",
                      w.window.until_us < INT64_MAX ? " until " : "",
                      w.window.until_us < INT64_MAX ? time : "");
    ret->reason = format_wait(s,
                              (struct job_wait){
                                  .kind = WAIT_WORDS,
                                  .what = what.text,
                                  .reason = most->known.reason,
                              },
                              out);
    return true;
}

/* The pod's partition is a label of nodes, not a Partition object. */
static bool
is_by_label(const struct pod_spec *spec)
{
    const struct placement *p = spec->placement;

    return p == NULL || p->partition == NULL || p->partition[0] == '\0';
}

/* For causes that need no check of the nodes. False: there is none of these. */
static bool
describe_at_once(const struct cause_search *s, struct strbuf *out, struct wait_cause *ret)
{
    const struct wait_cause_facts *f = s->f;
    const struct diagnosis *d = f->diagnosis;
    const char *node = job_wait_node(s->spec);
    const char *partition = job_wait_partition(s->spec);
    const struct node_view *named = node != NULL ? cache_find_node(f->cache, node) : NULL;
    CLEANUP_STRBUF struct strbuf what = STRBUF_INIT;
    struct job_wait wait = {.kind = WAIT_UNWANTED};

    if (f->error != NULL) {
        wait.kind = WAIT_WORDS;
        wait.what = f->error;
        wait.reason = JOB_REASON_SYSTEM_FAILURE;
    } else if (node != NULL && (named == NULL || named->object == NULL)) {
        strbuf_printf(&what, "no node %.100s", node);
        wait.what = what.text;
    } else if (partition != NULL && is_by_label(s->spec)
               && !cache_has_partition(f->cache, partition)) {
        strbuf_printf(&what, "no partition %.100s", partition);
        wait.what = what.text;
    } else if (d->snapshot->n_nodes == 0) {
        wait.kind = WAIT_NO_NODES;
    } else {
        return false;
    }
    ret->reason = format_wait(s, wait, out);
    return true;
}

/* For a plugin that rejected the pod in PreFilter, without its nodes. */
static bool
describe_prefilter(struct cause_search *s, struct strbuf *out, struct wait_cause *ret)
{
    const struct diagnosis *d = s->f->diagnosis;
    struct reason_nodes r = {.reason = d->prefilter_reason, .nodes = 1};
    struct found found;

    if (d->prefilter_reason == STRING_ID_NONE)
        return false;
    found = understand(s, &r);
    if (found.known.words == NULL && d->prefilter_words != NULL) {
        found.text = d->prefilter_words;
        found.length = strcspn(found.text, "\n");
    }
    found.known.meaning = MEANS_WORDS;
    s->items[0] = found;
    s->count = 1;
    return describe_words(s, MEANS_WORDS, out, ret);
}

/* A missing or closed partition or reservation matters more than what the pod
 * asks of the nodes.
 */
static bool
is_of_partition(const struct cause_search *s)
{
    const char *text = string_ids_text(s->f->reasons, s->f->diagnosis->prefilter_reason);
    bool ignored;
    const char *code = refusals_code(text, strcspn(text, "\n"), &ignored);

    return strncmp(code, "Partition", strlen("Partition")) == 0
           || strncmp(code, "Reservation", strlen("Reservation")) == 0;
}

/* The pod asks for one node, which is not of its partition. */
static bool
is_outside(const struct cause_search *s)
{
    const char *name = job_wait_node(s->spec);
    const struct node_view *node = name != NULL ? cache_find_node(s->f->cache, name) : NULL;
    const uint32_t reason =
        node != NULL ? diagnosis_answer(s->f->diagnosis, node).reason : STRING_ID_NONE;

    for (unsigned i = 0; i < s->count && reason != STRING_ID_NONE; i++)
        if (s->f->counts->items[i].reason == reason)
            return strcmp(s->items[i].code, "PartitionNodes") == 0;
    return false;
}

struct wait_cause
wait_cause_find(const struct wait_cause_facts *f, struct strbuf *words)
{
    CLEANUP_FREE struct found *items = xnew_array(struct found, f->counts->count + 1);
    struct cause_search s = {
        .f = f,
        .pod = f->shortage->cycle->pod,
        .spec = &f->shortage->cycle->pod->pod->spec,
        .items = items,
    };
    struct wait_cause cause = {.reason = JOB_REASON_OTHER};

    if (f->diagnosis->prefilter_reason != STRING_ID_NONE && is_of_partition(&s)
        && describe_prefilter(&s, words, &cause))
        return cause;
    if (describe_at_once(&s, words, &cause) || describe_prefilter(&s, words, &cause))
        return cause;
    s.count = f->counts->count;
    for (unsigned i = 0; i < s.count; i++)
        items[i] = understand(&s, &f->counts->items[i]);
    if (describe_words(&s, MEANS_RESERVED, words, &cause)) {
        cause.is_for_room = true;
        return cause;
    }
    if (describe_withheld(&s, words, &cause)) {
        cause.is_for_room = true;
        return cause;
    }
    if (describe_room(&s, words, &cause) || describe_words(&s, MEANS_OTHERS, words, &cause)
        || describe_closed(&s, words, &cause) || describe_words(&s, MEANS_WORDS, words, &cause)
        || describe_too_large(&s, words, &cause))
        return cause;
    cause.reason = format_wait(
        &s, (struct job_wait){.kind = WAIT_UNWANTED, .is_outside = is_outside(&s)}, words);
    return cause;
}

bool
wait_cause_is_for_room(const char *code)
{
    static const enum job_reason reasons[] = {
        JOB_REASON_RESOURCES,
        JOB_REASON_PRIORITY,
        JOB_REASON_RESERVED,
    };

    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
        if (strcmp(code, job_reason_name(reasons[i])) == 0)
            return true;
    return false;
}
