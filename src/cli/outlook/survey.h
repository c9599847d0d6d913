/* SPDX-License-Identifier: Apache-2.0 */
/* survey.h - the nodes, pods and volumes that an outlook is made of, from the
 * API
 */
#pragma once

#include <stdint.h>

#include "lib/base/macro.h"

struct client;
struct error;
struct json;
struct object;
struct outlook;

struct survey {
    const struct object **nodes;
    unsigned n_nodes;
    const struct object **pods; /* that wait or run, in all namespaces */
    unsigned n_pods;
    const struct object **volumes; /* where the Job asks for scratch */
    unsigned n_volumes;
};

void survey_fini(struct survey *survey);
#define CLEANUP_SURVEY CLEANUP(survey_fini)
int survey_make(struct client *client,
                const struct json *job,
                struct survey *ret_survey,
                struct error *err);

/* The pods of a Job. NULL: it has no template that can be read. The survey
 * must outlive it.
 */
struct outlook *survey_outlook(const struct survey *survey,
                               const struct json *job,
                               int64_t now_us);
