package auth_test

import (
	"crypto/rand"
	"crypto/rsa"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

var (
	secret = []byte("0123456789abcdef0123456789abcdef")
	noon   = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// only returns a verifier of tokens signed with secret.
func only(now func() time.Time) *auth.Verifier {
	return auth.NewVerifier(auth.Options{Secret: secret, Now: now})
}

func signed(t *testing.T, method jwt.SigningMethod, key any, c jwt.MapClaims) string {
	t.Helper()
	token, err := jwt.NewWithClaims(method, c).SignedString(key)
	require.NoError(t, err)
	return token
}

func TestVerifyAccepts(t *testing.T) {
	sub := func(more jwt.MapClaims) jwt.MapClaims {
		c := jwt.MapClaims{"sub": "42"}
		for k, v := range more {
			c[k] = v
		}
		return c
	}
	for name, row := range map[string]struct {
		claims jwt.MapClaims
		want   auth.Caller
	}{
		"a buyer":                           {sub(nil), auth.Caller{User: 42}},
		"the largest user id":               {jwt.MapClaims{"sub": "9223372036854775807"}, auth.Caller{User: 9223372036854775807}},
		"an admin":                          {sub(jwt.MapClaims{"role": "admin"}), auth.Caller{User: 42, Role: auth.Admin}},
		"a service":                         {sub(jwt.MapClaims{"role": "service"}), auth.Caller{User: 42, Role: auth.Service}},
		"a role of some other system":       {sub(jwt.MapClaims{"role": "root"}), auth.Caller{User: 42}},
		"a token one second before its end": {sub(jwt.MapClaims{"exp": noon.Unix() + 1}), auth.Caller{User: 42}},
		"a token at its beginning":          {sub(jwt.MapClaims{"nbf": noon.Unix()}), auth.Caller{User: 42}},
		"an issuer's clock that runs ahead": {sub(jwt.MapClaims{"nbf": noon.Unix() + 5}), auth.Caller{User: 42}},
		"a token that ends in a moment":     {sub(jwt.MapClaims{"exp": float64(noon.Unix()) + 0.5}), auth.Caller{User: 42}},
		"a token without an end":            {sub(jwt.MapClaims{"iat": 0}), auth.Caller{User: 42}},
	} {
		t.Run(name, func(t *testing.T) {
			v := only(at(noon))
			for range 2 { // the second answer comes from the cache
				got, err := v.Verify(t.Context(), signed(t, jwt.SigningMethodHS256, secret, row.claims))
				require.NoError(t, err)
				require.Equal(t, row.want, got)
			}
		})
	}
}

func TestVerifyRefuses(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	hs := func(c jwt.MapClaims) string { return signed(t, jwt.SigningMethodHS256, secret, c) }
	good := hs(jwt.MapClaims{"sub": "42"})
	for name, token := range map[string]string{
		"nothing":                  "",
		"no token at all":          "abc",
		"three empty parts":        "..",
		"a cut signature":          good[:len(good)-2],
		"a second spelling":        respelt(good),
		"a very long token":        strings.Repeat("a", 5000),
		"alg none":                 signed(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, jwt.MapClaims{"sub": "42"}),
		"another key":              signed(t, jwt.SigningMethodHS256, []byte("another key, 32 bytes or more ..."), jwt.MapClaims{"sub": "42"}),
		"a longer hash":            signed(t, jwt.SigningMethodHS512, secret, jwt.MapClaims{"sub": "42"}),
		"an RSA signature":         signed(t, jwt.SigningMethodRS256, rsaKey, jwt.MapClaims{"sub": "42"}),
		"a begin before all time":  hs(jwt.MapClaims{"sub": "42", "nbf": -1e300}),
		"a token that has expired": hs(jwt.MapClaims{"sub": "42", "exp": noon.Unix()}),
		"a token not yet valid":    hs(jwt.MapClaims{"sub": "42", "nbf": noon.Unix() + 6}),
		"a critical header":        critical(t),
		"a word as expiry":         hs(jwt.MapClaims{"sub": "42", "exp": "never"}),
		"an expiry past all years": hs(jwt.MapClaims{"sub": "42", "exp": 1e300}),
		"no subject":               hs(jwt.MapClaims{}),
		"a word as subject":        hs(jwt.MapClaims{"sub": "abc"}),
		"zero as subject":          hs(jwt.MapClaims{"sub": "0"}),
		"a negative subject":       hs(jwt.MapClaims{"sub": "-1"}),
		"a fraction as subject":    hs(jwt.MapClaims{"sub": "1.5"}),
		"a padded subject":         hs(jwt.MapClaims{"sub": "042"}),
		"a subject past 63 bits":   hs(jwt.MapClaims{"sub": "9223372036854775808"}),
		"a number as subject":      hs(jwt.MapClaims{"sub": 42}),
		"a number as role":         hs(jwt.MapClaims{"sub": "42", "role": 1}),
	} {
		t.Run(name, func(t *testing.T) {
			caller, err := only(at(noon)).Verify(t.Context(), token)
			require.ErrorIs(t, err, seckill.Unauthenticated)
			require.Zero(t, caller)
		})
	}
}

func critical(t *testing.T) string {
	token := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{"sub": "42"})
	token.Header["crit"] = []string{"x"}
	text, err := token.SignedString(secret)
	require.NoError(t, err)
	return text
}

// respelt changes only the two bits at the end of a signature that base64 leaves unused.
func respelt(token string) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	last := strings.IndexByte(alphabet, token[len(token)-1])
	return token[:len(token)-1] + string(alphabet[last|1])
}

func TestVerifyForgetsAtExpiry(t *testing.T) {
	now := noon
	v := only(func() time.Time { return now })
	token, err := auth.Sign(secret, auth.Caller{User: 7, Role: auth.Admin}, noon, time.Hour)
	require.NoError(t, err)

	caller, err := v.Verify(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, auth.Caller{User: 7, Role: auth.Admin}, caller)

	now = noon.Add(time.Hour)
	_, err = v.Verify(t.Context(), token)
	require.ErrorIs(t, err, auth.ErrExpired, "a token that was good a moment ago")
}

func TestHeaderReadsTheScheme(t *testing.T) {
	v := only(at(noon))
	token, err := auth.Sign(secret, auth.Caller{User: 42}, noon, 0)
	require.NoError(t, err)

	for _, good := range []string{"Bearer " + token, "bearer " + token, "BEARER  " + token} {
		caller, err := v.Header(t.Context(), good)
		require.NoError(t, err, good)
		require.Equal(t, seckill.UserID(42), caller.User)
	}
	for _, bad := range []string{"", "Bearer", "Bearer ", "Basic " + token, token} {
		_, err := v.Header(t.Context(), bad)
		require.ErrorIs(t, err, auth.ErrMissing, bad)
		require.ErrorIs(t, err, seckill.Unauthenticated, bad)
	}
}

func BenchmarkVerify(b *testing.B) {
	const many = 100_000 // more than the cache holds
	tokens := make([]string, many)
	for i := range tokens {
		var err error
		tokens[i], err = auth.Sign(secret, auth.Caller{User: seckill.UserID(i + 1)}, time.Now(), time.Hour)
		require.NoError(b, err)
	}
	for name, callers := range map[string]int{"again": 1, "first time": many} {
		b.Run(name, func(b *testing.B) {
			v, i := only(time.Now), 0
			b.ReportAllocs()
			for b.Loop() {
				if _, err := v.Verify(b.Context(), tokens[i%callers]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}
