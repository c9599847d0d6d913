/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/accelerators.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ksub/memory_size.h"
#include "cli/ksub/submission.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"

#define MOST_GPUS     1024
#define PAGE_TEXT     "2M"
#define COUNT_TEXT    "1"
#define MODEL_LETTERS "-_. "

static int
refuse_gpus(const char *text, struct error *err)
{
    return error_set(err,
                     -EINVAL,
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
set_gpus(struct submission *s,
         const char *count,
         const char *model,
         size_t model_length,
         const char *text,
         struct error *err)
{
    long number = strtol(count, NULL, 10);

    if (number < 1 || number > MOST_GPUS)
        return error_set(err,
                         -ERANGE,
                         "'%s': a job has 1 to %d GPUs",
                         text,
                         MOST_GPUS);
    if (model_length >= sizeof(s->gpu_type))
        return refuse_gpus(text, err);
    s->gpus = number;
    memset(s->gpu_type, 0, sizeof(s->gpu_type));
    memcpy(s->gpu_type, model, model_length);
    return 0;
}

int
accelerators_parse_gpus(const char *text,
                        struct submission *submission,
                        struct error *err)
{
    size_t first = strcspn(text, ":");
    const char *rest = text[first] == ':' ? text + first + 1 : NULL;

    if (rest == NULL && is_count(text, first))
        return set_gpus(submission, text, "", 0, text, err);
    if (rest == NULL)
        return refuse_gpus(text, err);
    if (is_count(text, first) && is_model(rest, strlen(rest)))
        return set_gpus(submission, text, rest, strlen(rest), text, err);
    if (is_model(text, first) && is_count(rest, strlen(rest)))
        return set_gpus(submission, rest, text, first, text, err);
    return refuse_gpus(text, err);
}

int
accelerators_parse_gres(const char *text,
                        struct submission *submission,
                        struct error *err)
{
    size_t kind = strcspn(text, ":");
    const char *rest = text[kind] == ':' ? text + kind + 1 : COUNT_TEXT;

    if (kind != 3 || strncmp(text, "gpu", kind) != 0)
        return error_set(err,
                         -EOPNOTSUPP,
                         "'%s': only gpu is known here, as in gpu:2 or "
                         "gpu:a100:2",
                         text);
    if (strchr(rest, ':') == NULL && !is_count(rest, strlen(rest))
        && is_model(rest, strlen(rest)))
        return set_gpus(submission, COUNT_TEXT, rest, strlen(rest), text, err);
    return accelerators_parse_gpus(rest, submission, err);
}

static int
add_pages(struct submission *s, char *part, const char *text, struct error *err)
{
    char *colon = strchr(part, ':');
    struct submission_pages pages;
    int r;

    if (colon != NULL)
        *colon = '\0';
    r = memory_size_parse(part, &pages.bytes, err);
    if (r == 0)
        r = memory_size_parse(colon != NULL ? colon + 1 : PAGE_TEXT,
                              &pages.page_bytes,
                              err);
    if (r < 0)
        return r;
    if (pages.bytes % pages.page_bytes != 0)
        return error_set(err,
                         -EINVAL,
                         "'%s': not a whole number of pages",
                         text);
    for (unsigned i = 0; i < s->n_hugepages; i++)
        if (s->hugepages[i].page_bytes == pages.page_bytes)
            return error_set(err,
                             -EINVAL,
                             "'%s': the same size of page twice",
                             text);
    if (s->n_hugepages == ARRAY_SIZE(s->hugepages))
        return error_set(err, -E2BIG, "'%s': too many sizes of pages", text);
    s->hugepages[s->n_hugepages++] = pages;
    return 0;
}

int
accelerators_parse_hugepages(const char *text,
                             struct submission *submission,
                             struct error *err)
{
    CLEANUP_FREE char *copy = xstrdup(text);
    char *rest = copy, *part;
    int r = 0;

    submission->n_hugepages = 0;
    while (r == 0 && (part = strsep(&rest, ",")) != NULL)
        r = add_pages(submission, part, text, err);
    return r;
}
