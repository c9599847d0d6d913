/* SPDX-License-Identifier: Apache-2.0 */
/* update_field.h - reads a change of a job: "time=2:00:00", "TimeLimit=120"
 *
 * kctl_update.c defines it; Slurm's scontrol takes the same fields.
 *
 * Thread: any.
 */
#pragma once

struct arena;
struct error;
struct json;

/* Adds FIELD=VALUE to the update of a request (/kiln/v1/jobs/update). -ENOKEY: no such field can be
 * changed. -EEXIST: the update had the field already; it has the last value now.
 */
int update_field_read(const char *field, struct json *update, struct arena *arena,
                      struct error *err);
