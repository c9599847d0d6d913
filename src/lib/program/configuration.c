/* SPDX-License-Identifier: Apache-2.0 */
/* A file with several mistakes is reported with all of them, each with its line and key, since
 * an administrator mends them in one go. The command line wins over the file, and the log says
 * where it does: whoever edits the file does not see the options of the unit.
 */
#include "lib/program/configuration.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/alloc.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/log.h"
#include "lib/base/strbuf.h"
#include "lib/program/option.h"
#include "lib/program/program.h"

/* A setting from the command line, kept until the file has been read. */
struct override {
    const struct setting *setting;
    const char *text;
};

/* The values that the command line sets before the daemon's settings are read.
 */
struct given {
    const char *file;
    bool checks;
    bool prints;
    struct override *overrides;
    size_t n_overrides;
    size_t capacity;
    void *target;
    struct arena *arena;
    struct option_table table;
    struct option_spec *rows;
};

static void
given_fini(struct given *g)
{
    free(g->overrides);
    free(g->rows);
}

static int
keep_override(const struct option_spec *option, const char *value, void *target,
              UNUSED struct error *err)
{
    struct given *g = target;

    xgrow(g->overrides, g->n_overrides, g->capacity);
    g->overrides[g->n_overrides++] = (struct override){option->data, value};
    return 0;
}

/* Handles an option of the daemon's own table, which has another target. */
static int
pass_on(const struct option_spec *option, const char *value, void *target, struct error *err)
{
    const struct option_spec *own = option->data;
    struct given *g = target;

    return option_set(own, value, g->target, err);
}

static const struct option_spec common_rows[] = {
    {"config", 0, "FILE", "read the configuration from FILE", OPTION_TEXT,
     .offset = offsetof(struct given, file)},
    {"check-config", 0, NULL, "report errors in the configuration, and exit", OPTION_FLAG,
     .offset = offsetof(struct given, checks)},
    {"print-config", 0, NULL, "print the whole configuration with explanations, and exit",
     OPTION_FLAG, .offset = offsetof(struct given, prints)},
};

static void
make_table(struct given *g, const struct configuration *c)
{
    size_t n = 0;

    g->rows = xnew_array(struct option_spec,
                         c->settings->n_settings + c->options->n_options + ARRAY_SIZE(common_rows));
    for (size_t i = 0; i < ARRAY_SIZE(common_rows); i++)
        g->rows[n++] = common_rows[i];
    for (size_t i = 0; i < c->options->n_options; i++) {
        const struct option_spec *own = &c->options->options[i];

        g->rows[n] = *own;
        g->rows[n].type = OPTION_CALL;
        g->rows[n].set = pass_on;
        g->rows[n++].data = own;
    }
    for (size_t i = 0; i < c->settings->n_settings; i++) {
        const struct setting *s = &c->settings->settings[i];

        if (s->option != NULL)
            g->rows[n++] = (struct option_spec){.name = s->option,
                                                .letter = s->letter,
                                                .argument = s->argument,
                                                .help = s->help,
                                                .type = OPTION_CALL,
                                                .set = keep_override,
                                                .data = s};
    }
    g->table = *c->options;
    g->table.options = g->rows;
    g->table.n_options = n;
}

/* The first use of a list option replaces the file's list; later uses append.
 */
static bool
is_given_before(const struct given *g, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (g->overrides[j].setting == g->overrides[i].setting)
            return true;
    return false;
}

static void
print_one(const struct setting *s, const void *target, struct strbuf *out)
{
    setting_print(&(struct setting_table){.settings = s, .n_settings = 1}, target, out);
}

/* Sets what the command line gives, instead of the file's value. An administrator
 * who edits the file does not see the command line of a unit, so the log says if
 * the file has a value of its own.
 */
static int
override(const struct given *g, const struct override *o, void *target, bool is_silent,
         struct error *err)
{
    CLEANUP_STRBUF struct strbuf of_file = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf initial = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf now = STRBUF_INIT;
    const struct setting *s = o->setting;
    int r;

    print_one(s, target, &of_file);
    setting_reset_one(s, g->arena, target);
    print_one(s, target, &initial);
    r = setting_set(s, g->arena, o->text, target, err);
    if (r < 0 || is_silent)
        return r;
    print_one(s, target, &now);
    if (strcmp(of_file.text, initial.text) != 0 && strcmp(of_file.text, now.text) != 0)
        log_warning("%s in the configuration file has no effect: the command line has --%s%s%s",
                    s->key, s->option, o->text != NULL ? " " : "", o->text != NULL ? o->text : "");
    return 0;
}

static int
apply_overrides(const struct given *g, void *target, bool is_silent, struct error *err)
{
    for (size_t i = 0; i < g->n_overrides; i++) {
        const struct setting *s = g->overrides[i].setting;
        int r = is_given_before(g, i) ? setting_add(s, g->arena, g->overrides[i].text, target, err)
                                      : override(g, &g->overrides[i], target, is_silent, err);

        if (r < 0)
            return error_wrap(err, r, "--%s", s->option);
    }
    return 0;
}

static int
read_file(const struct configuration *c, const struct given *g, void *target,
          struct strbuf *mistakes)
{
    const char *path = g->file;

    if (path == NULL) {
        if (c->file == NULL || access(c->file, F_OK) < 0)
            return 0;
        path = c->file;
    }
    if (c->file_offset > 0)
        *(const char **)((char *)target + c->file_offset) = arena_strdup(g->arena, path);
    return setting_read_file(c->settings, g->arena, path, target, mistakes);
}

static void NORETURN
end_with_mistakes(const struct option_table *table, const struct strbuf *mistakes)
{
    const char *line = mistakes->text;

    for (; *line != '\0'; line += strcspn(line, "\n") + 1)
        fprintf(stderr, "%s: %.*s\n", table->name, (int)strcspn(line, "\n"), line);
    exit(EXIT_STATUS_CONFIG);
}

static void NORETURN
end_well(const struct configuration *c, const struct given *g)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    if (g->prints)
        setting_print(c->settings, g->target, &text);
    else
        strbuf_add_text(&text, "the configuration is valid\n");
    fwrite(text.text, 1, text.length, stdout);
    exit((int)program_end(c->options->name, 0, NULL));
}

int
configuration_begin(const struct configuration *c, int argc, char **argv, struct arena *arena,
                    void *target)
{
    CLEANUP(given_fini)
    struct given g = {.target = target, .arena = arena};
    CLEANUP_STRBUF struct strbuf mistakes = STRBUF_INIT;
    struct error err = {0};
    int operands;
    int r;

    make_table(&g, c);
    operands = program_begin(&g.table, argc, argv, &g);
    setting_reset(c->settings, arena, target);
    r = read_file(c, &g, target, &mistakes);
    if (apply_overrides(&g, target, false, &err) < 0)
        program_refuse(&g.table, "%s", err.text);
    if (r < 0)
        end_with_mistakes(&g.table, &mistakes);
    if (c->check != NULL && c->check(target, &mistakes) < 0)
        end_with_mistakes(&g.table, &mistakes);
    if (g.checks && c->check_start != NULL && c->check_start(target, &mistakes) < 0)
        end_with_mistakes(&g.table, &mistakes);
    if (g.checks || g.prints)
        end_well(c, &g);
    return operands;
}

int
configuration_read(const struct configuration *c, int argc, char **argv, struct arena *arena,
                   void *target, struct strbuf *mistakes)
{
    CLEANUP(given_fini)
    struct given g = {.target = target, .arena = arena};
    struct error err = {0};
    int operands;
    int r;

    make_table(&g, c);
    r = option_parse(&g.table, argc, argv, &g, &operands, &err);
    if (r == 0) {
        setting_reset(c->settings, arena, target);
        r = apply_overrides(&g, target, true, &err);
    }
    if (r < 0) {
        strbuf_printf(mistakes, "%s\n", err.text);
        return r;
    }
    r = read_file(c, &g, target, mistakes);
    return r < 0 ? r : apply_overrides(&g, target, true, &err);
}
