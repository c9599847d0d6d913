/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/values/gpu_request.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"

#define MOST_GPUS     1024
#define MODEL_LETTERS "-_. "

static int
refuse_gpus(const char *text, struct error *err)
{
    return error_set(err, -EINVAL,
                     "'%s' is not a number of GPUs, with the model after a "
                     "colon if it matters (such as 2 or 2:a100)",
                     text);
}

static bool
is_count(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!isdigit((unsigned char)text[i]))
            return false;
    return length > 0;
}

static bool
is_model(const char *text, size_t length)
{
    bool has_word = false;

    for (size_t i = 0; i < length; i++) {
        if (isalnum((unsigned char)text[i]))
            has_word = true;
        else if (strchr(MODEL_LETTERS, text[i]) == NULL)
            return false;
    }
    return has_word;
}

static int
set_gpus(struct gpu_request *g, const char *count, const char *model, size_t model_length,
         const char *text, struct error *err)
{
    long number = strtol(count, NULL, 10);

    if (number < 1 || number > MOST_GPUS)
        return error_set(err, -ERANGE, "'%s': a job has 1 to %d GPUs", text, MOST_GPUS);
    if (model_length >= sizeof(g->model))
        return refuse_gpus(text, err);
    g->count = number;
    memset(g->model, 0, sizeof(g->model));
    memcpy(g->model, model, model_length);
    return 0;
}

int
gpu_request_parse(const char *text, struct gpu_request *ret_request, struct error *err)
{
    size_t first = strcspn(text, ":");
    const char *rest = text[first] == ':' ? text + first + 1 : NULL;

    if (rest == NULL && is_count(text, first))
        return set_gpus(ret_request, text, "", 0, text, err);
    if (rest == NULL)
        return refuse_gpus(text, err);
    if (is_count(text, first) && is_model(rest, strlen(rest)))
        return set_gpus(ret_request, text, rest, strlen(rest), text, err);
    if (is_model(text, first) && is_count(rest, strlen(rest)))
        return set_gpus(ret_request, rest, text, first, text, err);
    return refuse_gpus(text, err);
}
