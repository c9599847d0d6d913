/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/pipeline_file.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "cli/ksub/job_script.h"
#include "lib/api/job/job_dependency.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/macro.h"
#include "lib/base/spelling.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"
#include "lib/yaml/yaml.h"

#define BYTES_MOST  (1u << 20)
#define VALUES_MOST 50000u
#define NAME_MOST   63
#define CIRCLE_MOST 8 /* stages of a cycle in an error */

/* A file being read. */
struct pipeline_reader {
    const char *path;
    struct arena *arena;
    struct yaml_reader *yaml;
    struct error *err;
};

static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

/* ---- Refusals ---- */

static int PRINTF(3, 4)
    refuse(struct pipeline_reader *r, const struct json *value, const char *format, ...)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const unsigned line = yaml_reader_line(r->yaml, value);
    va_list args;

    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    if (line == 0)
        return error_set(r->err, -EINVAL, "%s: %s", r->path, text.text);
    return error_set(r->err, -EINVAL, "%s:%u: %s", r->path, line, text.text);
}

static int
refuse_words(struct pipeline_reader *r, const struct json *value, const struct error *why)
{
    return refuse(r, value, "%s", why->text);
}

static int
check_members(struct pipeline_reader *r, const struct json *object, const char *const *known,
              size_t n_known)
{
    for (uint32_t i = 0; i < json_count(object); i++) {
        const struct json_member *m = &object->members[i];
        const char *near;
        size_t k = 0;

        while (k < n_known && strcmp(known[k], m->name) != 0)
            k++;
        if (k < n_known)
            continue;
        near = spelling_nearest(m->name, known, n_known);
        return refuse(r, m->value, "unknown pipeline key '%.64s'%s%s%s", m->name,
                      near != NULL ? " (did you mean '" : "", near != NULL ? near : "",
                      near != NULL ? "'?)" : "");
    }
    return 0;
}

/* ---- Words ---- */

/* NULL: it is neither a text nor a number. */
static const char *
text_of(const struct json *value)
{
    if (json_is(value, JSON_STRING))
        return json_text(value);
    return json_is(value, JSON_NUMBER) ? value->text : NULL;
}

static int
read_list(struct pipeline_reader *r, const struct json *list, const char *what,
          struct pipeline_words *ret_words)
{
    char **items = arena_new_array(r->arena, char *, json_count(list) + 1);

    for (uint32_t i = 0; i < json_count(list); i++) {
        const char *text = text_of(json_at(list, i));

        if (text == NULL)
            return refuse(r, json_at(list, i), "%s: expected a string; put it in quotes", what);
        items[i] = arena_strdup(r->arena, text);
    }
    items[json_count(list)] = NULL;
    *ret_words = (struct pipeline_words){items, json_count(list)};
    return 0;
}

/* Reads a list, or a text with words as in a shell. */
static int
read_words(struct pipeline_reader *r, const struct json *object, const char *name,
           struct pipeline_words *ret_words)
{
    const struct json *value = json_get(object, name);
    struct error why = {0};

    *ret_words = (struct pipeline_words){0};
    if (value == NULL || json_is(value, JSON_NULL))
        return 0;
    if (json_is(value, JSON_ARRAY))
        return read_list(r, value, name, ret_words);
    if (text_of(value) == NULL)
        return refuse(r, value, "%s: expected a string or a list", name);
    if (job_script_split(text_of(value), r->arena, &ret_words->items, &ret_words->count, &why) < 0)
        return refuse(r, value, "%s: %s", name, why.text);
    return 0;
}

static int
read_text(struct pipeline_reader *r, const struct json *object, const char *name,
          const char **ret_text)
{
    const struct json *value = json_get(object, name);
    const char *text;

    *ret_text = NULL;
    if (value == NULL || json_is(value, JSON_NULL))
        return 0;
    text = text_of(value);
    if (text == NULL || text[0] == '\0')
        return refuse(r, value, "%s: expected a string", name);
    *ret_text = arena_strdup(r->arena, text);
    return 0;
}

/* ---- Dependencies of a stage ---- */

static int
parse_after(struct pipeline_reader *r, const struct json *value, struct json **ret_after)
{
    struct error why = {0};

    if (text_of(value) == NULL)
        return refuse(r, value,
                      "after: expected the name of a stage, or afterok:NAME "
                      "or another dependency");
    if (job_dependency_parse_stages(text_of(value), r->arena, ret_after, &why) < 0)
        return refuse(r, value, "after: %s", why.text);
    return 0;
}

static int
read_after(struct pipeline_reader *r, const struct json *object, struct json **ret_after)
{
    const struct json *value = json_get(object, "after");
    struct json *jobs = json_array(r->arena);

    *ret_after = NULL;
    if (value == NULL || json_is(value, JSON_NULL))
        return 0;
    if (!json_is(value, JSON_ARRAY))
        return parse_after(r, value, ret_after);
    for (uint32_t i = 0; i < json_count(value); i++) {
        struct json *one = NULL;
        int result = parse_after(r, json_at(value, i), &one);

        if (result < 0)
            return result;
        if (json_get(one, "require") != NULL)
            return refuse(r, json_at(value, i),
                          "after: a stage waits for all of a list; to wait "
                          "for any, write one string: afterok:a?afterok:b");
        for (uint32_t k = 0; k < json_count(json_get(one, "jobs")); k++)
            json_append(r->arena, jobs, json_at(json_get(one, "jobs"), k));
    }
    if (json_count(jobs) > JOB_DEPENDENCIES_MOST)
        return refuse(r, value, "after: a stage can wait for at most %u others",
                      JOB_DEPENDENCIES_MOST);
    if (json_count(jobs) > 0) {
        *ret_after = json_object(r->arena);
        json_set(r->arena, *ret_after, "jobs", jobs);
    }
    return 0;
}

/* ---- A stage ---- */

const struct pipeline_stage *
pipeline_file_find(const struct pipeline_file *file, const char *name)
{
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->stages[i].name, name) == 0)
            return &file->stages[i];
    return NULL;
}

/* "1041", "1042_3" */
static bool
looks_like_number(const char *name)
{
    const size_t digits = strspn(name, "0123456789");

    return digits > 0 && (name[digits] == '\0' || name[digits] == '_');
}

static int
check_name(struct pipeline_reader *r, const struct pipeline_file *file, const struct json *object,
           const char *name)
{
    const struct pipeline_stage *other;

    if (name == NULL)
        return refuse(r, object, "a stage has no name (name: prepare)");
    if (strlen(name) > NAME_MOST || strspn(name, letters) != strlen(name))
        return refuse(r, json_get(object, "name"),
                      "the stage name '%.64s' must consist of at most %d "
                      "letters, digits, dots, dashes and underscores",
                      name, NAME_MOST);
    if (looks_like_number(name) || job_dependency_type_of(name) != DEPENDENCY_NONE)
        return refuse(r, json_get(object, "name"), "a stage cannot be called '%s': that is %s",
                      name, looks_like_number(name) ? "a job id" : "a dependency");
    other = pipeline_file_find(file, name);
    if (other != NULL)
        return refuse(r, json_get(object, "name"),
                      "there are two stages '%s', the first on line %u", name, other->line);
    return 0;
}

static int
read_stage(struct pipeline_reader *r, struct pipeline_file *file, const struct json *object)
{
    static const char *const known[] = {"name", "script", "wrap", "args", "options", "after"};
    struct pipeline_stage s = {.line = yaml_reader_line(r->yaml, object)};
    int result;

    if (!json_is(object, JSON_OBJECT))
        return refuse(r, object, "expected a stage: name, script, args, options, after");
    if ((result = check_members(r, object, known, ARRAY_SIZE(known))) < 0
        || (result = read_text(r, object, "name", &s.name)) < 0
        || (result = check_name(r, file, object, s.name)) < 0
        || (result = read_text(r, object, "script", &s.script)) < 0
        || (result = read_text(r, object, "wrap", &s.wrapped)) < 0
        || (result = read_words(r, object, "args", &s.arguments)) < 0
        || (result = read_words(r, object, "options", &s.options)) < 0
        || (result = read_after(r, object, &s.after)) < 0)
        return result;
    if ((s.script != NULL) == (s.wrapped != NULL))
        return refuse(r, object, "stage '%s' has %s: give either script or wrap", s.name,
                      s.script != NULL ? "both" : "neither");
    if (s.wrapped != NULL && s.arguments.count > 0)
        return refuse(r, json_get(object, "args"),
                      "stage '%s': args require a script; put them into wrap", s.name);
    file->stages[file->count++] = s;
    return 0;
}

/* ---- The order ---- */

static int PRINTF(4, 5)
    refuse_stage(const struct pipeline_file *file, const struct pipeline_stage *stage,
                 struct error *err, const char *format, ...)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    va_list args;

    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    return error_set(err, -EINVAL, "%s:%u: stage '%s' %s", file->path, stage->line, stage->name,
                     text.text);
}

static int
check_stages(const struct pipeline_file *file, struct error *err)
{
    for (size_t i = 0; i < file->count; i++) {
        const struct pipeline_stage *s = &file->stages[i];
        const struct json *jobs = json_get(s->after, "jobs");

        for (uint32_t k = 0; k < json_count(jobs); k++) {
            const char *name = json_get_text(json_at(jobs, k), "stage");

            if (name != NULL && strcmp(name, s->name) == 0)
                return refuse_stage(file, s, err, "waits for itself");
            if (name != NULL && pipeline_file_find(file, name) == NULL)
                return refuse_stage(file, s, err,
                                    "waits for stage '%.64s', which is not in "
                                    "this file",
                                    name);
        }
    }
    return 0;
}

/* A dependency of this stage that is not in the order yet; or NULL. */
static const struct pipeline_stage *
find_open(const struct pipeline_file *file, const struct pipeline_stage *s, const bool *is_done)
{
    const struct json *jobs = json_get(s->after, "jobs");

    for (uint32_t k = 0; k < json_count(jobs); k++) {
        const char *name = json_get_text(json_at(jobs, k), "stage");
        const struct pipeline_stage *other = name != NULL ? pipeline_file_find(file, name) : NULL;

        if (other != NULL && !is_done[other - file->stages])
            return other;
    }
    return NULL;
}

/* Starting at a stage that waits, following dependencies for `count` steps
 * always ends inside the cycle; then the cycle is printed from there.
 */
static int
refuse_circle(const struct pipeline_file *file, const struct pipeline_stage *s, const bool *is_done,
              struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const struct pipeline_stage *first, *next;
    unsigned n = 0;

    for (size_t i = 0; i < file->count; i++)
        s = find_open(file, s, is_done);
    first = s;
    do {
        next = find_open(file, s, is_done);
        if (n++ < CIRCLE_MOST)
            strbuf_printf(&text, "%swaits for '%s'", s == first ? "" : ", which ", next->name);
        s = next;
    } while (s != first);
    return refuse_stage(file, first, err, "%s%s: none of them could ever start", text.text,
                        n > CIRCLE_MOST ? " and so on" : "");
}

/* Keeps the order of the file as far as dependencies allow. */
static int
sort(struct pipeline_file *file, struct arena *arena, struct error *err)
{
    bool *is_done = arena_new_array(arena, bool, file->count);
    size_t n = 0;

    memset(is_done, 0, file->count * sizeof(*is_done));
    file->order = arena_new_array(arena, size_t, file->count);
    while (n < file->count) {
        size_t i = 0;

        while (i < file->count
               && (is_done[i] || find_open(file, &file->stages[i], is_done) != NULL))
            i++;
        if (i == file->count) {
            i = 0;
            while (is_done[i])
                i++;
            return refuse_circle(file, &file->stages[i], is_done, err);
        }
        is_done[i] = true;
        file->order[n++] = i;
    }
    return 0;
}

/* ---- The file ---- */

static int
read_document(struct pipeline_reader *r, const struct json *document, struct pipeline_file *file)
{
    static const char *const known[] = {"options", "stages"};
    const struct json *stages = json_get(document, "stages");
    int result;

    if (!json_is(document, JSON_OBJECT) || !json_is(stages, JSON_ARRAY) || json_count(stages) == 0)
        return refuse(r, stages != NULL ? stages : document,
                      "expected a list of stages (stages: and below it '- "
                      "name: ...')");
    if (json_count(stages) > PIPELINE_FILE_STAGES_MOST)
        return refuse(r, stages, "a pipeline can have at most %u stages, not %u",
                      PIPELINE_FILE_STAGES_MOST, (unsigned)json_count(stages));
    if ((result = check_members(r, document, known, ARRAY_SIZE(known))) < 0
        || (result = read_words(r, document, "options", &file->options)) < 0)
        return result;
    file->stages = arena_new_array(r->arena, struct pipeline_stage, json_count(stages));
    for (uint32_t i = 0; result == 0 && i < json_count(stages); i++)
        result = read_stage(r, file, json_at(stages, i));
    if (result == 0)
        result = check_stages(file, r->err);
    return result < 0 ? result : sort(file, r->arena, r->err);
}

static int
read_bytes(const char *path, struct strbuf *out, struct error *err)
{
    int r;

    if (strcmp(path, "-") != 0)
        return file_read(path, BYTES_MOST, out, err);
    r = fd_read_all(STDIN_FILENO, BYTES_MOST, out);
    return r < 0 ? error_wrap(err, r, "reading the standard input") : 0;
}

int
pipeline_file_read(const char *path, struct arena *arena, struct pipeline_file *ret_file,
                   struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    CLEANUP(yaml_reader_freep) struct yaml_reader *yaml = NULL;
    struct pipeline_reader r = {.path = path, .arena = arena, .err = err};
    struct json *document = NULL, *more = NULL;
    struct error why = {0};
    int result = read_bytes(path, &text, err);

    if (strcmp(path, "-") == 0)
        r.path = path = "standard input";
    if (result == -EFBIG)
        return error_set(err, result,
                         "%s: more than 1 MiB; put scripts into files of "
                         "their own",
                         path);
    if (result < 0)
        return result;
    yaml = r.yaml = yaml_reader_new(text.text, text.length);
    yaml_reader_bound(yaml, VALUES_MOST);
    result = yaml_reader_next(yaml, arena, &document, NULL, &why);
    if (result < 0)
        return error_set(err, -EINVAL, "%s: %s", path, why.text);
    *ret_file = (struct pipeline_file){.path = path};
    if (result == 0)
        return refuse(&r, NULL, "it is empty; expected a list of stages");
    result = read_document(&r, document, ret_file);
    if (result < 0)
        return result;
    result = yaml_reader_next(yaml, arena, &more, NULL, &why);
    if (result < 0)
        return refuse_words(&r, NULL, &why);
    return result == 0 ? 0 : refuse(&r, more, "a file has one pipeline, without '---'");
}

/* ---- A chain ---- */

/* "prepare" for "../prepare.sh", with a number if that name is taken. */
static const char *
name_of_script(const struct pipeline_file *file, const char *path, struct arena *arena)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    char *name = arena_strndup(arena, base, NAME_MOST - 4);

    for (char *p = name; *p != '\0'; p++)
        if (strchr(letters, *p) == NULL)
            *p = '_';
    if (pipeline_file_find(file, name) == NULL)
        return name;
    return arena_printf(arena, "%s-%zu", name, file->count + 1);
}

int
pipeline_file_chain(char *const *scripts, size_t count, struct arena *arena,
                    struct pipeline_file *ret_file, struct error *err)
{
    *ret_file = (struct pipeline_file){0};
    if (count == 0)
        return error_set(err, -EINVAL,
                         "--chain: expected scripts, such as ksub --chain "
                         "first.sh second.sh");
    if (count > PIPELINE_FILE_STAGES_MOST)
        return error_set(err, -E2BIG, "--chain: at most %u scripts, not %zu",
                         PIPELINE_FILE_STAGES_MOST, count);
    ret_file->stages = arena_new_array(arena, struct pipeline_stage, count);
    ret_file->order = arena_new_array(arena, size_t, count);
    for (size_t i = 0; i < count; i++) {
        struct pipeline_stage s = {
            .name = name_of_script(ret_file, scripts[i], arena),
            .script = scripts[i],
        };

        if (i > 0) {
            struct json *one = json_object(arena);
            struct json *jobs = json_array(arena);

            json_set_string(arena, one, "type", "afterok");
            json_set_string(arena, one, "stage", ret_file->stages[i - 1].name);
            json_append(arena, jobs, one);
            s.after = json_object(arena);
            json_set(arena, s.after, "jobs", jobs);
        }
        ret_file->order[i] = i;
        ret_file->stages[ret_file->count++] = s;
    }
    return 0;
}
