// SPDX-License-Identifier: LGPL-2.1-or-later

// Who may log in: one superuser with a client certificate, and named users with bearer tokens. A token file in
// Kubernetes' own format (token,user,uid,"group1,group2") adds more.

package api

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/group"
	"k8s.io/apiserver/pkg/authentication/request/bearertoken"
	"k8s.io/apiserver/pkg/authentication/request/union"
	"k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/token/tokenfile"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/server/dynamiccertificates"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// User is somebody who can log in.
type User struct {
	Name   string
	Groups []string
	// file is the name of the kubeconfig, without its ending.
	file string
}

// Admin logs in with a client certificate, and with a token where no certificate can pass (the fault proxy).
var Admin = User{"admin", []string{user.SystemPrivilegedGroup}, "admin"}

const (
	accountPrefix     = "system:serviceaccount:kubevirt:"
	ControllerAccount = accountPrefix + "kubevirt-controller"
	HandlerAccount    = accountPrefix + "kubevirt-handler"
	apiAccount        = accountPrefix + "kubevirt-apiserver"
)

var accountGroups = []string{"system:serviceaccounts", "system:serviceaccounts:kubevirt"}

// builtinUsers get a token kubeconfig each; what they may do is in roles.go.
var builtinUsers = []User{
	{ControllerAccount, accountGroups, "kubevirt-controller"},
	{HandlerAccount, accountGroups, "kubevirt-handler"},
	{"migrator", nil, "migrator"},
	{"viewer", nil, "viewer"},
	{"tenant", nil, "tenant"},
	{"nobody", nil, "nobody"},
}

// ParseUser reads name[:group[,group...]], as the --user option gives it. A name with colons (a service account) ends
// with the last one, so give it an empty list: system:serviceaccount:ns:name:
func ParseUser(text string) (User, error) {
	name, groups := text, ""
	if i := strings.LastIndex(text, ":"); i >= 0 {
		name, groups = text[:i], text[i+1:]
	}
	if name == "" || strings.ContainsAny(name, "/\n\",") {
		return User{}, fmt.Errorf("--user %q: want NAME or NAME:GROUP,GROUP with a name that can be a file's", text)
	}
	u := User{Name: name, file: strings.ReplaceAll(name, ":", "-")}
	if groups != "" {
		u.Groups = strings.Split(groups, ",")
	}
	return u, nil
}

// tokenOf returns the token of a user, kept in the data folder.
func tokenOf(data string, u User) (string, error) {
	file := filepath.Join(data, u.file+".token")
	text, err := os.ReadFile(file)
	if err == nil && len(text) > 0 {
		return strings.TrimSpace(string(text)), nil
	}
	if err != nil && !os.IsNotExist(err) {
		return "", err
	}
	b := make([]byte, 24)
	if _, err := rand.Read(b); err != nil {
		return "", err
	}
	token := hex.EncodeToString(b)
	return token, os.WriteFile(file, []byte(token+"\n"), 0o600)
}

// authentication builds the authenticator: client certificates, tokens of the known users, tokens of the file.
// Anonymous requests are refused with 401.
func authentication(o Options, ca *Authority, users []User) (authenticator.Request, dynamiccertificates.CAContentProvider,
	error) {
	provider, err := dynamiccertificates.NewStaticCAContent("client-ca", ca.PEM)
	if err != nil {
		return nil, nil, err
	}
	tokens := map[string]*user.DefaultInfo{}
	for _, u := range users {
		token, err := tokenOf(o.Data, u)
		if err != nil {
			return nil, nil, err
		}
		tokens[token] = &user.DefaultInfo{Name: u.Name, UID: u.Name, Groups: u.Groups}
	}
	handlers := []authenticator.Request{
		x509.NewDynamic(provider.VerifyOptions, x509.CommonNameUserConversion),
		bearertoken.New(tokenfile.New(tokens)),
	}
	if o.TokenFile != "" {
		more, err := tokenfile.NewCSV(o.TokenFile)
		if err != nil {
			return nil, nil, fmt.Errorf("--token-file %s: %w", o.TokenFile, err)
		}
		handlers = append(handlers, bearertoken.New(tokenSource{more}))
	}
	return group.NewAuthenticatedGroupAdder(union.New(handlers...)), provider, nil
}

// tokenSource keeps the file's authenticator apart from the rest of its methods.
type tokenSource struct{ inner authenticator.Token }

func (t tokenSource) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	return t.inner.AuthenticateToken(ctx, token)
}

// writeKubeconfigs writes <name>.kubeconfig for the superuser (certificate) and <name>.kubeconfig for the others
// (token); admin-token.kubeconfig is the superuser with a token.
func writeKubeconfigs(data, server string, ca *Authority, users []User) error {
	certPEM, keyPEM, err := ca.Client(Admin)
	if err != nil {
		return err
	}
	admin := &clientcmdapi.AuthInfo{ClientCertificateData: certPEM, ClientKeyData: keyPEM}
	if err := WriteKubeconfig(filepath.Join(data, "admin.kubeconfig"), server, ca.PEM, Admin.Name, admin); err != nil {
		return err
	}
	for _, u := range users {
		token, err := tokenOf(data, u)
		if err != nil {
			return err
		}
		file := u.file
		if u.Name == Admin.Name {
			file += "-token"
		}
		err = WriteKubeconfig(filepath.Join(data, file+".kubeconfig"), server, ca.PEM, u.Name,
			&clientcmdapi.AuthInfo{Token: token})
		if err != nil {
			return err
		}
	}
	return nil
}

// ProxyKubeconfigs writes, for every kubeconfig of the data folder that logs in with a token, one for another server.
func ProxyKubeconfigs(data, folder, server string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(data, "*.kubeconfig"))
	if err != nil {
		return err
	}
	for _, file := range files {
		c, err := clientcmd.LoadFromFile(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		context := c.Contexts[c.CurrentContext]
		if context == nil || c.AuthInfos[context.AuthInfo] == nil || c.AuthInfos[context.AuthInfo].Token == "" {
			continue
		}
		c.Clusters[context.Cluster].Server = server
		if err := clientcmd.WriteToFile(*c, filepath.Join(folder, filepath.Base(file))); err != nil {
			return err
		}
	}
	return nil
}
