# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# shellcheck disable=SC2154 # variables of cluster.sh
# real.sh - Debian's Slurm on this machine, beside whatever runs here
#
#   . "$top_srcdir/testsuite/lib/cluster.sh"
#   . "$top_srcdir/testsuite/slurm/real.sh"
#   cluster_begin
#   cluster_munge
#   real_slurm
#
# A slurmctld, four slurmd (n1 to n4, with eight cores each, which need not be
# there), a slurmdbd and its database, all in $cluster/slurm and on ports of
# 127.0.0.1. The commands that come first in $PATH then are Slurm's.

# Starts the database that slurmdbd writes to, on the port $1.
real_database() {
    directory "$real/mysql" 755
    chown mysql: "$real/mysql"
    mariadb-install-db --no-defaults --user=mysql --datadir="$real/mysql/data" \
        --auth-root-authentication-method=normal >"$cluster/log/install-db" 2>&1 ||
        bail_out "no database can be made"
    start mariadbd mariadbd --no-defaults --user=mysql --datadir="$real/mysql/data" \
        --socket="$real/mysql/socket" --port="$1" --bind-address=127.0.0.1 \
        --pid-file="$real/mysql/pid" --innodb-flush-log-at-trx-commit=0 \
        --innodb-lock-wait-timeout=900
    wait_for 60 mariadb --no-defaults --socket="$real/mysql/socket" -u root -e \
        "CREATE OR REPLACE USER slurm@127.0.0.1 IDENTIFIED BY 'slurm'; GRANT ALL ON *.* TO slurm@127.0.0.1" ||
        bail_out "the database does not start"
}

real_config() {
    cat >"$real/slurmdbd.conf" <<END
DbdHost=localhost
DbdAddr=127.0.0.1
DbdPort=$real_dbd_port
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$munge_socket
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort=$real_mysql_port
StorageUser=slurm
StoragePass=slurm
StorageLoc=slurm
PidFile=$real/slurmdbd.pid
LogFile=$real/slurmdbd.log
END
    chmod 600 "$real/slurmdbd.conf"
    cat >"$real/slurm.conf" <<END
ClusterName=test
FirstJobId=4001
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$real_ctld_port
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$munge_socket
StateSaveLocation=$real/state
SlurmdSpoolDir=$real/%n
SlurmctldPidFile=$real/slurmctld.pid
SlurmdPidFile=$real/slurmd.%n.pid
SlurmctldLogFile=$real/slurmctld.log
SlurmdLogFile=$real/slurmd.%n.log
MpiDefault=none
SwitchType=switch/none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=5
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort=$real_dbd_port
AccountingStoragePass=$munge_socket
AccountingStoreFlags=job_comment
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PriorityType=priority/basic
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=2,sched_interval=2
PrologFlags=Contain
ReturnToService=2
SlurmdParameters=config_overrides
SlurmdTimeout=300
MinJobAge=3600
PropagateResourceLimits=NONE
GresTypes=gpu
KillWait=5
NodeName=n1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$real_n1_port Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=1024
NodeName=n2 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$real_n2_port Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=1024
NodeName=n3 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$real_n3_port Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=1024 Feature=big
NodeName=n4 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$real_n4_port Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=1024 Feature=big
PartitionName=all Nodes=n[1-4] Default=YES MaxTime=INFINITE State=UP
PartitionName=gpu Nodes=n[3-4] MaxTime=2-00:00:00 State=UP
PartitionName=one Nodes=n1 MaxTime=INFINITE State=UP
PartitionName=two Nodes=n2 MaxTime=INFINITE State=UP
END
    chmod 644 "$real/slurm.conf"
}

# Wrappers for Slurm's commands, which know the configuration.
real_commands() {
    directory "$real/bin" 755
    for real_command in sbatch srun salloc squeue scancel sacct scontrol sinfo sacctmgr sstat \
        sprio sshare sreport sdiag scrontab sbcast; do
        printf '#!/bin/sh\nSLURM_CONF=%s exec /usr/bin/%s "$@"\n' "$real/slurm.conf" \
            "$real_command" >"$real/bin/$real_command"
        chmod 755 "$real/bin/$real_command"
    done
    PATH=$real/bin:$PATH
}

# Starts it all, and waits until the nodes are idle.
real_slurm() {
    need slurmctld slurmd slurmdbd mariadbd munged
    real=$cluster/slurm
    directory "$real" 755
    for real_name in mysql dbd ctld n1 n2 n3 n4; do
        find_free_port
        eval "real_${real_name}_port=$free_port"
    done
    directory "$real/state" 755
    real_config
    real_database "$real_mysql_port"
    real_commands
    SLURM_CONF=$real/slurm.conf start slurmdbd slurmdbd -D
    wait_for 60 sacctmgr -n list cluster || bail_out "slurmdbd does not start"
    sacctmgr -i add cluster test >/dev/null || bail_out "no cluster can be added"
    sacctmgr -i add account default Description=default Organization=default >/dev/null
    sacctmgr -i add user kilntest1,kilntest2,root Account=default >/dev/null
    SLURM_CONF=$real/slurm.conf start slurmctld slurmctld -D -i
    for real_name in n1 n2 n3 n4; do
        directory "$real/$real_name" 755
        SLURM_CONF=$real/slurm.conf start "slurmd-$real_name" slurmd -D -N "$real_name"
    done
    wait_for 60 real_is_idle || bail_out "Slurm does not start: $(sinfo 2>&1)"
}

real_is_idle() {
    [ "$(sinfo -h -p all -o %D:%t)" = 4:idle ]
}

# A command with the rights of an administrator.
operator() {
    "$@"
}
