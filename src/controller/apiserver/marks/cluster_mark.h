/* SPDX-License-Identifier: Apache-2.0 */
/* cluster_mark.h - nodes/NAME/mark: the identity of this cluster, and the
 * latest state that its store has issued
 *
 * Thread:  the loop's.
 */
#pragma once

struct request;
struct store;

/* At the start, before anybody can send a mark. */
void cluster_mark_make_key(struct store *store);
void cluster_mark_serve(struct request *q);
