/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz_job_script.c - any bytes as a job script, its commands and comments, and its
 * directives as options
 *
 * Build: CC=clang ./configure --enable-fuzz; run: fuzz_job_script [CORPUS].
 */
#include <stdint.h>
#include <string.h>

#include "cli/ksub/job_script.h"
#include "cli/ksub/ksub_options.h"
#include "cli/ksub/manifest.h"
#include "cli/ksub/script_hints.h"
#include "cli/ksub/submission.h"
#include "cli/shell/shell_reader.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/program/option.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Like submission_input: words become a command line. */
static void
apply(struct arena *arena, struct submission *submission, char **words, size_t count,
      struct error *err)
{
    char **argv = arena_new_array(arena, char *, count + 2);
    int operands = 0;

    argv[0] = arena_strdup(arena, "ksub");
    memcpy(argv + 1, words, count * sizeof(*words));
    option_parse(&ksub_options, (int)count + 1, argv, submission, &operands, err);
}

/* Words are within the script or a copy of a bounded size. */
static void
note(enum shell_part part, const char *text, size_t length, unsigned line, void *context)
{
    volatile unsigned *sum = context;

    for (size_t i = 0; i < length; i++)
        *sum += (unsigned char)text[i];
    *sum += part + line;
}

static void
look(const char *script, size_t length)
{
    CLEANUP_STRBUF struct strbuf hints = STRBUF_INIT;
    struct script_hints_foreign foreign;
    unsigned sum = 0;

    shell_reader_visit(script, length, note, &sum);
    script_hints_add(script, length, "#KSUB", "script", &hints);
    script_hints_find_foreign(script, length, &foreign);
    if (foreign.asking > 0
        && (foreign.option < script || foreign.option + foreign.option_length > script + length))
        __builtin_trap();
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_freep) struct arena *arena = arena_new(0);
    CLEANUP_STRBUF struct strbuf script = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    struct submission submission = {.directory = "/"};
    struct job_script_reader reader;
    struct error err = {0};
    const struct json *job;
    char **words = NULL;
    size_t count = 0;

    strbuf_add(&script, data, size);
    job_script_check(script.text, script.length, &err);
    look(script.text, script.length);
    job_script_read(&reader, "#KSUB", script.text, script.length);
    while (job_script_next(&reader, arena, &words, &count, &err) > 0)
        apply(arena, &submission, words, count, &err);
    job = manifest_make(&submission, &script, arena, &err);
    if (job != NULL) {
        json_print(job, &text);
        if (json_parse(arena, text.text, text.length, NULL, NULL) == NULL)
            __builtin_trap(); /* the request must be JSON */
    }
    return 0;
}
