/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.h - how fast pods were placed: in the whole run, in short spans of
 * time, and per cycle
 *
 * Times are CPU time of the calling thread, so that other processes do not
 * count.
 */
#pragma once

#include <stdint.h>

/* One run's samples; the struct owns the arrays. */
struct sampling {
    int64_t *cycles; /* ns per cycle */
    unsigned n_cycles, cycle_capacity;
    double *spans; /* pods per second in each */
    unsigned n_spans, span_capacity;
    int64_t span_ns; /* minimum length of a span */
    int64_t began_ns;
    uint64_t began_placed;
};

struct sampling_figures {
    double p50_rate, p99_rate; /* 99 of 100 spans were faster */
    double p50_us, p99_us;     /* of a cycle */
};

int64_t thread_cpu_ns(void);
long resident_mib(void);

void sampling_fini(struct sampling *s);

/* Change. sampling_cycle adds the duration of a cycle. sampling_look adds the
 * number of pods that are placed at that time of the run. sampling_reset
 * discards earlier samples.
 */
void sampling_cycle(struct sampling *s, int64_t took_ns);
void sampling_look(struct sampling *s, int64_t now_ns, uint64_t placed);
void sampling_reset(struct sampling *s, int64_t now_ns, uint64_t placed);

struct sampling_figures sampling_figures(struct sampling *s);
