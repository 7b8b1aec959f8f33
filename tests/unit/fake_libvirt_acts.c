/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See fake_libvirt.h: the calls that change something, on domains and on storage, and the migrate call.
 */
#include "fake_libvirt.h"

#include <stdlib.h>
#include <string.h>

/* ---- what changes a domain ---- */

int virDomainResume(virDomainPtr domain)
{
    if (!fake_enter_vm(domain, "resume"))
        return -1;
    fake_note(((struct fake_object *)domain)->host, "resume", "");
    fake_vm_of(domain)->state = VIR_DOMAIN_RUNNING;
    fake_vm_of(domain)->reason = VIR_DOMAIN_RUNNING_UNPAUSED;
    return fake_leave(0);
}

int virDomainSuspend(virDomainPtr domain)
{
    (void)domain;
    return fake_fail(VIR_ERR_NO_SUPPORT, VIR_FROM_QEMU, "not here");
}

int virDomainDestroyFlags(virDomainPtr domain, unsigned int flags)
{
    (void)flags;
    if (!fake_enter_vm(domain, "destroy"))
        return -1;
    fake_note(((struct fake_object *)domain)->host, "destroy", "");
    fake_stop(fake_vm_of(domain), VIR_DOMAIN_SHUTOFF_DESTROYED);
    return fake_leave(0);
}

int virDomainUndefineFlags(virDomainPtr domain, unsigned int flags)
{
    if (!fake_enter_vm(domain, "undefine"))
        return -1;
    fake_note(((struct fake_object *)domain)->host,
              flags & VIR_DOMAIN_UNDEFINE_NVRAM ? "undefine with nvram" : "undefine", "");
    fake_vm_of(domain)->persistent = false;
    fake_vm_of(domain)->there = fake_is_active(fake_vm_of(domain));
    return fake_leave(0);
}

virDomainPtr virDomainDefineXML(virConnectPtr conn, const char *xml)
{
    if (!fake_enter((struct fake_object *)conn, "define"))
        return NULL;
    fake_note(((struct fake_object *)conn)->host, "define", xml);
    fake_vm_of(conn)->persistent = fake_vm_of(conn)->there = true;
    fake_leave(0);
    return fake_new_object(((struct fake_object *)conn)->host);
}

/* ---- the migrate call ---- */

static void move(unsigned int flags)
{
    struct fake_domain *a = &fake.hosts[FAKE_A].vm;
    struct fake_domain *b = &fake.hosts[FAKE_B].vm;
    b->there = true;
    b->persistent = b->persistent || (flags & VIR_MIGRATE_PERSIST_DEST);
    b->job = FAKE_NO_JOB;
    b->state = flags & VIR_MIGRATE_PAUSED ? VIR_DOMAIN_PAUSED : VIR_DOMAIN_RUNNING;
    b->reason = flags & VIR_MIGRATE_PAUSED ? (int)VIR_DOMAIN_PAUSED_USER : (int)VIR_DOMAIN_RUNNING_MIGRATED;
    fake_stop(a, VIR_DOMAIN_SHUTOFF_MIGRATED);
}

/* Lock held. */
static int migrate(unsigned int flags)
{
    enum fake_call call = fake.call;
    fake_note(FAKE_A, "migrate", "");
    fake.flags = flags;
    fake.calls++;
    fake.hosts[FAKE_A].vm.job = FAKE_OUT;
    fake_tell();
    while (call == FAKE_WAITS && !fake.call_released && (!fake.aborted || fake.call_ignores_abort) &&
           !fake.hosts[FAKE_A].down)
        fake_wait();
    bool aborted = fake.aborted && !fake.call_ignores_abort;
    fake.hosts[FAKE_A].vm.job = FAKE_NO_JOB;
    if (call == FAKE_WAITS && !aborted && !fake.hosts[FAKE_A].down)
        call = FAKE_MOVES;
    if (call == FAKE_MOVES && !fake.call_leaves)
        move(flags);
    if (call == FAKE_MOVES && !fake.call_code)
        return fake_leave(0);
    if (fake.hosts[FAKE_A].down)
        fake_fail(VIR_ERR_SYSTEM_ERROR, VIR_FROM_RPC, "Cannot recv data: Connection reset by peer");
    else if (aborted)
        fake_fail(VIR_ERR_OPERATION_ABORTED, VIR_FROM_QEMU,
                  "operation aborted: job 'migration out' canceled by client");
    else
        fake_fail(fake.call_code ? fake.call_code : VIR_ERR_OPERATION_FAILED, VIR_FROM_QEMU,
                  fake.call_text ? fake.call_text : "operation failed: job 'migration out' unexpectedly failed");
    return fake_leave(-1);
}

int virDomainMigrateToURI3(virDomainPtr domain, const char *uri, virTypedParameterPtr params, unsigned int n_params,
                           unsigned int flags)
{
    (void)uri;
    (void)params;
    (void)n_params;
    return fake_enter_vm(domain, "migrate") ? migrate(flags) : -1;
}

virDomainPtr virDomainMigrate3(virDomainPtr domain, virConnectPtr target, virTypedParameterPtr params,
                               unsigned int n_params, unsigned int flags)
{
    (void)params;
    (void)n_params;
    if (!fake_enter_vm(domain, "migrate") || migrate(flags) < 0)
        return NULL;
    return fake_new_object(((struct fake_object *)target)->host);
}

int virDomainAbortJob(virDomainPtr domain)
{
    if (!fake_enter_vm(domain, "abort"))
        return -1;
    fake_note(FAKE_A, "abort", "");
    if (fake.abort_text) {
        fake_leave(0);
        return fake_fail(VIR_ERR_OPERATION_INVALID, VIR_FROM_QEMU, fake.abort_text);
    }
    if (fake.aborts_without_job > 0 || fake_vm_of(domain)->job == FAKE_NO_JOB) {
        fake.aborts_without_job -= fake.aborts_without_job > 0;
        fake_leave(0);
        return fake_fail(VIR_ERR_OPERATION_INVALID, VIR_FROM_QEMU,
                         "Requested operation is not valid: no job is active on the domain");
    }
    fake.aborted = true;
    return fake_leave(0);
}

int virDomainMigrateStartPostCopy(virDomainPtr domain, unsigned int flags)
{
    (void)flags;
    if (!fake_enter_vm(domain, "postcopy"))
        return -1;
    fake_note(FAKE_A, "postcopy", "");
    fake_vm_of(domain)->state = VIR_DOMAIN_PAUSED;
    fake_vm_of(domain)->reason = VIR_DOMAIN_PAUSED_POSTCOPY;
    return fake_leave(0);
}

/* ---- storage: one pool on each host ---- */

virStoragePoolPtr virStoragePoolLookupByName(virConnectPtr conn, const char *name)
{
    (void)name;
    if (!fake_enter((struct fake_object *)conn, "pool"))
        return NULL;
    fake_leave(0);
    return fake_new_object(((struct fake_object *)conn)->host);
}

int virStoragePoolFree(virStoragePoolPtr pool)
{
    return fake_free_object(pool);
}

int virStoragePoolRefresh(virStoragePoolPtr pool, unsigned int flags)
{
    int *busy = &fake.hosts[((struct fake_object *)pool)->host].pool_busy;
    (void)flags;
    if (!fake_enter((struct fake_object *)pool, "refresh"))
        return -1;
    bool refused = *busy > 0 && (*busy)--;
    fake_leave(0);
    if (refused)
        fake_fail(VIR_ERR_INTERNAL_ERROR, VIR_FROM_STORAGE, "internal error: pool 'p' has asynchronous jobs running.");
    return refused ? -1 : 0;
}

char *virStoragePoolGetXMLDesc(virStoragePoolPtr pool, unsigned int flags)
{
    (void)pool;
    (void)flags;
    return kvmig__strdup("<pool type='dir'><name>p</name><target><path>/p</path></target></pool>");
}

static virStorageVolPtr new_volume(int host, const char *name)
{
    struct fake_object *volume = fake_new_object(host);
    volume->name = kvmig__strdup(name);
    return (virStorageVolPtr)volume;
}

virStorageVolPtr virStorageVolLookupByName(virStoragePoolPtr pool, const char *name)
{
    if (!fake_enter((struct fake_object *)pool, "volume"))
        return NULL;
    bool there = kvmig__strlist_has(&fake.hosts[((struct fake_object *)pool)->host].volumes, name);
    fake_leave(0);
    if (there)
        return new_volume(((struct fake_object *)pool)->host, name);
    fake_fail(VIR_ERR_NO_STORAGE_VOL, VIR_FROM_STORAGE, "Storage volume not found: no storage vol with matching name");
    return NULL;
}

virStorageVolPtr virStorageVolCreateXML(virStoragePoolPtr pool, const char *xml, unsigned int flags)
{
    (void)flags;
    if (!fake_enter((struct fake_object *)pool, "create"))
        return NULL;
    int host = ((struct fake_object *)pool)->host;
    const char *begin = strstr(xml, "<name>") + strlen("<name>");
    char *name = kvmig__strndup(begin, (size_t)(strstr(begin, "</name>") - begin));
    fake_note(host, strstr(xml, "<capacity unit='bytes'>1000448</capacity>") ? "create" : "create of wrong size", name);
    kvmig__strlist_add(&fake.hosts[host].volumes, name);
    fake_leave(0);
    virStorageVolPtr volume = new_volume(host, name);
    free(name);
    return volume;
}

char *virStorageVolGetPath(virStorageVolPtr volume)
{
    return kvmig__asprintf("/p/%s", ((struct fake_object *)volume)->name);
}

int virStorageVolDelete(virStorageVolPtr volume, unsigned int flags)
{
    (void)flags;
    struct fake_object *object = (struct fake_object *)volume;
    if (!fake_enter(object, "delete"))
        return -1;
    fake_note(object->host, "delete", object->name);
    kvmig__strlist_clear(&fake.hosts[object->host].volumes);
    return fake_leave(0);
}

int virStorageVolFree(virStorageVolPtr volume)
{
    return fake_free_object(volume);
}
