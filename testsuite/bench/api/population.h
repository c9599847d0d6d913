/* SPDX-License-Identifier: Apache-2.0 */
/* population.h - a controller that serves the API alone, and pods in it
 *
 * Pods are of the size that a scheduled one of a Job has: labels, resources,
 * environment, tolerations, conditions.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

/* The variable that names a directory for the server's state. */
#define POPULATION_DIRECTORY "KILN_BENCH_DIRECTORY"

struct served;
struct strbuf;

/* Life. Serve is for served_start: kiln-controller of $top_builddir ("build"),
 * its state in a directory below /tmp that stop removes.
 */
void population_serve(int port_pipe);
void population_stop(struct served *server);

/* Change: a namespace with that many pods, pod-0 and on, put as they are. */
void population_load(const struct served *server,
                     const char *namespace,
                     unsigned long count);

/* Change: so many nodes with 64 CPUs, where eight such pods find room each. */
void population_load_nodes(const struct served *server, unsigned long count);

/* Text: a pod as a client sends it or as it is kept; the first lines of a
 * request, to which others may be added before the empty one.
 */
enum population_form {
    POPULATION_AS_SENT,
    POPULATION_AS_KEPT,
};
void population_add_pod(struct strbuf *out,
                        const char *namespace,
                        unsigned long n,
                        enum population_form form);
void population_add_head(struct strbuf *out,
                         const char *method,
                         const char *target,
                         ...) PRINTF(3, 4);

/* Look: a counter of /metrics; the length of one pod; all of them in pages. */
double population_metric(const struct served *server, const char *name);
double population_read_metric(const char *metrics, const char *name);
double population_object_bytes(const struct served *server);
struct population_walk {
    unsigned long objects;
    unsigned long pages;
    double bytes;
    double seconds;
};
void population_walk_all(const struct served *server,
                         int page,
                         struct population_walk *ret_walk);
