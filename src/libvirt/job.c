/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A plan in libvirt's words: the flags and typed parameters of the migrate call, and the XML of volumes to create. Decides
 * nothing: what may be used was decided by the plan and the feature gates.
 *
 * Pure (libvirt's typed parameter helpers only allocate); any thread. The caller owns what is built.
 */
#include "libvirt/job.h"

#include "plan/features.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Names of parameters that came after the oldest libvirt that this library is built with. */
#define PARAM_ZLIB_LEVEL "compression.zlib.level"
#define PARAM_ZSTD_LEVEL "compression.zstd.level"

/* Daemons before that version refuse VIR_DOMAIN_UNDEFINE_KEEP_TPM. */
#define KEEP_TPM_SINCE 8009000

bool kvmig__virt_persists(const struct kvmig_plan *plan)
{
    return plan->persistent && !(plan->request.flags & KVMIG_PLAN_TRANSIENT_TARGET);
}

bool kvmig__virt_disk_is_copied(const struct kvmig__disk_plan *disk)
{
    return disk->method == KVMIG_DISK_COPY_FULL || disk->method == KVMIG_DISK_COPY_INCREMENTAL;
}

static unsigned int storage_flag(const struct kvmig_plan *plan)
{
    unsigned int flag = 0;
    for (size_t i = 0; i < plan->disks.n; i++) {
        /* The two exclude each other. With "incremental" QEMU copies the top image only, which is all there is of a disk
         * without a backing chain: so one such disk decides for all. */
        if (plan->disks.v[i].method == KVMIG_DISK_COPY_INCREMENTAL)
            return VIR_MIGRATE_NON_SHARED_INC;
        if (plan->disks.v[i].method == KVMIG_DISK_COPY_FULL)
            flag = VIR_MIGRATE_NON_SHARED_DISK;
    }
    return flag;
}

static unsigned int build_flags(const struct kvmig_plan *plan, uint32_t features)
{
    static const struct {
        uint32_t feature;
        unsigned int flag;
    } of_feature[] = {
        { KVMIG__FEATURE_PARALLEL, VIR_MIGRATE_PARALLEL },
        { KVMIG__FEATURE_POSTCOPY, VIR_MIGRATE_POSTCOPY },
        { KVMIG__FEATURE_AUTO_CONVERGE, VIR_MIGRATE_AUTO_CONVERGE },
        { KVMIG__FEATURE_XBZRLE, VIR_MIGRATE_COMPRESSED },
        { KVMIG__FEATURE_MT, VIR_MIGRATE_COMPRESSED },
        { KVMIG__FEATURE_ZLIB, VIR_MIGRATE_COMPRESSED },
        { KVMIG__FEATURE_ZSTD, VIR_MIGRATE_COMPRESSED },
        { KVMIG__FEATURE_TLS, VIR_MIGRATE_TLS },
        { KVMIG__FEATURE_STRICT, VIR_MIGRATE_PAUSED },
    };
    uint64_t asked = plan->request.flags;
    unsigned int flags = VIR_MIGRATE_LIVE | storage_flag(plan);
    if (!(asked & KVMIG_PLAN_MANAGED))
        flags |= VIR_MIGRATE_PEER2PEER;
    if (asked & KVMIG_PLAN_UNSAFE)
        flags |= VIR_MIGRATE_UNSAFE;
    if (asked & KVMIG_PLAN_ABORT_ON_IO_ERROR)
        flags |= VIR_MIGRATE_ABORT_ON_ERROR;
    if (kvmig__virt_persists(plan))
        flags |= VIR_MIGRATE_PERSIST_DEST;
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(of_feature); i++) {
        if (features & of_feature[i].feature)
            flags |= of_feature[i].flag;
    }
    return flags;
}

static bool add_string(struct kvmig__virt_call *call, const char *name, const char *value)
{
    return !value || virTypedParamsAddString(&call->params, &call->n_params, &call->max_params, name, value) == 0;
}

static bool add_ull(struct kvmig__virt_call *call, const char *name, uint64_t value)
{
    return !value || virTypedParamsAddULLong(&call->params, &call->n_params, &call->max_params, name, value) == 0;
}

static bool add_int(struct kvmig__virt_call *call, const char *name, int value)
{
    return !value || virTypedParamsAddInt(&call->params, &call->n_params, &call->max_params, name, value) == 0;
}

static bool add_disks(struct kvmig__virt_call *call, const struct kvmig_plan *plan)
{
    for (size_t i = 0; i < plan->disks.n; i++) {
        if (kvmig__virt_disk_is_copied(&plan->disks.v[i]) &&
            !add_string(call, VIR_MIGRATE_PARAM_MIGRATE_DISKS, plan->disks.v[i].target))
            return false;
    }
    return true;
}

static bool add_compression(struct kvmig__virt_call *call, const struct kvmig__request *request, uint32_t features)
{
    static const struct {
        uint32_t feature;
        const char *method, *level;
    } methods[] = {
        { KVMIG__FEATURE_XBZRLE, "xbzrle", NULL },
        { KVMIG__FEATURE_MT, "mt", VIR_MIGRATE_PARAM_COMPRESSION_MT_LEVEL },
        { KVMIG__FEATURE_ZLIB, "zlib", PARAM_ZLIB_LEVEL },
        { KVMIG__FEATURE_ZSTD, "zstd", PARAM_ZSTD_LEVEL },
    };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(methods); i++) {
        if (!(features & methods[i].feature))
            continue;
        if (!add_string(call, VIR_MIGRATE_PARAM_COMPRESSION, methods[i].method))
            return false;
        if (methods[i].level && !add_int(call, methods[i].level, request->compression_level))
            return false;
    }
    return true;
}

static bool add_features(struct kvmig__virt_call *call, const struct kvmig__request *r, uint32_t features)
{
    if ((features & KVMIG__FEATURE_PARALLEL) &&
        !add_int(call, VIR_MIGRATE_PARAM_PARALLEL_CONNECTIONS, (int)r->parallel_connections))
        return false;
    if ((features & KVMIG__FEATURE_POSTCOPY_BANDWIDTH) &&
        !add_ull(call, VIR_MIGRATE_PARAM_BANDWIDTH_POSTCOPY, r->postcopy_bandwidth_mib))
        return false;
    if ((features & KVMIG__FEATURE_TLS_DESTINATION) &&
        !add_string(call, VIR_MIGRATE_PARAM_TLS_DESTINATION, r->tls_destination))
        return false;
    if ((features & KVMIG__FEATURE_AUTO_CONVERGE_TUNING) &&
        (!add_int(call, VIR_MIGRATE_PARAM_AUTO_CONVERGE_INITIAL, (int)r->auto_converge_initial) ||
         !add_int(call, VIR_MIGRATE_PARAM_AUTO_CONVERGE_INCREMENT, (int)r->auto_converge_increment)))
        return false;
    return add_compression(call, r, features);
}

int32_t kvmig__virt_call_build(const struct kvmig_plan *plan, uint32_t features, const char *target_xml,
                               const char *persistent_xml, struct kvmig__virt_call *out)
{
    const struct kvmig__request *r = &plan->request;
    memset(out, 0, sizeof(*out));
    out->flags = build_flags(plan, features);
    if (add_string(out, VIR_MIGRATE_PARAM_URI, r->migrate_uri) &&
        add_string(out, VIR_MIGRATE_PARAM_DEST_NAME, r->target_name) &&
        add_string(out, VIR_MIGRATE_PARAM_DEST_XML, target_xml) &&
        add_string(out, VIR_MIGRATE_PARAM_PERSIST_XML, persistent_xml) &&
        add_ull(out, VIR_MIGRATE_PARAM_BANDWIDTH, r->bandwidth_mib) && add_disks(out, plan) &&
        add_features(out, r, features))
        return 0;
    kvmig__virt_call_clear(out);
    return -EINVAL;
}

void kvmig__virt_call_clear(struct kvmig__virt_call *call)
{
    virTypedParamsFree(call->params, call->n_params);
    memset(call, 0, sizeof(*call));
}

char *kvmig__virt_flag_names(unsigned int flags)
{
    static const struct {
        unsigned int flag;
        const char *name;
    } names[] = {
        { VIR_MIGRATE_LIVE, "LIVE" },
        { VIR_MIGRATE_PEER2PEER, "PEER2PEER" },
        { VIR_MIGRATE_PERSIST_DEST, "PERSIST_DEST" },
        { VIR_MIGRATE_PAUSED, "PAUSED" },
        { VIR_MIGRATE_NON_SHARED_DISK, "NON_SHARED_DISK" },
        { VIR_MIGRATE_NON_SHARED_INC, "NON_SHARED_INC" },
        { VIR_MIGRATE_UNSAFE, "UNSAFE" },
        { VIR_MIGRATE_COMPRESSED, "COMPRESSED" },
        { VIR_MIGRATE_ABORT_ON_ERROR, "ABORT_ON_ERROR" },
        { VIR_MIGRATE_AUTO_CONVERGE, "AUTO_CONVERGE" },
        { VIR_MIGRATE_POSTCOPY, "POSTCOPY" },
        { VIR_MIGRATE_TLS, "TLS" },
        { VIR_MIGRATE_PARALLEL, "PARALLEL" },
    };
    struct kvmig__strlist list = { NULL, 0 };
    for (size_t i = 0; i < KVMIG__N_ELEMENTS(names); i++) {
        if (flags & names[i].flag)
            kvmig__strlist_add(&list, names[i].name);
    }
    char *text = kvmig__strlist_join(&list, "|");
    kvmig__strlist_clear(&list);
    return text;
}

unsigned int kvmig__virt_undefine_flags(uint64_t libvirt_version)
{
    /* NVRAM and TPM state may lie on storage that the guest uses on the other host, too. */
    unsigned int flags = VIR_DOMAIN_UNDEFINE_MANAGED_SAVE | VIR_DOMAIN_UNDEFINE_SNAPSHOTS_METADATA |
                         VIR_DOMAIN_UNDEFINE_CHECKPOINTS_METADATA | VIR_DOMAIN_UNDEFINE_KEEP_NVRAM;
    return libvirt_version >= KEEP_TPM_SINCE ? flags | VIR_DOMAIN_UNDEFINE_KEEP_TPM : flags;
}

/* ---- volumes ---- */

static char *xml_escaped(const char *s)
{
    static const struct {
        char c;
        const char *text;
    } entities[] = { { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&apos;" } };
    char *out = kvmig__calloc(strlen(s) * 6 + 1, 1);
    size_t n = 0;
    for (; *s; s++) {
        const char *entity = NULL;
        for (size_t i = 0; i < KVMIG__N_ELEMENTS(entities); i++) {
            if (entities[i].c == *s)
                entity = entities[i].text;
        }
        size_t length = entity ? strlen(entity) : 1;
        memcpy(out + n, entity ? entity : s, length);
        n += length;
    }
    return out;
}

static char *backing_xml(const struct kvmig__disk_plan *disk)
{
    if (!disk->backing_path)
        return kvmig__strdup("");
    char *path = xml_escaped(disk->backing_path);
    char *format = xml_escaped(disk->backing_format ? disk->backing_format : "raw");
    char *xml = kvmig__asprintf("  <backingStore>\n    <path>%s</path>\n    <format type='%s'/>\n  </backingStore>\n",
                                path, format);
    free(path);
    free(format);
    return xml;
}

char *kvmig__virt_volume_xml(const struct kvmig__disk_plan *disk, uint64_t capacity, const char *pool_type)
{
    bool files = kvmig__str_eq(pool_type, "dir") || kvmig__str_eq(pool_type, "fs") ||
                 kvmig__str_eq(pool_type, "netfs") || kvmig__str_eq(pool_type, "gluster") ||
                 kvmig__str_eq(pool_type, "vstorage");
    char *name = xml_escaped(disk->volume);
    char *format = xml_escaped(disk->format ? disk->format : "raw");
    char *backing = backing_xml(disk);
    /* Only pools of files know formats. A volume of a volume group is allocated whole: a smaller allocation would make it
     * a thin snapshot, which fails when it is full. */
    char *target =
        files ? kvmig__asprintf("  <target>\n    <format type='%s'/>\n  </target>\n", format) : kvmig__strdup("");
    unsigned long long allocation = kvmig__str_eq(pool_type, "logical") ? capacity : 0;
    char *xml = kvmig__asprintf("<volume>\n  <name>%s</name>\n  <capacity unit='bytes'>%llu</capacity>\n"
                                "  <allocation unit='bytes'>%llu</allocation>\n%s%s</volume>\n",
                                name, (unsigned long long)capacity, allocation, target, backing);
    free(name);
    free(format);
    free(backing);
    free(target);
    return xml;
}
