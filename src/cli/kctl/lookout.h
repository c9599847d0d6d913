/* SPDX-License-Identifier: Apache-2.0 */
/* lookout.h - kctl get --watch: what changes, printed as it does, until the
 * user has enough
 *
 * Goes on where it was when the connection is lost; when the server no longer
 * knows that place, it says so and ends.
 */
#pragma once

struct error;
struct kctl;
struct listing;
struct target_object;

struct lookout {
    const struct target_object *object;
    const char *label_selector;
    const char *field_selector;
    const char *version; /* of the list that was printed */
    const char *accept;
    struct listing *listing;
};

int lookout_keep(struct kctl *kctl,
                 const struct lookout *lookout,
                 struct error *err);
