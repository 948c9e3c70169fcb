package httpapi_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

func TestEveryAnswerIsHardened(t *testing.T) {
	s := shop{voucher: found}
	r := s.open(t)
	for _, w := range []*httptest.ResponseRecorder{
		r.do("GET", "/api/v1/vouchers/1001", ""), r.do("GET", "/nowhere", ""), r.do("DELETE", buyPath, ""),
		r.do("POST", buyPath, ""), r.do("POST", buyPath, "", as(t, 42, auth.NoRole)...), r.do("OPTIONS", buyPath, ""),
	} {
		header := w.Header()
		require.Equal(t, "nosniff", header.Get("X-Content-Type-Options"))
		require.Equal(t, "default-src 'none'; frame-ancestors 'none'", header.Get("Content-Security-Policy"))
		require.Equal(t, "DENY", header.Get("X-Frame-Options"))
		require.Equal(t, "no-referrer", header.Get("Referrer-Policy"))
		require.Equal(t, "no-store", header.Get("Cache-Control"))
		require.Empty(t, header.Get("Strict-Transport-Security"), "the proxy that speaks TLS sets it")
		require.Empty(t, header.Get("Access-Control-Allow-Origin"), "no origin is allowed by default")
	}
}

// A page of an allowed origin asks first, then calls, and can read every answer.
func TestPagesOfAllowedOriginsCall(t *testing.T) {
	const page = "https://shop.example"
	for name, c := range map[string]struct {
		origins []string
		origin  string
		allowed string
	}{
		"a page of the only origin":     {[]string{page}, page, page},
		"a page of the second origin":   {[]string{"https://a.example", page}, page, page},
		"any page":                      {[]string{"*"}, page, "*"},
		"a page of another origin":      {[]string{page}, "https://evil.example", ""},
		"a page of a subdomain":         {[]string{page}, "https://x.shop.example", ""},
		"a page with a longer name":     {[]string{page}, page + ".evil.example", ""},
		"a page without TLS":            {[]string{page}, "http://shop.example", ""},
		"a page from a file":            {[]string{page}, "null", ""},
		"a caller that is no page":      {[]string{page}, "", ""},
		"a page, where none is allowed": {nil, page, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := shop{admit: says(seckill.Admission{}, coded(seckill.SoldOut))}
			r := s.openTo(t, c.origins)
			w := r.do("OPTIONS", buyPath, "", "Origin", c.origin,
				"Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")
			require.Equal(t, http.StatusNoContent, w.Code)
			require.Empty(t, w.Body.String())
			require.Equal(t, c.allowed, w.Header().Get("Access-Control-Allow-Origin"))
			if c.allowed != "" {
				require.Equal(t, "GET, HEAD, POST, PATCH", w.Header().Get("Access-Control-Allow-Methods"))
				require.Contains(t, w.Header().Get("Access-Control-Allow-Headers"), "Authorization")
				require.Contains(t, w.Header().Get("Access-Control-Allow-Headers"), "Idempotency-Key")
				require.Equal(t, "600", w.Header().Get("Access-Control-Max-Age"))
			}

			for _, header := range [][]string{as(t, 42, auth.NoRole), {"Authorization", ""}} {
				w = r.do("POST", buyPath, "", append(header, "Origin", c.origin)...)
				require.Contains(t, []int{401, 409}, w.Code, "the page's call itself is like any other")
				require.Equal(t, c.allowed, w.Header().Get("Access-Control-Allow-Origin"))
				require.Empty(t, w.Header().Get("Access-Control-Allow-Credentials"))
				require.Equal(t, len(c.origins) > 0 && c.origins[0] != "*", w.Header().Get("Vary") == "Origin")
				if c.allowed != "" {
					require.Equal(t, "Content-Language, ETag, Location, Retry-After, WWW-Authenticate, X-Request-Id",
						w.Header().Get("Access-Control-Expose-Headers"))
				}
			}
		})
	}
}

func TestAcceptIsHeard(t *testing.T) {
	s := shop{voucher: found, admit: func(context.Context, seckill.Order) (seckill.Admission, error) {
		t.Error("a unit was taken by one who cannot read the answer")
		return seckill.Admission{}, nil
	}}
	r := s.open(t)
	for _, accept := range []string{"text/html", "application/xml, text/plain", "json", "application/json;q=0", "a/b;q=x", ",;,"} {
		requireCode(t, r.do("GET", "/api/v1/vouchers/1001", "", "Accept", accept), 406, "NOT_ACCEPTABLE")
		requireCode(t, r.do("POST", buyPath, "", append(as(t, 42, auth.NoRole), "Accept", accept)...), 406, "NOT_ACCEPTABLE")
	}
	require.Equal(t, http.StatusOK, r.do("GET", "/docs", "", "Accept", "text/html").Code)
}

func TestHeadAndOptions(t *testing.T) {
	s := newPending()
	s.voucher = found
	srv := httptest.NewServer(s.open(t).api.Handler())
	defer srv.Close()
	ask := func(method, path string) (*http.Response, string) {
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, nil)
		require.NoError(t, err)
		header := as(t, 42, auth.NoRole)
		req.Header.Set(header[0], header[1])
		res, err := srv.Client().Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		start, err := io.ReadAll(io.LimitReader(res.Body, 1)) // a stream has no end
		require.NoError(t, err)
		return res, string(start)
	}
	for path, status := range map[string]int{
		"/api/v1/vouchers": 200, "/api/v1/vouchers/1001": 200, "/api/v1/vouchers/07": 400, "/api/v1/orders/7": 200,
		"/api/v1/orders/7/events": 200, "/api/v1/orders/9/events": 404, "/openapi.json": 200,
	} {
		res, body := ask("HEAD", path)
		require.Equal(t, status, res.StatusCode, path)
		require.Empty(t, body)
		got, body := ask("GET", path)
		require.NotEmpty(t, body)
		require.Equal(t, got.Header.Get("Content-Type"), res.Header.Get("Content-Type"), path)
	}
	res, _ := ask("OPTIONS", "/api/v1/vouchers/1001")
	require.Equal(t, http.StatusNoContent, res.StatusCode)
	require.Contains(t, res.Header.Get("Allow"), "GET")
	require.Contains(t, res.Header.Get("Allow"), "HEAD")
	res, _ = ask("OPTIONS", "/nowhere")
	require.Equal(t, http.StatusNotFound, res.StatusCode)
	res, _ = ask("HEAD", buyPath)
	require.Equal(t, http.StatusMethodNotAllowed, res.StatusCode)
}

// Numbers past 64 bits, and texts where a number belongs, are told in the words of HTTP.
func TestRefusalsNameNoTypeOfOurs(t *testing.T) {
	s := shop{}
	r := s.open(t)
	for _, value := range []string{"9223372036854775808", "-1e400", "1e999", "1.5", `"7"`, "[]", "{}", "true", "1e18"} {
		body := strings.Replace(teaRequest, "100", value, 1)
		w := r.do("POST", createPath, body, append(as(t, 1, auth.Admin), "Content-Type", "application/json")...)
		requireCode(t, w, 400, seckill.Invalid)
		requirePlain(t, w.Body.String(), body)
	}
}

// requirePlain holds an answer to the words of HTTP, and of the request.
func requirePlain(t testing.TB, answer, request string) {
	t.Helper()
	for _, inside := range []string{"Go ", "int64", "json:", "newVoucher", "struct", "httpapi", "goroutine", "2006-01-02"} {
		if !strings.Contains(request, inside) {
			require.NotContains(t, answer, inside)
		}
	}
}

func TestBodiesOfOtherKindsAreRefused(t *testing.T) {
	s := shop{}
	r := s.open(t)
	for _, contentType := range []string{
		"text/plain", "text/plain; charset=utf-8", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
		"application/xml", "application/jsonp", "application/json; charset=gbk", "image/svg+json", "json", ";", "application/",
	} {
		w := r.do("POST", createPath, teaRequest, append(as(t, 1, auth.Admin), "Content-Type", contentType)...)
		requireCode(t, w, 415, "UNSUPPORTED_MEDIA_TYPE")
	}
}
