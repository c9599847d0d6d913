/* SPDX-License-Identifier: Apache-2.0 */
/* fingerprint.h - a text that changes when the hardware does, cheap enough to
 * read often
 *
 * The text is compared with an earlier one. For this machine it has the online
 * CPUs and NUMA nodes, the agent's affinity, the nodes' memory and huge pages,
 * the names of devices, and which of the known device files exist (a few small
 * reads under /sys, which cost a tenth of a discovery); for a given topology's
 * file its inode, size and time.
 *
 * Thread: any; for workers, because it reads /sys.
 */
#pragma once

struct hardware_request;
struct strbuf;
struct topology;

/* `root` is the prefix of every path: "" for this machine. `known` may be NULL.
 */
void fingerprint_read(const char *root, const struct hardware_request *request,
                      const struct topology *known, struct strbuf *out);
