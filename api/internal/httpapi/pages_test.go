package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPages(t *testing.T) {
	s := shop{}
	r := s.open(t)
	for path, has := range map[string]string{
		"/": `src="/assets/storefront.js"`, "/console": `src="/assets/console.js"`, "/assets/api.js": "export async function call", "/assets/style.css": ":root",
	} {
		w := r.do("GET", path, "", "Accept", "text/html,*/*;q=0.8")
		require.Equal(t, http.StatusOK, w.Code, path)
		require.Contains(t, w.Body.String(), has)
		require.Contains(t, w.Header().Get("Content-Security-Policy"), "script-src 'self'")
		require.Equal(t, "DENY", w.Header().Get("X-Frame-Options"))
		require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
		require.Equal(t, "no-cache", w.Header().Get("Cache-Control"))
	}
	for path := range r.api.OpenAPI().Paths {
		require.True(t, strings.HasPrefix(path, "/api/"), "%s is for people", path)
	}
	for _, path := range []string{"/assets/..%2f..%2fweb.go", "/assets/storefront.html", "/demo", "/demo/pay"} {
		requireCode(t, r.do("GET", path, ""), 404, "ROUTE_NOT_FOUND")
	}
}

// What another site makes a browser send carries no authority: it lies in a header that only
// our own page can set, and nobody here sets or reads a cookie.
func TestOtherSitesHaveNoAuthority(t *testing.T) {
	s := shop{}
	r := s.open(t)
	for _, path := range []string{createPath, "/api/v1/admin/vouchers/1001/close", "/api/v1/admin/vouchers/1001/sync", buyPath, "/api/v1/orders/7/cancel"} {
		w := r.do("POST", path, "{}", "Content-Type", "application/json", "Origin", "https://evil.example",
			"Sec-Fetch-Site", "cross-site", "Cookie", "seckill.token="+strings.TrimPrefix(as(t, 1, "admin")[1], "Bearer "))
		requireCode(t, w, 401, "UNAUTHENTICATED")
		require.Empty(t, w.Header().Get("Set-Cookie"))
	}
}
