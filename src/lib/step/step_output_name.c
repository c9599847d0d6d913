/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/step/step_output_name.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/error.h"
#include "lib/base/strbuf.h"

#define WIDTH_MOST 10u

/* The letter behind a percent sign and the width before it. `at` is behind the sign. */
static const char *
read_letter(const char *at, unsigned *ret_width)
{
    unsigned width = 0;

    for (; isdigit((unsigned char)*at); at++)
        width = width < 1000 ? width * 10 + (unsigned)(*at - '0') : width;
    *ret_width = width < WIDTH_MOST ? width : WIDTH_MOST;
    return at;
}

enum step_output_scope
step_output_name_scope(const char *pattern)
{
    enum step_output_scope scope = STEP_OUTPUT_ONE;
    unsigned width;

    if (strchr(pattern, '\\') != NULL)
        return STEP_OUTPUT_ONE;
    for (const char *at = strchr(pattern, '%'); at != NULL; at = strchr(at, '%')) {
        at = read_letter(at + 1, &width);
        if (*at == 't')
            return STEP_OUTPUT_TASK;
        if (*at == 'n' || *at == 'N')
            scope = STEP_OUTPUT_NODE;
        if (*at != '\0')
            at++;
    }
    return scope;
}

int
step_output_name_check(const char *pattern, struct error *err)
{
    unsigned width;

    if (strchr(pattern, '\\') != NULL)
        return 0;
    for (const char *at = strchr(pattern, '%'); at != NULL; at = strchr(at + 1, '%')) {
        at = read_letter(at + 1, &width);
        if (*at == '\0')
            return error_set(err, -EINVAL, "'%.200s' ends with a percent sign; write %%%% for one",
                             pattern);
        if (strchr("jJsAaxuNnt%", *at) == NULL)
            return error_set(err, -EINVAL,
                             "%%%c is no pattern; there are %%j %%J %%s %%A %%a %%x %%u %%N %%n "
                             "%%t and %%%% for a percent sign",
                             *at);
    }
    return 0;
}

static void
add_number(struct strbuf *out, const char *digits, unsigned width)
{
    for (size_t length = strlen(digits); length < width; length++)
        strbuf_add_text(out, "0");
    strbuf_add_text(out, digits);
}

static void
add_count(struct strbuf *out, unsigned n, unsigned width)
{
    strbuf_printf(out, "%0*u", (int)width, n);
}

static void
add_value(struct strbuf *out, const char *value, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        const char c = value[i] == '/' ? '_' : value[i];

        strbuf_add(out, &c, 1);
    }
}

static void
add_text(struct strbuf *out, const char *value)
{
    if (value != NULL)
        add_value(out, value, strlen(value));
}

static void
add_letter(struct strbuf *out, char letter, unsigned width, const struct step_output_values *v)
{
    const char *job = v->job_id != NULL ? v->job_id : "0";

    switch (letter) {
    case 'j':
        add_number(out, job, width);
        break;
    case 'J':
        add_number(out, job, width);
        strbuf_printf(out, ".%s", v->step_id);
        break;
    case 's':
        add_number(out, v->step_id, width);
        break;
    case 'A':
        add_number(out, v->array_job_id != NULL ? v->array_job_id : job, width);
        break;
    case 'a':
        /* Slurm has this number for "no task of an array". */
        add_number(out, v->array_task_id != NULL ? v->array_task_id : "4294967294", width);
        break;
    case 'x':
        add_text(out, v->job_name);
        break;
    case 'u':
        add_text(out, v->user);
        break;
    case 'N':
        add_value(out, v->node, strcspn(v->node, "."));
        break;
    case 'n':
        add_count(out, v->node_index, width);
        break;
    case 't':
        add_count(out, v->task, width);
        break;
    default:
        strbuf_add(out, &letter, 1);
    }
}

void
step_output_name_expand(const char *pattern, const struct step_output_values *values,
                        struct strbuf *out)
{
    const bool is_plain = strchr(pattern, '\\') != NULL;
    unsigned width;

    for (const char *at = pattern; *at != '\0'; at++) {
        if (is_plain && *at == '\\')
            continue;
        if (is_plain || *at != '%') {
            strbuf_add(out, at, 1);
            continue;
        }
        at = read_letter(at + 1, &width);
        if (*at == '\0')
            return;
        add_letter(out, *at, width, values);
    }
}
