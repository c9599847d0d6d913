/* SPDX-License-Identifier: Apache-2.0 */
/* submission.h - the job that a user requests, after all options are read
 *
 * Plain data. Texts are borrowed from the command line, the environment or the
 * arena into which the directives were read, all of which outlive the struct.
 *
 * Thread: any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* While single options are checked. */
#define NODE_COUNT_UNKNOWN (-1)

struct submission_signal {
    char name[16];          /* "USR1" */
    int64_t seconds_before; /* before the end of the time limit */
    bool batch_only;
};

struct submission_pages {
    int64_t page_bytes;
    int64_t bytes;
};

struct submission_word {
    const char *option, *value;
};

#define SUBMISSION_MEMORY         (1u << 0)
#define SUBMISSION_MEMORY_PER_CPU (1u << 1)
#define SUBMISSION_MEMORY_PER_GPU (1u << 2)

/* Options that only sbatch has, before they are converted (sbatch_options.h).
 */
struct submission_sbatch {
    int64_t gpus;          /* of --gpus, also in ->gpus */
    int64_t gpus_per_node; /* likewise */
    int64_t tasks_per_node;
    int64_t tasks_per_socket;
    int64_t tasks_per_core;
    int64_t min_cpus;        /* of each node */
    bool overcommits;        /* all tasks of a node share one CPU */
    unsigned memory_options; /* of those read last: SUBMISSION_MEMORY... */
    int64_t tasks_per_gpu;
    int64_t gpus_per_task;
    int64_t cpus_per_gpu;
    int64_t memory_per_gpu_bytes;
    bool has_all_memory;     /* of the node: --mem=0 */
    int64_t nice;            /* subtracted from the number of the priority class */
    const char *qos;         /* NULL: none */
    const char *clusters;    /* of -M; NULL: not given */
    const char *export_file; /* NULL: none */
    const char *notes[32];   /* names of options without an effect */
    unsigned n_notes;
    struct submission_word words[12]; /* values that only variables of the job have */
    unsigned n_words;
};

/* The tasks of a job array, checked: the text before a percent sign. */
struct submission_array {
    const char *text; /* NULL: no array */
    size_t length;
    int64_t throttle; /* 0: none */
};

struct submission {
    unsigned mail_events; /* of all --mail-type together */

    /* The program to run, and the account that pays */
    const char *script_path; /* NULL: standard input, or wrapped */
    const char *script_file; /* the absolute path of the same, or NULL */
    const char *wrapped;     /* a command, or NULL */
    const char *submit_line; /* the words of the command line, or NULL */
    char *const *arguments;  /* of the script, NULL-terminated */
    const char *job_name;    /* NULL: from the script's file name */
    const char *account;     /* NULL: default */
    const char *comment;     /* a note; or NULL */
    const char *mail_user;   /* an address; or NULL */
    const char *dependency;  /* "afterok:1041"; or NULL */
    const char *priority_class;
    const int64_t *priority;
    int64_t priority_value; /* where `priority` points */

    /* Tasks, if it is a job array */
    struct submission_array array;
    bool array_fail_fast;

    /* Resources; 0: not given */
    int64_t tasks;
    int64_t cpus_per_task;
    int64_t shared_mcpu; /* thousandths of a CPU of the shared pool; 0: none */
    int64_t memory_bytes;
    int64_t memory_per_cpu_bytes;
    int64_t tmp_bytes;    /* of scratch on the node */
    int64_t time_limit_s; /* 0: none, or unlimited if set below */
    bool is_unlimited;

    /* Nodes, and placement on them. Of several nodes (node_request.h), all
     * amounts are those of one node once the options are settled.
     */
    int64_t node_count;    /* 0: not given */
    int64_t total_tasks;   /* of several nodes, if not all have `tasks` of them; or 0 */
    bool per_node;         /* the script runs on each of them */
    int64_t switches;      /* at most so many switches; 0: any number */
    int64_t switch_wait_s; /* -1: as long as the controller allows */
    const char *partition;
    const char *reservation;
    const char *nodes;
    const char *excluded;
    const char *constraint;
    bool exclusive;
    const char *numa_policy;
    const char *memory_policy;
    int64_t threads_per_core;
    int64_t cores_per_socket;
    const char *distribution;

    /* Devices and huge pages */
    int64_t gpus;
    char gpu_type[64]; /* "": any */
    const char *gpu_binding;
    struct submission_pages hugepages[4];
    unsigned n_hugepages;

    /* Start, end, and signals */
    bool hold;
    const char *cron; /* a schedule on which the job repeats; or NULL */
    int64_t begin_at_us;
    int64_t deadline_us;       /* 0: none */
    const char *deadline_text; /* as it was given */
    bool requeue;
    int64_t fence_after_s; /* 0: never */
    bool has_signal;
    struct submission_signal signal;
    const char *checkpoint_command; /* or NULL */

    /* The process */
    bool thread_bind;      /* each thread of it to its core */
    const char *directory; /* NULL: the current one */
    const char *input;
    const char *output;
    const char *error;
    const char *open_mode; /* append, truncate; NULL: the default */
    const char *exported;  /* of --export; NULL: ALL */

    /* Several jobs at once */
    const char *pipeline; /* the file; or NULL */
    bool chain;           /* the operands are scripts, to run one after the
                           * other */

    /* Options of ksub itself */
    const char *server;
    bool wait;
    bool is_interactive; /* a command in this terminal, not a script (cli/kalloc) */
    bool no_wait;        /* for a controller that cannot be reached */
    bool parsable;
    bool test_only;
    bool dry_run;
    bool quiet;                /* print only errors, and with `parsable` the id */
    bool json;                 /* format of the dry run; otherwise YAML */
    const char *format;        /* -o yaml or -o json of the command line, which a dry
                         * run takes as its format; or NULL */
    const char *output_before; /* the last file of -o besides these */
    bool ignore_directives;    /* submit a script for another scheduler */
    bool strict;               /* refuse such a script */
    bool sbatch;               /* read #SBATCH lines in any case */
    bool no_sbatch;            /* never read #SBATCH lines */

    bool is_slurms; /* a script for Slurm, which gets Slurm's environment */
    struct submission_sbatch slurm;
};

/* -n times -c, each 1 if not given; one with --overcommit, and at least --mincpus */
int64_t submission_cpus(const struct submission *submission);
int64_t submission_memory(const struct submission *submission);

/* The script's name in messages: its path, "--wrap" or "standard input". */
const char *submission_script(const struct submission *submission);

/* The path of a script that is named without a folder: in this one, otherwise in PATH. The name
 * itself if no folder of PATH has it.
 */
struct arena;
const char *submission_find_script(const char *name, struct arena *arena);

/* The name of the job: as given, or the script's, or "wrap". */
const char *submission_name(const struct submission *submission);
