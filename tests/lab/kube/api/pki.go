// SPDX-License-Identifier: LGPL-2.1-or-later

// The certificate authority of a data folder, the certificates it signs, and kubeconfig files. Everything lives as
// long as the data folder, so that a restarted server keeps its clients.

package api

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

const validity = 10 * 365 * 24 * time.Hour

// Authority signs certificates.
type Authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	// PEM of the certificate, for clients.
	PEM []byte
}

// OpenAuthority loads the authority of a data folder, or makes it.
func OpenAuthority(data string) (*Authority, error) {
	certFile, keyFile := filepath.Join(data, "ca.crt"), filepath.Join(data, "ca.key")
	certPEM, err := os.ReadFile(certFile)
	if os.IsNotExist(err) {
		return makeAuthority(certFile, keyFile)
	}
	if err != nil {
		return nil, err
	}
	keyPEM, err := os.ReadFile(keyFile)
	if err != nil {
		return nil, err
	}
	cert, key, err := parsePair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("%s, %s: %w (remove both files to get a new authority)", certFile, keyFile, err)
	}
	return &Authority{cert, key, certPEM}, nil
}

func parsePair(certPEM, keyPEM []byte) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	certBlock, _ := pem.Decode(certPEM)
	keyBlock, _ := pem.Decode(keyPEM)
	if certBlock == nil || keyBlock == nil {
		return nil, nil, fmt.Errorf("not PEM")
	}
	cert, err := x509.ParseCertificate(certBlock.Bytes)
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.ParseECPrivateKey(keyBlock.Bytes)
	return cert, key, err
}

func makeAuthority(certFile, keyFile string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	t, err := template(pkix.Name{CommonName: "kvmig-kube-ca"})
	if err != nil {
		return nil, err
	}
	t.IsCA, t.BasicConstraintsValid = true, true
	t.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	der, err := x509.CreateCertificate(rand.Reader, t, t, key.Public(), key)
	if err != nil {
		return nil, err
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	certPEM, keyPEM, err := encodePair(der, key)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(keyFile, keyPEM, 0o600); err != nil {
		return nil, err
	}
	return &Authority{cert, key, certPEM}, os.WriteFile(certFile, certPEM, 0o644)
}

func template(subject pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	now := time.Now()
	return &x509.Certificate{SerialNumber: serial, Subject: subject,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity), KeyUsage: x509.KeyUsageDigitalSignature}, nil
}

func encodePair(der []byte, key *ecdsa.PrivateKey) (certPEM, keyPEM []byte, err error) {
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), nil
}

func (a *Authority) sign(t *x509.Certificate) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, t, a.cert, key.Public(), a.key)
	if err != nil {
		return nil, nil, err
	}
	return encodePair(der, key)
}

// Server signs a certificate for servers on the loopback addresses.
func (a *Authority) Server(name string) (certPEM, keyPEM []byte, err error) {
	t, err := template(pkix.Name{CommonName: name})
	if err != nil {
		return nil, nil, err
	}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	t.DNSNames = []string{"localhost", "kubernetes", "kubernetes.default.svc"}
	t.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	return a.sign(t)
}

// Client signs a certificate for a user: the common name is the user, the organisations are the groups.
func (a *Authority) Client(u User) (certPEM, keyPEM []byte, err error) {
	t, err := template(pkix.Name{CommonName: u.Name, Organization: u.Groups})
	if err != nil {
		return nil, nil, err
	}
	t.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return a.sign(t)
}

// WriteKubeconfig writes one cluster, one user and one context.
func WriteKubeconfig(file, server string, ca []byte, user string, auth *clientcmdapi.AuthInfo) error {
	c := clientcmdapi.NewConfig()
	c.Clusters["kvmig"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: ca}
	c.AuthInfos[user] = auth
	c.Contexts["kvmig"] = &clientcmdapi.Context{Cluster: "kvmig", AuthInfo: user, Namespace: "default"}
	c.CurrentContext = "kvmig"
	return clientcmd.WriteToFile(*c, file)
}
