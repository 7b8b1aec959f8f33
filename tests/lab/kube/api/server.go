// SPDX-License-Identifier: LGPL-2.1-or-later

// Package api is a real Kubernetes API server in one process: the built-in kinds on k8s.io/apiserver's generic
// registry, custom resources through k8s.io/apiextensions-apiserver, storage in an embedded etcd, RBAC from its own
// roles, and KubeVirt's admission built in. There are no controllers: no scheduler, no kubelet, no garbage collector.
package api

import (
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"go.opentelemetry.io/otel/trace/noop"
	extapi "k8s.io/apiextensions-apiserver/pkg/apiserver"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	extopts "k8s.io/apiextensions-apiserver/pkg/cmd/server/options"
	"k8s.io/apiextensions-apiserver/pkg/generated/openapi"
	"k8s.io/apiserver/pkg/endpoints/discovery/aggregated"
	openapinamer "k8s.io/apiserver/pkg/endpoints/openapi"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/apiserver/pkg/server/options"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

const (
	listenAddress = "127.0.0.1"
	startLimit    = 60 * time.Second
)

// Options is what the command line sets.
type Options struct {
	// Data is the folder of everything that the server keeps.
	Data string
	// Port to listen on; 0 takes a free one.
	Port int
	// TokenFile adds users (token,user,uid,"group1,group2").
	TokenFile string
	// Users get a token and a kubeconfig besides the built-in ones.
	Users []User
	// Compaction is how often old revisions are forgotten; 0 means only on request.
	Compaction time.Duration
	// WatchCache off makes every read and watch go to etcd.
	WatchCache bool
	// CRDs holds the custom resource definitions to install.
	CRDs fs.FS
	// Ready is called once, when everything is served.
	Ready func(url string)
}

// builder carries what the parts of the server share while it is put together.
type builder struct {
	o       Options
	ext     *extopts.CustomResourceDefinitionsServerOptions
	built   *genericapiserver.RecommendedConfig
	stores  stores
	floor   *floor
	az      rbacAuthorizer
	clients *lateReader
	ca      *Authority
	users   []User
	etcdURL string
}

// Run serves until the context ends.
func Run(ctx context.Context, o Options) error {
	if err := os.MkdirAll(o.Data, 0o700); err != nil {
		return err
	}
	unlock, err := lockFolder(o.Data)
	if err != nil {
		return err
	}
	defer unlock()
	closeLog, err := logToFile(filepath.Join(o.Data, "server.log"))
	if err != nil {
		return err
	}
	defer closeLog()
	etcd, etcdURL, err := startEtcd(ctx, o.Data)
	if err != nil {
		return err
	}
	defer stopEtcd(etcd)
	b := &builder{o: o, stores: stores{}, floor: &floor{}, clients: &lateReader{}, etcdURL: etcdURL}
	b.users = append(append([]User{Admin}, builtinUsers...), o.Users...)
	if b.ca, err = OpenAuthority(o.Data); err != nil {
		return err
	}
	srv, err := b.build()
	if err != nil {
		return err
	}
	return b.serve(ctx, srv)
}

// lockFolder refuses a second server on the same data.
func lockFolder(data string) (func() error, error) {
	file, err := os.OpenFile(filepath.Join(data, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		return nil, fmt.Errorf("the data folder %s is in use by another server (%w): take another one, or end that", data, err)
	}
	return file.Close, nil
}

// logToFile keeps the server's own messages out of the caller's terminal.
func logToFile(name string) (func(), error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	flags := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			return nil, err
		}
	}
	// Each message goes to its own severity and to all below: the lowest sees everything once.
	for _, severity := range []string{"FATAL", "ERROR", "WARNING"} {
		klog.SetOutputBySeverity(severity, io.Discard)
	}
	klog.SetOutputBySeverity("INFO", file)
	return func() {
		klog.Flush()
		klog.SetOutputBySeverity("INFO", io.Discard)
		file.Close()
	}, nil
}

// stopEtcd does not wait for clients that are still connected.
func stopEtcd(e *embed.Etcd) {
	e.Server.HardStop()
	e.Close()
}

func (b *builder) build() (*genericapiserver.GenericAPIServer, error) {
	if err := b.options(); err != nil {
		return nil, err
	}
	if err := b.config(); err != nil {
		return nil, err
	}
	crds, err := b.crdServer()
	if err != nil {
		return nil, err
	}
	registerFieldLabels()
	srv, err := b.built.Complete().New("kvmig-kube", crds.GenericAPIServer)
	if err != nil {
		return nil, err
	}
	if err := b.stores.install(srv, b.built.Config.RESTOptionsGetter, reviews(b.az)); err != nil {
		return nil, err
	}
	d, err := dynamic.NewForConfig(b.loopback())
	if err != nil {
		return nil, err
	}
	b.clients.clusterReader = clusterReader{d, b.stores}
	extraEndpoints{b.clients.clusterReader, b.compact}.install(srv)
	return srv, listGroups(srv, crds)
}

// options sets the option structs that both servers share.
func (b *builder) options() error {
	b.ext = extopts.NewCustomResourceDefinitionsServerOptions(os.Stdout, os.Stderr)
	ro := b.ext.RecommendedOptions
	ro.Etcd.StorageConfig.Transport.ServerList = []string{b.etcdURL}
	ro.Etcd.StorageConfig.CompactionInterval = b.o.Compaction
	ro.Etcd.EnableWatchCache = b.o.WatchCache
	ro.Authentication, ro.Authorization, ro.CoreAPI, ro.Admission = nil, nil, nil, nil
	ro.Features.EnablePriorityAndFairness = false
	certPEM, keyPEM, err := b.ca.Server("kvmig-kube")
	if err != nil {
		return err
	}
	ro.SecureServing.ServerCert.GeneratedCert, err = dynamiccertificates.NewStaticCertKeyContent("serving", certPEM, keyPEM)
	if err != nil {
		return err
	}
	address := net.JoinHostPort(listenAddress, strconv.Itoa(b.o.Port))
	ro.SecureServing.Listener, ro.SecureServing.BindPort, err = options.CreateListener("tcp", address, net.ListenConfig{})
	if err != nil {
		return fmt.Errorf("%s: %w (another --port may be free; 0 takes any)", address, err)
	}
	ro.SecureServing.BindAddress = net.ParseIP(listenAddress)
	return b.ext.Complete()
}

// config makes the configuration of the server of the built-in kinds.
func (b *builder) config() error {
	ro := b.ext.RecommendedOptions
	b.built = genericapiserver.NewRecommendedConfig(codecs)
	c := &b.built.Config
	if err := b.ext.ServerRunOptions.ApplyTo(c); err != nil {
		return err
	}
	storage := *ro.Etcd
	storage.StorageConfig.Prefix = "/registry"
	storage.StorageConfig.Codec = codecs.LegacyCodec(groupVersions()...)
	if err := storage.ApplyTo(c); err != nil {
		return err
	}
	c.RESTOptionsGetter = flooredGetter{c.RESTOptionsGetter, b.floor}
	if err := ro.SecureServing.ApplyTo(&c.SecureServing, &c.LoopbackClientConfig); err != nil {
		return err
	}
	authenticator, clientCA, err := authentication(b.o, b.ca, b.users)
	if err != nil {
		return err
	}
	b.az = rbacAuthorizer{storedRoles{b.stores}}
	c.SecureServing.ClientCA = clientCA
	c.Authentication.Authenticator = authenticator
	c.Authorization.Authorizer, c.RuleResolver = b.az, b.az
	c.AdmissionControl = kubevirtAdmission{b.clients}
	c.LegacyAPIGroupPrefixes.Insert("/api")
	// One discovery document for both servers (a real cluster has the aggregator for this).
	c.AggregatedDiscoveryGroupManager = aggregated.NewResourceManager("apis")
	c.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(definitions, openapinamer.NewDefinitionNamer(scheme))
	return nil
}

// crdServer makes the server of custom resources. Its own options.Config() would need a running cluster, so the
// configuration is put together here and shares what it can.
func (b *builder) crdServer() (*extapi.CustomResourceDefinitions, error) {
	ro, c := b.ext.RecommendedOptions, genericapiserver.NewRecommendedConfig(extapi.Codecs)
	if err := b.ext.ServerRunOptions.ApplyTo(&c.Config); err != nil {
		return nil, err
	}
	if err := ro.Etcd.ApplyTo(&c.Config); err != nil {
		return nil, err
	}
	from := &b.built.Config
	c.Config.SecureServing, c.Config.LoopbackClientConfig = from.SecureServing, from.LoopbackClientConfig
	c.Config.Authentication, c.Config.Authorization = from.Authentication, from.Authorization
	c.Config.RuleResolver, c.Config.AdmissionControl = from.RuleResolver, from.AdmissionControl
	c.AggregatedDiscoveryGroupManager = from.AggregatedDiscoveryGroupManager
	err := b.ext.APIEnablement.ApplyTo(&c.Config, extapi.DefaultAPIResourceConfigSource(), extapi.Scheme)
	if err != nil {
		return nil, err
	}
	c.OpenAPIV3Config = genericapiserver.DefaultOpenAPIV3Config(openapi.GetOpenAPIDefinitions,
		openapinamer.NewDefinitionNamer(extapi.Scheme))
	getter := extopts.NewCRDRESTOptionsGetter(*ro.Etcd, c.ResourceTransformers, c.StorageObjectCountTracker)
	return (&extapi.Config{GenericConfig: c, ExtraConfig: extapi.ExtraConfig{
		CRDRESTOptionsGetter: flooredGetter{getter, b.floor},
		ServiceResolver:      webhook.NewDefaultServiceResolver(),
		AuthResolverWrapper: webhook.NewDefaultAuthenticationInfoResolverWrapper(nil, nil, c.LoopbackClientConfig,
			noop.NewTracerProvider()),
	}}).Complete().New(genericapiserver.NewEmptyDelegate())
}

// loopback is the server's own client, without a limit of requests.
func (b *builder) loopback() *rest.Config {
	c := rest.CopyConfig(b.built.LoopbackClientConfig)
	c.QPS, c.Burst = -1, -1
	return c
}

func (b *builder) compact(ctx context.Context) (int64, error) {
	revision, err := compactEtcd(ctx, b.etcdURL)
	if err == nil {
		b.floor.raise(revision)
	}
	return revision, err
}

// serve runs the server, fills it, and says when it is ready.
func (b *builder) serve(ctx context.Context, srv *genericapiserver.GenericAPIServer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, 1)
	go func() {
		err := b.fill(ctx)
		if err != nil && ctx.Err() == nil {
			failed <- err
			cancel()
		}
	}()
	if err := srv.PrepareRun().RunWithContext(ctx); err != nil {
		return err
	}
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func (b *builder) fill(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	k, err := kubernetes.NewForConfig(b.loopback())
	if err != nil {
		return err
	}
	crds, err := clientset.NewForConfig(b.loopback())
	if err != nil {
		return err
	}
	if err := waitReady(ctx, k.RESTClient()); err != nil {
		return fmt.Errorf("the server is not ready: %w", err)
	}
	if err := createInitial(ctx, k); err != nil {
		return err
	}
	if err := installCRDs(ctx, crds, b.clients.client, b.o.CRDs); err != nil {
		return err
	}
	url := "https://" + net.JoinHostPort(listenAddress, strconv.Itoa(b.ext.RecommendedOptions.SecureServing.BindPort))
	if err := writeKubeconfigs(b.o.Data, url, b.ca, b.users); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.o.Data, "url"), []byte(url+"\n"), 0o644); err != nil {
		return err
	}
	b.o.Ready(url)
	return nil
}

func waitReady(ctx context.Context, c rest.Interface) error {
	for {
		err := c.Get().AbsPath("/readyz").Do(ctx).Error()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pollInterval):
		}
	}
}
