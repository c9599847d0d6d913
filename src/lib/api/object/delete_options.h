/* SPDX-License-Identifier: Apache-2.0 */
/* delete_options.h - the body of a DELETE request
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/json/record.h"

struct delete_options {
    const int64_t *grace_period_seconds;
    const bool *orphan_dependents;
    const char *propagation_policy; /* Orphan, Background, Foreground */
    LIST_OF(const char *) dry_run;  /* "All" */
    const char *uid;                /* preconditions: delete only this object */
    const char *resource_version;
};

extern const struct record delete_options_record;
