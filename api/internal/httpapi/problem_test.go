package httpapi_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

func TestTokensAreRefused(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	sign := func(method jwt.SigningMethod, key any, c jwt.MapClaims) string {
		token, err := jwt.NewWithClaims(method, c).SignedString(key)
		require.NoError(t, err)
		return "Bearer " + token
	}
	hs := func(c jwt.MapClaims) string { return sign(jwt.SigningMethodHS256, secret, c) }
	const (
		missing = "A bearer token is needed."
		invalid = "The bearer token is not valid. Get a new one."
		expired = "The bearer token has expired."
	)
	for name, c := range map[string]struct{ header, detail string }{
		"no header":             {"", missing},
		"another scheme":        {"Basic dXNlcjpwYXNz", missing},
		"a malformed token":     {"Bearer abc", invalid},
		"alg none":              {sign(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, jwt.MapClaims{"sub": "42"}), invalid},
		"another key":           {sign(jwt.SigningMethodHS256, []byte("another key, 32 bytes or more ..."), jwt.MapClaims{"sub": "42"}), invalid},
		"an RSA signature":      {sign(jwt.SigningMethodRS256, rsaKey, jwt.MapClaims{"sub": "42"}), invalid},
		"expired":               {hs(jwt.MapClaims{"sub": "42", "exp": noon.Unix()}), expired},
		"not yet valid":         {hs(jwt.MapClaims{"sub": "42", "nbf": noon.Unix() + 6}), invalid},
		"a word as subject":     {hs(jwt.MapClaims{"sub": "abc"}), invalid},
		"zero as subject":       {hs(jwt.MapClaims{"sub": "0"}), invalid},
		"a negative subject":    {hs(jwt.MapClaims{"sub": "-1"}), invalid},
		"a fraction as subject": {hs(jwt.MapClaims{"sub": "1.5"}), invalid},
	} {
		t.Run(name, func(t *testing.T) {
			s := shop{}
			r := s.open(t)
			for method, path := range map[string]string{"POST": buyPath, "GET": "/api/v1/orders/7"} {
				w := r.do(method, path, "", "Authorization", c.header)
				requireCode(t, w, 401, seckill.Unauthenticated)
				require.Equal(t, problemBody("Not signed in", "401", seckill.Unauthenticated, c.detail), w.Body.String())
				challenge := `Bearer realm="seckill"`
				if c.detail != missing {
					challenge += `, error="invalid_token"`
				}
				require.Equal(t, challenge, w.Header().Get("WWW-Authenticate"))
			}
		})
	}
}

func TestRouterRefusesInTheSameShape(t *testing.T) {
	s := shop{}
	r := s.open(t)
	for _, path := range []string{"/assets/none.js", "/assets/", "/api/v1", "/api/v1/vouchers/", "/api/v1/Vouchers", "/docs/", "/schemas/Problem.json"} {
		requireCode(t, r.do("GET", path, ""), 404, "ROUTE_NOT_FOUND")
	}
	w := r.do("DELETE", "/api/v1/vouchers/1001", "")
	requireCode(t, w, 405, "METHOD_NOT_ALLOWED")
	require.Equal(t, "GET, HEAD, OPTIONS", w.Header().Get("Allow"))
	requireCode(t, r.do("GET", buyPath, ""), 405, "METHOD_NOT_ALLOWED")
}

func TestTitleFollowsAcceptLanguage(t *testing.T) {
	s := shop{admit: says(seckill.Admission{}, coded(seckill.SoldOut))}
	r := s.open(t)
	for header, want := range map[string]string{"zh-CN,zh;q=0.9,en;q=0.8": "已售罄", "en": "Sold out", "": "Sold out"} {
		w := r.do("POST", buyPath, "", append(as(t, 42, auth.NoRole), "Accept-Language", header)...)
		requireCode(t, w, 409, seckill.SoldOut)
		require.Contains(t, w.Body.String(), `"title":"`+want+`"`)
		require.Equal(t, map[bool]string{true: "zh", false: "en"}[want == "已售罄"], w.Header().Get("Content-Language"))
	}
	// What huma refuses speaks the same languages.
	w := r.do("GET", "/api/v1/vouchers?limit=0", "", "Accept-Language", "zh")
	requireCode(t, w, 400, seckill.Invalid)
	require.Contains(t, w.Body.String(), `"title":"请求无效"`)
	w = r.do("GET", "/nowhere", "", "Accept-Language", "zh")
	require.Contains(t, w.Body.String(), `"title":"地址不存在"`)
}

func TestAcceptDoesNotChangeTheShape(t *testing.T) {
	s := shop{voucher: found}
	r := s.open(t)
	for _, accept := range []string{"*/*", "application/*;q=0.1", "text/html, application/json", "Application/JSON;q=x", "application/problem+json"} {
		w := r.do("GET", "/api/v1/vouchers/1001", "", "Accept", accept)
		require.Equal(t, http.StatusOK, w.Code, accept)
		require.Equal(t, "application/json", w.Header().Get("Content-Type"), accept)
		require.Equal(t, teaBody+"\n", w.Body.String(), accept)
		requireCode(t, r.do("GET", "/api/v1/vouchers/07", "", "Accept", accept), 400, seckill.Invalid)
	}
}

func TestRequestID(t *testing.T) {
	s := shop{}
	r := s.open(t)
	for _, good := range []string{"a", "A-b_c.9", strings.Repeat("x", 64)} {
		require.Equal(t, good, r.do("GET", "/api/v1/vouchers", "", "X-Request-Id", good).Header().Get("X-Request-Id"))
	}
	seen := map[string]bool{}
	for _, bad := range []string{"", " ", "a b", "a\"b", "<x>", "ä", strings.Repeat("x", 65)} {
		w := r.do("GET", "/nowhere", "", "X-Request-Id", bad)
		id := w.Header().Get("X-Request-Id")
		require.NotEqual(t, bad, id)
		require.Regexp(t, "^[A-Z0-9]{13}-[0-9]+$", id)
		require.False(t, seen[id])
		seen[id] = true
		require.Contains(t, w.Body.String(), `"requestId":"`+id+`"`)
	}
}

// endless is a body that says nothing of its length.
type endless struct{ left int }

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n := min(len(p), e.left)
	for i := range n {
		p[i] = ' '
	}
	e.left -= n
	return n, nil
}

// failing is a body whose sender stops.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestBodiesAreLimited(t *testing.T) {
	s := shop{}
	r := s.open(t)
	for _, path := range []string{buyPath, createPath} {
		send := func(body io.Reader, length int64) *httptest.ResponseRecorder {
			req := httptest.NewRequest(http.MethodPost, path, body)
			req.ContentLength = length
			req.Header.Set("X-Request-Id", "r-1")
			req.Header.Set(as(t, 1, auth.Admin)[0], as(t, 1, auth.Admin)[1])
			w := httptest.NewRecorder()
			r.api.Handler().ServeHTTP(w, req)
			return w
		}
		requireCode(t, send(&endless{50 << 20}, 50<<20), 413, "BODY_TOO_LARGE")
		requireCode(t, send(&endless{50 << 20}, -1), 413, "BODY_TOO_LARGE")
		requireCode(t, send(failing{io.ErrUnexpectedEOF}, -1), 400, seckill.Invalid)
		requireCode(t, send(failing{os.ErrDeadlineExceeded}, -1), 408, "BODY_TOO_SLOW")
	}
	// To the byte: what fits is read. A purchase ignores it.
	w := r.do("POST", buyPath, strings.Repeat(" ", 65536), as(t, 42, auth.NoRole)...)
	require.Equal(t, http.StatusAccepted, w.Code)
	requireCode(t, r.do("POST", buyPath, strings.Repeat(" ", 65537), as(t, 42, auth.NoRole)...), 413, "BODY_TOO_LARGE")
}

// H5: a panic is the end of one request, not of the process.
func TestPanicIsAnswered(t *testing.T) {
	boom := func() { panic("secret of the house") }
	s := shop{
		admit: func(context.Context, seckill.Order) (seckill.Admission, error) {
			boom()
			return seckill.Admission{}, nil
		},
		voucher: func(seckill.VoucherID) (seckill.Voucher, error) { boom(); return seckill.Voucher{}, nil },
	}
	r := s.open(t)
	for _, w := range []*httptest.ResponseRecorder{
		r.do("POST", buyPath, "", as(t, 42, auth.NoRole)...),
		r.do("GET", "/api/v1/vouchers/1001", ""), // in the load that others would wait for
	} {
		requireCode(t, w, 500, seckill.Internal)
		require.NotContains(t, w.Body.String(), "secret")
	}
	require.Equal(t, 2, strings.Count(r.log.String(), "panic in a request"), "once each, with its stack")
	require.Contains(t, r.log.String(), "secret of the house")
	require.Contains(t, r.log.String(), "problem_test.go")
	require.NotContains(t, r.log.String(), "request failed")
	require.Equal(t, http.StatusOK, r.do("GET", "/api/v1/vouchers", "").Code)
}

func TestLogOfRefusalsAndFaults(t *testing.T) {
	s := shop{admit: says(seckill.Admission{}, coded(seckill.SoldOut))}
	r := s.open(t)
	header := as(t, 42, auth.NoRole)
	for range 100 {
		r.do("POST", buyPath, "", header...)
		r.do("POST", buyPath, "")
		r.do("GET", "/nowhere", "")
	}
	s.admit = says(seckill.Admission{}, coded(seckill.Overloaded))
	r.do("POST", buyPath, "", header...)
	require.Empty(t, r.log.String(), "a refusal is no event")

	s.admit = says(seckill.Admission{}, coded(seckill.Internal))
	r.do("POST", buyPath, "", header...)
	r.do("POST", buyPath, "", header...)
	require.Equal(t, 2, strings.Count(r.log.String(), "request failed"))
	require.Contains(t, r.log.String(), "request=r-1")
	require.Contains(t, r.log.String(), "redisstore.Admit: INTERNAL")
	require.NotContains(t, r.log.String(), header[1], "no token reaches the log")
}

// An outage fails every request. The log tells of it once a second.
func TestLogOfAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shop{admit: says(seckill.Admission{}, coded(seckill.Unavailable))}
		r := s.open(t)
		for range 30 { // three seconds
			r.do("POST", buyPath, "", as(t, 42, auth.NoRole)...)
			<-time.After(100 * time.Millisecond)
		}
		require.Equal(t, 3, strings.Count(r.log.String(), "request not served"))
	})
}

func TestRequestsAreCounted(t *testing.T) {
	s := shop{}
	r := s.open(t)
	r.do("POST", buyPath, "", as(t, 42, auth.NoRole)...)
	s.admit = says(seckill.Admission{}, coded(seckill.SoldOut))
	r.do("POST", buyPath, "", as(t, 42, auth.NoRole)...)
	r.do("GET", "/a", "")
	r.do("GET", "/b", "")
	want := `
# HELP seckill_http_requests_total HTTP requests, by route and status code.
# TYPE seckill_http_requests_total counter
seckill_http_requests_total{code="202",route="POST /api/v1/vouchers/:voucherId/orders"} 1
seckill_http_requests_total{code="404",route="unmatched"} 2
seckill_http_requests_total{code="409",route="POST /api/v1/vouchers/:voucherId/orders"} 1
`
	require.NoError(t, testutil.GatherAndCompare(r.reg, bytes.NewBufferString(want), "seckill_http_requests_total"))
}

// A real connection: a purchase goes on when its client hangs up.
func TestClientThatHangsUp(t *testing.T) {
	admitted, gone, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	s := shop{admit: func(ctx context.Context, o seckill.Order) (seckill.Admission, error) {
		close(admitted)
		<-gone
		done <- ctx.Err()
		return seckill.Admission{}, &seckill.Error{Op: "redisstore.Admit", Code: seckill.Unavailable, Err: io.EOF}
	}}
	r := s.open(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		context.AfterFunc(req.Context(), func() { close(gone) }) // the server has noticed
		r.api.Handler().ServeHTTP(w, req)
	}))
	defer server.Close()
	ctx, hangUp := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+buyPath, nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", as(t, 42, auth.NoRole)[1])
	go func() { <-admitted; hangUp() }()
	_, err = http.DefaultClient.Do(req)
	require.ErrorIs(t, err, context.Canceled)
	require.NoError(t, <-done)
	server.Close()
	require.Empty(t, r.log.String(), "a client that left is no fault of ours")
}

// Two APIs in one process, as in tests and the demo, share nothing but huma's constructors.
func TestTwoAPIs(t *testing.T) {
	a, b := shop{voucher: found}, shop{}
	ra, rb := a.open(t), b.openAt(t, newClock(noon.Add(time.Hour)))
	require.Equal(t, http.StatusOK, ra.do("GET", "/api/v1/vouchers/1001", "").Code)
	requireCode(t, rb.do("GET", "/api/v1/vouchers/1001", ""), 404, seckill.VoucherNotFound)
}
