/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/accelerators.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/ksub/submission.h"
#include "cli/values/gpu_request.h"
#include "cli/values/memory_size.h"
#include "lib/base/alloc.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"

#define PAGE_TEXT  "2M"
#define COUNT_TEXT "1"

/* "0", "a100:0": none, as in Slurm. */
static bool
is_none(const char *text)
{
    const char *colon = strrchr(text, ':');
    const char *count = colon != NULL ? colon + 1 : text;

    return count[0] != '\0' && count[strspn(count, "0")] == '\0';
}

/* "2", "a100:2", "2:a100", and "a100" for one of them. */
int
accelerators_parse_gpus(const char *text, struct submission *submission, struct error *err)
{
    struct gpu_request asked = {0};
    char one[128];
    int r;

    snprintf(one, sizeof(one), COUNT_TEXT ":%.100s", text);
    if (is_none(text))
        r = 0;
    else if (strchr(text, ':') == NULL && isalpha((unsigned char)text[0])
             && gpu_request_parse(one, &asked, NULL) == 0)
        r = 0;
    else
        r = gpu_request_parse(text, &asked, err);
    if (r < 0)
        return r;
    submission->gpus = asked.count;
    memcpy(submission->gpu_type, asked.model, sizeof(submission->gpu_type));
    return 0;
}

/* One of a list: "gpu", "gpu:2", "gpu:a100:2". `so_far` has those before it. */
static int
add_gres(const char *item, struct submission *so_far, struct error *err)
{
    const size_t kind = strcspn(item, ":");
    struct submission one = {0};
    int r;

    if (is_none(item) && item[kind] == ':')
        return 0; /* none of anything */
    if (kind != 3 || strncmp(item, "gpu", kind) != 0)
        return error_set(err, -EOPNOTSUPP,
                         "'%s': only gpu is supported here, as in gpu:2 or "
                         "gpu:a100:2",
                         item);
    r = accelerators_parse_gpus(item[kind] == ':' ? item + kind + 1 : COUNT_TEXT, &one, err);
    if (r < 0)
        return r;
    if (so_far->gpus > 0 && strcmp(so_far->gpu_type, one.gpu_type) != 0)
        return error_set(err, -EOPNOTSUPP, "'%s': all GPUs of a job are of one model, or of any",
                         item);
    so_far->gpus += one.gpus;
    memcpy(so_far->gpu_type, one.gpu_type, sizeof(so_far->gpu_type));
    return 0;
}

int
accelerators_parse_gres(const char *text, struct submission *submission, struct error *err)
{
    CLEANUP_FREE char *copy = xstrdup(text);
    struct submission all = {0};
    char *rest = copy, *item;
    int r = 0;

    while (r == 0 && (item = strsep(&rest, ",")) != NULL)
        r = add_gres(strncmp(item, "gres:", 5) == 0 ? item + 5 : item, &all, err);
    if (r < 0)
        return r;
    submission->gpus = all.gpus;
    memcpy(submission->gpu_type, all.gpu_type, sizeof(submission->gpu_type));
    return 0;
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
        r = memory_size_parse(colon != NULL ? colon + 1 : PAGE_TEXT, &pages.page_bytes, err);
    if (r < 0)
        return r;
    if (pages.bytes % pages.page_bytes != 0)
        return error_set(err, -EINVAL, "'%s': not a whole number of pages", text);
    for (unsigned i = 0; i < s->n_hugepages; i++)
        if (s->hugepages[i].page_bytes == pages.page_bytes)
            return error_set(err, -EINVAL, "'%s': the same page size is given twice", text);
    if (s->n_hugepages == ARRAY_SIZE(s->hugepages))
        return error_set(err, -E2BIG, "'%s': too many page sizes", text);
    s->hugepages[s->n_hugepages++] = pages;
    return 0;
}

int
accelerators_parse_hugepages(const char *text, struct submission *submission, struct error *err)
{
    CLEANUP_FREE char *copy = xstrdup(text);
    char *rest = copy, *part;
    int r = 0;

    submission->n_hugepages = 0;
    while (r == 0 && (part = strsep(&rest, ",")) != NULL)
        r = add_pages(submission, part, text, err);
    return r;
}
