/* SPDX-License-Identifier: Apache-2.0 */
/* namespace.h - an account or project to which jobs belong
 *
 * Thread:  any; plain data.
 */
#pragma once

#include <stdbool.h>

#include "lib/api/object/meta.h"

struct object;

struct namespace_ {
    struct meta meta;
    LIST_OF(const char *) spec_finalizers;
    const char *phase; /* Active, Terminating */
};

extern const struct record namespace_record;

enum namespace_index {
    NAMESPACE_BY_ACCOUNT, /* its other name (ANNOTATION_ACCOUNT), folded */
};

#define NAMESPACE_ACCOUNT_MAX 63

/* In small letters. False: it is not a name that an account can have. */
bool namespace_fold_account(const char *account, char folded[NAMESPACE_ACCOUNT_MAX + 1]);

const struct namespace_ *namespace_of(const struct object *object);
