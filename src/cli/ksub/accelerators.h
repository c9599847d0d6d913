/* SPDX-License-Identifier: Apache-2.0 */
/* accelerators.h - parses GPUs and huge pages, as users write them
 *
 * Thread: any.
 */
#pragma once

struct error;
struct submission;

/* "2", "2:a100", Slurm's "a100:2", and "a100" for one; "0" is none. */
int accelerators_parse_gpus(const char *text, struct submission *submission, struct error *err);

/* "gpu", "gpu:2", "gpu:a100", "gpu:a100:2", or a list of these; none of another resource, such as
 * "shard:0". Other resources are refused.
 */
int accelerators_parse_gres(const char *text, struct submission *submission, struct error *err);

/* "1G" (in pages of 2 MiB), "1G:2M,4G:1G". Replaces earlier values. */
int accelerators_parse_hugepages(const char *text, struct submission *submission,
                                 struct error *err);
