package auth

import (
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"math"
	"strings"
	"sync/atomic"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/sync/singleflight"
	"golang.org/x/time/rate"

	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	tokenMax  = 4 << 10         // bytes
	cacheMax  = 10_000          // tokens, about 100 bytes each
	nbfLeeway = 5 * time.Second // by which an issuer's clock may run ahead of ours
)

var (
	errNotYet = errors.New("token is not valid yet")
	errNoTime = errors.New("token has a time past all years")
	// RFC 7515: who does not understand a header that is marked critical refuses the token.
	errCritical = errors.New("token has a critical header")
)

// Options say which tokens are good: those signed by HS256 with Secret, and those signed by
// RS256 or ES256 with a key of JWKS. At least one of the two is needed.
type Options struct {
	Secret []byte           // at least 32 bytes; empty: no HS256
	JWKS   *Source          // nil: no RS256, no ES256
	Now    func() time.Time // judges exp and nbf
	Log    *slog.Logger     // hears of a JWKS that cannot be read or has changed
}

// Verifier checks tokens. It is safe for concurrent use.
type Verifier struct {
	secret []byte
	jwks   *Source
	now    func() time.Time
	log    *slog.Logger
	parser *jwt.Parser
	ring   atomic.Pointer[ring]
	flight singleflight.Group // reads the JWKS once, whoever asks
	seldom *rate.Limiter      // of reads that a token asks for
}

// NewVerifier returns a Verifier that has not read its JWKS yet: Run does, and a token that
// needs one of its keys.
func NewVerifier(o Options) *Verifier {
	v := &Verifier{secret: o.Secret, jwks: o.JWKS, now: o.Now, log: o.Log, seldom: rate.NewLimiter(rate.Every(renewGap), 1)}
	v.ring.Store(newRing(nil))
	var methods []string
	if len(o.Secret) > 0 { // an empty one would sign for anybody
		methods = append(methods, jwt.SigningMethodHS256.Alg())
	}
	if o.JWKS != nil {
		methods = append(methods, jwt.SigningMethodRS256.Alg(), jwt.SigningMethodES256.Alg())
	}
	// The methods are pinned: "none" and methods without a key of ours are no tokens. Strict
	// decoding leaves one spelling for one token. Times are judged by times, below.
	v.parser = jwt.NewParser(jwt.WithValidMethods(methods), jwt.WithStrictDecoding(), jwt.WithoutClaimsValidation())
	return v
}

// Header reads the caller from the value of an Authorization header, "Bearer <token>".
// It fails like Verify, with Unauthenticated caused by ErrMissing where there is no bearer
// token.
func (v *Verifier) Header(ctx context.Context, value string) (Caller, error) {
	scheme, token, _ := strings.Cut(value, " ")
	token = strings.TrimSpace(token)
	if !strings.EqualFold(scheme, "Bearer") || token == "" {
		return Caller{}, unauthenticated(ErrMissing)
	}
	return v.Verify(ctx, token)
}

// Verify reads the caller from a token: sub is the user id, role is optional. A token
// without exp is valid for as long as its key is. It fails with Unauthenticated, caused by
// ErrExpired where nothing else is wrong, or with Unavailable while no key is known because
// the JWKS could not be read.
func (v *Verifier) Verify(ctx context.Context, token string) (Caller, error) {
	if len(token) > tokenMax {
		return Caller{}, unauthenticated(errors.New("token is too long"))
	}
	// By its hash, so that the cache holds no token and its entries have one size.
	key := sha256.Sum256([]byte(token))
	r := v.ring.Load()
	if caller, ok := r.known.get(key, v.now()); ok {
		return caller, nil
	}
	caller, expires, err := v.parse(r, token)
	if errors.Is(err, errNoKey) {
		r = v.renew(ctx)
		caller, expires, err = v.parse(r, token)
	}
	if err != nil {
		return Caller{}, refused(err, r)
	}
	r.known.put(key, caller, expires)
	return caller, nil
}

// told is what a token says that matters here. Its times are plain numbers, which are read in
// half the time of jwt.NumericDate: most buyers come once, and no cache helps them.
type told struct {
	jwt.Claims `json:"-"` // whose methods only the parser's own validation would call

	Role      Role     `json:"role"`
	Subject   string   `json:"sub"`
	ExpiresAt *float64 `json:"exp"` // Unix seconds, like those of RFC 7519 perhaps with a fraction
	NotBefore *float64 `json:"nbf"`
}

// parse returns the caller and when the token expires; zero means never.
func (v *Verifier) parse(r *ring, token string) (caller Caller, expires time.Time, err error) {
	var c told
	_, err = v.parser.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		if _, critical := t.Header["crit"]; critical {
			return nil, errCritical
		}
		// By the method, never by what else the token says: a public key is no secret.
		if t.Method == jwt.SigningMethodHS256 {
			return v.secret, nil
		}
		return r.key(t)
	})
	if err != nil {
		return Caller{}, time.Time{}, err
	}
	user, err := seckill.ParseUserID(c.Subject)
	if err != nil {
		return Caller{}, time.Time{}, err
	}
	if c.ExpiresAt != nil {
		expires = moment(*c.ExpiresAt)
	}
	return Caller{User: user, Role: known(c.Role)}, expires, v.times(c)
}

// times judges exp to the second, as its issuer chose it; nbf is where clocks that differ
// would refuse a buyer who has just signed in.
func (v *Verifier) times(c told) error {
	now := v.now()
	switch {
	case noTime(c.ExpiresAt), noTime(c.NotBefore):
		return errNoTime
	case c.ExpiresAt != nil && !now.Before(moment(*c.ExpiresAt)):
		return ErrExpired
	case c.NotBefore != nil && now.Add(nbfLeeway).Before(moment(*c.NotBefore)):
		return errNotYet
	default:
		return nil
	}
}

// moment is a time in Unix seconds, which may have a fraction.
func moment(seconds float64) time.Time {
	whole, fraction := math.Modf(seconds)
	return time.Unix(int64(whole), int64(fraction*float64(time.Second)))
}

// noTime reports whether these seconds, if there are any, lie past all years.
func noTime(seconds *float64) bool {
	const most = 253402300799 // the end of 9999
	return seconds != nil && math.Abs(*seconds) > most
}

// known drops roles that other systems gave: they mean nothing here.
func known(r Role) Role {
	if r == Admin || r == Service {
		return r
	}
	return NoRole
}

// refused is Unauthenticated, unless nobody can tell because no key has been read.
func refused(cause error, r *ring) error {
	if errors.Is(cause, errNoKey) && r.empty() {
		return &seckill.Error{Op: "auth.Verify", Code: seckill.Unavailable, Err: cause}
	}
	return unauthenticated(cause)
}

func unauthenticated(cause error) error {
	return &seckill.Error{Op: "auth.Verify", Code: seckill.Unauthenticated, Err: cause}
}
