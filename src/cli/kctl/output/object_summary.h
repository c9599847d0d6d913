/* SPDX-License-Identifier: Apache-2.0 */
/* object_summary.h - what a person asks first of an object, one fact a line
 *
 * It is the object's row of the server's table, the wide columns too, turned
 * upright: what "kctl get" calls its state, "kctl describe" does too.
 */
#pragma once

struct error;
struct kctl;
struct strbuf;
struct target_object;

/* A cell without a text gives no line; nor does what the metadata says. */
int object_summary_add(struct kctl *kctl,
                       const struct target_object *object,
                       struct strbuf *out,
                       struct error *err);
