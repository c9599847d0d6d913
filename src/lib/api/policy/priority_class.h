/* SPDX-License-Identifier: Apache-2.0 */
/* priority_class.h - named priorities of pods
 *
 * Thread:  any; plain data.
 */
#pragma once

#include "lib/api/object/meta.h"

struct object;

/* The effect of preemption on pods of the class: Off, Cancel, Requeue. */
#define ANNOTATION_PREEMPTION_MODE "kiln.hpc/preemption-mode"

struct priority_class {
    struct meta meta;
    int64_t value;
    bool global_default;
    const char *description;
    const char *preemption_policy;
};

extern const struct record priority_class_record;

const struct priority_class *priority_class_of(const struct object *object);

enum priority_class_index {
    PRIORITY_CLASS_BY_DEFAULT, /* "default": the globalDefault class */
};
