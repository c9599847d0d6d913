/* SPDX-License-Identifier: Apache-2.0 */
/* control_hosts.c - show hostnames, hostlist and hostlistsorted: host lists for scripts
 *
 * They ask nobody, so that a script of thousands of nodes costs the controller nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/slurm/slurm_client.h"
#include "cli/slurm_control/scontrol.h"
#include "lib/api/value/hostlist.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/fd.h"
#include "lib/base/strbuf.h"

#define MOST_OF_FILE (1u << 20)

/* Names of a file, one or several in a line, as a list. */
static const char *
read_list(struct scontrol *c, const char *text)
{
    CLEANUP_STRBUF struct strbuf file = STRBUF_INIT;
    char *list;
    size_t n = 0;
    bool is_comment = false;

    if (strchr(text, '/') == NULL || file_read(text, MOST_OF_FILE, &file, NULL) < 0)
        return text;
    list = arena_new_array(c->client->arena, char, file.length + 1);
    for (size_t i = 0; i < file.length; i++) {
        const char byte = file.text[i];

        is_comment = byte == '#' || (is_comment && byte != '\n');
        if (is_comment)
            continue;
        if (strchr(" \t\r\n,", byte) == NULL)
            list[n++] = byte;
        else if (n > 0 && list[n - 1] != ',')
            list[n++] = ',';
    }
    while (n > 0 && list[n - 1] == ',')
        n--;
    list[n] = '\0';
    return list;
}

static int
expand(struct scontrol *c, const char *list, const char ***ret_names, size_t *ret_count)
{
    struct error err = {0};
    int r = hostlist_expand(c->client->arena, list, ret_names, ret_count, &err);

    if (r < 0)
        slurm_client_error(c->client, "Invalid hostlist: %s: %s", list, err.text);
    return r;
}

int
control_show_hostnames(struct scontrol *c, int n_words, char **words)
{
    const char *list = n_words > 0 ? words[0] : getenv("SLURM_JOB_NODELIST");
    const char **names;
    size_t count;

    if (list == NULL)
        list = getenv("SLURM_NODELIST");
    if (list == NULL || list[0] == '\0') {
        slurm_client_error(c->client, "host list is empty");
        return n_words > 0 ? 1 : 0; /* as Slurm */
    }
    if (expand(c, list, &names, &count) < 0)
        return 1;
    for (size_t i = 0; i < count; i++)
        puts(names[i]);
    return 0;
}

static int
show_list(struct scontrol *c, int n_words, char **words, bool is_sorted)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    const char **names;
    size_t count;

    if (n_words == 0) {
        fputs("invalid encode argument\n", stderr);
        return 1;
    }
    if (expand(c, read_list(c, words[0]), &names, &count) < 0)
        return 1;
    if (is_sorted)
        hostlist_format(names, count, 0, &text);
    else
        hostlist_format_in_order(names, count, &text);
    puts(text.length > 0 ? text.text : "");
    return 0;
}

int
control_show_hostlist(struct scontrol *c, int n_words, char **words)
{
    return show_list(c, n_words, words, false);
}

int
control_show_hostlist_sorted(struct scontrol *c, int n_words, char **words)
{
    return show_list(c, n_words, words, true);
}
