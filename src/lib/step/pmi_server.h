/* SPDX-License-Identifier: Apache-2.0 */
/* pmi_server.h - PMI-1: how the ranks of an MPI program find each other
 *
 * MPICH and its relatives speak it over the descriptor in PMI_FD: a line for each
 * request ("cmd=put kvsname=k key=a value=b") and one for each answer. Ranks put the
 * addresses that they listen at into a table, wait for each other in a barrier, and get
 * those of the others. Here are the lines and the table of the tasks of one node; whoever
 * has the descriptors reads and writes them.
 *
 * A rank that ends after it has begun and before it has finalized, or for which others
 * wait in a barrier, leaves the others waiting for ever: the caller must end them.
 *
 * Thread:  one at a time.
 * Source:  src/pmi/simple/simple_pmi.c of MPICH 4.0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/macro.h"

struct pmi_server;
struct step_layout;
struct strbuf;

#define PMI_LINE_MOST  8192u       /* bytes of a request, with its newline */
#define PMI_TABLE_MOST (64u << 20) /* bytes of all keys and values */

enum pmi_outcome {
    PMI_GO_ON,
    PMI_BARRIER, /* all tasks of the node are in the barrier, or have finalized */
    PMI_ABORT,   /* the whole step has to end, with pmi_server_code */
    PMI_LEFT,    /* the client has entered a barrier that pmi_server_left never will */
    PMI_BROKEN,  /* this client does not speak PMI-1: close its descriptor */
};

/* Life. `node`: the index in the layout of the node whose tasks are the clients. */
void pmi_server_free(struct pmi_server *s);
struct pmi_server *pmi_server_new(const struct step_layout *layout, unsigned node)
    OWNED_BY(pmi_server_free);
DEFINE_CLEANUP(struct pmi_server, pmi_server_free)

/* Take reads a request, without its newline, of the client with that index on
 * the node, and adds the answer if there is one now. Open lets the clients leave the
 * barrier: they are answered with what leave adds. End notes that a task has ended;
 * true: the others can never go on.
 */
enum pmi_outcome pmi_server_take(struct pmi_server *s, unsigned client, const char *line,
                                 size_t length, struct strbuf *answer);
bool pmi_server_leave(struct pmi_server *s, unsigned client, struct strbuf *answer);
bool pmi_server_end(struct pmi_server *s, unsigned client);

/* Of several nodes: what was put here since it was last taken, in lines of "key=value",
 * and the lines of all nodes before the barrier opens. -EBADMSG: they are no such lines.
 */
void pmi_server_take_lines(struct pmi_server *s, struct strbuf *out);
int pmi_server_merge(struct pmi_server *s, const char *lines, size_t length);

/* The exit code of the client that asked to abort. */
int pmi_server_code(const struct pmi_server *s);

/* A client that has ended without finalizing; n_tasks of the node if there is none. */
unsigned pmi_server_left(const struct pmi_server *s);
