/* SPDX-License-Identifier: Apache-2.0 */
/* served.h - a server in its own process, and its CPU and memory
 *
 * Called by: benches that measure a server from outside.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

struct served {
    pid_t pid;
    int port;
    char *path; /* of its Unix socket; NULL: it uses the port */
};

/* Life. `run` serves in the child and reports its port by served_tell_port. */
void served_start(struct served *ret_served, void (*run)(int port_pipe));
void served_tell_port(int port_pipe, int port);
void served_stop(struct served *served);

/* Look: the CPU time of all its threads so far; resident bytes. */
double served_cpu_us(const struct served *served);
size_t served_resident_bytes(const struct served *served);

/* A server for comparison: evhttp alone, which returns one constant of 1 KiB.
 */
void served_bare_run(int port_pipe);
