/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ksub/sbatch_values.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/ksub/sbatch_options.h"
#include "cli/ksub/submission.h"
#include "cli/ksub/submission_set.h"
#include "cli/values/output_path.h"
#include "lib/api/value/job_mail.h"
#include "lib/base/alloc.h"
#include "lib/base/duration.h"
#include "lib/base/error.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"

/* A submission borrows its texts, so what is made of a value stays until the program ends. */
const char *
sbatch_values_keep(const char *text)
{
    static struct kept {
        struct kept *next;
        char *text;
    } * all;
    struct kept *one = xnew(struct kept);

    *one = (struct kept){.next = all, .text = xstrdup(text)};
    all = one;
    return one->text;
}

/* ---- Values that have no effect ---- */

static bool
is_word(const char *text, size_t length, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strlen(*words) == length && strncasecmp(*words, text, length) == 0)
            return true;
    return false;
}

static bool
is_number(const char *text, size_t length)
{
    return length > 0 && strspn(text, "0123456789") >= length;
}

static bool
is_number_in(const char *text, long long min, long long max)
{
    char *end;
    long long number;

    errno = 0;
    number = strtoll(text, &end, 10);
    return end != text && *end == '\0' && errno == 0 && number >= min && number <= max;
}

/* "task=10,energy=5" or "30" */
static bool
is_frequency_list(const char *text)
{
    static const char *const types[] = {"task", "energy", "network", "filesystem", NULL};

    if (is_number(text, strlen(text)))
        return true;
    for (;;) {
        const size_t length = strcspn(text, ","), name = strcspn(text, "=");

        if (name >= length || !is_word(text, name, types)
            || !is_number(text + name + 1, length - name - 1))
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

static bool
is_speed(const char *text, size_t length)
{
    static const char *const words[] = {"low", "medium", "high", "highm1", NULL};

    return is_word(text, length, words) || is_number(text, length);
}

/* "p1[-p2[:p3]]" or a governor */
static bool
is_cpu_speed(const char *text)
{
    static const char *const governors[] = {
        "conservative", "ondemand", "performance", "powersave", "schedutil", "userspace", NULL,
    };
    const size_t first = strcspn(text, "-"), colon = strcspn(text, ":");

    if (is_word(text, strlen(text), governors))
        return true;
    if (text[first] == '\0' && text[colon] == '\0')
        return is_speed(text, first);
    if (text[first] == '\0')
        return is_speed(text, colon)
               && is_word(text + colon + 1, strlen(text + colon + 1), governors);
    return is_speed(text, first) && first < colon && is_speed(text + first + 1, colon - first - 1)
           && (text[colon] == '\0'
               || is_word(text + colon + 1, strlen(text + colon + 1), governors));
}

/* "medium,memory=high,verbose" */
static bool
is_gpu_speed(const char *text)
{
    for (;;) {
        const size_t length = strcspn(text, ",");
        const size_t skip = strncmp(text, "memory=", 7) == 0 ? 7 : 0;

        if (!is_speed(text + skip, length - skip)
            && (length != 7 || strncmp(text, "verbose", 7) != 0))
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

static bool
is_list_of(const char *text, const char *const *words, const char *prefix)
{
    const size_t n = strlen(prefix);

    for (;;) {
        size_t length = strcspn(text, ",");

        if (length > n && strncasecmp(text, prefix, n) == 0) {
            text += n;
            length -= n;
        }
        if (!is_word(text, length, words))
            return false;
        if (text[length] == '\0')
            return true;
        text += length + 1;
    }
}

/* "5", "10L", "S" */
static bool
is_login_timeout(const char *text)
{
    const char *rest = text + strspn(text, "0123456789");

    return rest[0] == '\0' || (strchr("SLsl", rest[0]) != NULL && rest[1] == '\0');
}

static bool
is_duration(const char *text)
{
    int64_t seconds;

    return duration_parse(text, &seconds, NULL) == 0;
}

static int
check_value(const char *option, const char *value, struct error *err)
{
    static const char *const limits[] = {
        "AS",    "CORE", "CPU", "DATA",  "FSIZE", "MEMLOCK", "NOFILE",
        "NPROC", "RSS",  "ALL", "STACK", "NONE",  NULL,
    };
    static const char *const hints[] = {
        "compute_bound", "memory_bound", "multithread", "nomultithread", NULL,
    };
    static const char *const profiles[] = {
        "all", "none", "energy", "task", "lustre", "network", NULL,
    };
    static const char *const bindings[] = {"enforce-binding", "disable-binding", NULL};
    static const char *const answers[] = {"yes", "no", NULL};
    const struct {
        const char *option;
        bool is_good;
        const char *what;
    } checks[] = {
        {"acctg-freq", is_frequency_list(value), "seconds, such as 30 or task=10,energy=5"},
        {"cpu-freq", is_cpu_speed(value),
         "low, medium, high, highm1, kilohertz, a range of these, or a governor"},
        {"delay-boot", is_duration(value), "a number of minutes"},
        {"get-user-env", is_login_timeout(value), "seconds and S or L, such as 10L"},
        {"gpu-freq", is_gpu_speed(value),
         "low, medium, high, highm1 or megahertz, such as medium,memory=high"},
        {"gres-flags", is_word(value, strlen(value), bindings),
         "enforce-binding or disable-binding"},
        {"hint", is_list_of(value, hints, ""),
         "one of compute_bound, memory_bound, multithread, nomultithread"},
        {"kill-on-invalid-dep", is_word(value, strlen(value), answers), "yes or no"},
        {"ntasks-per-core", is_number_in(value, 1, 1000000), "a number from 1 on"},
        {"profile", is_list_of(value, profiles, ""),
         "one of all, none, energy, task, lustre, network"},
        {"propagate", is_list_of(value, limits, "RLIMIT_"),
         "a list of limits, such as MEMLOCK,NOFILE"},
        {"time-min", is_duration(value), "a time"},
        {"wait-all-nodes", is_number_in(value, 0, 1), "0 or 1"},
    };

    for (size_t i = 0; i < ARRAY_SIZE(checks); i++)
        if (strcmp(checks[i].option, option) == 0)
            return checks[i].is_good
                       ? 0
                       : error_set(err, -EINVAL, "'%.60s' is not %s", value, checks[i].what);
    return 0;
}

static bool
has_variable(const char *option)
{
    static const char *const options[] = {"acctg-freq", "cpu-freq", "gpu-freq", "profile", NULL};

    return is_word(option, strlen(option), options);
}

/* Keeps a value as it was given, for the job's variables; the last one counts. */
static void
remember(struct submission *s, const char *option, const char *value)
{
    struct submission_sbatch *b = &s->slurm;
    unsigned i = 0;

    while (i < b->n_words && strcmp(b->words[i].option, option) != 0)
        i++;
    if (i == ARRAY_SIZE(b->words))
        return;
    b->words[i] = (struct submission_word){.option = option, .value = value};
    b->n_words += i == b->n_words;
}

/* How the processor's cores are used; "multithread" is the default. */
static void
use_cores(struct submission *s, const char *hint)
{
    s->threads_per_core = strcasecmp(hint, "multithread") == 0 ? 0 : 1;
    s->cores_per_socket = strcasecmp(hint, "memory_bound") == 0 ? 1 : 0;
}

int
sbatch_values_set_hint(const struct option_spec *option, const char *value, void *target,
                       struct error *err)
{
    int r = check_value(option->name, value, err);

    if (r < 0)
        return r;
    remember(target, option->name, value);
    use_cores(target, value + (strrchr(value, ',') != NULL ? strrchr(value, ',') + 1 - value : 0));
    return 0;
}

int
sbatch_values_note(const struct option_spec *option, const char *value, void *target,
                   struct error *err)
{
    struct submission_sbatch *b = &((struct submission *)target)->slurm;
    int r = value != NULL ? check_value(option->name, value, err) : 0;

    if (r < 0)
        return r;
    if (value != NULL && has_variable(option->name))
        remember(target, option->name, value);
    for (unsigned i = 0; i < b->n_notes; i++)
        if (b->notes[i] == option->name)
            return 0;
    if (b->n_notes < ARRAY_SIZE(b->notes))
        b->notes[b->n_notes++] = option->name;
    return 0;
}

/* ---- Values with more forms than ksub's ---- */

int
sbatch_values_set_nice(UNUSED const struct option_spec *option, const char *value, void *target,
                       struct error *err)
{
    if (value != NULL && !is_number_in(value, -2147483645, 2147483645))
        return error_set(err, -EINVAL, "'%.60s' is not a number from -2147483645 to 2147483645",
                         value);
    ((struct submission *)target)->slurm.nice = value != NULL ? strtoll(value, NULL, 10) : 100;
    return 0;
}

/* "-1" is no limit, and "1-" one day. */
int
sbatch_values_set_time(const struct option_spec *option, const char *value, void *target,
                       struct error *err)
{
    const size_t digits = strspn(value, "0123456789");
    char days[32];

    if (strcmp(value, "-1") == 0)
        return submission_set_duration(option, "unlimited", target, err);
    if (digits > 0 && digits < sizeof(days) - 3 && strcmp(value + digits, "-") == 0) {
        snprintf(days, sizeof(days), "%s0", value);
        return submission_set_duration(option, days, target, err);
    }
    return submission_set_duration(option, value, target, err);
}

/* The words are kept for srun, which distributes the tasks. The second word is about the packages
 * of a node; where it is missing, the first stands in for it.
 */
int
sbatch_values_set_distribution(UNUSED const struct option_spec *option, const char *value,
                               void *target, struct error *err)
{
    static const struct {
        const char *word, *meaning;
    } words[] = {
        {"block", "pack"},     {"pack", "pack"},       {"cyclic", "cyclic"},
        {"fcyclic", "cyclic"}, {"scatter", "scatter"}, {"*", NULL},
    };
    struct submission *s = target;
    const char *colon = strchr(value, ':');
    const char *word = colon != NULL ? colon + 1 : value;
    size_t length = strcspn(word, ":,");
    const bool is_plane = strncasecmp(value, "plane=", 6) == 0;

    if (strncasecmp(value, "scatter", 7) != 0)
        remember(s, "distribution", value);
    if (strcasecmp(value, "nopack") == 0 || (is_plane && is_number_in(value + 6, 1, 1000000)))
        return 0;
    for (size_t i = 0; !is_plane && i < ARRAY_SIZE(words); i++)
        if (strlen(words[i].word) == length && strncasecmp(words[i].word, word, length) == 0) {
            s->distribution = words[i].meaning;
            return 0;
        }
    return error_set(err, -EOPNOTSUPP,
                     "'%s': tasks and cores are distributed by block (pack), cyclic, scatter or "
                     "plane=SIZE; a list of hosts is not read",
                     value);
}

/* How GPUs are shared out among tasks is the business of who starts these. */
int
sbatch_values_set_gpu_binding(const struct option_spec *option, const char *value, void *target,
                              struct error *err)
{
    static const char *const of_tasks[] = {"single:", "per_task:", "map_gpu:", "mask_gpu:"};
    struct submission *s = target;
    const char *word = strncmp(value, "verbose,", 8) == 0 ? value + 8 : value;

    remember(s, option->name, value);
    for (size_t i = 0; i < ARRAY_SIZE(of_tasks); i++)
        if (strncmp(word, of_tasks[i], strlen(of_tasks[i])) == 0)
            return sbatch_values_note(option, NULL, target, err);
    if (strcmp(word, "closest") != 0 && strcmp(word, "none") != 0)
        return error_set(err, -EINVAL,
                         "'%s' is not one of closest, none, single:N, per_task:N, map_gpu:LIST, "
                         "mask_gpu:LIST",
                         value);
    s->gpu_binding = strcmp(word, "none") == 0 ? "none" : "closest";
    return 0;
}

/* A list: what is said about the pages of tasks, and about messages, has no effect. */
int
sbatch_values_set_memory_policy(const struct option_spec *option, const char *value, void *target,
                                struct error *err)
{
    static const struct {
        const char *word, *meaning;
    } words[] = {
        {"bind", "bind"},        {"local", "bind"},  {"preferred", "preferred"},
        {"prefer", "preferred"}, {"p", "preferred"}, {"interleave", "interleave"},
        {"none", NULL},          {"no", NULL},
    };
    static const char *const ignored[] = {"quiet", "q", "verbose", "v", "sort", "nosort", NULL};
    struct submission *s = target;
    const char *policy = NULL;

    for (const char *at = value;;) {
        const size_t length = strcspn(at, ",");
        size_t i = 0;

        while (i < ARRAY_SIZE(words)
               && (strlen(words[i].word) != length || strncasecmp(words[i].word, at, length) != 0))
            i++;
        if (i < ARRAY_SIZE(words)) {
            /* "prefer,local": local pages first */
            policy = policy != NULL && words[i].meaning != NULL ? policy : words[i].meaning;
        } else if (strncasecmp(at, "map_mem:", 8) == 0 || strncasecmp(at, "mask_mem:", 9) == 0
                   || (length == 4 && strncasecmp(at, "rank", 4) == 0)) {
            sbatch_values_note(option, NULL, target, err);
            break; /* the commas that follow are the list's own */
        } else if (!is_word(at, length, ignored)) {
            return error_set(
                err, -EINVAL,
                "'%.60s' is not one of local (bind), prefer (preferred), interleave, "
                "none, rank, map_mem:LIST, mask_mem:LIST, quiet, verbose, sort, nosort",
                value);
        }
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    s->memory_policy = policy;
    remember(s, option->name, value);
    return 0;
}

/* Slurm passes over blanks, and over words that it does not know beside others. */
int
sbatch_values_set_mail_type(const struct option_spec *option, const char *value, void *target,
                            struct error *err)
{
    static const struct option_spec unknown = {.name = "mail-type (a word that is no event)"};
    CLEANUP_STRBUF struct strbuf known = STRBUF_INIT;
    unsigned n_unknown = 0;

    for (const char *at = value; *at != '\0';) {
        const size_t length = strcspn(at, ", ");
        CLEANUP_FREE char *word = xstrndup(at, length);
        unsigned events = 0;

        if (length > 0 && job_mail_parse(word, &events, NULL) == 0)
            strbuf_printf(&known, "%s%s", known.length > 0 ? "," : "", word);
        else
            n_unknown += length > 0;
        at += length + (at[length] != '\0');
    }
    if (known.length == 0 || n_unknown == 0)
        return submission_set_mail(option, known.length > 0 ? known.text : value, target, err);
    sbatch_values_note(&unknown, NULL, target, err);
    return submission_set_mail(option, known.text, target, err);
}

int
sbatch_values_set_open_mode(const struct option_spec *option, const char *value, void *target,
                            struct error *err)
{
    const size_t length = strlen(value);

    if (length > 0 && strncasecmp(value, "append", length) == 0)
        return submission_set_open_mode(option, "append", target, err);
    if (length > 0 && strncasecmp(value, "truncate", length) == 0)
        return submission_set_open_mode(option, "truncate", target, err);
    return submission_set_open_mode(option, value, target, err);
}

/* ---- Paths ---- */

/* After a backslash anywhere no pattern counts, and what is no pattern stays. */
static void
add_literally(struct strbuf *out, const char *path)
{
    const bool has_patterns = strchr(path, '\\') == NULL;

    while (*path != '\0') {
        const size_t digits = *path == '%' ? strspn(path + 1, "0123456789") : 0;
        const char letter = *path == '%' ? path[1 + digits] : '\0';

        if (*path == '\\' && path[1] != '\0')
            path++;
        if (*path == '%' && has_patterns && letter != '\0'
            && strchr("jAaxuN%" SBATCH_PATTERNS, letter) != NULL) {
            strbuf_add(out, path, digits + 2);
            path += digits + 2;
            continue;
        }
        if (*path == '%')
            strbuf_add_char(out, '%');
        strbuf_add_char(out, *path++);
    }
}

int
sbatch_values_set_path(const struct option_spec *option, const char *value, void *target,
                       UNUSED struct error *err)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char *path = value;

    if (value[0] == '\0')
        return output_path_check(value, err);
    if (strcasecmp(value, "none") == 0) {
        path = "/dev/null";
    } else {
        add_literally(&text, value);
        if (strcmp(text.text, value) != 0)
            path = sbatch_values_keep(text.text);
    }
    if (option->offset == offsetof(struct submission, output))
        submission_set_output(target, path);
    else
        *(const char **)(void *)((char *)target + option->offset) = path;
    return 0;
}
