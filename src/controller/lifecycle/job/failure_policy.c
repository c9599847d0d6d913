/* SPDX-License-Identifier: Apache-2.0 */
/* The first rule that matches decides, as upstream's. A process that a signal has killed
 * counts with the shell's 128 + N, which is what users write in their rules.
 */
#include "controller/lifecycle/job/failure_policy.h"

#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "lib/api/job/job.h"
#include "lib/api/pod/pod.h"
#include "lib/base/arena.h"
#include "lib/json/json.h"

/* 0: the process has not ended, or ended with success. */
static int64_t
exit_code_of(const struct pod *pod)
{
    struct container_state state;

    if (!pod_main_state(pod, &state) || !state.terminated)
        return 0;
    return state.signal > 0 && state.exit_code == 0 ? 128 + state.signal : state.exit_code;
}

static const char *
container_of_pod(const struct pod *pod)
{
    const char *name = json_get_text(json_at(pod->status.container_statuses, 0), "name");

    return name != NULL ? name : "";
}

static bool
has_value(const struct exit_code_match *match, int64_t code)
{
    for (unsigned i = 0; i < match->values.count; i++)
        if (match->values.items[i] == code)
            return true;
    return false;
}

static bool
matches_code(const struct exit_code_match *match, int64_t code)
{
    bool is_in = match->operator_ != NULL && strcmp(match->operator_, "In") == 0;

    return code != 0 && has_value(match, code) == is_in;
}

static bool
matches_exit_code(const struct exit_code_match *match, const struct pod *pod)
{
    return (match->container_name == NULL || match->container_name[0] == '\0'
            || strcmp(match->container_name, container_of_pod(pod)) == 0)
           && matches_code(match, exit_code_of(pod));
}

/* The condition that a rule names and the pod has, or NULL. */
static const struct condition_match *
find_condition(const struct failure_rule *rule, const struct pod *pod)
{
    for (unsigned i = 0; i < rule->on_conditions.count; i++) {
        const struct condition_match *match = &rule->on_conditions.items[i];
        const struct pod_condition *c = pod_find_condition(pod, match->type);

        if (c != NULL && strcmp(c->status, match->status) == 0)
            return match;
    }
    return NULL;
}

static enum failure_action
action_of(const struct failure_rule *rule)
{
    static const struct {
        const char *name;
        enum failure_action action;
    } actions[] = {
        {"Ignore", FAILURE_IS_IGNORED},
        {"FailIndex", FAILURE_ENDS_INDEX},
        {"FailJob", FAILURE_ENDS_JOB},
    };

    for (size_t i = 0; i < ARRAY_SIZE(actions); i++)
        if (strcmp(rule->action, actions[i].name) == 0)
            return actions[i].action;
    return FAILURE_COUNTS;
}

static bool
matches(const struct failure_rule *rule, const struct pod *pod)
{
    return rule->on_exit_codes != NULL ? matches_exit_code(rule->on_exit_codes, pod)
                                       : find_condition(rule, pod) != NULL;
}

struct failure_ruling
failure_policy_judge(const struct job *job, const struct pod *pod)
{
    const struct failure_policy *policy = job->spec.pod_failure_policy;

    for (unsigned i = 0; policy != NULL && i < policy->rules.count; i++)
        if (matches(&policy->rules.items[i], pod))
            return (struct failure_ruling){action_of(&policy->rules.items[i]), (int)i};
    return (struct failure_ruling){FAILURE_COUNTS, -1};
}

bool
failure_policy_ignores_code(const struct job *job, int64_t code)
{
    const struct failure_policy *policy = job->spec.pod_failure_policy;

    for (unsigned i = 0; policy != NULL && i < policy->rules.count; i++)
        if (policy->rules.items[i].on_exit_codes != NULL
            && matches_code(policy->rules.items[i].on_exit_codes, code))
            return action_of(&policy->rules.items[i]) == FAILURE_IS_IGNORED;
    return false;
}

const char *
failure_policy_explain(const struct job *job, const struct pod *pod, int rule, struct arena *arena)
{
    const struct failure_rule *r = &job->spec.pod_failure_policy->rules.items[rule];

    if (r->on_exit_codes != NULL)
        return arena_printf(arena,
                            "Container %s for pod %s/%s failed with exit code "
                            "%" PRId64 " matching %s rule at index %d",
                            container_of_pod(pod), pod->meta.namespace, pod->meta.name,
                            exit_code_of(pod), r->action, rule);
    return arena_printf(arena,
                        "Pod %s/%s has condition %s matching %s rule at index "
                        "%d",
                        pod->meta.namespace, pod->meta.name, find_condition(r, pod)->type,
                        r->action, rule);
}
