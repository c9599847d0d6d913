/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/kctl/input/step_operand.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/kctl/client/job_steps.h"
#include "cli/kctl/client/kctl.h"
#include "cli/kctl/input/resource.h"
#include "lib/api/object/kind.h"
#include "lib/api/pod/pod_signal.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"

#define DIGITS      "0123456789"
#define DIGITS_MOST 9 /* of a step's number */

bool
step_operand_looks_like(const char *text)
{
    const char *dot = strchr(text, '.');

    return dot != NULL && dot > text && strspn(text, DIGITS "_") == (size_t)(dot - text)
           && dot[1] != '\0' && dot[1 + strspn(dot + 1, DIGITS)] == '\0';
}

int
step_operand_signal(struct kctl *kctl, const char *text, int signal_number, struct arena *arena,
                    struct error *err)
{
    const size_t length = strcspn(text, ".");
    char *name = arena_strndup(arena, text, length);
    const bool took_tasks = kctl->takes_tasks;
    struct target_object job;
    int r = kctl_open(kctl, err);

    if (r < 0)
        return r;
    if (strlen(text + length + 1) > DIGITS_MOST)
        return error_set(err, -EINVAL, "no step has so large a number");
    kctl->takes_tasks = memchr(text, '_', length) != NULL;
    r = resource_parse_one(kctl, &job_kind, 1, &name, arena, &job, err);
    kctl->takes_tasks = took_tasks;
    if (r < 0)
        return r;
    return job_steps_signal(kctl, &job, atoll(text + length + 1), signal_number, arena, err);
}

/* Without "job/". */
static const char *
skip_type(const char *operand)
{
    const char *slash = strchr(operand, '/');

    return slash != NULL && strncmp(operand, "job", 3) == 0 ? slash + 1 : operand;
}

static int
signal_one(struct kctl *kctl, const char *step, int signal_number, struct arena *arena,
           struct error *err)
{
    struct error why = {0};
    int r = step_operand_signal(kctl, step, signal_number, arena, &why);

    if (r < 0)
        return error_set(err, r, "step %s: %s", step, why.text);
    if (signal_number == 0)
        printf("step/%s cancelled\n", step);
    else
        printf("step/%s: signal %s sent\n", step, pod_signal_name(signal_number));
    return 0;
}

int
step_operands_take(struct kctl *kctl, int *n_operands, char **operands, int signal_number,
                   struct arena *arena, struct error *err)
{
    const bool has_type = *n_operands > 1 && kind_find_any_name(operands[0]) == &job_kind;
    const int given = *n_operands;
    struct error last = {0};
    int n = 0;

    for (int i = 0; i < given; i++) {
        if (!step_operand_looks_like(skip_type(operands[i]))) {
            operands[n++] = operands[i];
            continue;
        }
        if (last.code < 0)
            fprintf(stderr, "kctl: %s\n", last.text);
        last.code = 0;
        (void)signal_one(kctl, skip_type(operands[i]), signal_number, arena, &last);
        kctl->exit_code = last.code < 0 ? EXIT_FAILURE : kctl->exit_code;
    }
    *n_operands = n == 1 && has_type && given > 1 ? 0 : n; /* only the type is left */
    fflush(stdout);
    if (last.code < 0 && *n_operands > 0)
        fprintf(stderr, "kctl: %s\n", last.text);
    return last.code < 0 && *n_operands == 0 ? error_set(err, last.code, "%s", last.text) : 0;
}
