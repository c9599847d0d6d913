/* SPDX-License-Identifier: Apache-2.0 */
/* krun_sink.h - one of krun's descriptors, and the bytes that wait to be written to it
 *
 * The descriptors stay as they are (a shell may have them, too): a write is no longer
 * than what cannot block.
 *
 * Thread: the program's only one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/strbuf.h"

struct krun_sink {
    int fd;
    bool may_block; /* a write of many bytes */
    bool takes_nowait;
    bool is_broken; /* nobody reads it any more */
    struct strbuf out;
    size_t written;
};

void krun_sink_open(struct krun_sink *k, int fd);
void krun_sink_write(struct krun_sink *k);
bool krun_sink_has_bytes(const struct krun_sink *k);
