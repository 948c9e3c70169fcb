package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

// FuzzBody: whatever a body holds, it is created or refused, in words that a caller knows.
func FuzzBody(f *testing.F) {
	var got seckill.Voucher
	var key string
	s := shop{create: creating(&got, &key, true)}
	r := s.open(f)
	admin := append(as(f, 1, auth.Admin), "Content-Type", "application/json")
	for _, seed := range []string{
		teaRequest, "", "null", "{}", "[]", `"`, "{", "\x00", teaRequest + teaRequest,
		strings.Replace(teaRequest, "100", "9223372036854775808", 1), strings.Replace(teaRequest, "100", "1e308", 1),
		strings.Replace(teaRequest, "Tea", `\ud800`, 1), strings.Replace(teaRequest, "T", "T24", 1),
		strings.Repeat("[", 20_000), `{"a":` + strings.Repeat(`{"a":`, 10_000), strings.Repeat(" ", 70_000),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		w := serve(r, httptest.NewRequest(http.MethodPost, createPath, strings.NewReader(body)), admin)
		if w.Code == http.StatusCreated {
			require.NoError(t, got.Validate(), "what was created is whole")
			return
		}
		require.Contains(t, []int{400, 413}, w.Code, w.Body)
		requirePlain(t, w.Body.String(), body)
	})
}

// FuzzPath: no path and no query make the api fail.
func FuzzPath(f *testing.F) {
	s := shop{voucher: found, vouchers: listed(onSale(1001)), tickets: holding(42, 1001, 7), order: stored()}
	r := s.open(f)
	user := as(f, 42, auth.NoRole)
	for _, seed := range []string{
		"", "/", "vouchers", "vouchers/1001", "vouchers/1001/orders", "vouchers/1001/order", "orders", "orders/7", "orders/x?limit=1",
		"orders?cursor=7&limit=100", "orders?limit=101", "vouchers?cursor=-1", "vouchers/%2e%2e", "orders/9223372036854775808", "vouchers/\xff", "orders/7?limit",
		"orders/ 7", "orders/%00", "orders/7/events/x", "vouchers/1001;x=1", strings.Repeat("a/", 1000), "vouchers?limit=1e3", "orders?%zz=1",
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, path string, post bool) {
		u, err := url.Parse("/api/v1/" + strings.TrimPrefix(path, "/"))
		if err != nil || strings.Contains(u.Path, "/events") || u.Query().Has("wait") {
			return // no server gets such a path; and nobody waits here
		}
		req := httptest.NewRequest(map[bool]string{true: "POST", false: "GET"}[post], "/", nil)
		req.URL = u
		w := serve(r, req, user)
		require.Less(t, w.Code, 500, w.Body)
		require.Contains(t, []string{"application/json", problemType}, w.Header().Get("Content-Type"))
	})
}

// serve is do without the look at the description, which a fuzz target has no test for.
func serve(r *rig, req *http.Request, headers []string) *httptest.ResponseRecorder {
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r.api.Handler().ServeHTTP(w, req)
	return w
}
