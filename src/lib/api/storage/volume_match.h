/* SPDX-License-Identifier: Apache-2.0 */
/* volume_match.h - which volume is for which claim
 *
 * Thread: any.
 * Source: kube-scheduler 1.32, pkg/volume/util FindMatchingVolume and the
 * binder of its persistent volume controller.
 */
#pragma once

#include <stdbool.h>

struct persistent_volume;
struct persistent_volume_claim;
struct string_map;

/* Whether the volume was set aside for the claim, by name, and by uid where it
 * says one.
 */
bool volume_is_for(const struct persistent_volume *v,
                   const struct persistent_volume_claim *c);

/* Whether the claim could have the volume, wherever its pod runs: size, mode,
 * class, labels, access, and nobody has it. One that is set aside for the
 * claim needs size and mode alone.
 */
bool volume_suits(const struct persistent_volume *v,
                  const struct persistent_volume_claim *c);

/* Of two that suit, whether the first is the better one: the smaller, or the
 * first by name.
 */
bool volume_is_better(const struct persistent_volume *a,
                      const struct persistent_volume *b);
