package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"

	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	renewEvery = 30 * time.Second // how long a key that was taken away may still count
	renewGap   = 10 * time.Second // between reads that tokens ask for
	retryGap   = time.Second      // between tries of the first read
	readMax    = 2 * time.Second  // one read of a JWKS
	jwksMax    = 1 << 20          // bytes of a JWKS
)

// errNoKey says that a token names a key that is not in the JWKS, or not in it yet.
var errNoKey = jwkset.ErrKeyNotFound

// Source is where a JWKS (RFC 7517) is read from.
type Source struct {
	read  func(context.Context) ([]byte, error)
	local bool // what is wrong with it is a wrong setting
}

// File is a JWKS on disk, which may be replaced at any time.
func File(path string) *Source {
	return &Source{local: true, read: func(context.Context) ([]byte, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		return readAll(f)
	}}
}

// URL is a JWKS that an issuer serves by HTTP.
func URL(address string) *Source {
	client := &http.Client{Timeout: readMax}
	return &Source{read: func(ctx context.Context) ([]byte, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		res, err := client.Do(req)
		var named *url.Error
		if errors.As(err, &named) {
			err = named.Err // without the address, which may hold a password
		}
		if err != nil {
			return nil, err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("it was answered with %s", res.Status)
		}
		return readAll(res.Body)
	}}
}

func readAll(r io.Reader) ([]byte, error) {
	raw, err := io.ReadAll(io.LimitReader(r, jwksMax+1))
	if err == nil && len(raw) > jwksMax {
		err = fmt.Errorf("it has more than %d bytes", jwksMax)
	}
	return raw, err
}

// ring is the keys of one moment, with the tokens that they vouched for: a token is not
// remembered longer than its key.
type ring struct {
	raw   string // the JWKS, to see whether it changed
	keys  keyfunc.Keyfunc
	known *cache
}

func newRing(keys keyfunc.Keyfunc) *ring { return &ring{keys: keys, known: newCache(cacheMax)} }

func (r *ring) empty() bool { return r.keys == nil }

func (r *ring) key(t *jwt.Token) (any, error) {
	if r.empty() {
		return nil, errNoKey
	}
	return r.keys.Keyfunc(t)
}

// parseJWKS keeps the keys that RS256 and ES256 tokens can be checked with. A set may hold
// others, which are somebody else's.
func parseJWKS(ctx context.Context, raw []byte) (keyfunc.Keyfunc, error) {
	var set jwkset.JWKSMarshal
	if err := json.Unmarshal(raw, &set); err != nil {
		return nil, fmt.Errorf("it is no JWKS: %w", err)
	}
	var good []jwkset.JWK
	for _, m := range set.Keys {
		key, err := jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
		if err == nil && verifies(key.Key()) {
			good = append(good, key)
		}
	}
	if len(good) == 0 {
		return nil, errors.New("it holds no public key of RS256 or ES256")
	}
	store := jwkset.NewMemoryStorage()
	if err := store.KeyReplaceAll(ctx, good); err != nil {
		return nil, err
	}
	return keyfunc.New(keyfunc.Options{Storage: store, UseWhitelist: []jwkset.USE{jwkset.UseSig, ""}})
}

func verifies(key any) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return true
	case *ecdsa.PublicKey:
		return key.Curve == elliptic.P256()
	default:
		return false
	}
}

// Run keeps the keys of the JWKS fresh until ctx ends: one that was taken out of it is good
// for at most 30 seconds more. While a JWKS cannot be read, the keys that were read last
// stay. It fails with Invalid where the file of a JWKS is wrong from the start; an address
// that does not answer is tried again.
func (v *Verifier) Run(ctx context.Context) error {
	if v.jwks == nil {
		return nil
	}
	var last error
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-next.C:
		case <-ctx.Done():
			return nil
		}
		err := v.read(ctx)
		if err != nil && v.jwks.local && v.ring.Load().empty() {
			return &seckill.Error{Op: "auth.Run", Code: seckill.Invalid, Err: err}
		}
		if err != nil && last == nil {
			v.log.WarnContext(ctx, "the JWKS cannot be read; the keys that were read last stay", "error", err)
		}
		last = err
		next.Reset(v.gap())
	}
}

// Ready is nil, or Unavailable while no key of the JWKS has been read.
func (v *Verifier) Ready(context.Context) error {
	if v.jwks != nil && v.ring.Load().empty() {
		return &seckill.Error{Op: "auth.Ready", Code: seckill.Unavailable, Err: errors.New("the JWKS has not been read yet")}
	}
	return nil
}

func (v *Verifier) gap() time.Duration {
	if v.ring.Load().empty() {
		return retryGap
	}
	return renewEvery
}

// renew reads the JWKS because of a token with a new key, but seldom, since anybody can make
// up such tokens. Who asks while it is read waits for it.
func (v *Verifier) renew(ctx context.Context) *ring {
	_, _, _ = v.flight.Do("", func() (any, error) {
		if v.seldom.AllowN(v.now(), 1) {
			return nil, v.load(ctx) // Run finds the same fault, and logs it
		}
		return nil, nil
	})
	return v.ring.Load()
}

func (v *Verifier) read(ctx context.Context) error {
	_, err, _ := v.flight.Do("", func() (any, error) { return nil, v.load(ctx) })
	return err
}

// load reads the JWKS for everybody who waits, so it outlives the one who began it.
func (v *Verifier) load(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readMax)
	defer cancel()
	raw, err := v.jwks.read(ctx)
	if err != nil || string(raw) == v.ring.Load().raw {
		return err
	}
	keys, err := parseJWKS(ctx, raw)
	if err != nil {
		return err
	}
	r := newRing(keys)
	r.raw = string(raw)
	v.ring.Store(r)
	v.log.InfoContext(ctx, "the JWKS was read and is new")
	return nil
}
