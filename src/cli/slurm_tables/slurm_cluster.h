/* SPDX-License-Identifier: Apache-2.0 */
/* slurm_cluster.h - the cluster's name, for -M and for output that has it, and its QOS
 *
 * Thread: the main one.
 */
#pragma once

#include <stdbool.h>

struct slurm_client;

/* `cluster` of client.yaml; otherwise "kiln". Never NULL, for as long as the program runs. */
const char *slurm_cluster_name(void);

/* Whether a list of -M ("kiln", "all") names this cluster; otherwise prints Slurm's
 * error. NULL: the list is that of $SLURM_CLUSTERS, or this cluster.
 */
bool slurm_cluster_is_this(const struct slurm_client *client, const char *list);

/* Whether all of a list are QOS, that is "normal" or priority classes; otherwise prints Slurm's
 * error. True for NULL, and if the controller does not answer.
 */
bool slurm_cluster_has_qos(struct slurm_client *client, const char *list);
