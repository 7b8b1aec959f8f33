/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The binary layout of every public struct, as programs that are compiled already know it: where each member lies, how large
 * the whole is, and that there is no hole, since bytes without a name are not zeroed by every initialiser. All of it is
 * proven by the compiler, on x86-64 only, where the numbers hold; the program itself has nothing left to do. A member that
 * is added goes to the end of its struct and gets a line here; of the others only the last, with the size, changes.
 */
#include <kvmig/kvmig.h>
#include <stdio.h>

#if defined(__x86_64__) && defined(__LP64__)

#define END_OF(type, member) (offsetof(struct type, member) + sizeof(((struct type *)0)->member))

#define FIRST(type, member) _Static_assert(offsetof(struct type, member) == 0, "struct " #type " begins with " #member)
#define NEXT(type, before, member, offset)                                                                             \
    _Static_assert(offsetof(struct type, member) == (offset), #member " of struct " #type " has moved");               \
    _Static_assert(offsetof(struct type, member) == END_OF(type, before),                                              \
                   "struct " #type " has something or nothing between " #before " and " #member)
#define LAST(type, member, size)                                                                                       \
    _Static_assert(sizeof(struct type) == (size), "struct " #type " has another size");                                \
    _Static_assert(END_OF(type, member) == (size), "struct " #type " goes on after " #member)

FIRST(kvmig_log_callback, fn);
NEXT(kvmig_log_callback, fn, user_data, 8);
NEXT(kvmig_log_callback, user_data, free, 16);
LAST(kvmig_log_callback, free, 24);

FIRST(kvmig_context_opts, size);
NEXT(kvmig_context_opts, size, flags, 8);
NEXT(kvmig_context_opts, flags, log_level, 12);
NEXT(kvmig_context_opts, log_level, on_log, 16);
LAST(kvmig_context_opts, on_log, 40);

FIRST(kvmig_diagnose_opts, size);
NEXT(kvmig_diagnose_opts, size, plan, 8);
NEXT(kvmig_diagnose_opts, plan, migration, 16);
NEXT(kvmig_diagnose_opts, migration, node, 24);
NEXT(kvmig_diagnose_opts, node, intent, 32);
NEXT(kvmig_diagnose_opts, intent, migrate_rc, 36);
NEXT(kvmig_diagnose_opts, migrate_rc, source_state, 40);
NEXT(kvmig_diagnose_opts, source_state, target_state, 48);
NEXT(kvmig_diagnose_opts, target_state, job, 56);
NEXT(kvmig_diagnose_opts, job, postcopy_started, 64);
NEXT(kvmig_diagnose_opts, postcopy_started, reserved, 68);
NEXT(kvmig_diagnose_opts, reserved, events_now_s, 72);
NEXT(kvmig_diagnose_opts, events_now_s, progress_timeout_s, 80);
LAST(kvmig_diagnose_opts, progress_timeout_s, 88);

FIRST(kvmig_drain_opts, size);
NEXT(kvmig_drain_opts, size, nodes, 8);
NEXT(kvmig_drain_opts, nodes, n_nodes, 16);
NEXT(kvmig_drain_opts, n_nodes, vms, 24);
NEXT(kvmig_drain_opts, vms, n_vms, 32);
NEXT(kvmig_drain_opts, n_vms, targets, 40);
NEXT(kvmig_drain_opts, targets, n_targets, 48);
NEXT(kvmig_drain_opts, n_targets, excludes, 56);
NEXT(kvmig_drain_opts, excludes, n_excludes, 64);
NEXT(kvmig_drain_opts, n_excludes, plan, 72);
NEXT(kvmig_drain_opts, plan, link_mib, 80);
NEXT(kvmig_drain_opts, link_mib, max_migrations, 88);
NEXT(kvmig_drain_opts, max_migrations, max_outbound, 92);
NEXT(kvmig_drain_opts, max_outbound, max_inbound, 96);
NEXT(kvmig_drain_opts, max_inbound, reserved, 100);
LAST(kvmig_drain_opts, reserved, 104);

FIRST(kvmig_drain_run_opts, size);
NEXT(kvmig_drain_run_opts, size, on_event, 8);
NEXT(kvmig_drain_run_opts, on_event, session, 32);
NEXT(kvmig_drain_run_opts, session, on_session, 40);
NEXT(kvmig_drain_run_opts, on_session, user_data, 48);
LAST(kvmig_drain_run_opts, user_data, 56);

FIRST(kvmig_disk_progress, size);
NEXT(kvmig_disk_progress, size, target, 8);
NEXT(kvmig_disk_progress, target, total, 16);
NEXT(kvmig_disk_progress, total, done, 24);
LAST(kvmig_disk_progress, done, 32);

FIRST(kvmig_progress, size);
NEXT(kvmig_progress, size, elapsed_ms, 8);
NEXT(kvmig_progress, elapsed_ms, memory_total, 16);
NEXT(kvmig_progress, memory_total, memory_sent, 24);
NEXT(kvmig_progress, memory_sent, memory_remaining, 32);
NEXT(kvmig_progress, memory_remaining, pages_normal, 40);
NEXT(kvmig_progress, pages_normal, pages_constant, 48);
NEXT(kvmig_progress, pages_constant, page_size, 56);
NEXT(kvmig_progress, page_size, disk_total, 64);
NEXT(kvmig_progress, disk_total, disk_sent, 72);
NEXT(kvmig_progress, disk_sent, disk_remaining, 80);
NEXT(kvmig_progress, disk_remaining, dirty_bytes_per_s, 88);
NEXT(kvmig_progress, dirty_bytes_per_s, bandwidth_bytes_per_s, 96);
NEXT(kvmig_progress, bandwidth_bytes_per_s, expected_pause_ms, 104);
NEXT(kvmig_progress, expected_pause_ms, final_pause_ms, 112);
NEXT(kvmig_progress, final_pause_ms, iteration, 120);
NEXT(kvmig_progress, iteration, eta_ms, 128);
NEXT(kvmig_progress, eta_ms, eta_reason, 136);
NEXT(kvmig_progress, eta_reason, throttle_percent, 140);
NEXT(kvmig_progress, throttle_percent, at_iteration_boundary, 144);
NEXT(kvmig_progress, at_iteration_boundary, n_disks, 148);
NEXT(kvmig_progress, n_disks, disks, 152);
LAST(kvmig_progress, disks, 160);

FIRST(kvmig_event_callback, fn);
NEXT(kvmig_event_callback, fn, user_data, 8);
NEXT(kvmig_event_callback, user_data, free, 16);
LAST(kvmig_event_callback, free, 24);

FIRST(kvmig_cluster_opts, size);
NEXT(kvmig_cluster_opts, size, libvirt_uris, 8);
NEXT(kvmig_cluster_opts, libvirt_uris, n_libvirt_uris, 16);
NEXT(kvmig_cluster_opts, n_libvirt_uris, shared_paths, 24);
NEXT(kvmig_cluster_opts, shared_paths, n_shared_paths, 32);
NEXT(kvmig_cluster_opts, n_shared_paths, refresh_ms, 40);
NEXT(kvmig_cluster_opts, refresh_ms, call_timeout_ms, 44);
NEXT(kvmig_cluster_opts, call_timeout_ms, max_migrations, 48);
NEXT(kvmig_cluster_opts, max_migrations, max_outbound, 52);
NEXT(kvmig_cluster_opts, max_outbound, max_inbound, 56);
NEXT(kvmig_cluster_opts, max_inbound, reserved, 60);
NEXT(kvmig_cluster_opts, reserved, on_event, 64);
NEXT(kvmig_cluster_opts, on_event, kube, 88);
NEXT(kvmig_cluster_opts, kube, snapshot_paths, 96);
NEXT(kvmig_cluster_opts, snapshot_paths, n_snapshot_paths, 104);
NEXT(kvmig_cluster_opts, n_snapshot_paths, snapshot_hosts, 112);
NEXT(kvmig_cluster_opts, snapshot_hosts, n_snapshot_hosts, 120);
NEXT(kvmig_cluster_opts, n_snapshot_hosts, snapshot_source, 128);
LAST(kvmig_cluster_opts, snapshot_source, 136);

FIRST(kvmig_kube_opts, size);
NEXT(kvmig_kube_opts, size, kubeconfig, 8);
NEXT(kvmig_kube_opts, kubeconfig, context, 16);
NEXT(kvmig_kube_opts, context, flags, 24);
NEXT(kvmig_kube_opts, flags, server, 32);
NEXT(kvmig_kube_opts, server, ca_file, 40);
NEXT(kvmig_kube_opts, ca_file, client_cert_file, 48);
NEXT(kvmig_kube_opts, client_cert_file, client_key_file, 56);
NEXT(kvmig_kube_opts, client_key_file, token, 64);
NEXT(kvmig_kube_opts, token, token_file, 72);
NEXT(kvmig_kube_opts, token_file, tls_server_name, 80);
NEXT(kvmig_kube_opts, tls_server_name, proxy_url, 88);
NEXT(kvmig_kube_opts, proxy_url, namespace_, 96);
NEXT(kvmig_kube_opts, namespace_, vm, 104);
NEXT(kvmig_kube_opts, vm, on_token, 112);
NEXT(kvmig_kube_opts, on_token, page_size, 136);
NEXT(kvmig_kube_opts, page_size, request_timeout_ms, 140);
NEXT(kvmig_kube_opts, request_timeout_ms, watch_idle_ms, 144);
NEXT(kvmig_kube_opts, watch_idle_ms, reserved, 148);
LAST(kvmig_kube_opts, reserved, 152);

FIRST(kvmig_token_callback, fn);
NEXT(kvmig_token_callback, fn, user_data, 8);
NEXT(kvmig_token_callback, user_data, free, 16);
LAST(kvmig_token_callback, free, 24);

FIRST(kvmig_volume_change, volume);
NEXT(kvmig_volume_change, volume, claim, 8);
LAST(kvmig_volume_change, claim, 16);

FIRST(kvmig_link, host);
NEXT(kvmig_link, host, bytes_per_s, 8);
LAST(kvmig_link, bytes_per_s, 16);

FIRST(kvmig_wait, size);
NEXT(kvmig_wait, size, code, 8);
NEXT(kvmig_wait, code, object, 16);
NEXT(kvmig_wait, object, waits_for, 24);
NEXT(kvmig_wait, waits_for, condition, 32);
NEXT(kvmig_wait, condition, evidence, 40);
NEXT(kvmig_wait, evidence, limit, 48);
NEXT(kvmig_wait, limit, hint, 56);
NEXT(kvmig_wait, hint, since_ms, 64);
NEXT(kvmig_wait, since_ms, ends_ms, 72);
NEXT(kvmig_wait, ends_ms, severity, 80);
NEXT(kvmig_wait, severity, depth, 84);
LAST(kvmig_wait, depth, 88);

FIRST(kvmig_plan_opts, size);
NEXT(kvmig_plan_opts, size, vm, 8);
NEXT(kvmig_plan_opts, vm, source, 16);
NEXT(kvmig_plan_opts, source, target, 24);
NEXT(kvmig_plan_opts, target, flags, 32);
NEXT(kvmig_plan_opts, flags, copy, 40);
NEXT(kvmig_plan_opts, copy, handover, 44);
NEXT(kvmig_plan_opts, handover, copy_disks, 48);
NEXT(kvmig_plan_opts, copy_disks, n_copy_disks, 56);
NEXT(kvmig_plan_opts, n_copy_disks, target_pool, 64);
NEXT(kvmig_plan_opts, target_pool, bandwidth_mib, 72);
NEXT(kvmig_plan_opts, bandwidth_mib, postcopy_bandwidth_mib, 80);
NEXT(kvmig_plan_opts, postcopy_bandwidth_mib, max_downtime_ms, 88);
NEXT(kvmig_plan_opts, max_downtime_ms, parallel_connections, 96);
NEXT(kvmig_plan_opts, parallel_connections, auto_converge_initial, 100);
NEXT(kvmig_plan_opts, auto_converge_initial, auto_converge_increment, 104);
NEXT(kvmig_plan_opts, auto_converge_increment, compression_level, 108);
NEXT(kvmig_plan_opts, compression_level, compression, 112);
NEXT(kvmig_plan_opts, compression, tls_destination, 120);
NEXT(kvmig_plan_opts, tls_destination, target_uri, 128);
NEXT(kvmig_plan_opts, target_uri, migrate_uri, 136);
NEXT(kvmig_plan_opts, migrate_uri, target_name, 144);
NEXT(kvmig_plan_opts, target_name, target_xml, 152);
NEXT(kvmig_plan_opts, target_xml, persistent_xml, 160);
NEXT(kvmig_plan_opts, persistent_xml, volume_changes, 168);
NEXT(kvmig_plan_opts, volume_changes, n_volume_changes, 176);
NEXT(kvmig_plan_opts, n_volume_changes, libvirt_flags, 184);
NEXT(kvmig_plan_opts, libvirt_flags, n_libvirt_flags, 192);
NEXT(kvmig_plan_opts, n_libvirt_flags, now_ms, 200);
NEXT(kvmig_plan_opts, now_ms, exclude, 208);
NEXT(kvmig_plan_opts, exclude, n_exclude, 216);
NEXT(kvmig_plan_opts, n_exclude, target_labels, 224);
NEXT(kvmig_plan_opts, target_labels, links, 232);
NEXT(kvmig_plan_opts, links, n_links, 240);
NEXT(kvmig_plan_opts, n_links, forecast, 248);
LAST(kvmig_plan_opts, forecast, 256);

FIRST(kvmig_session_opts, size);
NEXT(kvmig_session_opts, size, on_event, 8);
NEXT(kvmig_session_opts, on_event, plan_opts, 32);
NEXT(kvmig_session_opts, plan_opts, queue_timeout_ms, 40);
NEXT(kvmig_session_opts, queue_timeout_ms, step_timeout_ms, 48);
NEXT(kvmig_session_opts, step_timeout_ms, migrate_timeout_ms, 56);
NEXT(kvmig_session_opts, migrate_timeout_ms, resolve_timeout_ms, 64);
NEXT(kvmig_session_opts, resolve_timeout_ms, abort_timeout_ms, 72);
NEXT(kvmig_session_opts, abort_timeout_ms, poll_ms, 80);
NEXT(kvmig_session_opts, poll_ms, reserved, 84);
NEXT(kvmig_session_opts, reserved, service_timeout_ms, 88);
NEXT(kvmig_session_opts, service_timeout_ms, attach, 96);
NEXT(kvmig_session_opts, attach, flags, 104);
NEXT(kvmig_session_opts, flags, pending_timeout_ms, 112);
NEXT(kvmig_session_opts, pending_timeout_ms, prepare_timeout_ms, 120);
NEXT(kvmig_session_opts, prepare_timeout_ms, node_hosts, 128);
LAST(kvmig_session_opts, node_hosts, 136);

FIRST(kvmig_port_ovs, size);
NEXT(kvmig_port_ovs, size, chassis, 8);
NEXT(kvmig_port_ovs, chassis, remotes, 16);
NEXT(kvmig_port_ovs, remotes, host, 24);
LAST(kvmig_port_ovs, host, 32);

FIRST(kvmig_port_ovn_opts, size);
NEXT(kvmig_port_ovn_opts, size, nb, 8);
NEXT(kvmig_port_ovn_opts, nb, sb, 16);
NEXT(kvmig_port_ovn_opts, sb, ovs, 24);
NEXT(kvmig_port_ovn_opts, ovs, n_ovs, 32);
NEXT(kvmig_port_ovn_opts, n_ovs, lsp, 40);
NEXT(kvmig_port_ovn_opts, lsp, match_key, 48);
NEXT(kvmig_port_ovn_opts, match_key, match_value, 56);
NEXT(kvmig_port_ovn_opts, match_value, owner, 64);
NEXT(kvmig_port_ovn_opts, owner, ca_file, 72);
NEXT(kvmig_port_ovn_opts, ca_file, cert_file, 80);
NEXT(kvmig_port_ovn_opts, cert_file, key_file, 88);
NEXT(kvmig_port_ovn_opts, key_file, strategy, 96);
NEXT(kvmig_port_ovn_opts, strategy, reserved, 100);
NEXT(kvmig_port_ovn_opts, reserved, prepare_timeout_ms, 104);
NEXT(kvmig_port_ovn_opts, prepare_timeout_ms, verify_timeout_ms, 112);
NEXT(kvmig_port_ovn_opts, verify_timeout_ms, activation_timeout_ms, 120);
NEXT(kvmig_port_ovn_opts, activation_timeout_ms, converge_timeout_ms, 128);
NEXT(kvmig_port_ovn_opts, converge_timeout_ms, on_event, 136);
LAST(kvmig_port_ovn_opts, on_event, 160);

FIRST(kvmig_port_backend, size);
NEXT(kvmig_port_backend, size, prepare, 8);
NEXT(kvmig_port_backend, prepare, verify, 16);
NEXT(kvmig_port_backend, verify, converge, 24);
NEXT(kvmig_port_backend, converge, rollback, 32);
NEXT(kvmig_port_backend, rollback, user_data, 40);
NEXT(kvmig_port_backend, user_data, free, 48);
LAST(kvmig_port_backend, free, 56);

FIRST(kvmig_port_opts, size);
NEXT(kvmig_port_opts, size, name, 8);
NEXT(kvmig_port_opts, name, timeout_ms, 16);
NEXT(kvmig_port_opts, timeout_ms, on_event, 24);
LAST(kvmig_port_opts, on_event, 48);

FIRST(kvmig_probe_target, size);
NEXT(kvmig_probe_target, size, host, 8);
NEXT(kvmig_probe_target, host, path, 16);
NEXT(kvmig_probe_target, path, port, 24);
NEXT(kvmig_probe_target, port, kind, 28);
NEXT(kvmig_probe_target, kind, interval_ms, 32);
NEXT(kvmig_probe_target, interval_ms, timeout_ms, 36);
LAST(kvmig_probe_target, timeout_ms, 40);

FIRST(kvmig_probe_opts, size);
NEXT(kvmig_probe_opts, size, targets, 8);
NEXT(kvmig_probe_opts, targets, n_targets, 16);
NEXT(kvmig_probe_opts, n_targets, netns, 24);
LAST(kvmig_probe_opts, netns, 32);

FIRST(kvmig_probe_result, size);
NEXT(kvmig_probe_result, size, tries, 8);
NEXT(kvmig_probe_result, tries, failures, 16);
NEXT(kvmig_probe_result, failures, gap_begin_ms, 24);
NEXT(kvmig_probe_result, gap_begin_ms, gap_end_ms, 32);
NEXT(kvmig_probe_result, gap_end_ms, gap_ms, 40);
NEXT(kvmig_probe_result, gap_ms, gap_is_open, 48);
NEXT(kvmig_probe_result, gap_is_open, held_survived, 52);
NEXT(kvmig_probe_result, held_survived, last_success_ms, 56);
NEXT(kvmig_probe_result, last_success_ms, last_failure_ms, 64);
LAST(kvmig_probe_result, last_failure_ms, 72);

FIRST(kvmig_interface, size);
NEXT(kvmig_interface, size, uuid, 8);
NEXT(kvmig_interface, uuid, name, 16);
NEXT(kvmig_interface, name, iface_id, 24);
NEXT(kvmig_interface, iface_id, vm_namespace, 32);
NEXT(kvmig_interface, vm_namespace, vm_id, 40);
NEXT(kvmig_interface, vm_id, error, 48);
NEXT(kvmig_interface, error, link_state, 56);
NEXT(kvmig_interface, link_state, ofport, 64);
NEXT(kvmig_interface, ofport, ovn_installed_ts_ms, 72);
NEXT(kvmig_interface, ovn_installed_ts_ms, first_seen_ms, 80);
NEXT(kvmig_interface, first_seen_ms, ovn_installed, 88);
NEXT(kvmig_interface, ovn_installed, reserved, 92);
LAST(kvmig_interface, reserved, 96);

FIRST(kvmig_workload, size);
NEXT(kvmig_workload, size, pod_namespace, 8);
NEXT(kvmig_workload, pod_namespace, name, 16);
NEXT(kvmig_workload, name, vmi_id, 24);
NEXT(kvmig_workload, vmi_id, domain, 32);
NEXT(kvmig_workload, domain, display_name, 40);
NEXT(kvmig_workload, display_name, node, 48);
NEXT(kvmig_workload, node, kind, 56);
NEXT(kvmig_workload, kind, phase, 60);
NEXT(kvmig_workload, phase, terminating, 64);
NEXT(kvmig_workload, terminating, reserved, 68);
LAST(kvmig_workload, reserved, 72);

FIRST(kvmig_interfaces_opts, size);
NEXT(kvmig_interfaces_opts, size, remotes, 8);
NEXT(kvmig_interfaces_opts, remotes, ca_file, 16);
NEXT(kvmig_interfaces_opts, ca_file, cert_file, 24);
NEXT(kvmig_interfaces_opts, cert_file, key_file, 32);
NEXT(kvmig_interfaces_opts, key_file, timeout_ms, 40);
LAST(kvmig_interfaces_opts, timeout_ms, 48);

FIRST(kvmig_interfaces_callback, fn);
NEXT(kvmig_interfaces_callback, fn, user_data, 8);
NEXT(kvmig_interfaces_callback, user_data, free, 16);
LAST(kvmig_interfaces_callback, free, 24);

FIRST(kvmig_interface_classifier_opts, size);
NEXT(kvmig_interface_classifier_opts, size, node, 8);
NEXT(kvmig_interface_classifier_opts, node, grace_ms, 16);
NEXT(kvmig_interface_classifier_opts, grace_ms, settle_ms, 24);
NEXT(kvmig_interface_classifier_opts, settle_ms, passes, 32);
NEXT(kvmig_interface_classifier_opts, passes, reserved, 36);
LAST(kvmig_interface_classifier_opts, reserved, 40);

FIRST(kvmig_interface_pass, size);
NEXT(kvmig_interface_pass, size, list, 8);
NEXT(kvmig_interface_pass, list, interfaces, 16);
NEXT(kvmig_interface_pass, interfaces, n_interfaces, 24);
NEXT(kvmig_interface_pass, n_interfaces, workloads, 32);
NEXT(kvmig_interface_pass, workloads, n_workloads, 40);
NEXT(kvmig_interface_pass, n_workloads, inventory_error, 48);
NEXT(kvmig_interface_pass, inventory_error, operations, 56);
NEXT(kvmig_interface_pass, operations, n_operations, 64);
NEXT(kvmig_interface_pass, n_operations, now_ms, 72);
NEXT(kvmig_interface_pass, now_ms, wall_ms, 80);
LAST(kvmig_interface_pass, wall_ms, 88);

FIRST(kvmig_interface_verdict, size);
NEXT(kvmig_interface_verdict, size, uuid, 8);
NEXT(kvmig_interface_verdict, uuid, name, 16);
NEXT(kvmig_interface_verdict, name, iface_id, 24);
NEXT(kvmig_interface_verdict, iface_id, message, 32);
NEXT(kvmig_interface_verdict, message, evidence, 40);
NEXT(kvmig_interface_verdict, evidence, interface_class, 48);
NEXT(kvmig_interface_verdict, interface_class, reason, 52);
NEXT(kvmig_interface_verdict, reason, passes, 56);
NEXT(kvmig_interface_verdict, passes, may_remove, 60);
LAST(kvmig_interface_verdict, may_remove, 64);

FIRST(kvmig_locate_opts, size);
NEXT(kvmig_locate_opts, size, vm, 8);
NEXT(kvmig_locate_opts, vm, source, 16);
NEXT(kvmig_locate_opts, source, target, 24);
NEXT(kvmig_locate_opts, target, timeout_ms, 32);
LAST(kvmig_locate_opts, timeout_ms, 40);

FIRST(kvmig_location_callback, fn);
NEXT(kvmig_location_callback, fn, user_data, 8);
NEXT(kvmig_location_callback, user_data, free, 16);
LAST(kvmig_location_callback, free, 24);

FIRST(kvmig_dirty_sample, window_ms);
NEXT(kvmig_dirty_sample, window_ms, bytes_per_s, 8);
LAST(kvmig_dirty_sample, bytes_per_s, 16);

FIRST(kvmig_forecast_opts, size);
NEXT(kvmig_forecast_opts, size, dirty, 8);
NEXT(kvmig_forecast_opts, dirty, n_dirty, 16);
NEXT(kvmig_forecast_opts, n_dirty, memory_bytes, 24);
NEXT(kvmig_forecast_opts, memory_bytes, used_bytes, 32);
NEXT(kvmig_forecast_opts, used_bytes, working_set_bytes, 40);
NEXT(kvmig_forecast_opts, working_set_bytes, link_bytes_per_s, 48);
NEXT(kvmig_forecast_opts, link_bytes_per_s, setup_ms, 56);
NEXT(kvmig_forecast_opts, setup_ms, downtime_ceiling_ms, 64);
NEXT(kvmig_forecast_opts, downtime_ceiling_ms, completion_s_per_gib, 72);
NEXT(kvmig_forecast_opts, completion_s_per_gib, sharing, 80);
NEXT(kvmig_forecast_opts, sharing, busy_percent, 84);
NEXT(kvmig_forecast_opts, busy_percent, forbid, 88);
NEXT(kvmig_forecast_opts, forbid, reserved, 92);
LAST(kvmig_forecast_opts, reserved, 96);

FIRST(kvmig_forecast, size);
NEXT(kvmig_forecast, size, converges, 8);
NEXT(kvmig_forecast, converges, certain, 12);
NEXT(kvmig_forecast, certain, total_ms, 16);
NEXT(kvmig_forecast, total_ms, total_low_ms, 24);
NEXT(kvmig_forecast, total_low_ms, total_high_ms, 32);
NEXT(kvmig_forecast, total_high_ms, pause_ms, 40);
NEXT(kvmig_forecast, pause_ms, pause_low_ms, 48);
NEXT(kvmig_forecast, pause_low_ms, pause_high_ms, 56);
NEXT(kvmig_forecast, pause_high_ms, sent_bytes, 64);
NEXT(kvmig_forecast, sent_bytes, sent_low_bytes, 72);
NEXT(kvmig_forecast, sent_low_bytes, sent_high_bytes, 80);
NEXT(kvmig_forecast, sent_high_bytes, lowest_pause_ms, 88);
NEXT(kvmig_forecast, lowest_pause_ms, needed_bytes_per_s, 96);
NEXT(kvmig_forecast, needed_bytes_per_s, needed_throttle_percent, 104);
NEXT(kvmig_forecast, needed_throttle_percent, rounds, 108);
NEXT(kvmig_forecast, rounds, limit_ms, 112);
NEXT(kvmig_forecast, limit_ms, over_limit, 120);
NEXT(kvmig_forecast, over_limit, limit_action, 124);
LAST(kvmig_forecast, limit_action, 128);

FIRST(kvmig_measure_opts, size);
NEXT(kvmig_measure_opts, size, short_ms, 8);
NEXT(kvmig_measure_opts, short_ms, long_ms, 16);
NEXT(kvmig_measure_opts, long_ms, timeout_ms, 24);
LAST(kvmig_measure_opts, timeout_ms, 32);

int main(void)
{
    puts("the layout of the public structs is as it was");
    return 0;
}

#else

int main(void)
{
    puts("the layout of the public structs is pinned for x86-64 only");
    return 77; /* skipped */
}

#endif
