/* SPDX-License-Identifier: Apache-2.0 */
/* kept_profiles.h - copies of the settings of profiles, for simulations
 *
 * They are shared, because a simulation may run on another thread when its scheduler
 * ends.
 *
 * Owns:       the copies.
 * Called by:  setup.c, which makes them, and forecast_input.c.
 * Thread:     the scheduler's; ref and unref: any.
 */
#pragma once

#include <stdatomic.h>

struct arena;
struct profile_settings;

struct kept_profiles {
    atomic_uint references;
    struct arena *arena;
    struct profile_settings *items;
    unsigned count;
};

/* Life. New: for at most so many profiles. */
struct kept_profiles *kept_profiles_new(unsigned most);
void kept_profiles_add(struct kept_profiles *k, const struct profile_settings *given);
struct kept_profiles *kept_profiles_ref(struct kept_profiles *k);
void kept_profiles_unref(struct kept_profiles *k);
