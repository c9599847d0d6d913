/* SPDX-License-Identifier: Apache-2.0 */
/* volume_match.h - which volume matches which claim
 *
 * Thread: any.
 * Source: kube-scheduler 1.32, pkg/volume/util FindMatchingVolume and the
 * binder of its persistent volume controller.
 */
#pragma once

#include <stdbool.h>

struct persistent_volume;
struct persistent_volume_claim;

/* Whether the volume was reserved for the claim, by name, and by uid if the
 * volume has one.
 */
bool volume_is_for(const struct persistent_volume *v, const struct persistent_volume_claim *c);

/* Whether the claim can have the volume, wherever its pod runs: size, mode,
 * class, labels and access modes fit, and the volume is available. A volume
 * that is reserved for the claim needs only size and mode.
 */
bool volume_suits(const struct persistent_volume *v, const struct persistent_volume_claim *c);

/* Whether the first of two matching volumes is better: it is smaller, or of
 * equal size and first by name.
 */
bool volume_is_better(const struct persistent_volume *a, const struct persistent_volume *b);
