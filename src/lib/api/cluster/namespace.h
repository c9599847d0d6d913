/* SPDX-License-Identifier: Apache-2.0 */
/* namespace.h - an account or project to which jobs belong
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/object/meta.h"

struct object;

struct namespace_ {
    struct meta meta;
    LIST_OF(const char *) spec_finalizers;
    const char *phase; /* Active, Terminating */
};

extern const struct record namespace_record;

const struct namespace_ *namespace_of(const struct object *object);
