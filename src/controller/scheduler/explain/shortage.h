/* SPDX-License-Identifier: Apache-2.0 */
/* shortage.h - what a pod needs of a node, and what a node lacks, in words
 *
 *   24 CPUs on whole cores in one NUMA node, 48Gi of memory
 *   has 2 CPUs of the 64 needed
 *   lacks 2 free CPUs
 *
 * Amounts are compared here; what cores, devices and NUMA nodes allow, the
 * profile's own plugins say (plugin.h, explain).
 *
 * Thread:  the scheduler's.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cycle;
struct node_view;
struct pod_spec;
struct pod_view;
struct profile;
struct strbuf;
struct string_ids;
struct volume_book;

struct shortage {
    const struct profile *profile;
    const struct cycle *cycle; /* of the pod */
    const struct string_ids *resources;
    const struct volume_book *volumes;
    int64_t scratch_bytes; /* what the pod brings claims for */
};

/* Scratch that the pod asks for by claims of its own (ksub --tmp). */
int64_t shortage_scratch(const struct pod_spec *spec);

/* The pod asks for CPUs and memory by amount, and for nothing else. */
bool shortage_is_plain(const struct shortage *s);

/* The node is too small, whoever is on it, as far as amounts go. */
bool shortage_is_of_size(const struct shortage *s,
                         const struct node_view *node);

/* Scratch that is promised to nobody is enough. */
bool shortage_has_scratch(const struct shortage *s,
                          const struct node_view *node);

/* CPUs in thousandths that it lacks: of its size, or of what is free. */
int64_t shortage_mcpu(const struct shortage *s, const struct node_view *node);

/* The amount that the pod asks for and a node does not have free, by the refusal's code and
 * its text: "2 CPUs", "48 GiB of memory", "1 gpu".
 */
void shortage_format_short(const struct shortage *s,
                           const char *code,
                           const char *text,
                           size_t length,
                           struct strbuf *out);

/* The first amount of which the pod asks for more than the node has at all, as
 * it asks for it; false: the node is large enough.
 */
bool shortage_format_excess(const struct shortage *s,
                            const struct node_view *node,
                            struct strbuf *out);

/* The pod's needs. Node: what is missing there; appends nothing where that is
 * not known.
 */
void shortage_format_needs(const struct shortage *s, struct strbuf *out);
void shortage_format(const struct shortage *s,
                     const struct node_view *node,
                     struct strbuf *out);
