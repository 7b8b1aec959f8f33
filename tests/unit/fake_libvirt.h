/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two libvirt hosts that exist only here, for tests of the session driver: the functions of libvirt that the driver calls,
 * with one VM, a pool, faults and hangs. It stands in front of libvirt's own functions because a program's symbols come
 * first. Everything may be called from any thread; what a test sets goes through fake_lock().
 */
#ifndef KVMIG_TESTS_FAKE_LIBVIRT_H
#define KVMIG_TESTS_FAKE_LIBVIRT_H

#include "base/base.h"

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#define FAKE_UUID "11111111-1111-4111-8111-111111111111"
#define FAKE_OTHER_UUID "22222222-2222-4222-8222-222222222222"

enum { FAKE_A, FAKE_B }; /* the source, the target */

enum fake_job { FAKE_NO_JOB, FAKE_OUT, FAKE_IN };

struct fake_domain {
    bool there;
    int state, reason; /* libvirt's */
    bool persistent;
    enum fake_job job;
    const char *definition; /* what libvirt would say; NULL = "<domain/>" */
    const char *live; /* the same of the running guest; NULL = as defined */
};

struct fake_host {
    bool down; /* refuses and breaks connections */
    const char *hang_in; /* calls of that name do not come back before fake_release() */
    const char *fail_in; /* calls of that name fail */
    int fail_code;
    int pool_busy; /* so many refreshes of the pool are refused, because a volume is built in it */
    const char *fail_text;
    unsigned long version; /* of its libvirt */
    struct fake_domain vm;
    bool name_taken; /* by another domain */
    struct kvmig__strlist volumes;
    unsigned long long max_downtime;
    unsigned long max_speed;
    size_t connections; /* open now */
};

/* How the migrate call goes. */
enum fake_call {
    FAKE_MOVES, /* at once */
    FAKE_FAILS, /* at once; the target holds nothing, the source runs */
    FAKE_WAITS, /* until it is aborted, or fake_release_call() */
};

struct fake_world {
    struct fake_host hosts[2];
    enum fake_call call;
    bool call_leaves; /* a call that ends leaves the domains as they are */
    int call_code; /* of a call that fails; 0 = operation failed */
    const char *call_text;
    bool call_released; /* a waiting call goes on and moves */
    bool call_ignores_abort;
    unsigned int flags; /* of the last call */
    size_t calls; /* how often it was made */
    bool aborted;
    size_t aborts_without_job; /* so many aborts find no job yet */
    const char *abort_text; /* aborts are refused with this */
    unsigned long long iteration; /* shown in the statistics; 0 = no memory yet */
    char *log; /* every call with an effect, in order: "b create vda.img; a migrate; " */
    size_t hung; /* calls that hang now */
};
extern struct fake_world fake;

void fake_lock(void);
void fake_unlock(void);
/* A healthy pair: the VM runs on A and is persistent there. */
void fake_reset(void);
/* Lets everything that hangs go on, and waits until no connection is left. The log stays. */
void fake_end(void);
void fake_release(int host);
void fake_release_call(void);
/* Copies of what happened so far; owned. */
char *fake_log(void);
bool fake_is_hung(void);

/* ---- between fake_libvirt*.c ---- */
/* What every handle of libvirt is here. */
struct fake_object {
    int host;
    bool broken; /* a connection whose host went down */
    bool other; /* the domain that has our name and not our UUID */
    char *name; /* of a volume */
};
void *fake_new_object(int host);
int fake_free_object(void *handle);
/* Enters a call: true = it may go on, with the lock held; else libvirt's last error says why not. */
bool fake_enter(const struct fake_object *object, const char *call);
/* The same about the VM; fails if it is not there. */
bool fake_enter_vm(void *domain, const char *call);
int fake_leave(int status);
int fake_fail(int code, int domain, const char *text); /* -1 */
/* All with the lock: */
void fake_note(int host, const char *what, const char *object);
struct fake_domain *fake_vm_of(void *domain);
bool fake_is_active(const struct fake_domain *vm);
void fake_stop(struct fake_domain *vm, int reason);
void fake_wait(void); /* for a change of the world */
void fake_tell(void);

#endif
