/* SPDX-License-Identifier: Apache-2.0 */
/* object_reference.h - a reference from one object to another
 *
 * Thread:  any.
 */
#pragma once

#include "lib/json/record.h"

struct object_reference {
    const char *api_version;
    const char *kind;
    const char *namespace;
    const char *name;
    const char *uid;
    const char *resource_version;
    const char *field_path;
};

extern const struct record local_object_reference_record;
extern const struct record object_reference_record;
extern const struct record secret_reference_record;
extern const struct record typed_local_object_reference_record;
extern const struct record typed_object_reference_record;
