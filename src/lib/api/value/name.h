/* SPDX-License-Identifier: Apache-2.0 */
/* name.h - the forms of names
 *
 * Each form comes with upstream's error texts.
 *
 * Thread: any.
 * Source: k8s.io/apimachinery/pkg/util/validation.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct arena;

enum name_form {
    NAME_DNS_LABEL,     /* "job-7" */
    NAME_DNS_SUBDOMAIN, /* "node-1.example.com" */
    NAME_DNS_1035,      /* a DNS label that begins with a letter */
    NAME_QUALIFIED,     /* "example.com/key": labels, resources */
    NAME_LABEL_VALUE,
    NAME_PORT,         /* "http-alt" */
    NAME_ENV,          /* environment variables */
    NAME_CONFIG_KEY,   /* key of a ConfigMap's data: a file name */
    NAME_PATH_SEGMENT, /* any text that can be a segment of a URL */
};

/* All faults of a name, in upstream's order; none if the name has the form. The
 * texts are constants.
 */
#define NAME_FAULTS_MAX 5
struct name_faults {
    const char *items[NAME_FAULTS_MAX];
    unsigned count;
};
void name_find_faults(enum name_form form, const char *name, struct name_faults *ret_faults);

/* All faults in one text; NULL: the name has the form. */
const char *name_refuse_all(struct arena *arena, enum name_form form, const char *name,
                            const char *separator);

/* The first fault; NULL: the name has the form. */
const char *name_refuse(enum name_form form, const char *name);

static inline bool
name_is_valid(enum name_form form, const char *name)
{
    return name_refuse(form, name) == NULL;
}
