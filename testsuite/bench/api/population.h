/* SPDX-License-Identifier: Apache-2.0 */
/* population.h - a controller that serves only the API, and pods in it
 *
 * The pods have the size of a scheduled pod of a Job: labels, resources,
 * environment, tolerations, conditions.
 */
#pragma once

#include <stddef.h>

#include "lib/base/macro.h"

/* The environment variable with the directory for the server's state. */
#define POPULATION_DIRECTORY "KILN_BENCH_DIRECTORY"

struct served;
struct strbuf;

/* Life. population_serve is a function for served_start: it runs
 * kiln-controller of $top_builddir ("build"), with its state in a directory
 * below /tmp that population_stop removes.
 */
void population_serve(int port_pipe);
void population_stop(struct served *server);

/* Change: creates a namespace with that many pods, pod-0 and so on, stored as
 * they are.
 */
void population_load(const struct served *server, const char *namespace, unsigned long count);

/* Change: creates that many nodes with 64 CPUs, each with room for eight such
 * pods.
 */
void population_load_nodes(const struct served *server, unsigned long count);

/* Text: population_add_pod adds a pod as a client sends it, or as it is stored;
 * population_add_head adds the first lines of a request, to which others may be
 * added before the empty one.
 */
enum population_form {
    POPULATION_AS_SENT,
    POPULATION_AS_KEPT,
};
void population_add_pod(struct strbuf *out, const char *namespace, unsigned long n,
                        enum population_form form);
void population_add_head(struct strbuf *out, const char *method, const char *target, ...)
    PRINTF(3, 4);

/* Look: a counter of /metrics; the length of one pod; all pods, listed in
 * pages.
 */
double population_metric(const struct served *server, const char *name);
double population_read_metric(const char *metrics, const char *name);
double population_object_bytes(const struct served *server);
struct population_walk {
    unsigned long objects;
    unsigned long pages;
    double bytes;
    double seconds;
};
void population_walk_all(const struct served *server, int page, struct population_walk *ret_walk);
