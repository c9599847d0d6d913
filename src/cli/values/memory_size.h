/* SPDX-License-Identifier: Apache-2.0 */
/* memory_size.h - amounts of memory as users of Slurm write them
 *
 * "512" (MiB), "4G", "4GB", "4GiB": K, M, G, T and P, all powers of 1024.
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

struct error;
struct strbuf;

/* -EINVAL: the text is no amount, or is not above 0; -ERANGE: above 1 EiB. */
int memory_size_parse(const char *text, int64_t *ret_bytes, struct error *err);

/* The shortest exact quantity: "4Gi", "1536Mi", "1000". */
void memory_size_format(int64_t bytes, struct strbuf *out);
