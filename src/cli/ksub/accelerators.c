/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/accelerators.h"

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

int
accelerators_parse_gpus(const char *text, struct submission *submission, struct error *err)
{
    struct gpu_request asked;
    int r = gpu_request_parse(text, &asked, err);

    if (r < 0)
        return r;
    submission->gpus = asked.count;
    memcpy(submission->gpu_type, asked.model, sizeof(submission->gpu_type));
    return 0;
}

int
accelerators_parse_gres(const char *text, struct submission *submission, struct error *err)
{
    size_t kind = strcspn(text, ":");
    const char *rest = text[kind] == ':' ? text + kind + 1 : COUNT_TEXT;
    char one[128];

    if (kind != 3 || strncmp(text, "gpu", kind) != 0)
        return error_set(err, -EOPNOTSUPP,
                         "'%s': only gpu is supported here, as in gpu:2 or "
                         "gpu:a100:2",
                         text);
    snprintf(one, sizeof(one), COUNT_TEXT ":%.100s", rest);
    if (strchr(rest, ':') == NULL && rest[strspn(rest, "0123456789")] != '\0'
        && accelerators_parse_gpus(one, submission, NULL) == 0)
        return 0;
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
