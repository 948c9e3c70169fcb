package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

func newRSA(t testing.TB) *rsa.PrivateKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	return key
}

func newEC(t testing.TB, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	require.NoError(t, err)
	return key
}

// jwk is a public key as a JWKS has it; more overwrites its members.
func jwk(kid string, key crypto.PublicKey, more map[string]any) map[string]any {
	b64 := base64.RawURLEncoding.EncodeToString
	m := map[string]any{"kid": kid}
	switch key := key.(type) {
	case *rsa.PublicKey:
		m["kty"], m["n"], m["e"] = "RSA", b64(key.N.Bytes()), b64(big.NewInt(int64(key.E)).Bytes())
	case *ecdsa.PublicKey:
		point, _ := key.Bytes() // 4, x, y
		half := len(point)/2 + 1
		m["kty"], m["crv"] = "EC", key.Curve.Params().Name
		m["x"], m["y"] = b64(point[1:half]), b64(point[half:])
	}
	for name, value := range more {
		m[name] = value
	}
	return m
}

func jwks(t testing.TB, keys ...map[string]any) []byte {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"keys": keys})
	require.NoError(t, err)
	return raw
}

// by signs a token of user 42 with a key of this name; "" leaves the name out.
func by(t testing.TB, method jwt.SigningMethod, kid string, key any) string {
	t.Helper()
	token := jwt.NewWithClaims(method, jwt.MapClaims{"sub": "42", "role": "service"})
	if kid != "" {
		token.Header["kid"] = kid
	}
	text, err := token.SignedString(key)
	require.NoError(t, err)
	return text
}

func onDisk(t testing.TB, raw []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "jwks.json")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	return path
}

func TestVerifyByJWKS(t *testing.T) {
	rs, es, es384, other := newRSA(t), newEC(t, elliptic.P256()), newEC(t, elliptic.P384()), newRSA(t)
	shared := []byte("a symmetric key in the set, 32 bytes")
	path := onDisk(t, jwks(t,
		jwk("rs", &rs.PublicKey, map[string]any{"alg": "RS256", "use": "sig"}),
		jwk("es", &es.PublicKey, nil),
		jwk("es384", &es384.PublicKey, nil),
		jwk("enc", &other.PublicKey, map[string]any{"use": "enc"}),
		jwk("oct", nil, map[string]any{"kty": "oct", "k": base64.RawURLEncoding.EncodeToString(shared)}),
		jwk("new kind", nil, map[string]any{"kty": "PQ"}),
		jwk("broken", nil, map[string]any{"kty": "RSA", "n": "!", "e": "AQAB"}),
	))
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der(t, &rs.PublicKey)})
	both := auth.Options{Secret: secret, JWKS: auth.File(path)}
	alone := auth.Options{JWKS: auth.File(path)}

	for name, row := range map[string]struct {
		options auth.Options
		token   string
		good    bool
	}{
		"RS256":                                   {alone, by(t, jwt.SigningMethodRS256, "rs", rs), true},
		"ES256":                                   {alone, by(t, jwt.SigningMethodES256, "es", es), true},
		"RS256 without a key name":                {alone, by(t, jwt.SigningMethodRS256, "", rs), true},
		"ES256 without a key name":                {alone, by(t, jwt.SigningMethodES256, "", es), true},
		"RS256 beside a secret":                   {both, by(t, jwt.SigningMethodRS256, "rs", rs), true},
		"HS256 beside a JWKS":                     {both, by(t, jwt.SigningMethodHS256, "", secret), true},
		"HS256 under the name of a public key":    {both, by(t, jwt.SigningMethodHS256, "rs", secret), true},
		"HS256 by the public key as PEM":          {both, by(t, jwt.SigningMethodHS256, "rs", public), false},
		"the same, where there is no secret":      {alone, by(t, jwt.SigningMethodHS256, "rs", public), false},
		"HS256 by the modulus":                    {both, by(t, jwt.SigningMethodHS256, "rs", rs.N.Bytes()), false},
		"HS256 by an empty secret":                {auth.Options{Secret: []byte{}, JWKS: auth.File(path)}, by(t, jwt.SigningMethodHS256, "", []byte{}), false},
		"HS256 by a symmetric key of the set":     {both, by(t, jwt.SigningMethodHS256, "oct", shared), false},
		"RS256 where there is no JWKS":            {auth.Options{Secret: secret}, by(t, jwt.SigningMethodRS256, "rs", rs), false},
		"RS256 by the key of another name":        {alone, by(t, jwt.SigningMethodRS256, "es", rs), false},
		"RS256 by a key that is not in the set":   {alone, by(t, jwt.SigningMethodRS256, "rs", other), false},
		"RS256 by a name that is not in the set":  {alone, by(t, jwt.SigningMethodRS256, "gone", rs), false},
		"RS256 by a key that encrypts":            {alone, by(t, jwt.SigningMethodRS256, "enc", other), false},
		"RS512, which the key is not for":         {alone, by(t, jwt.SigningMethodRS512, "rs", rs), false},
		"PS256":                                   {alone, by(t, jwt.SigningMethodPS256, "rs", rs), false},
		"ES384":                                   {alone, by(t, jwt.SigningMethodES384, "es384", es384), false},
		"alg none":                                {both, by(t, jwt.SigningMethodNone, "rs", jwt.UnsafeAllowNoneSignatureType), false},
		"a key name that is a number":             {alone, numbered(t, rs), false},
		"a signature that was cut to nothing":     {alone, cut(by(t, jwt.SigningMethodRS256, "rs", rs)), false},
		"another's claims under a good signature": {alone, spliced(by(t, jwt.SigningMethodRS256, "rs", rs), `{"sub":"43"}`), false},
	} {
		t.Run(name, func(t *testing.T) {
			row.options.Now, row.options.Log = at(noon), slog.New(slog.DiscardHandler)
			v := auth.NewVerifier(row.options)
			for range 2 { // the second answer comes from the cache
				caller, err := v.Verify(t.Context(), row.token)
				if !row.good {
					require.ErrorIs(t, err, seckill.Unauthenticated)
					require.Zero(t, caller)
					continue
				}
				require.NoError(t, err)
				require.Equal(t, auth.Caller{User: 42, Role: auth.Service}, caller)
			}
		})
	}
}

func der(t *testing.T, key any) []byte {
	t.Helper()
	b, err := x509.MarshalPKIXPublicKey(key)
	require.NoError(t, err)
	return b
}

func numbered(t *testing.T, key *rsa.PrivateKey) string {
	t.Helper()
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, jwt.MapClaims{"sub": "42"})
	token.Header["kid"] = 7
	text, err := token.SignedString(key)
	require.NoError(t, err)
	return text
}

func cut(token string) string { return token[:strings.LastIndex(token, ".")+1] }

func spliced(token, claims string) string {
	parts := strings.Split(token, ".")
	parts[1] = base64.RawURLEncoding.EncodeToString([]byte(claims))
	return strings.Join(parts, ".")
}

// A key that is taken out of the file takes its tokens along, those remembered too.
func TestRunFollowsAFile(t *testing.T) {
	oldKey, newKey := newRSA(t), newEC(t, elliptic.P256())
	path := onDisk(t, jwks(t, jwk("old", &oldKey.PublicKey, nil)))
	synctest.Test(t, func(t *testing.T) {
		v := auth.NewVerifier(auth.Options{JWKS: auth.File(path), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
		require.ErrorIs(t, v.Ready(t.Context()), seckill.Unavailable)
		run(t, v)
		synctest.Wait()
		require.NoError(t, v.Ready(t.Context()))
		before := by(t, jwt.SigningMethodRS256, "old", oldKey)
		after := by(t, jwt.SigningMethodES256, "new", newKey)
		requireGood(t, v, before)

		require.NoError(t, os.WriteFile(path, jwks(t, jwk("new", &newKey.PublicKey, nil)), 0o600))
		pass(30 * time.Second)
		requireGood(t, v, after)
		_, err := v.Verify(t.Context(), before)
		require.ErrorIs(t, err, seckill.Unauthenticated)

		for _, broken := range []string{"", "{", `{"keys":[]}`, `{"keys":[{"kty":"oct","k":"AAAA"}]}`} {
			require.NoError(t, os.WriteFile(path, []byte(broken), 0o600))
			pass(30 * time.Second)
			requireGood(t, v, after)
		}
	})
}

// run keeps v fresh until the bubble's test ends.
func run(t *testing.T, v *auth.Verifier) {
	done := make(chan error, 1)
	go func() { done <- v.Run(t.Context()) }()
	t.Cleanup(func() { require.NoError(t, <-done) })
}

// pass lets time go by in a bubble.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func requireGood(t *testing.T, v *auth.Verifier, token string) {
	t.Helper()
	caller, err := v.Verify(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, seckill.UserID(42), caller.User)
}

func TestRunRefusesAWrongFile(t *testing.T) {
	for name, path := range map[string]string{
		"no file":  filepath.Join(t.TempDir(), "none"),
		"no JWKS":  onDisk(t, []byte("secret")),
		"no key":   onDisk(t, []byte(`{"keys":[]}`)),
		"too long": onDisk(t, []byte(strings.Repeat(" ", 1<<20+1))),
	} {
		t.Run(name, func(t *testing.T) {
			v := auth.NewVerifier(auth.Options{JWKS: auth.File(path), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
			require.ErrorIs(t, v.Run(t.Context()), seckill.Invalid)
		})
	}
}

// issuer serves a JWKS that a test replaces; it is down while that is nil.
type issuer struct {
	jwks  atomic.Pointer[[]byte]
	asked atomic.Int64
	url   string
}

func newIssuer(t *testing.T) *issuer {
	i := &issuer{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		i.asked.Add(1)
		raw := i.jwks.Load()
		if raw == nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		_, _ = w.Write(*raw)
	}))
	t.Cleanup(srv.Close)
	i.url = srv.URL
	return i
}

func (i *issuer) publish(raw []byte) { i.jwks.Store(&raw) }

// A token by a key that is new has it read at once; made-up key names do so seldom.
func TestVerifyReadsTheJWKSForANewKey(t *testing.T) {
	first, second := newRSA(t), newRSA(t)
	i := newIssuer(t)
	now := noon
	v := auth.NewVerifier(auth.Options{
		JWKS: auth.URL(i.url), Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
	})
	one, two := by(t, jwt.SigningMethodRS256, "1", first), by(t, jwt.SigningMethodRS256, "2", second)

	_, err := v.Verify(t.Context(), one)
	require.ErrorIs(t, err, seckill.Unavailable, "nobody knows yet whether it is good")
	require.ErrorIs(t, v.Ready(t.Context()), seckill.Unavailable)
	i.publish(jwks(t, jwk("1", &first.PublicKey, nil)))
	now = now.Add(10 * time.Second)
	requireGood(t, v, one)
	require.NoError(t, v.Ready(t.Context()))

	i.publish(jwks(t, jwk("2", &second.PublicKey, nil)))
	asked := i.asked.Load()
	for range 100 {
		_, err = v.Verify(t.Context(), two)
		require.ErrorIs(t, err, seckill.Unauthenticated)
	}
	require.Equal(t, asked, i.asked.Load(), "too soon")
	now = now.Add(10 * time.Second)
	requireGood(t, v, two)
	_, err = v.Verify(t.Context(), one)
	require.ErrorIs(t, err, seckill.Unauthenticated, "its key went, and the memory of it")
}

// An issuer that is away at the start is tried again until it is there.
func TestRunWaitsForAnIssuer(t *testing.T) {
	key := newRSA(t)
	i := newIssuer(t)
	v := auth.NewVerifier(auth.Options{JWKS: auth.URL(i.url), Now: time.Now, Log: slog.New(slog.DiscardHandler)})
	run(t, v)
	require.Eventually(t, func() bool { return i.asked.Load() > 0 }, time.Minute, time.Millisecond)
	i.publish(jwks(t, jwk("1", &key.PublicKey, nil)))
	require.Eventually(t, func() bool { return v.Ready(t.Context()) == nil }, time.Minute, time.Millisecond)
	requireGood(t, v, by(t, jwt.SigningMethodRS256, "1", key))
}

// The address may hold a password, which no error repeats.
func TestURLKeepsItsAddress(t *testing.T) {
	log := new(strings.Builder)
	v := auth.NewVerifier(auth.Options{
		JWKS: auth.URL("http://admin:hunter2@127.0.0.1:1/?key=hunter3"), Now: time.Now, Log: slog.New(slog.NewTextHandler(log, nil)),
	})
	synctest.Test(t, func(t *testing.T) {
		run(t, v)
		pass(time.Second)
	})
	require.Contains(t, log.String(), "the JWKS cannot be read")
	require.NotContains(t, log.String(), "hunter")
}

// FuzzHeader: whatever a header holds, it is refused without a panic, unless it is signed.
func FuzzHeader(f *testing.F) {
	key := newRSA(f)
	v := auth.NewVerifier(auth.Options{
		Secret: secret, JWKS: auth.File(onDisk(f, jwks(f, jwk("1", &key.PublicKey, nil)))),
		Now: at(noon), Log: slog.New(slog.DiscardHandler),
	})
	good, err := auth.Sign(secret, auth.Caller{User: 42, Role: auth.Admin}, noon, time.Hour)
	require.NoError(f, err)
	for _, seed := range []string{
		"", "Bearer", "Bearer ..", "Bearer " + good, "bearer  " + good + " ", "Bearer " + cut(good), "Bearer " + good[1:],
		"Bearer " + by(f, jwt.SigningMethodRS256, "1", key), "Bearer " + by(f, jwt.SigningMethodRS256, "2", key),
		"Bearer " + spliced(good, `{"sub":"42","exp":1e400}`), "Bearer " + by(f, jwt.SigningMethodNone, "", jwt.UnsafeAllowNoneSignatureType),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		caller, err := v.Header(t.Context(), header)
		if err != nil {
			require.ErrorIs(t, err, seckill.Unauthenticated)
			require.Zero(t, caller)
			return
		}
		require.Equal(t, seckill.UserID(42), caller.User)
	})
}
