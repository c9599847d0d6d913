/* SPDX-License-Identifier: Apache-2.0 */
/* fingerprint.h - a text that changes when the hardware does, cheap enough to
 * read often
 *
 * A text to be compared with an earlier one: of this machine the online CPUs
 * and NUMA nodes, their memory and huge pages, and which of the known device
 * files are there (a few small reads under /sys, a tenth of a discovery); of a
 * given topology's file its date and size.
 *
 * Thread: any; for workers, because it reads /sys.
 */
#pragma once

struct hardware_request;
struct strbuf;
struct topology;

/* `root` is put in front of every path: "" for this machine. `known` may be
 * NULL.
 */
void fingerprint_read(const char *root,
                      const struct hardware_request *request,
                      const struct topology *known,
                      struct strbuf *out);
