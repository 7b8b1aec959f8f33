// SPDX-License-Identifier: LGPL-2.1-or-later

// kvmig-kube is the Kubernetes side of the lab in one program: a real API server (api), a fault proxy in front of it
// (proxy), a simulator of KubeVirt (sim), and server and simulator together (all). README.md tells how to use it.
package main

import (
	"context"
	"embed"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"kvmig.test/kube/api"
	"kvmig.test/kube/proxy"
	"kvmig.test/kube/sim"
)

//go:embed crds/*.yaml
var crds embed.FS

// simGrace is how long the simulator may take to end after the server.
const simGrace = 5 * time.Second

const usage = `usage: kvmig-kube COMMAND [OPTIONS]
  api    the API server          (kvmig-kube api -h)
  proxy  the fault proxy         (kvmig-kube proxy -h)
  sim    the KubeVirt simulator  (kvmig-kube sim -h)
  all    server and simulator    (kvmig-kube all SERVER-OPTIONS -- SIMULATOR-OPTIONS)
`

func main() {
	commands := map[string]func(context.Context, []string) error{"api": runAPI, "proxy": runProxy, "sim": runSim,
		"all": runAll}
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := commands[os.Args[1]](ctx, os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, "kvmig-kube:", err)
		os.Exit(1)
	}
}

// parse reads the options; --data is required and made absolute.
func parse(f *flag.FlagSet, data *string, args []string) error {
	f.StringVar(data, "data", "", "folder of the server's data, certificates and kubeconfigs (required)")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *data == "" || f.NArg() > 0 {
		return fmt.Errorf("%s: --data DIR is required, and nothing but options is taken (see -h)", f.Name())
	}
	var err error
	*data, err = filepath.Abs(*data)
	return err
}

// apiOptions reads the options of the server.
func apiOptions(args []string) (api.Options, error) {
	f := flag.NewFlagSet("api", flag.ExitOnError)
	o := api.Options{}
	f.IntVar(&o.Port, "port", 0, "HTTPS port on 127.0.0.1; 0 takes a free one")
	f.StringVar(&o.TokenFile, "token-file", "", "more users, in lines token,user,uid,\"group1,group2\"")
	f.DurationVar(&o.Compaction, "compaction", 5*time.Minute, "how often old revisions are forgotten; 0: only on request")
	f.BoolVar(&o.WatchCache, "watch-cache", true, "serve reads and watches from the watch cache")
	f.Func("user", "one more token user, NAME or NAME:GROUP,GROUP (may be repeated)", func(text string) error {
		u, err := api.ParseUser(text)
		o.Users = append(o.Users, u)
		return err
	})
	if err := parse(f, &o.Data, args); err != nil {
		return o, err
	}
	var err error
	o.CRDs, err = fs.Sub(crds, "crds")
	return o, err
}

func runAPI(ctx context.Context, args []string) error {
	o, err := apiOptions(args)
	if err != nil {
		return err
	}
	o.Ready = announce(o)
	return api.Run(ctx, o)
}

func announce(o api.Options) func(string) {
	return func(url string) {
		fmt.Printf("kvmig-kube: ready %s %s\n", url, filepath.Join(o.Data, "admin.kubeconfig"))
	}
}

// runSim hands over: the simulator reads its own options and signals.
func runSim(_ context.Context, args []string) error { return sim.Main(args) }

// runAll runs both in this process; what follows "--" is the simulator's. When one of them ends, so does the other.
func runAll(ctx context.Context, args []string) error {
	more := []string{}
	if i := slices.Index(args, "--"); i >= 0 {
		args, more = args[:i], args[i+1:]
	}
	o, err := apiOptions(args)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	started, ended := make(chan struct{}), make(chan error, 1)
	o.Ready = func(url string) {
		announce(o)(url)
		close(started)
		go func() {
			config := filepath.Join(o.Data, "kubevirt-controller.kubeconfig")
			ended <- sim.Main(append([]string{"--kubeconfig", config}, more...))
			stop()
		}()
	}
	err = api.Run(ctx, o)
	select {
	case <-started:
	default:
		return err
	}
	select {
	case simErr := <-ended:
		return errors.Join(err, simErr)
	case <-time.After(simGrace):
		return err
	}
}

func runProxy(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("proxy", flag.ExitOnError)
	o, data := proxy.Options{}, ""
	f.StringVar(&o.Listen, "listen", "127.0.0.1:0", "HTTPS address of the proxy")
	f.StringVar(&o.Control, "control", "127.0.0.1:0", "HTTP address of the control port")
	f.StringVar(&o.Upstream, "upstream", "", "URL of the API server (default: what the data folder says)")
	f.BoolVar(&o.HTTP1, "http1", false, "offer no HTTP/2")
	out := f.String("kubeconfigs", "", "folder for the kubeconfigs that lead here (default: DATA/proxy)")
	if err := parse(f, &data, args); err != nil {
		return err
	}
	if *out == "" {
		*out = filepath.Join(data, "proxy")
	}
	if o.Upstream == "" {
		text, err := os.ReadFile(filepath.Join(data, "url"))
		if err != nil {
			return errors.Join(errors.New("proxy: no --upstream, and no server has run on the data folder"), err)
		}
		o.Upstream = strings.TrimSpace(string(text))
	}
	ca, err := api.OpenAuthority(data)
	if err != nil {
		return err
	}
	o.CA = ca.PEM
	if o.Cert, o.Key, err = ca.Server("kvmig-kube-proxy"); err != nil {
		return err
	}
	o.Ready = func(url, control string) error {
		if err := api.ProxyKubeconfigs(data, *out, url); err != nil {
			return err
		}
		fmt.Printf("kvmig-kube: ready %s %s control %s\n", url, *out, control)
		return nil
	}
	return proxy.Run(ctx, o)
}
