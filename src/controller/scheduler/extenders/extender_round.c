/* SPDX-License-Identifier: Apache-2.0 */
/* An extender is another program and may take seconds, so a pod that needs one is put aside
 * and its cycle runs again with the answers. By then the nodes may differ: a node about which
 * the extender was not asked sends the pod into another round, a limited number of times
 * (scheduler.c).
 *
 * The answers of extenders are not trusted: an answer with a node that it was not asked about,
 * or with a victim that is not there, counts as a failure; its reasons are cut and their
 * number is bounded, and failures are logged once a second.
 */
#include "controller/scheduler/extenders/extender_round.h"

#include <errno.h>
#include <string.h>

#include "controller/scheduler/extenders/extender.h"
#include "controller/scheduler/extenders/extender_results.h"
#include "controller/scheduler/extenders/extender_transport.h"
#include "controller/scheduler/extenders/extender_wire.h"
#include "controller/scheduler/framework/assignment.h"
#include "controller/scheduler/framework/node_view.h"
#include "controller/scheduler/framework/pod_view.h"
#include "controller/scheduler/framework/queued_pod.h"
#include "controller/scheduler/framework/string_ids.h"
#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

/* Reasons that extenders give are interned and never freed, so their number and
 * length are limited.
 */
#define MAX_REASONS   10000
#define REASON_LENGTH 200

#define TELL_EVERY_US INT64_C(1000000)

/* An extender's score is from 0 to 10, a plugin's from 0 to 100 (extender/v1,
 * MaxExtenderPriority).
 */
#define SCORE_SCALE 10

static void
question_free(struct extender_question *q)
{
    if (q->call != NULL)
        extender_transport_cancel(q->of->owner->settings.extender_transport, q->call);
    list_remove(&q->link);
    free(q);
}

static void
drop_questions(struct extender_round *c)
{
    list_foreach_safe(link, &c->questions)
        question_free(container_of(link, struct extender_question, link));
}

void
extender_round_free(struct extender_round *c)
{
    drop_questions(c);
    list_remove(&c->link);
    proposals_fini(&c->proposals);
    free(c->asked);
    free(c);
}

/* Steps */

static void
conclude(struct extender_round *c, const char *failure)
{
    struct extender_rounds *rounds = c->owner;

    if (failure != NULL && c->a->error == NULL)
        c->a->error = xstrdup(failure);
    drop_questions(c);
    list_remove(&c->link);
    list_add_last(&rounds->answered, &c->link);
    rounds->n_under_way--;
    rounds->settings.ready(rounds->settings.context);
}

static void
ask(struct extender_round *c, const struct extender *to, const char *verb,
    struct strbuf *body TAKES, extender_transport_done_fn *done)
{
    struct extender_question *q = xnew(struct extender_question);

    q->of = c;
    q->to = to;
    list_init(&q->link);
    list_add_last(&c->questions, &q->link);
    q->call =
        extender_transport_post(c->owner->settings.extender_transport, to, verb, body, done, q);
}

/* Frees an answered question; returns its round and extender. */
static struct extender_round *
close_question(struct extender_question *q, const struct extender **ret_extender)
{
    struct extender_round *c = q->of;

    *ret_extender = q->to;
    q->call = NULL;
    question_free(q);
    return c;
}

/* Logs at most one line a second, because an extender that is down fails every
 * pod.
 */
static void
log_failure(const struct extender_round *c, const char *failure, const char *then)
{
    struct extender_rounds *rounds = c->owner;
    int64_t now_us = clock_monotonic_us(rounds->settings.clock);

    if (rounds->told_us > 0 && now_us - rounds->told_us < TELL_EVERY_US)
        return;
    rounds->told_us = now_us;
    log_info("pod '%s': %s, %s", c->a->queued->key, failure, then);
}

/* Whether the pod goes on without that extender. */
static bool
is_ignored(const struct extender_round *c, const struct extender *e, const char *failure)
{
    if (e->is_ignorable)
        log_failure(c, failure, "continuing without it");
    return e->is_ignorable;
}

static const char *
name_failure(const struct extender *e, const char *verb, const struct error *err,
             struct strbuf *out)
{
    strbuf_printf(out, "extender \"%s\", %s: %s", e->url, verb, err->text);
    return out->text;
}

static void
encode_nodes(const struct extender_round *c, const struct extender *e, struct strbuf *out)
{
    const struct extender_rounds_settings *s = &c->owner->settings;
    CLEANUP_FREE const struct object **nodes = xnew_array(const struct object *, c->n_asked + 1);
    unsigned count = 0;

    for (unsigned i = 0; i < c->n_asked; i++) {
        const struct node_view *node = s->find_node(c->asked[i]->node_name, s->context);

        if (node != NULL && node->object != NULL)
            nodes[count++] = node->object;
    }
    extender_args_encode(c->a->cycle.pod, nodes, count, e->is_node_cache_capable, out);
}

/* Prioritize: an extender that fails adds no scores, as upstream. */

static void
add_priorities(const struct extender_round *c, const struct extender *e,
               const struct extender_priority *items, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct extender_result *result =
            extender_results_find(c->a->extender_results, items[i].host);
        int64_t score;

        if (result == NULL
            || __builtin_mul_overflow(items[i].score, e->weight * SCORE_SCALE, &score)
            || __builtin_add_overflow(result->score, score, &score))
            continue;
        result->score = score;
    }
}

static void
prioritized(const char *text, size_t length, const char *failure, void *context)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    struct extender_priority *items;
    struct error err = {0};
    const struct extender *e;
    struct extender_round *c = close_question(context, &e);
    unsigned count;

    if (failure == NULL
        && extender_priorities_decode(text, length, arena, &items, &count, &err) < 0)
        failure = name_failure(e, e->prioritize_verb, &err, &words);
    if (failure != NULL)
        log_failure(c, failure, "continuing without its scores");
    else
        add_priorities(c, e, items, count);
    if (list_is_empty(&c->questions))
        conclude(c, NULL);
    extender_rounds_begin_next(c->owner);
}

static void
prioritize(struct extender_round *c)
{
    const struct extenders *all = c->owner->settings.extenders;

    c->stage = STAGE_PRIORITIZE;
    for (unsigned i = 0; i < all->count && c->n_asked > 1; i++) {
        const struct extender *e = &all->items[i];
        struct strbuf body = STRBUF_INIT;

        if (e->prioritize_verb == NULL || !extender_is_concerned(e, c->a->cycle.pod))
            continue;
        encode_nodes(c, e, &body);
        ask(c, e, e->prioritize_verb, &body, prioritized);
    }
    if (list_is_empty(&c->questions))
        conclude(c, NULL);
}

/* Filter */

static uint32_t
reason_of(const struct extender_round *c, const char *words)
{
    struct string_ids *reasons = c->owner->settings.reasons;
    CLEANUP_FREE char *text = xasprintf("%.*s", REASON_LENGTH, words);

    if (string_ids_count(reasons) > MAX_REASONS)
        return string_ids_add(reasons, "refused by an extender");
    return string_ids_add(reasons, text);
}

static void
refuse(const struct extender_round *c, const struct json *nodes, enum verdict verdict)
{
    for (uint32_t i = 0; i < json_count(nodes); i++) {
        struct extender_result *result =
            extender_results_find(c->a->extender_results, nodes->members[i].name);
        const char *words = json_text(nodes->members[i].value);

        if (result == NULL || result->is_passed)
            continue;
        result->answer.verdict = (uint8_t)verdict;
        if (words != NULL && words[0] != '\0')
            result->answer.reason = reason_of(c, words);
    }
}

static int
pass(const struct extender_round *c, const struct extender_filtering *f, struct error *err)
{
    for (unsigned i = 0; i < c->n_asked; i++)
        c->asked[i]->is_passed = false;
    for (unsigned i = 0; i < f->count; i++) {
        struct extender_result *result = extender_results_find(c->a->extender_results, f->names[i]);

        if (result == NULL)
            return error_set(err, -EBADMSG,
                             "its answer contains node \"%s\", which it was "
                             "not asked about",
                             f->names[i]);
        result->is_passed = true;
    }
    return 0;
}

/* A node that the answer does not name at all counts as unresolvable, as
 * upstream.
 */
static void
follow(struct extender_round *c, const struct extender *e, const struct extender_filtering *f)
{
    CLEANUP_FREE char *words = xasprintf("node(s) were filtered out by extender \"%s\"", e->url);
    uint32_t reason = reason_of(c, words);
    unsigned kept = 0;

    for (unsigned i = 0; i < c->n_asked; i++)
        if (!c->asked[i]->is_passed)
            c->asked[i]->answer = (struct answer){
                .verdict = VERDICT_NEVER,
                .plugin = PLUGIN_EXTENDERS,
                .reason = reason,
            };
    refuse(c, f->failed, VERDICT_REJECT);
    refuse(c, f->unresolvable, VERDICT_NEVER);
    for (unsigned i = 0; i < c->n_asked; i++)
        if (c->asked[i]->is_passed)
            c->asked[kept++] = c->asked[i];
    c->n_asked = kept;
}

static void
filtered(const char *text, size_t length, const char *failure, void *context)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    struct extender_filtering f;
    struct error err = {0};
    const struct extender *e;
    struct extender_round *c = close_question(context, &e);

    if (failure == NULL
        && (extender_filtering_decode(text, length, e->is_node_cache_capable, arena, &f, &err) < 0
            || pass(c, &f, &err) < 0))
        failure = name_failure(e, e->filter_verb, &err, &words);
    if (failure != NULL && !is_ignored(c, e, failure)) {
        conclude(c, failure);
    } else {
        if (failure == NULL)
            follow(c, e, &f);
        c->turn++;
        extender_round_filter(c);
    }
    extender_rounds_begin_next(c->owner);
}

void
extender_round_filter(struct extender_round *c)
{
    const struct extenders *all = c->owner->settings.extenders;

    for (; c->turn < all->count && c->n_asked > 0; c->turn++) {
        const struct extender *e = &all->items[c->turn];
        struct strbuf body = STRBUF_INIT;

        if (e->filter_verb == NULL || !extender_is_concerned(e, c->a->cycle.pod))
            continue;
        encode_nodes(c, e, &body);
        ask(c, e, e->filter_verb, &body, filtered);
        return;
    }
    prioritize(c);
}

/* Preemption */

static struct pod_view *
find_victim(const struct node_view *node, const char *uid)
{
    for (uint32_t i = 0; i < node->pods.count; i++)
        if (node->pods.items[i]->uid != NULL && strcmp(node->pods.items[i]->uid, uid) == 0)
            return node->pods.items[i];
    return NULL;
}

/* Adds a proposal, unless its node was deleted meanwhile. */
static int
propose(const struct extender_round *c, const struct extender *e, const struct extender_victims *v,
        struct proposals *to, struct error *err)
{
    const struct extender_rounds_settings *s = &c->owner->settings;
    const struct node_view *node = s->find_node(v->node_name, s->context);
    CLEANUP_FREE struct pod_view **pods = xnew_array(struct pod_view *, v->count + 1);

    if (proposals_find(&c->proposals, v->node_name) == NULL)
        return error_set(err, -EBADMSG,
                         "its answer contains node \"%s\", which it was not "
                         "asked about",
                         v->node_name);
    if (v->count == 0 && !e->is_ignorable)
        return error_set(err, -EBADMSG, "expected at least one victim pod on node \"%s\"",
                         v->node_name);
    if (v->count == 0 || node == NULL)
        return 0;
    for (unsigned i = 0; i < v->count; i++) {
        pods[i] = find_victim(node, v->uids[i]);
        if (pods[i] == NULL)
            return error_set(err, -EBADMSG,
                             "it claims to preempt pod (UID: %s) on node: %s, "
                             "but the pod is not found on that node",
                             v->uids[i], v->node_name);
    }
    proposals_add(to, v->node_name, pods, v->count, v->violations);
    return 0;
}

static int
read_proposals(struct extender_round *c, const struct extender *e, const char *text, size_t length,
               struct error *err)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP(proposals_fini) struct proposals to = {0};
    struct extender_victims *items;
    unsigned count;
    int r = extender_victims_decode(text, length, arena, &items, &count, err);

    for (unsigned i = 0; r == 0 && i < count; i++)
        r = propose(c, e, &items[i], &to, err);
    if (r == 0)
        proposals_take(&c->proposals, &to);
    return r;
}

static void
preempted(const char *text, size_t length, const char *failure, void *context)
{
    CLEANUP_STRBUF struct strbuf words = STRBUF_INIT;
    struct error err = {0};
    const struct extender *e;
    struct extender_round *c = close_question(context, &e);

    if (failure == NULL && read_proposals(c, e, text, length, &err) < 0)
        failure = name_failure(e, e->preempt_verb, &err, &words);
    if (failure != NULL && !is_ignored(c, e, failure)) {
        conclude(c, failure);
    } else {
        c->turn++;
        extender_round_preempt(c);
    }
    extender_rounds_begin_next(c->owner);
}

void
extender_round_preempt(struct extender_round *c)
{
    const struct extenders *all = c->owner->settings.extenders;

    for (; c->turn < all->count && c->proposals.count > 0; c->turn++) {
        const struct extender *e = &all->items[c->turn];
        struct strbuf body = STRBUF_INIT;

        if (e->preempt_verb == NULL || !extender_is_concerned(e, c->a->cycle.pod))
            continue;
        extender_preemption_encode(c->a->cycle.pod, c->proposals.items, c->proposals.count,
                                   e->is_node_cache_capable, &body);
        ask(c, e, e->preempt_verb, &body, preempted);
        return;
    }
    extender_results_set_proposals(c->a->extender_results, &c->proposals);
    conclude(c, NULL);
}
