// SPDX-License-Identifier: LGPL-2.1-or-later

// Which change of which object makes which controller look again. Over-eager is harmless: every controller decides
// by the state it finds.

package sim

import "time"

func (s *Sim) wire() error {
	changes := []struct {
		st *store
		f  func(old, new *object)
	}{
		{s.vmims, s.migrationChanged}, {s.vmis, s.machineChanged}, {s.pods, s.podChanged}, {s.vms, s.vmChanged},
		{s.nodes, s.nodeChanged}, {s.quotas, func(_, _ *object) { s.kickPending() }}, {s.services, s.serviceChanged},
		{s.pvcs, s.claimChanged}, {s.kubevirts, func(_, _ *object) { s.kickPending() }}, {s.slices, nothing},
		{s.policies, nothing}, {s.namespaces, nothing},
	}
	for _, c := range changes {
		if err := c.st.onChange(c.f); err != nil {
			return err
		}
	}
	return nil
}

func nothing(_, _ *object) {}

func either(old, new *object) *object {
	if new != nil {
		return new
	}
	return old
}

func (s *Sim) migrationChanged(old, new *object) {
	o := either(old, new)
	machine := o.GetNamespace() + "/" + str(o, "spec", "vmiName")
	s.migrations.add(key(o))
	switch {
	case new == nil:
		s.memory.began.forget(uid(o) + "/final")
		s.memory.began.forget(uid(o) + "/utility")
	case migrationFinal(new):
		s.endOf(new)
	}
	if new == nil || migrationFinal(new) && (old == nil || !migrationFinal(old)) {
		s.wakeWaiting()
		s.garbage.add(machine)
		s.evacuations.add(machine)
		s.updates.add(machine)
	}
	if old == nil || new == nil || str(old, "status", "phase") != str(new, "status", "phase") {
		// A network that waits for a phase of the migration, and the like.
		for _, pod := range s.pods.by(byMigration, uid(o)) {
			s.kubelets.add(key(pod))
		}
		s.machines.add(machine)
	}
}

func (s *Sim) machineChanged(old, new *object) {
	k := key(either(old, new))
	for _, l := range []*loop{s.machines, s.handlers, s.updates, s.evacuations, s.volumes} {
		l.add(k)
	}
	for _, m := range s.vmims.by(byVMI, k) {
		s.migrations.add(key(m))
	}
	for _, pod := range s.pods.by(byCreator, uid(either(old, new))) {
		s.kubelets.add(key(pod))
	}
	if new == nil {
		s.stopMachine(old)
	}
}

func (s *Sim) podChanged(old, new *object) {
	o := either(old, new)
	k := key(o)
	s.scheduling.add(k)
	s.kubelets.add(k)
	if machine := s.machineOf(o); machine != "" {
		s.machines.add(machine)
	}
	if name := annotation(o, annotationJobName); name != "" {
		s.migrations.add(o.GetNamespace() + "/" + name)
	}
	if new == nil || podTerminal(new) {
		s.memory.unplaced.again(s.scheduling)
		for _, dependent := range s.pods.by(byOwner, uid(o)) {
			s.kubelets.add(key(dependent))
		}
	}
	for _, service := range s.services.all() {
		if service.GetNamespace() == o.GetNamespace() {
			s.endpoints.add(key(service))
		}
	}
}

// machineOf gives the VMI that a launcher pod, or the attachment pod of one, belongs to.
func (s *Sim) machineOf(pod *object) string {
	for _, ref := range pod.GetOwnerReferences() {
		if ref.Kind == "VirtualMachineInstance" {
			return pod.GetNamespace() + "/" + ref.Name
		}
	}
	if name := annotation(pod, "kubevirt.io/owner-vmi-name"); name != "" {
		return pod.GetNamespace() + "/" + name
	}
	return ""
}

func (s *Sim) vmChanged(old, new *object) {
	s.volumes.add(key(either(old, new)))
}

func (s *Sim) nodeChanged(_, _ *object) {
	s.memory.unplaced.again(s.scheduling)
}

func (s *Sim) serviceChanged(old, new *object) {
	s.endpoints.add(key(either(old, new)))
}

func (s *Sim) claimChanged(old, _ *object) {
	if old != nil {
		return // only new claims let something go on
	}
	for _, vm := range s.vms.all() {
		s.volumes.add(key(vm))
	}
}

// kickPending looks again at all migrations that wait.
func (s *Sim) kickPending() {
	for _, m := range s.vmims.all() {
		if phase := str(m, "status", "phase"); phase == "" || phase == phasePending {
			s.migrations.add(key(m))
		}
	}
}

// kick looks again at everything; acts from outside do this.
func (s *Sim) kick() {
	for _, m := range s.vmims.all() {
		s.migrations.add(key(m))
	}
	for _, vmi := range s.vmis.all() {
		k := key(vmi)
		for _, l := range []*loop{s.machines, s.handlers, s.updates, s.evacuations, s.volumes, s.garbage} {
			l.add(k)
		}
	}
	for _, pod := range s.pods.all() {
		s.scheduling.add(key(pod))
		s.kubelets.add(key(pod))
	}
	for _, service := range s.services.all() {
		s.endpoints.add(key(service))
	}
}

// soon adds a key to a loop after a time.
func soon(l *loop, k string, after time.Duration) {
	l.queue.AddAfter(k, after)
}
