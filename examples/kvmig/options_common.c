/* SPDX-License-Identifier: MIT-0 */
/*
 * The options that several commands share: which hosts, and how to migrate; and the library's option struct made from
 * them.
 */
#include <stddef.h>

#include "tool.h"

#define AT(member) offsetof(struct settings, member)
#define HOUR ((uint64_t)3600 * 1000)

static const struct option_def connect[] = {
    { .name = "connect",
      .letter = 'c',
      .kind = OPTION_LIST,
      .offset = AT(uris),
      .metavar = "URI",
      .help = "libvirt URI of a host; once per host. Default: the variable KVMIG_HOSTS, URIs separated by commas" },
    { .name = "shared",
      .kind = OPTION_LIST,
      .offset = AT(shared_paths),
      .metavar = "PATH",
      .help = "folder that is known to be one shared storage on all hosts; may be repeated" },
    { .name = "timeout",
      .kind = OPTION_DURATION,
      .offset = AT(sync_timeout_ms),
      .metavar = "TIME",
      .help = "longest wait until every host was read (default 30s). Times are milliseconds, or have a unit: 500ms 30s "
              "10m 2h",
      .min = 100,
      .max = 24 * HOUR },
    { .name = "call-timeout",
      .kind = OPTION_DURATION,
      .offset = AT(call_timeout_ms),
      .metavar = "TIME",
      .help = "a host that needs longer for one call is lost (default 10s)",
      .min = 100,
      .max = HOUR },
    { .name = "refresh",
      .kind = OPTION_DURATION,
      .offset = AT(refresh_ms),
      .metavar = "TIME",
      .help = "how often each host is read again (default 5s)",
      .min = 100,
      .max = 24 * HOUR },
    { .name = "max-migrations",
      .kind = OPTION_LIMIT,
      .offset = AT(max_migrations),
      .metavar = "N",
      .help = "migrations at once, in total (default 5), or \"unlimited\"",
      .min = 1,
      .max = 10000 },
    { .name = "max-outbound",
      .kind = OPTION_LIMIT,
      .offset = AT(max_outbound),
      .metavar = "N",
      .help = "likewise, from one host (default 2)",
      .min = 1,
      .max = 10000 },
    { .name = "max-inbound",
      .kind = OPTION_LIMIT,
      .offset = AT(max_inbound),
      .metavar = "N",
      .help = "likewise, to one host (default 2)",
      .min = 1,
      .max = 10000 },
    { .name = "json",
      .kind = OPTION_SWITCH,
      .offset = AT(json),
      .help = "print JSON on standard output instead of text" },
    { .name = NULL },
};
const struct option_group connect_options = { "Hosts and output", connect };

static const struct option_def plan[] = {
    { .name = "source",
      .kind = OPTION_TEXT,
      .offset = AT(source),
      .metavar = "HOST",
      .help = "host name or URI; default: where the VM runs" },
    { .name = "target",
      .kind = OPTION_TEXT,
      .offset = AT(target),
      .metavar = "HOST",
      .help = "host name or URI; default: the best candidate" },
    { .name = "exclude",
      .kind = OPTION_LIST,
      .offset = AT(exclude),
      .metavar = "HOST",
      .help = "never choose this host; may be repeated" },
    { .name = "link-to",
      .kind = OPTION_LIST,
      .offset = AT(links),
      .metavar = "HOST=MIB",
      .help = "migrations to this host reach so many MiB/s: faster ones are preferred; may be repeated" },
    { .name = "target-labels",
      .kind = OPTION_TEXT,
      .offset = AT(target_labels),
      .metavar = "KEY=VALUE,...",
      .help = "KubeVirt: choose among nodes with these labels only" },
    { .name = "managed",
      .kind = OPTION_FLAG,
      .offset = AT(plan_flags),
      .extra = KVMIG_PLAN_MANAGED,
      .help =
          "this process drives libvirt's phases; default: the source's daemon does (peer-to-peer), which goes on if "
          "this process dies" },
    { .name = "unsafe",
      .kind = OPTION_FLAG,
      .offset = AT(plan_flags),
      .extra = KVMIG_PLAN_UNSAFE,
      .help = "you know that the storage is safe to share, though libvirt cannot tell" },
    { .name = "copy",
      .kind = OPTION_CHOICE,
      .offset = AT(copy),
      .metavar = "auto|none|full|incremental",
      .help = "which disks are copied: those not proven to be shared (auto), none, whole disks, or top images only",
      .min = KVMIG_COPY_AUTO,
      .max = KVMIG_COPY_INCREMENTAL,
      .name_of = kvmig_copy_name },
    { .name = "disk",
      .kind = OPTION_LIST,
      .offset = AT(copy_disks),
      .metavar = "DEV",
      .help = "copy this disk (\"vda\"); may be repeated. Default: the planner chooses" },
    { .name = "target-pool",
      .kind = OPTION_TEXT,
      .offset = AT(target_pool),
      .metavar = "POOL",
      .help = "storage pool for new volumes; default: the pool of the same path or name" },
    { .name = "strict",
      .kind = OPTION_SWITCH,
      .offset = AT(strict),
      .help = "strict hand-over: the target comes up paused and is resumed once the source is proven stopped" },
    { .name = "bandwidth",
      .kind = OPTION_NUMBER,
      .offset = AT(bandwidth_mib),
      .metavar = "MIB",
      .help = "limit in MiB/s; 0 = none (default)",
      .max = UINT32_MAX },
    { .name = "max-downtime",
      .kind = OPTION_DURATION,
      .offset = AT(max_downtime_ms),
      .metavar = "TIME",
      .help = "longest acceptable pause (default 300ms, QEMU's own)",
      .min = 1,
      .max = 2000000 },
    { .name = "parallel",
      .kind = OPTION_NUMBER,
      .offset = AT(parallel),
      .metavar = "N",
      .help = "that many streams; 1 = the ordinary single one (default)",
      .max = 255 },
    { .name = "compression",
      .kind = OPTION_TEXT,
      .offset = AT(compression),
      .metavar = "METHOD",
      .help = "xbzrle, mt, zlib or zstd; default: none" },
    { .name = "compression-level",
      .kind = OPTION_NUMBER,
      .offset = AT(compression_level),
      .metavar = "N",
      .help = "for mt, zlib and zstd; 0 = the method's default",
      .max = 22 },
    { .name = "auto-converge",
      .kind = OPTION_FLAG,
      .offset = AT(plan_flags),
      .extra = KVMIG_PLAN_AUTO_CONVERGE,
      .help = "QEMU may slow the guest's CPUs down until memory can keep up" },
    { .name = "auto-converge-initial",
      .kind = OPTION_NUMBER,
      .offset = AT(converge_initial),
      .metavar = "PERCENT",
      .help = "first step; 0 = QEMU's default",
      .max = 99 },
    { .name = "auto-converge-increment",
      .kind = OPTION_NUMBER,
      .offset = AT(converge_increment),
      .metavar = "PERCENT",
      .help = "each further step; 0 = QEMU's default",
      .max = 99 },
    { .name = "postcopy",
      .kind = OPTION_FLAG,
      .offset = AT(plan_flags),
      .extra = KVMIG_PLAN_ALLOW_POSTCOPY,
      .help = "consent: post-copy may be switched to; from then on there is no way back" },
    { .name = "postcopy-after-precopy",
      .kind = OPTION_FLAG,
      .offset = AT(plan_flags),
      .extra = KVMIG_PLAN_POSTCOPY_AFTER_PRECOPY,
      .help = "switch to post-copy after the first round; needs --postcopy" },
    { .name = "postcopy-bandwidth",
      .kind = OPTION_NUMBER,
      .offset = AT(postcopy_bandwidth_mib),
      .metavar = "MIB",
      .help = "limit in post-copy, MiB/s; 0 = none (default)",
      .max = UINT32_MAX },
    { .name = "tls",
      .kind = OPTION_FLAG,
      .offset = AT(plan_flags),
      .extra = KVMIG_PLAN_TLS,
      .help = "encrypt the migration with QEMU's own TLS" },
    { .name = "tls-destination",
      .kind = OPTION_TEXT,
      .offset = AT(tls_destination),
      .metavar = "NAME",
      .help = "the name in the target's certificate, when migrating by address" },
    { .name = "transient",
      .kind = OPTION_FLAG,
      .offset = AT(plan_flags),
      .extra = KVMIG_PLAN_TRANSIENT_TARGET,
      .help = "do not make the VM persistent on the target" },
    { .name = "keep-source-definition",
      .kind = OPTION_FLAG,
      .offset = AT(plan_flags),
      .extra = KVMIG_PLAN_KEEP_SOURCE_DEFINITION,
      .help = "leave the VM's persistent definition on the source" },
    { .name = "abort-on-io-error",
      .kind = OPTION_FLAG,
      .offset = AT(plan_flags),
      .extra = KVMIG_PLAN_ABORT_ON_IO_ERROR,
      .help = "a disk error of the guest ends the migration" },
    { .name = "target-uri",
      .kind = OPTION_TEXT,
      .offset = AT(target_uri),
      .metavar = "URI",
      .help = "how the source's daemon dials the target's; default: the target's own URI" },
    { .name = "migrate-uri",
      .kind = OPTION_TEXT,
      .offset = AT(migrate_uri),
      .metavar = "URI",
      .help = "where QEMU connects to, for example tcp://10.0.0.2; default: libvirt chooses" },
    { .name = "target-name",
      .kind = OPTION_TEXT,
      .offset = AT(target_name),
      .metavar = "NAME",
      .help = "a new name for the VM on the target" },
    { .name = "target-xml",
      .kind = OPTION_FILE,
      .offset = AT(target_xml),
      .metavar = "FILE",
      .help = "domain XML for the target; only host-specific parts may differ" },
    { .name = "any-target",
      .kind = OPTION_FLAG,
      .offset = AT(plan_flags),
      .extra = KVMIG_PLAN_ANY_TARGET,
      .help = "KubeVirt: do not pin the chosen target; the scheduler decides" },
    { .name = "volume",
      .kind = OPTION_LIST,
      .offset = AT(volumes),
      .metavar = "VOLUME=CLAIM",
      .help = "KubeVirt: move this volume to another claim, which exists; may be repeated" },
    { .name = "persistent-xml",
      .kind = OPTION_FILE,
      .offset = AT(persistent_xml),
      .metavar = "FILE",
      .help = "the same for the persistent definition" },
    { .name = NULL },
};
const struct option_group plan_options = { "How to migrate", plan };

struct kvmig_plan_opts settings_plan_opts(const struct settings *settings, struct kvmig_volume_change *changes)
{
    struct kvmig_plan_opts opts = KVMIG_PLAN_OPTS_INIT;

    opts.vm = settings->vm;
    opts.source = settings->source;
    opts.target = settings->target;
    opts.flags = settings->plan_flags;
    opts.copy = settings->copy;
    opts.handover = settings->strict ? KVMIG_HANDOVER_STRICT : KVMIG_HANDOVER_NORMAL;
    opts.copy_disks = settings->copy_disks.v;
    opts.n_copy_disks = settings->copy_disks.n;
    opts.target_pool = settings->target_pool;
    opts.bandwidth_mib = settings->bandwidth_mib;
    opts.postcopy_bandwidth_mib = settings->postcopy_bandwidth_mib;
    opts.max_downtime_ms = settings->max_downtime_ms;
    opts.parallel_connections = (uint32_t)settings->parallel;
    opts.auto_converge_initial = (uint32_t)settings->converge_initial;
    opts.auto_converge_increment = (uint32_t)settings->converge_increment;
    opts.compression = settings->compression;
    opts.compression_level = (int32_t)settings->compression_level;
    opts.tls_destination = settings->tls_destination;
    opts.target_uri = settings->target_uri;
    opts.migrate_uri = settings->migrate_uri;
    opts.target_name = settings->target_name;
    opts.target_xml = settings->target_xml;
    opts.persistent_xml = settings->persistent_xml;
    opts.volume_changes = changes;
    opts.n_volume_changes = settings->volumes.n;
    opts.libvirt_flags = settings->libvirt_flags.v;
    opts.n_libvirt_flags = settings->libvirt_flags.n;
    opts.now_ms = settings->now_ms;
    opts.exclude = settings->exclude.v;
    opts.n_exclude = settings->exclude.n;
    opts.target_labels = settings->target_labels;
    return opts;
}
