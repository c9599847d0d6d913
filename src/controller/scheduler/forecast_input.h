/* SPDX-License-Identifier: Apache-2.0 */
/* forecast_input.h - what a simulation of starts begins with, and what it finds
 *
 * First the scheduler's thread collects which pods wait, which nodes there are
 * and which pods run, and for how long all are expected to run, in small parts,
 * between which anything may change. Then the
 * simulation is run, which needs nothing more of the scheduler and may be done
 * on another thread.
 *
 * Owns:       references to the pods, nodes and other objects.
 * Called by:  start_forecast.c.
 * Thread:     the scheduler's; run: any, while no other thread uses it.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/macro.h"

struct cache;
struct forecast_input;
struct handle;
struct kept_profiles;
struct map;
struct pod_groups;
struct pod_ranks;
struct pod_view;
struct queue;
struct recorder;
struct scheduler_settings;
struct simulated_start;
struct snapshot;

/* A forecast is made from these parts, which are the scheduler's. */
struct forecast_parts {
    const struct scheduler_settings *settings;
    struct kept_profiles *profiles;
    bool is_timed; /* a profile plans with the time limits of pods */
    struct handle *handle;
    struct queue *queue;
    struct cache *cache;
    struct snapshot *snapshot;
    struct recorder *recorder;
    struct pod_ranks *pod_ranks; /* or NULL */
    struct pod_groups *pod_groups;
    struct map *objects; /* name of kind to a map by key */
};

/* How long pods run in a simulation. */
enum forecast_part {
    FORECAST_BY_PREDICTION,
    FORECAST_BY_LIMITS,
    FORECAST_PARTS,
};

/* Life. For the first `most` pods or groups that wait, and for a candidate that
 * would be submitted now (NULL: none).
 */
void forecast_input_free(struct forecast_input *in);
struct forecast_input *forecast_input_new(const struct forecast_parts *parts, size_t most,
                                          struct pod_view *candidate) OWNED_BY(forecast_input_free);
DEFINE_CLEANUP(struct forecast_input, forecast_input_free)

/* Collects one part; false: nothing is left to collect. */
bool forecast_input_collect(struct forecast_input *in);

/* Once. Runs the simulations of both parts, for at most that long by the scheduler's
 * clock, or until it is cancelled (NULL: it is not). The second one is left out
 * if no pod is predicted to end before its limit. False: it was cut short.
 */
bool forecast_input_run(struct forecast_input *in, int64_t most_us,
                        const atomic_bool *is_cancelled);

/* The candidate is the last of the pods. Full: more pods wait than were
 * asked for.
 */
size_t forecast_input_count(const struct forecast_input *in);
struct pod_view *forecast_input_pod(const struct forecast_input *in, size_t index);
struct simulated_start forecast_input_start(const struct forecast_input *in,
                                            enum forecast_part part, size_t index);
bool forecast_input_is_full(const struct forecast_input *in);
