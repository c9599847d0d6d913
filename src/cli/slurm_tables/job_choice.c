/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/job_choice.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/base/arena.h"

/* The length of the next job: commas in brackets do not end it. */
static size_t
length_of(const char *at)
{
    size_t n = 0;

    for (bool is_inside = false; at[n] != '\0'; n++) {
        if (at[n] == '[')
            is_inside = true;
        else if (at[n] == ']')
            is_inside = false;
        else if (!is_inside && (at[n] == ',' || at[n] == ' '))
            break;
    }
    return n;
}

static bool
read_tasks(const char **at, struct arena *arena, struct slurm_job_choice *job)
{
    size_t length = strspn(*at, "0123456789");
    const char *text = *at;

    if (*text == '[') {
        const char *end = strchr(text, ']');

        if (end == NULL)
            return false;
        text++;
        length = (size_t)(end - text);
        *at = end + 1;
    } else
        *at += length;
    job->has_tasks = true;
    return length > 0
           && task_list_parse(
                  arena,
                  arena_strndup(arena, text,
                                strcspn(text, "]%") < length ? strcspn(text, "]%") : length),
                  &job->tasks, NULL)
                  == 0;
}

static bool
read_job(const char *word, struct arena *arena, struct slurm_job_choice *job)
{
    char *end;

    if (!isdigit((unsigned char)word[0]))
        return false;
    job->id = strtoll(word, &end, 10);
    word = end;
    if (*word == '_') {
        word++;
        if (*word == '*')
            word++;
        else if (!read_tasks(&word, arena, job))
            return false;
    }
    if (*word == '.') {
        job->step = arena_strdup(arena, word + 1);
        return job->step[0] != '\0';
    }
    return *word == '\0' && job->id > 0;
}

const char *
job_choices_add(struct slurm_job_choices *choices, struct arena *arena, const char *list)
{
    for (size_t length; *list != '\0'; list += length + (list[length] != '\0')) {
        struct slurm_job_choice job = {0};
        struct slurm_job_choice *more;
        const char *word;

        length = length_of(list);
        if (length == 0)
            continue;
        word = arena_strndup(arena, list, length);
        if (!read_job(word, arena, &job))
            return word;
        more = arena_new_array(arena, struct slurm_job_choice, choices->count + 1);
        if (choices->count > 0)
            memcpy(more, choices->items, choices->count * sizeof(*more));
        more[choices->count++] = job;
        choices->items = more;
    }
    return NULL;
}

bool
job_choices_have(const struct slurm_job_choices *choices, int64_t id, int64_t task)
{
    for (size_t i = 0; i < choices->count; i++) {
        const struct slurm_job_choice *job = &choices->items[i];

        if (job->id == id
            && (!job->has_tasks || (task >= 0 && task_list_index(&job->tasks, task) >= 0)))
            return true;
    }
    return false;
}

static bool
has_name(const char *list, const char *name, size_t wanted, bool any_case)
{
    if (list == NULL)
        return true;
    for (size_t length; *list != '\0'; list += length + (list[length] == ',')) {
        length = strcspn(list, ",");
        if (length == wanted
            && (any_case ? strncasecmp(list, name, length) : strncmp(list, name, length)) == 0)
            return true;
    }
    return false;
}

bool
name_list_has(const char *list, const char *name)
{
    return has_name(list, name, strlen(name), false);
}

bool
name_list_has_any_case(const char *list, const char *name)
{
    return has_name(list, name, strlen(name), true);
}

bool
name_list_has_any(const char *list, const char *names)
{
    if (list == NULL)
        return true;
    for (size_t length; *names != '\0'; names += length + (names[length] == ',')) {
        length = strcspn(names, ",");
        if (has_name(list, names, length, false))
            return true;
    }
    return false;
}
