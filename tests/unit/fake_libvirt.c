/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * See fake_libvirt.h. One lock guards the world; a call that hangs waits for the condition without it. Objects are small
 * blocks that libvirt's own free functions (those here) free; leaks are for the sanitizers to find.
 */
#include "fake_libvirt.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fake_world fake;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static _Thread_local virError last_error;
static _Thread_local char last_text[256];

/* ---- the world ---- */

void fake_wait(void)
{
    pthread_cond_wait(&changed, &lock);
}

void fake_tell(void)
{
    pthread_cond_broadcast(&changed);
}

void fake_lock(void)
{
    pthread_mutex_lock(&lock);
}

void fake_unlock(void)
{
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
}

void fake_reset(void)
{
    free(fake.log);
    memset(&fake, 0, sizeof(fake));
    fake.hosts[FAKE_A].version = fake.hosts[FAKE_B].version = 9000000;
    fake.hosts[FAKE_A].vm = (struct fake_domain){ .there = true, .state = VIR_DOMAIN_RUNNING, .persistent = true };
    fake.hosts[FAKE_A].max_downtime = 300;
    fake.hosts[FAKE_A].max_speed = 1000;
    fake.log = kvmig__strdup("");
}

void fake_release(int host)
{
    fake_lock();
    fake.hosts[host].hang_in = NULL;
    fake_unlock();
}

void fake_release_call(void)
{
    fake_lock();
    fake.call_released = true;
    fake_unlock();
}

void fake_end(void)
{
    fake_release(FAKE_A);
    fake_release(FAKE_B);
    fake_release_call();
    fake_lock();
    while (fake.hosts[FAKE_A].connections + fake.hosts[FAKE_B].connections > 0)
        pthread_cond_wait(&changed, &lock);
    kvmig__strlist_clear(&fake.hosts[FAKE_A].volumes);
    kvmig__strlist_clear(&fake.hosts[FAKE_B].volumes);
    fake_unlock();
}

char *fake_log(void)
{
    fake_lock();
    char *copy = kvmig__strdup(fake.log);
    fake_unlock();
    return copy;
}

bool fake_is_hung(void)
{
    fake_lock();
    bool hung = fake.hung > 0;
    fake_unlock();
    return hung;
}

void fake_note(int host, const char *what, const char *object)
{
    char *longer =
        kvmig__asprintf("%s%c %s%s%s; ", fake.log, host == FAKE_A ? 'a' : 'b', what, *object ? " " : "", object);
    free(fake.log);
    fake.log = longer;
}

/* ---- errors ---- */

int fake_fail(int code, int domain, const char *text)
{
    snprintf(last_text, sizeof(last_text), "%s", text);
    last_error.code = code;
    last_error.domain = domain;
    last_error.message = last_text;
    return -1;
}

virErrorPtr virGetLastError(void)
{
    return last_error.code ? &last_error : NULL;
}

int virGetLastErrorCode(void)
{
    return last_error.code;
}

/* Enters a call: true = it may go on, with the lock held. */
bool fake_enter(const struct fake_object *object, const char *call)
{
    pthread_mutex_lock(&lock);
    last_error.code = 0;
    struct fake_host *host = &fake.hosts[object->host];
    fake.hung++;
    while (host->hang_in && strcmp(host->hang_in, call) == 0)
        pthread_cond_wait(&changed, &lock);
    fake.hung--;
    if (host->down || object->broken) {
        pthread_mutex_unlock(&lock);
        fake_fail(VIR_ERR_SYSTEM_ERROR, VIR_FROM_RPC, "End of file while reading data: Input/output error");
        return false;
    }
    if (host->fail_in && strcmp(host->fail_in, call) == 0) {
        fake_fail(host->fail_code ? host->fail_code : VIR_ERR_OPERATION_FAILED, VIR_FROM_QEMU,
                  host->fail_text ? host->fail_text : "operation failed: as told");
        pthread_mutex_unlock(&lock);
        return false;
    }
    return true;
}

int fake_leave(int status)
{
    fake_unlock();
    return status;
}

void *fake_new_object(int host)
{
    struct fake_object *object = kvmig__calloc(1, sizeof(*object));
    object->host = host;
    return object;
}

int fake_free_object(void *handle)
{
    struct fake_object *object = handle;
    free(object->name);
    free(object);
    return 0;
}

/* ---- connections ---- */

int virGetVersion(unsigned long *version, const char *type, unsigned long *type_version)
{
    (void)type;
    (void)type_version;
    *version = 9000000;
    return 0;
}

virConnectPtr virConnectOpenAuth(const char *uri, virConnectAuthPtr auth, unsigned int flags)
{
    (void)auth;
    (void)flags;
    struct fake_object *conn = fake_new_object(strstr(uri, "://b/") ? FAKE_B : FAKE_A);
    if (!fake_enter(conn, "open")) {
        fake_free_object(conn);
        fake_fail(VIR_ERR_SYSTEM_ERROR, VIR_FROM_RPC, "unable to connect to server: Connection refused");
        return NULL;
    }
    fake.hosts[conn->host].connections++;
    fake_leave(0);
    return (virConnectPtr)conn;
}

int virConnectClose(virConnectPtr conn)
{
    fake_lock();
    fake.hosts[((struct fake_object *)conn)->host].connections--;
    fake_unlock();
    return fake_free_object(conn);
}

int virConnectIsAlive(virConnectPtr conn)
{
    struct fake_object *object = (struct fake_object *)conn;
    fake_lock();
    int alive = !object->broken;
    fake_unlock();
    return alive;
}

void virConnSetErrorFunc(virConnectPtr conn, void *data, virErrorFunc handler)
{
    (void)conn;
    (void)data;
    (void)handler;
}

int virConnectGetLibVersion(virConnectPtr conn, unsigned long *version)
{
    if (!fake_enter((struct fake_object *)conn, "version"))
        return -1;
    *version = fake.hosts[((struct fake_object *)conn)->host].version;
    return fake_leave(0);
}

int virConnectGetVersion(virConnectPtr conn, unsigned long *version)
{
    (void)conn;
    *version = 7002000;
    return 0;
}

/* ---- domains ---- */

struct fake_domain *fake_vm_of(void *domain)
{
    return &fake.hosts[((struct fake_object *)domain)->host].vm;
}

bool fake_is_active(const struct fake_domain *vm)
{
    return vm->there && vm->state != VIR_DOMAIN_SHUTOFF;
}

/* A domain that is off and not persistent is unknown to libvirt. */
void fake_stop(struct fake_domain *vm, int reason)
{
    vm->state = VIR_DOMAIN_SHUTOFF;
    vm->reason = reason;
    vm->job = FAKE_NO_JOB;
    vm->there = vm->persistent;
}

/* Enters a call about the VM; fails if it is not there. */
bool fake_enter_vm(void *domain, const char *call)
{
    if (!fake_enter(domain, call))
        return false;
    if (fake_vm_of(domain)->there || ((struct fake_object *)domain)->other)
        return true;
    fake_leave(0);
    fake_fail(VIR_ERR_NO_DOMAIN, VIR_FROM_QEMU, "Domain not found: no domain with matching uuid");
    return false;
}

virDomainPtr virDomainLookupByUUIDString(virConnectPtr conn, const char *uuid)
{
    (void)uuid;
    if (!fake_enter_vm(conn, "lookup")) {
        if (last_error.domain == VIR_FROM_RPC)
            ((struct fake_object *)conn)->broken = true;
        return NULL;
    }
    fake_leave(0);
    return fake_new_object(((struct fake_object *)conn)->host);
}

virDomainPtr virDomainLookupByName(virConnectPtr conn, const char *name)
{
    (void)name;
    if (!fake_enter((struct fake_object *)conn, "lookup by name"))
        return NULL;
    struct fake_host *host = &fake.hosts[((struct fake_object *)conn)->host];
    if (!host->name_taken && !host->vm.there) {
        fake_leave(0);
        fake_fail(VIR_ERR_NO_DOMAIN, VIR_FROM_QEMU, "Domain not found: no domain with matching name");
        return NULL;
    }
    struct fake_object *domain = fake_new_object(((struct fake_object *)conn)->host);
    domain->other = host->name_taken;
    fake_leave(0);
    return (virDomainPtr)domain;
}

int virDomainGetUUIDString(virDomainPtr domain, char *uuid)
{
    strcpy(uuid, ((struct fake_object *)domain)->other ? FAKE_OTHER_UUID : FAKE_UUID);
    return 0;
}

int virDomainFree(virDomainPtr domain)
{
    return fake_free_object(domain);
}

int virDomainGetState(virDomainPtr domain, int *state, int *reason, unsigned int flags)
{
    (void)flags;
    if (!fake_enter_vm(domain, "state"))
        return -1;
    *state = fake_vm_of(domain)->state;
    if (reason)
        *reason = fake_vm_of(domain)->reason;
    return fake_leave(0);
}

int virDomainIsActive(virDomainPtr domain)
{
    if (!fake_enter_vm(domain, "is active"))
        return -1;
    return fake_leave(fake_is_active(fake_vm_of(domain)));
}

int virDomainIsPersistent(virDomainPtr domain)
{
    if (!fake_enter_vm(domain, "is persistent"))
        return -1;
    return fake_leave(fake_vm_of(domain)->persistent);
}

char *virDomainGetXMLDesc(virDomainPtr domain, unsigned int flags)
{
    if (!fake_enter_vm(domain, "xml"))
        return NULL;
    const struct fake_domain *vm = fake_vm_of(domain);
    const char *text = vm->live && !(flags & VIR_DOMAIN_XML_INACTIVE) ? vm->live : vm->definition;
    char *xml = kvmig__strdup(text ? text : "<domain/>");
    fake_leave(0);
    return xml;
}

int virDomainGetControlInfo(virDomainPtr domain, virDomainControlInfoPtr info, unsigned int flags)
{
    (void)domain;
    (void)flags;
    memset(info, 0, sizeof(*info));
    return 0;
}

static void add_figures(virTypedParameterPtr *params, int *n, int *max)
{
    virTypedParamsAddULLong(params, n, max, VIR_DOMAIN_JOB_MEMORY_TOTAL, fake.iteration ? 1 << 30 : 0);
    virTypedParamsAddULLong(params, n, max, VIR_DOMAIN_JOB_MEMORY_ITERATION, fake.iteration);
    virTypedParamsAddULLong(params, n, max, VIR_DOMAIN_JOB_DOWNTIME_NET, 42);
}

int virDomainGetJobStats(virDomainPtr domain, int *type, virTypedParameterPtr *params, int *n_params,
                         unsigned int flags)
{
    const bool completed = flags & VIR_DOMAIN_JOB_STATS_COMPLETED;
    if (!fake_enter_vm(domain, "statistics"))
        return -1;
    int max = 0;
    const struct fake_domain *vm = fake_vm_of(domain);
    *params = NULL;
    *n_params = 0;
    *type = completed ? VIR_DOMAIN_JOB_COMPLETED : vm->job ? VIR_DOMAIN_JOB_UNBOUNDED : VIR_DOMAIN_JOB_NONE;
    if (*type == VIR_DOMAIN_JOB_UNBOUNDED)
        virTypedParamsAddInt(params, n_params, &max, VIR_DOMAIN_JOB_OPERATION,
                             vm->job == FAKE_OUT ? VIR_DOMAIN_JOB_OPERATION_MIGRATION_OUT
                                                 : VIR_DOMAIN_JOB_OPERATION_MIGRATION_IN);
    if (*type != VIR_DOMAIN_JOB_NONE)
        add_figures(params, n_params, &max);
    return fake_leave(0);
}

int virDomainGetBlockInfo(virDomainPtr domain, const char *disk, virDomainBlockInfoPtr info, unsigned int flags)
{
    (void)disk;
    (void)flags;
    if (!fake_enter_vm(domain, "block info"))
        return -1;
    info->capacity = 1000448; /* no round number */
    return fake_leave(0);
}

int virDomainGetBlockJobInfo(virDomainPtr domain, const char *disk, virDomainBlockJobInfoPtr info, unsigned int flags)
{
    (void)disk;
    (void)flags;
    if (!fake_enter_vm(domain, "block job"))
        return -1;
    info->cur = 100;
    info->end = 1000448;
    return fake_leave(1);
}

int virDomainMigrateGetMaxDowntime(virDomainPtr domain, unsigned long long *downtime, unsigned int flags)
{
    (void)flags;
    if (!fake_enter_vm(domain, "get downtime"))
        return -1;
    *downtime = fake.hosts[((struct fake_object *)domain)->host].max_downtime;
    return fake_leave(0);
}

int virDomainMigrateSetMaxDowntime(virDomainPtr domain, unsigned long long downtime, unsigned int flags)
{
    (void)flags;
    if (!fake_enter_vm(domain, "set downtime"))
        return -1;
    fake.hosts[((struct fake_object *)domain)->host].max_downtime = downtime;
    return fake_leave(0);
}

int virDomainMigrateGetMaxSpeed(virDomainPtr domain, unsigned long *speed, unsigned int flags)
{
    (void)flags;
    if (!fake_enter_vm(domain, "get speed"))
        return -1;
    *speed = fake.hosts[((struct fake_object *)domain)->host].max_speed;
    return fake_leave(0);
}

int virDomainMigrateSetMaxSpeed(virDomainPtr domain, unsigned long speed, unsigned int flags)
{
    (void)flags;
    if (!fake_enter_vm(domain, "set speed"))
        return -1;
    fake.hosts[((struct fake_object *)domain)->host].max_speed = speed;
    return fake_leave(0);
}
