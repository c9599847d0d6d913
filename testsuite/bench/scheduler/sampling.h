/* SPDX-License-Identifier: Apache-2.0 */
/* sampling.h - how fast pods were placed: as a whole, in short spans of time,
 * and cycle by cycle
 *
 * Time is the processor's that the calling thread had: others on the machine
 * do not count.
 */
#pragma once

#include <stdint.h>

/* Of a run; the arrays are its own. */
struct sampling {
    int64_t *cycles; /* ns each */
    unsigned n_cycles, cycle_capacity;
    double *spans; /* pods per second in each */
    unsigned n_spans, span_capacity;
    int64_t span_ns; /* how long each is at the least */
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

/* Change. Cycle: one took so long. Look: so many are placed after so much time
 * of the run. Reset: what came before does not count.
 */
void sampling_cycle(struct sampling *s, int64_t took_ns);
void sampling_look(struct sampling *s, int64_t now_ns, uint64_t placed);
void sampling_reset(struct sampling *s, int64_t now_ns, uint64_t placed);

struct sampling_figures sampling_figures(struct sampling *s);
