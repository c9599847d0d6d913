/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm/slurm_client.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/connect/connection.h"
#include "lib/base/arena.h"
#include "lib/base/error.h"
#include "lib/base/strbuf.h"
#include "lib/base/version/version.h"
#include "lib/program/option.h"
#include "lib/program/program.h"

/* Slurm's MessageTimeout: for as long its commands try to reach the controller. */
#define PATIENCE_US INT64_C(10000000)

/* Another controller takes over after 10 to 12 s, and has to read what changed. */
#define TAKEOVER_US INT64_C(40000000)

void
slurm_client_init(struct slurm_client *client, const char *name)
{
    *client = (struct slurm_client){
        .name = name,
        .kctl = {.program = name, .patience_us = PATIENCE_US, .takeover_us = TAKEOVER_US},
        .arena = arena_new(0),
    };
}

int64_t
slurm_client_patience_ms(const struct slurm_client *client)
{
    const struct kctl *kctl = &client->kctl;
    const bool has_heads = strchr(connection_server(kctl->connection), ',') != NULL;

    return (has_heads ? kctl->takeover_us : kctl->patience_us) / 1000;
}

void
slurm_client_fini(struct slurm_client *client)
{
    kctl_fini(&client->kctl);
    arena_free(client->arena);
    client->arena = NULL;
}

void
slurm_client_print_version(void)
{
    printf("slurm %s (kiln %s)\n", SLURM_CLIENT_RELEASE, version_text());
}

/* ---- Errors ---- */

void
slurm_client_error(const struct slurm_client *client, const char *format, ...)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;
    va_list args;

    va_start(args, format);
    strbuf_vprintf(&text, format, args);
    va_end(args);
    fflush(stdout);
    fprintf(stderr, "%s: error: %s\n", client->name, text.text);
}

const char *
slurm_client_reason(int r, const struct error *err)
{
    switch (r) {
    case -ECONNREFUSED:
    case -EHOSTUNREACH:
    case -EHOSTDOWN:
    case -ENETUNREACH:
        return "Unable to contact slurm controller (connect failure)";
    case -ETIMEDOUT:
        return "Socket timed out on send/recv operation";
    case -ECONNRESET:
    case -EPIPE:
        return "Zero Bytes were transmitted or received";
    default:
        return err != NULL && err->code != 0 ? err->text : strerror(-r);
    }
}

int
slurm_client_fail(const struct slurm_client *client, const char *words, int r,
                  const struct error *err)
{
    if (words != NULL)
        slurm_client_error(client, "%s: %s", words, slurm_client_reason(r, err));
    else
        slurm_client_error(client, "%s", slurm_client_reason(r, err));
    return 1;
}

/* ---- Options ---- */

static void
print_usage(const struct option_table *table)
{
    fputs("Usage:", stdout);
    for (const char *line = table->usage; *line != '\0';) {
        const size_t length = strcspn(line, "\n");

        printf(" %s %.*s\n", table->name, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

int
slurm_client_options(struct slurm_client *client, const struct option_table *table, int argc,
                     char **argv, void *target)
{
    const struct slurm_common_options *common = target;
    CLEANUP_STRBUF struct strbuf help = STRBUF_INIT;
    struct error err = {0};
    int operands = argc;
    int r = option_parse(table, argc, argv, target, &operands, &err);

    if (r < 0) {
        fprintf(stderr, "%s: %s\nTry \"%s --help\" for more information\n", client->name, err.text,
                client->name);
        exit(1);
    }
    if (r == OPTION_HELP) {
        option_format_help(table, &help);
        fwrite(help.text, 1, help.length, stdout);
    } else if (common->version) {
        slurm_client_print_version();
    } else if (common->usage) {
        print_usage(table);
    } else {
        return operands;
    }
    exit(slurm_client_end(client));
}

int
slurm_client_end(const struct slurm_client *client)
{
    return program_end(client->name, 0, NULL) == EXIT_STATUS_OK ? 0 : 1;
}
