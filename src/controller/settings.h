/* SPDX-License-Identifier: Apache-2.0 */
/* settings.h - the settings of a controller, from the command line and
 * controller.yaml
 *
 * An open struct, const after reading. The command line wins over the file.
 *
 * Thread:  any; reading blocks.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "controller/apiserver/access/site_limits.h"
#include "controller/scheduler/config/feature_gate.h"
#include "lib/program/setting.h"

struct arena;
struct kube_configuration;
struct strbuf;

struct controller_settings {
    struct arena *arena; /* owns the texts */
    int argc;            /* of the command line, for a reload */
    char **argv;
    const char *config_file; /* that was read, or NULL */
    const char *state_dir;
    const char *database; /* URL, or NULL: the store is in the state directory */
    int64_t reserve_bytes;
    struct setting_texts listen; /* "ADDR:PORT" */
    struct setting_texts tls_listen;
    const char *advertise_host;  /* for the other heads; NULL: that of listen, or of the machine */
    const char *tls_certificate; /* paths of both, or both NULL */
    const char *tls_key;
    struct setting_texts tls_names;
    int64_t token_lifetime_us;
    bool rotate_tokens;
    const char *socket; /* path */
    const char *cluster;
    const char *munge_socket;
    struct setting_texts administrators; /* users and "@group"s */
    struct setting_texts operators;
    bool allow_root_jobs;
    int impossible; /* enum impossible_jobs */
    int64_t min_uid;
    bool allow_rootless_agents;
    bool approve_nodes;
    struct setting_texts agent_labels;
    struct limits limits;
    int64_t node_grace_us;
    int64_t fence_after_us;    /* of silence; 0: nodes are not switched off */
    const char *fence_program; /* set if fence_after_us is */
    int64_t fence_timeout_us;
    const char *mail_program; /* NULL: none */
    int64_t mails_an_hour;    /* for each user */
    int64_t gang_prepare_us;  /* 0: prepared pods of a gang wait for ever */
    int64_t startup_wait_us;
    int64_t stop_timeout_us;
    int64_t finished_max_age_us;
    int64_t finished_max_count;
    bool hold_never_satisfied;
    int64_t history_max_age_us;
    int64_t history_max_bytes;
    int64_t watch_log_bytes;
    int64_t watch_log_age_us;
    int64_t event_max_age_us;
    int64_t event_max_count;
    const char *scheduler_config;          /* path, or NULL */
    struct kube_configuration *scheduling; /* the content of that file */
    struct setting_texts topology_levels;  /* labels of nodes, the widest part first */
    int64_t switch_wait_us;                /* for --switches, at most */
    struct setting_texts feature_pairs;
    struct feature_gates features;
    bool leader_elect;        /* and if the scheduler's configuration says so, too */
    int64_t assume_expiry_us; /* 0: never */
    const char *write_config_to;
    bool initialize;
    bool begins_paused;
    const char *backup; /* files, or NULL */
    bool backs_up_everything;
    const char *restore;
    bool migrate;
    bool check_store;
    const char *drop_damaged; /* a key, or NULL */
    bool is_conformance;
    int log_level;          /* enum log_level */
    const char *audit_file; /* a path, "journal" or "none" */
    int64_t audit_max_bytes;
    int64_t audit_keep;
};

/* Life. controller_settings_read does not return after --help, --check-config,
 * --write-config-to or a mistake.
 */
void controller_settings_read(struct controller_settings *settings, int argc, char **argv);

/* Reads the same command line and the present file. Returns -EINVAL with a line
 * for each mistake. Free the settings in any case. Blocks.
 */
int controller_settings_read_again(const struct controller_settings *before,
                                   struct controller_settings *settings, struct strbuf *mistakes);

/* Logs the settings that differ and need a restart, and returns how many there
 * are.
 */
size_t controller_settings_log_unloaded(const struct controller_settings *before,
                                        const struct controller_settings *now);
void controller_settings_fini(struct controller_settings *settings);
