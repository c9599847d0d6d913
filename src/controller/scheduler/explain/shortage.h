/* SPDX-License-Identifier: Apache-2.0 */
/* shortage.h - what a pod needs of a node, and what a node lacks, as text
 *
 *   24 CPUs on whole cores in one NUMA node, 48Gi of memory
 *   has 2 CPUs of the 64 needed
 *   lacks 2 free CPUs
 *
 * Amounts are compared here. The profile's own plugins say what cores, devices
 * and NUMA nodes allow (plugin.h, explain).
 *
 * Thread:  the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cycle;
struct node_view;
struct profile;
struct strbuf;
struct string_ids;
struct volume_book;

struct shortage {
    const struct profile *profile;
    const struct cycle *cycle; /* of the pod */
    const struct string_ids *resources;
    const struct volume_book *volumes;
    int64_t scratch_bytes; /* that its ephemeral claims request */
};

/* The pod requests amounts of CPUs and memory, and nothing else. */
bool shortage_is_plain(const struct shortage *s);

/* The node is too small even when it is empty, by its amounts. */
bool shortage_is_of_size(const struct shortage *s, const struct node_view *node);

/* The same, or by its cores and devices, also if the allocator was not asked
 * because the node is closed.
 */
bool shortage_is_of_hardware(const struct shortage *s, const struct node_view *node);

/* The node has enough scratch that is not promised to other pods. */
bool shortage_has_scratch(const struct shortage *s, const struct node_view *node);

/* The CPUs that the node lacks, in thousandths: of its size if it is too small,
 * otherwise of what is free.
 */
int64_t shortage_mcpu(const struct shortage *s, const struct node_view *node);

/* The amount that the pod requests and a node does not have free, by the code
 * and the text of the refusal: "2 CPUs", "48 GiB of memory", "1 gpu".
 */
void shortage_format_short(const struct shortage *s, const char *code, const char *text,
                           size_t length, struct strbuf *out);

/* The amounts that the pod requests, by their number from 0. */
unsigned shortage_count_amounts(const struct shortage *s);

/* Whether the node has less of the amount at all. */
bool shortage_exceeds(const struct shortage *s, const struct node_view *node, unsigned amount);

/* Formats the amount in the form of the request. */
void shortage_format_amount(const struct shortage *s, unsigned amount, struct strbuf *out);

/* Formats what the pod needs. */
void shortage_format_needs(const struct shortage *s, struct strbuf *out);

/* Formats what the node lacks; appends nothing if that is not known. */
void shortage_format(const struct shortage *s, const struct node_view *node, struct strbuf *out);
