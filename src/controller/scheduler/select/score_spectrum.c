/* SPDX-License-Identifier: Apache-2.0 */
#include "controller/scheduler/select/score_spectrum.h"

bool
score_spectrum_add(struct spectrum *s, int64_t value)
{
    unsigned empty = s->count;

    for (unsigned i = 0; i < s->count; i++) {
        if (s->values[i] == value) {
            s->counts[i]++;
            return true;
        }
        if (s->counts[i] == 0)
            empty = i;
    }
    if (empty == SPECTRUM_MAX)
        return false;
    s->values[empty] = value;
    s->counts[empty] = 1;
    if (empty == s->count)
        s->count++;
    return true;
}

void
score_spectrum_remove(struct spectrum *s, int64_t value)
{
    for (unsigned i = 0; i < s->count; i++)
        if (s->values[i] == value)
            s->counts[i]--;
}

bool
score_spectrum_is_single(const struct spectrum *s, int64_t *ret_value)
{
    unsigned n = 0;

    for (unsigned i = 0; i < s->count; i++)
        if (s->counts[i] > 0) {
            *ret_value = s->values[i];
            n++;
        }
    return n == 1;
}

int64_t
score_spectrum_most(const struct spectrum *s)
{
    int64_t most = 0;

    for (unsigned i = 0; i < s->count; i++)
        if (s->counts[i] > 0 && s->values[i] > most)
            most = s->values[i];
    return most;
}
