/* SPDX-License-Identifier: Apache-2.0 */
/* indexes.h - what the store finds by value, so that no request scans
 *
 * Given to store_open in this order.
 *
 * Thread:  the loop's.
 */
#pragma once

#include "controller/store/store.h"

enum index {
    INDEX_PODS_BY_NODE,     /* spec.nodeName, "" while they wait */
    INDEX_PODS_BY_JOB,      /* the uid of the controlling Job */
    INDEX_JOBS_BY_KEY,      /* "UID/SUBMISSION-KEY" */
    INDEX_EVENTS_BY_NAME,   /* of the object they are about */
    INDEX_CLASS_BY_DEFAULT, /* "default": the global one */
    INDEX_NODES_BY_NAME,    /* so that each agent watches its own for nothing */
    INDEX_QUOTAS_BY_NAMESPACE,
    INDEX_STORAGE_BY_DEFAULT, /* "default": the classes that say so */
    INDEX_VOLUMES_BY_NODE,    /* whose agent made them; "" for others */
    N_INDEXES,
};

extern const struct store_index apiserver_indexes[N_INDEXES];

/* A submission key longer than this is refused, so that the value fits. */
#define SUBMISSION_KEY_MAX 48
