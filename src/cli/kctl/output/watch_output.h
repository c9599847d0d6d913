/* SPDX-License-Identifier: Apache-2.0 */
/* watch_output.h - kctl get --watch: prints each change until the user
 * interrupts it
 *
 * After a lost connection it continues from the version that it reached. When
 * the server no longer has that version, it reports this and ends.
 *
 * Thread: the main one.
 */
#pragma once

struct error;
struct kctl;
struct listing;
struct target_object;

struct watch_output {
    const struct target_object *object;
    const char *label_selector;
    const char *field_selector;
    const char *version; /* of the list that was printed */
    const char *accept;
    struct listing *listing;
};

int watch_output_run(struct kctl *kctl, const struct watch_output *watch_output, struct error *err);
