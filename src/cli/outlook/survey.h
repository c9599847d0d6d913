/* SPDX-License-Identifier: Apache-2.0 */
/* survey.h - the nodes, pods and volumes that an outlook is made of, from the
 * API
 *
 * Thread: the main one.
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
    const struct object **volumes; /* where the pod asks for scratch */
    unsigned n_volumes;
};

void survey_fini(struct survey *survey);
#define CLEANUP_SURVEY CLEANUP(survey_fini)

/* For pods of that spec, which says whether volumes matter. */
int survey_make(struct client *client,
                const struct json *pod_spec,
                struct survey *ret_survey,
                struct error *err);

/* Of a Pod, or of the pods of a Job. NULL: it cannot be read. The survey must
 * outlive it.
 */
struct outlook *survey_pod_outlook(const struct survey *survey,
                                   const struct json *pod,
                                   int64_t now_us);
struct outlook *survey_outlook(const struct survey *survey,
                               const struct json *job,
                               int64_t now_us);
