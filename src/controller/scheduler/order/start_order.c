/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/order/start_order.h"

#include <stdlib.h>

#include "controller/scheduler/order/release_list.h"
#include "controller/scheduler/order/run_history.h"
#include "controller/scheduler/order/shadow_schedule.h"
#include "lib/base/alloc.h"
#include "lib/base/list.h"

struct order_job {
    struct order_facts facts;
    struct shadow_job *shadow;
    struct list link;
    bool has_begun;
    bool is_guarded;
    int64_t begin_s;
};

struct start_order {
    struct run_history *history;
    bool is_borrowed; /* the history, which is frozen then */
    struct shadow_schedule *shadow;
    struct release_list releases; /* of the jobs that really run */
    struct list jobs;
    int64_t machine_mcpu;
    int64_t used_mcpu;
};

struct order_memory {
    struct run_history *history; /* frozen */
    struct shadow_past shadow;
};

struct start_order *
start_order_new(void)
{
    struct start_order *o = xnew(struct start_order);

    o->history = run_history_new();
    o->shadow = shadow_schedule_new();
    list_init(&o->jobs);
    return o;
}

struct start_order *
start_order_new_after(const struct order_memory *memory)
{
    struct start_order *o = xnew(struct start_order);

    o->history = memory->history;
    o->is_borrowed = true;
    o->shadow = shadow_schedule_new();
    shadow_schedule_continue(o->shadow, &memory->shadow);
    list_init(&o->jobs);
    return o;
}

void
start_order_free(struct start_order *o)
{
    if (o == NULL)
        return;
    list_foreach_safe(link, &o->jobs) free(container_of(link, struct order_job, link));
    shadow_schedule_free(o->shadow);
    if (!o->is_borrowed)
        run_history_free(o->history);
    release_list_fini(&o->releases);
    free(o);
}

void
start_order_set_machine(struct start_order *o, int64_t mcpu)
{
    o->machine_mcpu = mcpu;
    shadow_schedule_set_machine(o->shadow, mcpu);
}

static struct run_kind
kind_of(const struct order_facts *facts)
{
    return (struct run_kind){
        .user = facts->user,
        .limit_s = facts->limit_s,
        .width = (unsigned)((facts->mcpu + 999) / 1000),
    };
}

static struct run_prediction
predict(const struct start_order *o, const struct order_facts *facts)
{
    struct run_kind kind = kind_of(facts);

    return run_history_predict(o->history, &kind);
}

static struct order_job *
add(struct start_order *o, const struct order_facts *facts)
{
    struct order_job *job = xnew(struct order_job);

    job->facts = *facts;
    if (facts->limit_s <= 0)
        job->facts.limit_s = START_ORDER_NO_LIMIT_S;
    list_add_last(&o->jobs, &job->link);
    return job;
}

static struct shadow_facts
shadow_facts(const struct start_order *o, const struct order_job *job)
{
    return (struct shadow_facts){
        .mcpu = job->facts.mcpu,
        .limit_s = job->facts.limit_s,
        .predicted_s = predict(o, &job->facts).run_s,
        .submit_s = job->facts.submit_s,
    };
}

struct order_job *
start_order_submit(struct start_order *o, const struct order_facts *facts)
{
    struct order_job *job = add(o, facts);
    struct shadow_facts shadow = shadow_facts(o, job);

    job->shadow = shadow_schedule_submit(o->shadow, &shadow);
    return job;
}

static void
occupy(struct start_order *o, struct order_job *job, int64_t begin_s)
{
    job->has_begun = true;
    job->begin_s = begin_s;
    o->used_mcpu += job->facts.mcpu;
    release_list_add(&o->releases, begin_s + job->facts.limit_s, job->facts.mcpu);
}

struct order_job *
start_order_adopt(struct start_order *o, const struct order_facts *facts, int64_t begin_s)
{
    struct order_job *job = add(o, facts);
    struct shadow_facts shadow = shadow_facts(o, job);

    job->shadow = shadow_schedule_adopt(o->shadow, &shadow, begin_s);
    shadow_schedule_note_wait(o->shadow, begin_s - facts->submit_s);
    occupy(o, job, begin_s);
    return job;
}

void
start_order_begin(struct start_order *o, struct order_job *job, int64_t now_s)
{
    shadow_schedule_begin(job->shadow, now_s);
    occupy(o, job, now_s);
}

void
start_order_learn(struct start_order *o, const struct order_facts *facts, int64_t begin_s,
                  int64_t run_s)
{
    struct run_kind kind = kind_of(facts);

    if (kind.limit_s <= 0)
        kind.limit_s = START_ORDER_NO_LIMIT_S;
    run_history_add(o->history, &kind, run_s);
    shadow_schedule_note_wait(o->shadow, begin_s - facts->submit_s);
}

void
start_order_end(struct start_order *o, struct order_job *job TAKES, int64_t still_s, int64_t now_s)
{
    int64_t lasted_s = now_s - job->begin_s;
    int64_t run_s = still_s < lasted_s ? lasted_s - still_s : 0;
    struct run_kind kind;

    shadow_schedule_advance(o->shadow, now_s - 1);
    if (job->has_begun) {
        o->used_mcpu -= job->facts.mcpu;
        release_list_remove(&o->releases, job->begin_s + job->facts.limit_s, job->facts.mcpu);
        kind = kind_of(&job->facts);
        run_history_add(o->history, &kind, run_s);
        shadow_schedule_end(o->shadow, job->shadow, run_s, now_s);
    } else {
        shadow_schedule_withdraw(o->shadow, job->shadow, now_s);
    }
    list_remove(&job->link);
    free(job);
}

/* The time until that many CPUs are free, if all running jobs use up their
 * limits.
 */
static int64_t
find_free_in(struct start_order *o, int64_t mcpu, int64_t now_s)
{
    int64_t lacking = mcpu - (o->machine_mcpu - o->used_mcpu);
    int64_t at_s = release_list_find(&o->releases, lacking, NULL);

    return at_s <= now_s || at_s == RELEASE_NEVER ? 0 : at_s - now_s;
}

/* The job's share of the machine. */
static double
width_of(const struct start_order *o, const struct order_job *job)
{
    return job->facts.mcpu < o->machine_mcpu ? (double)job->facts.mcpu / (double)o->machine_mcpu
                                             : 1;
}

static bool
must_guard(struct start_order *o, const struct order_job *job, int64_t now_s)
{
    int64_t wait_s = now_s - job->facts.submit_s + find_free_in(o, job->facts.mcpu, now_s);
    double most_s;

    shadow_schedule_settle(o->shadow, now_s);
    most_s = (START_ORDER_SHARE - START_ORDER_WIDE * width_of(o, job))
             * (double)shadow_schedule_longest_s(o->shadow);
    return (double)wait_s > (most_s > START_ORDER_MIN_S ? most_s : START_ORDER_MIN_S);
}

struct order_rank
start_order_rank(struct start_order *o, struct order_job *job, int64_t now_s)
{
    struct run_prediction p = predict(o, &job->facts);

    if (!job->is_guarded && !job->has_begun)
        job->is_guarded = must_guard(o, job, now_s);
    return (struct order_rank){
        .is_guarded = job->is_guarded,
        .key = run_prediction_key(&p),
    };
}

double
start_order_predict_s(const struct start_order *o, const struct order_job *job,
                      bool *ret_is_guarded)
{
    *ret_is_guarded = job->is_guarded;
    return predict(o, &job->facts).run_s;
}

/* ---- The memory ---- */

struct order_memory *
order_memory_new(const struct start_order *o)
{
    struct order_memory *m = xnew(struct order_memory);

    m->history = run_history_new_frozen();
    m->shadow = shadow_schedule_past(o->shadow);
    return m;
}

void
order_memory_free(struct order_memory *m)
{
    if (m == NULL)
        return;
    run_history_free(m->history);
    free(m);
}

double
order_memory_add(struct order_memory *m, struct start_order *o, const struct order_facts *facts)
{
    struct run_kind kind = kind_of(facts);

    if (kind.limit_s <= 0)
        kind.limit_s = START_ORDER_NO_LIMIT_S;
    run_history_freeze(m->history, o->history, &kind);
    return run_history_predict(m->history, &kind).run_s;
}

const struct order_facts *
start_order_facts(const struct order_job *job)
{
    return &job->facts;
}
