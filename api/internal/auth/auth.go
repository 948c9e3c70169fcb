// Package auth says who a caller is: it checks bearer tokens and makes them. It imports
// package seckill alone, and knows nothing of HTTP but the Authorization header's form.
package auth

import (
	"crypto/sha256"
	"errors"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/openseckill/seckill/pkg/seckill"
)

// Role is what a caller may do beyond buying. Roles this system does not know grant nothing.
type Role string

// The roles.
const (
	NoRole  Role = ""
	Admin   Role = "admin"   // runs sales
	Service Role = "service" // another system: reports payments
)

// Caller is who a token speaks for.
type Caller struct {
	User seckill.UserID
	Role Role
}

// Why a header or token was refused, where the caller is helped by knowing.
var (
	ErrMissing = errors.New("no bearer token")
	ErrExpired = errors.New("token has expired")
)

const (
	tokenMax = 4 << 10 // bytes
	cacheMax = 10_000  // tokens, about 100 bytes each
)

// Verifier checks tokens signed with HS256. It is safe for concurrent use.
type Verifier struct {
	secret []byte
	now    func() time.Time
	parser *jwt.Parser
	known  *cache
}

// NewVerifier returns a Verifier of tokens signed with secret, which should have at least
// 32 bytes; now is the clock that judges exp and nbf.
func NewVerifier(secret []byte, now func() time.Time) *Verifier {
	return &Verifier{
		secret: secret,
		now:    now,
		// The method is pinned: "none" and keys of another kind are not tokens of ours.
		// Strict decoding leaves one spelling for one token.
		parser: jwt.NewParser(
			jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}),
			jwt.WithTimeFunc(now), jwt.WithStrictDecoding()),
		known: newCache(cacheMax),
	}
}

// Header reads the caller from the value of an Authorization header, "Bearer <token>".
// It fails with Unauthenticated, caused by ErrMissing where there is no bearer token.
func (v *Verifier) Header(value string) (Caller, error) {
	scheme, token, _ := strings.Cut(value, " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return Caller{}, unauthenticated(ErrMissing)
	}
	return v.Verify(token)
}

// Verify reads the caller from a token: sub is the user id, role is optional, exp and nbf
// are honoured where present. It fails with Unauthenticated, caused by ErrExpired where
// nothing else is wrong.
func (v *Verifier) Verify(token string) (Caller, error) {
	if len(token) > tokenMax {
		return Caller{}, unauthenticated(errors.New("token is too long"))
	}
	// By its hash, so that the cache holds no token and its entries have one size.
	key := sha256.Sum256([]byte(token))
	if caller, ok := v.known.get(key, v.now()); ok {
		return caller, nil
	}
	caller, expires, err := v.parse(token)
	if err != nil {
		return Caller{}, unauthenticated(err)
	}
	v.known.put(key, caller, expires)
	return caller, nil
}

type claims struct {
	Role Role `json:"role,omitempty"`
	jwt.RegisteredClaims
}

// parse returns the caller and when the token expires; zero means never.
func (v *Verifier) parse(token string) (caller Caller, expires time.Time, err error) {
	var c claims
	_, err = v.parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return v.secret, nil })
	if errors.Is(err, jwt.ErrTokenExpired) {
		return Caller{}, time.Time{}, ErrExpired
	}
	if err != nil {
		return Caller{}, time.Time{}, err
	}
	user, err := seckill.ParseUserID(c.Subject)
	if err != nil {
		return Caller{}, time.Time{}, err
	}
	if c.ExpiresAt != nil {
		expires = c.ExpiresAt.Time
	}
	return Caller{User: user, Role: known(c.Role)}, expires, nil
}

// known drops roles that other systems gave: they mean nothing here.
func known(r Role) Role {
	if r == Admin || r == Service {
		return r
	}
	return NoRole
}

// Sign makes a token for caller that is valid from now on for ttl; 0 or less means for ever.
func Sign(secret []byte, caller Caller, now time.Time, ttl time.Duration) (string, error) {
	c := claims{Role: caller.Role, RegisteredClaims: jwt.RegisteredClaims{
		Subject:  caller.User.String(),
		IssuedAt: jwt.NewNumericDate(now),
	}}
	if ttl > 0 {
		c.ExpiresAt = jwt.NewNumericDate(now.Add(ttl))
	}
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, c).SignedString(secret)
	if err != nil {
		return "", &seckill.Error{Op: "auth.Sign", Code: seckill.Internal, Err: err}
	}
	return token, nil
}

func unauthenticated(cause error) error {
	return &seckill.Error{Op: "auth.Verify", Code: seckill.Unauthenticated, Err: cause}
}
