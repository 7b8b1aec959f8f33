// SPDX-License-Identifier: LGPL-2.1-or-later

// The embedded etcd: one member in the data folder, reachable over Unix sockets only, without fsync (the data is
// worth nothing after a crash of the machine).

package api

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
)

const etcdStartLimit = 60 * time.Second

// maxSocketPath is the kernel's limit for the path of a Unix socket.
const maxSocketPath = 107

func startEtcd(ctx context.Context, data string) (*embed.Etcd, string, error) {
	cfg := embed.NewConfig()
	cfg.Dir = filepath.Join(data, "etcd")
	if err := os.MkdirAll(cfg.Dir, 0o700); err != nil {
		return nil, "", err
	}
	client := filepath.Join(data, "etcd.sock")
	if len(client) > maxSocketPath {
		return nil, "", fmt.Errorf("the data folder's path %s is too long for a Unix socket: take a shorter one", data)
	}
	clientURL := url.URL{Scheme: "unix", Path: client}
	cfg.UnsafeNoFsync = true
	// The addresses to advertise must look like network addresses; with one member nobody uses them.
	cfg.ListenClientUrls, cfg.ListenPeerUrls = []url.URL{clientURL}, nil
	cfg.InitialCluster = cfg.InitialClusterFromName(cfg.Name)
	cfg.TickMs, cfg.ElectionMs = 20, 200
	cfg.LogLevel = "error"
	cfg.LogOutputs = []string{filepath.Join(data, "etcd.log")}
	// Bookmarks carry what etcd reports here.
	cfg.WatchProgressNotifyInterval = time.Second
	e, err := embed.StartEtcd(cfg)
	if err != nil {
		return nil, "", fmt.Errorf("etcd in %s: %w", cfg.Dir, err)
	}
	select {
	case <-e.Server.ReadyNotify():
		return e, clientURL.String(), nil
	case err = <-e.Err():
	case <-ctx.Done():
		err = ctx.Err()
	case <-time.After(etcdStartLimit):
		err = fmt.Errorf("not ready after %s", etcdStartLimit)
	}
	e.Close()
	return nil, "", fmt.Errorf("etcd in %s: %w", cfg.Dir, err)
}

// compactEtcd forgets every revision before the present one and returns that.
func compactEtcd(ctx context.Context, endpoint string) (int64, error) {
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 10 * time.Second})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	now, err := c.Get(ctx, "/kvmig-no-such-key")
	if err != nil {
		return 0, err
	}
	_, err = c.Compact(ctx, now.Header.Revision)
	return now.Header.Revision, err
}
