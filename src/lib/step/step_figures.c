/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_figures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/strbuf.h"

#define TEXT_MOST 255
/* So that sums of all nodes of a step do not overflow. */
#define MOST      (UINT64_MAX / 4096)

void
step_figures_format(const struct step_figures *f, struct strbuf *out)
{
    strbuf_printf(
        out, "1 %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu32 " %" PRIu64 " %" PRIu64 " %" PRIu64,
        f->flags, f->tasks, f->exit_code, f->signal, f->cpu_user_us, f->cpu_system_us,
        f->peak_memory_bytes);
}

int
step_figures_parse(const char *text, size_t length, struct step_figures *ret_figures)
{
    struct step_figures f = {.version = STEP_FIGURES_VERSION};
    char copy[TEXT_MOST + 1];

    if (length > TEXT_MOST)
        return -EBADMSG;
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (sscanf(copy,
               "1 %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu32 " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &f.flags, &f.tasks, &f.exit_code, &f.signal, &f.cpu_user_us, &f.cpu_system_us,
               &f.peak_memory_bytes)
            != 7
        || f.cpu_user_us > MOST || f.cpu_system_us > MOST || f.peak_memory_bytes > MOST)
        return -EBADMSG;
    *ret_figures = f;
    return 0;
}

/* It has timed out, or was cancelled, if that happened on one node, and is over if it is on all. */
void
step_figures_add(struct step_figures *sum, const struct step_figures *one)
{
    if (sum->version == 0) {
        *sum = *one;
        return;
    }
    sum->flags = (sum->flags & one->flags)
                 | ((sum->flags | one->flags) & (STEP_FIGURES_TIMED_OUT | STEP_FIGURES_CANCELLED));
    sum->tasks += one->tasks;
    if (one->exit_code > sum->exit_code) {
        sum->exit_code = one->exit_code;
        sum->signal = one->signal;
    }
    sum->cpu_user_us += one->cpu_user_us;
    sum->cpu_system_us += one->cpu_system_us;
    if (one->peak_memory_bytes > sum->peak_memory_bytes)
        sum->peak_memory_bytes = one->peak_memory_bytes;
}
