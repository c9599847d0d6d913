/* SPDX-License-Identifier: Apache-2.0 */
/* gpu_request.h - how many GPUs of which model, as users write it
 *
 * "2", "2:a100", and Slurm's "a100:2".
 *
 * Thread: any.
 */
#pragma once

#include <stdint.h>

struct error;

struct gpu_request {
    int64_t count;
    char model[64]; /* "": any */
};

/* -EINVAL with the forms that are right; -ERANGE: none, or too many. */
int gpu_request_parse(const char *text,
                      struct gpu_request *ret_request,
                      struct error *err);
