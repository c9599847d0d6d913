/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/slurm_tables/queue_json.h"

#include <string.h>

#include "cli/slurm_tables/field_format.h"
#include "cli/slurm_tables/queue_fields.h"
#include "cli/slurm_tables/queue_row.h"
#include "cli/slurm_tables/slurm_cluster.h"
#include "cli/slurm_tables/slurm_words.h"
#include "lib/api/object/meta.h"
#include "lib/base/macro.h"
#include "lib/base/strbuf.h"
#include "lib/json/json.h"

#define SECOND_US INT64_C(1000000)

static void
set_text(struct arena *arena, struct json *out, const char *name, char letter,
         const struct queue_row *row)
{
    CLEANUP_STRBUF struct strbuf text = STRBUF_INIT;

    field_format_letter(&queue_fields, letter)->add(row, &text);
    json_set_string(arena, out, name,
                    strcmp(text.text, "(null)") == 0 || strcmp(text.text, "N/A") == 0 ? ""
                                                                                      : text.text);
}

static void
set_names(struct arena *arena, struct json *out, const char *const *names, size_t count,
          struct json *(*make)(struct arena *))
{
    for (size_t i = 0; i < count; i++)
        json_set(arena, out, names[i], make(arena));
}

static struct json *
make_empty(struct arena *arena)
{
    return json_string(arena, "");
}

static struct json *
make_zero(struct arena *arena)
{
    return json_int(arena, 0);
}

static void
set_point(struct arena *arena, struct json *out, const char *name, int64_t us)
{
    json_set_int(arena, out, name, us / SECOND_US);
}

struct json *
queue_json(const struct queue_row *row, struct arena *arena)
{
    /* Kiln has nothing of these; the values are those that Slurm prints then. */
    static const char *const empty[] = {
        "admin_comment",
        "batch_features",
        "burst_buffer",
        "burst_buffer_state",
        "cluster_features",
        "container",
        "cpus_per_tres",
        "federation_origin",
        "federation_siblings_active",
        "federation_siblings_viable",
        "het_job_id_set",
        "licenses",
        "mcs_label",
        "memory_per_tres",
        "prefer",
        "system_comment",
        "tres_bind",
        "tres_freq",
        "tres_per_job",
        "tres_per_socket",
        "tres_per_task",
        "wckey",
    };
    static const char *const none[] = {
        "core_spec",
        "thread_spec",
        "cores_per_socket",
        "cpu_frequency_minimum",
        "cpu_frequency_maximum",
        "cpu_frequency_governor",
        "nice",
        "tasks_per_core",
        "tasks_per_socket",
        "memory_per_cpu",
        "profile",
        "shared",
        "sockets_per_node",
        "threads_per_core",
    };
    static const char *const zero[] = {
        "association_id", "delay_boot",      "derived_exit_code",
        "het_job_id",     "het_job_offset",  "last_sched_evaluation",
        "max_cpus",       "max_nodes",       "preempt_time",
        "pre_sus_time",   "resize_time",     "sockets_per_board",
        "suspend_time",   "tasks_per_board", "time_minimum",
    };
    struct json *out = json_object(arena);
    const bool is_waiting = queue_row_is_waiting(row);
    CLEANUP_STRBUF struct strbuf tres = STRBUF_INIT;
    CLEANUP_STRBUF struct strbuf tasks = STRBUF_INIT;
    const bool is_array = row->task >= 0 || row->tasks != NULL;
    struct json *flags = json_array(arena);

    set_names(arena, out, empty, ARRAY_SIZE(empty), make_empty);
    set_names(arena, out, none, ARRAY_SIZE(none), json_null);
    set_names(arena, out, zero, ARRAY_SIZE(zero), make_zero);
    if (queue_row_nice(row) != 0)
        json_set_int(arena, out, "nice", queue_row_nice(row));
    queue_row_add_tres(row, &tres);
    if (row->tasks != NULL)
        queue_row_add_tasks(row, &tasks);
    json_set_string(arena, out, "account", row->account);
    set_point(arena, out, "accrue_time", queue_row_accrue_us(row));
    json_set_int(arena, out, "array_job_id", is_array ? row->id : 0);
    json_set(arena, out, "array_task_id",
             row->task >= 0 ? json_int(arena, row->task) : json_null(arena));
    json_set_int(arena, out, "array_max_tasks", row->throttle);
    json_set_string(arena, out, "array_task_string", tasks.text);
    json_set_bool(arena, out, "batch_flag", !queue_row_is_allocation(row));
    if (!is_waiting)
        set_text(arena, out, "batch_host", 'B', row);
    else
        json_set_string(arena, out, "batch_host", "");
    if (queue_row_annotation(row, ANNOTATION_CPUS_PER_TASK) != NULL)
        json_append(arena, flags, json_string(arena, "JOB_CPUS_SET"));
    if (row->start_us != 0 && !queue_row_is_ended(row))
        json_append(arena, flags, json_string(arena, "JOB_WAS_RUNNING"));
    if (queue_row_memory(row) > 0)
        json_append(arena, flags, json_string(arena, "JOB_MEM_SET"));
    json_set(arena, out, "flags", flags);
    json_set_string(arena, out, "cluster", slurm_cluster_name());
    set_text(arena, out, "comment", 'k', row);
    json_set_bool(arena, out, "contiguous", false);
    json_set(arena, out, "billable_tres",
             is_waiting ? json_null(arena) : json_int(arena, row->cpus));
    json_set_int(arena, out, "cpus_per_task", queue_row_cpus_per_task(row));
    set_point(arena, out, "deadline", queue_row_deadline_us(row));
    set_text(arena, out, "dependency", 'E', row);
    set_point(arena, out, "eligible_time", queue_row_eligible_us(row));
    set_point(arena, out, "end_time", queue_row_end_us(row));
    set_text(arena, out, "excluded_nodes", 'x', row);
    json_set_int(arena, out, "exit_code", queue_row_wait_status(row));
    set_text(arena, out, "features", 'f', row);
    json_set(arena, out, "gres_detail", json_array(arena));
    json_set_int(arena, out, "group_id", queue_row_gid(row));
    set_text(arena, out, "group_name", 'g', row);
    json_set_int(arena, out, "job_id", row->id);
    if (is_waiting || row->node[0] == '\0')
        json_set(arena, out, "job_resources", json_null(arena));
    else {
        struct json *resources = json_object(arena);

        json_set_string(arena, resources, "nodes", row->node);
        json_set_int(arena, resources, "allocated_cores", row->cpus);
        json_set_int(arena, resources, "allocated_hosts", row->nodes);
        json_set(arena, resources, "allocated_nodes", json_array(arena));
        json_set(arena, out, "job_resources", resources);
    }
    json_set_string(arena, out, "job_state", slurm_words_state(row->state, false));
    json_set_string(arena, out, "name", row->name);
    set_text(arena, out, "nodes", 'N', row);
    json_set_int(arena, out, "cpus", row->cpus);
    json_set_int(arena, out, "node_count", row->nodes);
    json_set_int(arena, out, "tasks", queue_row_tasks_asked(row));
    json_set_int(arena, out, "tasks_per_node", queue_row_tasks_per_node(row));
    json_set_string(arena, out, "partition", row->partition);
    json_set(arena, out, "memory_per_node",
             queue_row_memory(row) > 0 ? json_int(arena, queue_row_memory(row) >> 20)
                                       : json_null(arena));
    json_set_int(arena, out, "minimum_tmp_disk_per_node", queue_row_scratch(row) >> 20);
    json_set_int(arena, out, "minimum_cpus_per_node",
                 row->nodes > 1 ? row->cpus / row->nodes : row->cpus);
    json_set_int(arena, out, "priority", queue_row_priority(row));
    json_set_string(arena, out, "qos", queue_row_qos(row));
    json_set_string(arena, out, "command",
                    queue_row_command(row, arena) != NULL ? queue_row_command(row, arena) : "");
    json_set_bool(arena, out, "reboot", false);
    set_text(arena, out, "required_nodes", 'n', row);
    json_set_bool(arena, out, "requeue", queue_row_may_restart(row));
    json_set_int(arena, out, "restart_cnt", queue_row_restarts(row));
    set_text(arena, out, "resv_name", 'v', row);
    json_set(arena, out, "show_flags", json_array(arena));
    set_point(arena, out, "start_time", queue_row_start_us(row));
    json_set_string(arena, out, "state_description", "");
    json_set_string(arena, out, "state_reason", row->reason);
    json_set_string(arena, out, "standard_input", queue_row_file(row, QUEUE_ROW_STDIN, arena));
    json_set_string(arena, out, "standard_output", queue_row_file(row, QUEUE_ROW_STDOUT, arena));
    json_set_string(arena, out, "standard_error", queue_row_file(row, QUEUE_ROW_STDERR, arena));
    set_point(arena, out, "submit_time", row->submit_us);
    json_set(arena, out, "time_limit",
             row->limit_s > 0 ? json_int(arena, (row->limit_s + 59) / 60) : json_null(arena));
    set_text(arena, out, "tres_per_node", 'b', row);
    json_set_string(arena, out, "tres_req_str", tres.text);
    json_set_string(arena, out, "tres_alloc_str", is_waiting ? "" : tres.text);
    json_set_int(arena, out, "user_id", queue_row_uid(row));
    json_set_string(arena, out, "user_name", row->user);
    set_text(arena, out, "current_working_directory", 'Z', row);
    return out;
}
