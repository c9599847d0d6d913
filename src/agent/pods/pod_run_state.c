/* SPDX-License-Identifier: Apache-2.0 */
/* pod_run_state.c - the three states of a run, and which moves they have
 *
 * They are tables, not conditions where a state is set, so that all that can happen to a
 * run can be read in one place, and an event that nobody thought of (a doubled callback,
 * a late answer) shows where it arrives and not by its consequences. A move that is in
 * no table is a fault of the agent. It is made all the same: the caller's other work has
 * been done for it, and a running job is worth more than a tidy agent.
 */
#include "agent/pods/pod_run_state.h"

#include "agent/pods/shared_pool.h"
#include "lib/api/object/meta.h"
#include "lib/api/object/object.h"
#include "lib/base/log.h"

#define TO(state) (1u << (state))

/* Of what is not launched, something or nothing may be here. */
#define TO_ITS_END (TO(POD_RUN_ENDED) | TO(POD_RUN_DONE))

struct run_moves {
    const char *what;
    const char *const *names;
    const unsigned *moves; /* by state: the states that may follow */
};

static const struct run_moves phases = {
    .what = "phase",
    .names = (const char *const[]){[POD_RUN_ARRIVED] = "ARRIVED",
                                   [POD_RUN_WAITING] = "WAITING",
                                   [POD_RUN_HELD] = "HELD",
                                   [POD_RUN_PREPARING] = "PREPARING",
                                   [POD_RUN_LAUNCHED] = "LAUNCHED",
                                   [POD_RUN_RUNNING] = "RUNNING",
                                   [POD_RUN_ENDED] = "ENDED",
                                   [POD_RUN_DONE] = "DONE"},
    .moves =
        (const unsigned[]){
            [POD_RUN_ARRIVED] = TO(POD_RUN_WAITING) | TO(POD_RUN_HELD) | TO(POD_RUN_PREPARING)
                                | TO(POD_RUN_LAUNCHED) | TO_ITS_END,
            [POD_RUN_WAITING] =
                TO(POD_RUN_HELD) | TO(POD_RUN_PREPARING) | TO(POD_RUN_LAUNCHED) | TO_ITS_END,
            [POD_RUN_HELD] = TO(POD_RUN_PREPARING) | TO_ITS_END,
            [POD_RUN_PREPARING] = TO(POD_RUN_LAUNCHED) | TO_ITS_END,
            [POD_RUN_LAUNCHED] = TO(POD_RUN_RUNNING) | TO(POD_RUN_ENDED),
            [POD_RUN_RUNNING] = TO(POD_RUN_ENDED),
            [POD_RUN_ENDED] = TO(POD_RUN_DONE),
            [POD_RUN_DONE] = 0,
        },
};

static const struct run_moves api_states = {
    .what = "state in the API",
    .names = (const char *const[]){[POD_RUN_KNOWN] = "KNOWN",
                                   [POD_RUN_ORPHAN] = "ORPHAN",
                                   [POD_RUN_GIVEN_UP] = "GIVEN_UP",
                                   [POD_RUN_FORGOTTEN] = "FORGOTTEN"},
    .moves =
        (const unsigned[]){
            [POD_RUN_KNOWN] = TO(POD_RUN_ORPHAN) | TO(POD_RUN_GIVEN_UP) | TO(POD_RUN_FORGOTTEN),
            [POD_RUN_ORPHAN] = TO(POD_RUN_KNOWN) | TO(POD_RUN_GIVEN_UP) | TO(POD_RUN_FORGOTTEN),
            [POD_RUN_GIVEN_UP] = TO(POD_RUN_FORGOTTEN),
            [POD_RUN_FORGOTTEN] = 0,
        },
};

static const struct run_moves kill_states = {
    .what = "kill",
    .names = (const char *const[]){[POD_RUN_NOT_KILLED] = "NOT_KILLED",
                                   [POD_RUN_KILLED] = "KILLED",
                                   [POD_RUN_UNKILLABLE] = "UNKILLABLE"},
    .moves = (const unsigned[]){[POD_RUN_NOT_KILLED] = TO(POD_RUN_KILLED),
                                [POD_RUN_KILLED] = TO(POD_RUN_UNKILLABLE),
                                [POD_RUN_UNKILLABLE] = 0},
};

static void
check_move(const struct run_moves *m, const struct pod_run *s, unsigned from, unsigned to)
{
    if ((m->moves[from] & TO(to)) == 0)
        log_fault("pod '%s/%s': its %s changes from %s to %s", s->pod->meta->namespace,
                  s->pod->meta->name, m->what, m->names[from], m->names[to]);
}

void
pod_run_set_phase(struct pod_run *s, enum pod_run_phase to)
{
    check_move(&phases, s, s->phase, to);
    if (s->phase == POD_RUN_LAUNCHED)
        --*s->s.n_launched;
    s->phase = to;
    if (s->phase == POD_RUN_LAUNCHED)
        ++*s->s.n_launched;
    if (s->s.shared_pool != NULL
        && (to == POD_RUN_PREPARING || to == POD_RUN_LAUNCHED || to == POD_RUN_DONE))
        shared_pool_update(s->s.shared_pool);
    if (to == POD_RUN_DONE && s->s.holding_changed != NULL)
        s->s.holding_changed(s, s->s.context);
}

void
pod_run_set_api_state(struct pod_run *s, enum pod_run_api_state to)
{
    if (s->api_state == to)
        return;
    check_move(&api_states, s, s->api_state, to);
    s->api_state = to;
}

void
pod_run_set_kill_state(struct pod_run *s, enum pod_run_kill_state to)
{
    check_move(&kill_states, s, s->kill_state, to);
    s->kill_state = to;
}
