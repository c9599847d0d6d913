/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - memory bandwidth of a job that Kiln has bound, beside one that
 * nobody has
 */
#pragma once

struct error;

struct stream_result {
    unsigned cores;
    double bound_gb_s, unbound_gb_s;
};

/* -EOPNOTSUPP with the reason where the machine has one NUMA node. */
int stream_run(struct stream_result *ret_result, struct error *err);
