/* SPDX-License-Identifier: Apache-2.0 */
#include "agent/shepherd/fence.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/clock.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define LONGEST_MS 1000 /* between checks: the machine may be suspended */

int
fence_note(const char *path, int64_t heard_us, struct error *err)
{
    char text[32];
    int n = snprintf(text, sizeof(text), "%" PRId64 "\n", heard_us);

    return file_write_atomic(path, 0644, text, (size_t)n, err);
}

static int64_t
read_note(const struct fence *f)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int64_t heard;

    if (file_read(f->path, 64, &text, NULL) < 0)
        return f->began_us;
    heard = strtoll(text.text, NULL, 10);
    return heard > 0 ? heard : f->began_us;
}

int
fence_wait_ms(const struct fence *f)
{
    int64_t left_us;

    if (f->after_us == 0)
        return -1;
    left_us = read_note(f) + f->after_us - clock_boottime_us();
    if (left_us <= 0)
        return 0;
    return left_us / 1000 < LONGEST_MS ? (int)(left_us / 1000) + 1 : LONGEST_MS;
}
