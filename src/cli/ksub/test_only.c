/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/test_only.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "cli/ksub/duration.h"
#include "cli/ksub/memory_size.h"
#include "cli/ksub/submission.h"
#include "cli/outlook/outlook.h"
#include "cli/outlook/survey.h"
#include "lib/base/clock.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

static void
print_shape(const struct submission *s)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    int64_t bytes = submission_memory(s);

    strbuf_printf(&text,
                  "The controller would accept job '%s': ",
                  submission_name(s));
    if (s->shared_mcpu > 0)
        strbuf_printf(&text,
                      "%g shared CPUs on one node",
                      (double)s->shared_mcpu / 1000);
    else
        strbuf_printf(&text,
                      "%" PRId64 " CPU%s on one node",
                      submission_cpus(s),
                      submission_cpus(s) == 1 ? "" : "s");
    if (bytes > 0) {
        strbuf_add_text(&text, ", ");
        memory_size_format(bytes, &text);
        strbuf_add_text(&text, "B of memory");
    }
    strbuf_add_text(&text, ", time limit ");
    duration_format(s->time_limit_s, &text);
    printf("%s.\n", text.text);
}

int
test_only_print(const struct submission *s,
                struct client *client,
                const struct json *manifest,
                struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP_SURVEY struct survey survey = {0};
    CLEANUP(outlook_freep) struct outlook *outlook = NULL;
    int r = survey_make(client,
                        json_get_path(manifest, "spec.template.spec"),
                        &survey,
                        err);

    if (r < 0)
        return r;
    outlook = survey_outlook(&survey, manifest, clock_real_us(&clock_system));
    if (outlook == NULL)
        return error_set(err, -EPROTO, "the job cannot be read back");
    outlook_format(outlook, &text);
    if (outlook_best(outlook) == OUTLOOK_NEVER)
        return error_set(err, -ENODEV, "%.800s", text.text);
    print_shape(s);
    if (s->begin_at_us > outlook->now_us)
        strbuf_add_text(&text, "; it is not to begin before --begin");
    if (s->hold)
        strbuf_add_text(&text, "; held, it waits for 'kctl release'");
    printf("%c%s.\n", toupper((unsigned char)text.text[0]), text.text + 1);
    return 0;
}
