// Package auth says who a caller is: it checks bearer tokens and makes them. It imports
// package seckill alone, and knows nothing of HTTP but the Authorization header's form.
package auth

import (
	"errors"
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

type claims struct {
	Role Role `json:"role,omitempty"`
	jwt.RegisteredClaims
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
