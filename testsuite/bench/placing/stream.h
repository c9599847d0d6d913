/* SPDX-License-Identifier: Apache-2.0 */
/* stream.h - memory bandwidth of a job that Kiln has bound, compared with an
 * unbound one
 */
#pragma once

struct error;

struct stream_result {
    unsigned cores;
    double bound_gb_s, unbound_gb_s;
};

/* -EOPNOTSUPP with the reason where the machine has only one NUMA node. */
int stream_run(struct stream_result *ret_result, struct error *err);
