/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/lifecycle/job/success_policy.h"

#include <stdbool.h>

#include "lib/api/job/job.h"
#include "lib/api/value/index_set.h"

static bool
has_enough(const struct success_rule *rule, const struct index_set *done)
{
    struct index_set wanted = {0};
    int64_t n;

    if (rule->succeeded_indexes == NULL)
        return rule->succeeded_count != NULL && index_set_count(done) >= *rule->succeeded_count;
    index_set_parse(&wanted, rule->succeeded_indexes);
    n = rule->succeeded_count != NULL ? *rule->succeeded_count : index_set_count(&wanted);
    n -= index_set_count_common(&wanted, done);
    index_set_fini(&wanted);
    return n <= 0;
}

int
success_policy_judge(const struct job *job, const struct index_set *done)
{
    const struct success_policy *policy = job->spec.success_policy;

    for (unsigned i = 0; policy != NULL && i < policy->rules.count; i++)
        if (has_enough(&policy->rules.items[i], done))
            return (int)i;
    return -1;
}
