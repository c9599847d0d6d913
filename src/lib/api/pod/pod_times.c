/* SPDX-License-Identifier: Apache-2.0 */
/* pod_times.c - the limit counts from the start of the process, and suspended
 * time does not count
 *
 * A limit that a user may write is any number, so each sum may overflow.
 */
#include "lib/api/pod/pod_times.h"

#include "lib/api/pod/pod.h"

int64_t
pod_limit_us(const struct pod *pod)
{
    const int64_t *limit_s = pod->spec.active_deadline_seconds;
    int64_t limit_us;

    return limit_s != NULL && !__builtin_mul_overflow(*limit_s, INT64_C(1000000), &limit_us)
               ? limit_us
               : INT64_MAX;
}

int64_t
pod_began_us(const struct pod *pod, int64_t now_us)
{
    struct container_state state = {0};

    if (pod_main_state(pod, &state) && state.started_at_us > 0)
        return state.started_at_us;
    return pod->status.start_at_us > 0 ? pod->status.start_at_us : now_us;
}

int64_t
pod_limit_end_us(const struct pod *pod, int64_t began_us, int64_t frozen_us)
{
    int64_t end_us = pod_limit_us(pod);

    if (end_us == INT64_MAX || __builtin_add_overflow(end_us, frozen_us, &end_us)
        || __builtin_add_overflow(end_us, began_us, &end_us))
        return INT64_MAX;
    return end_us;
}

int64_t
pod_expected_end_us(const struct pod *pod, int64_t now_us)
{
    return pod_limit_end_us(pod, pod_began_us(pod, now_us), pod->status.frozen_us);
}
