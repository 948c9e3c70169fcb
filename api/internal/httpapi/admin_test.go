package httpapi_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	createPath = "/api/v1/admin/vouchers"
	syncPath   = "/api/v1/admin/vouchers/1001/sync"
	teaRequest = `{"title":"Tea & cake","price":1990,"total":100,"beginsAt":"2026-06-01T19:00:00+08:00","endsAt":"2026-06-01T13:00:00.0009Z"}`
)

// creating makes SQL store what it is given as voucher 1001.
func creating(got *seckill.Voucher, key *string, created bool) func(seckill.Voucher, string) (seckill.Voucher, bool, error) {
	return func(v seckill.Voucher, k string) (seckill.Voucher, bool, error) {
		*got, *key = v, k
		v.ID, v.Stock = 1001, 60
		return v, created, nil
	}
}

func jsonFrom(header []string, more ...string) []string {
	return slices.Concat(header, []string{"Content-Type", "application/json"}, more)
}

func TestCreateVoucher(t *testing.T) {
	var got seckill.Voucher
	var key string
	var synced []seckill.VoucherID
	s := shop{
		create: creating(&got, &key, true),
		sync:   func(_ context.Context, v seckill.VoucherID) error { synced = append(synced, v); return nil },
	}
	w := s.open(t).do("POST", createPath, teaRequest, jsonFrom(as(t, 1, auth.Admin), "Idempotency-Key", "k-1")...)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	require.Equal(t, "/api/v1/vouchers/1001", w.Header().Get("Location"))
	require.Equal(t, teaBody+"\n", w.Body.String())
	require.Equal(t, "k-1", key)
	require.Equal(t, []seckill.VoucherID{1001}, synced)
	require.Equal(t, seckill.Voucher{
		Title: "Tea & cake", Price: 1990, Currency: "CNY", Total: 100,
		Begin: noon.Add(-time.Hour), End: noon.Add(time.Hour), // in UTC, whole milliseconds
	}, got)
}

func TestCreateVoucherRepeated(t *testing.T) {
	var got seckill.Voucher
	var key string
	s := shop{
		create: creating(&got, &key, false),
		sync:   func(context.Context, seckill.VoucherID) error { t.Error("closed a sale for nothing"); return nil },
	}
	w := s.open(t).do("POST", createPath, teaRequest, jsonFrom(as(t, 1, auth.Admin), "Idempotency-Key", "k-1")...)
	require.Equal(t, http.StatusCreated, w.Code)
	require.Equal(t, "/api/v1/vouchers/1001", w.Header().Get("Location"))
}

// The voucher exists once SQL has it; loading it is the first buyer's business then.
func TestCreateVoucherWhileRedisIsDown(t *testing.T) {
	var got seckill.Voucher
	var key string
	s := shop{create: creating(&got, &key, true), sync: func(context.Context, seckill.VoucherID) error { return down }}
	r := s.open(t)
	require.Equal(t, http.StatusCreated, r.do("POST", createPath, teaRequest, jsonFrom(as(t, 1, auth.Admin))...).Code)
	require.Contains(t, r.log.String(), "voucher created and not loaded")
}

// A client that asked too early must not be told "not found" for a second after.
func TestCreateVoucherIsSeenAtOnce(t *testing.T) {
	var got seckill.Voucher
	var key string
	s := shop{create: creating(&got, &key, true)}
	r := s.open(t)
	requireCode(t, r.do("GET", "/api/v1/vouchers/1001", ""), 404, seckill.VoucherNotFound)
	r.do("POST", createPath, teaRequest, jsonFrom(as(t, 1, auth.Admin))...)
	s.voucher = found
	require.Equal(t, http.StatusOK, r.do("GET", "/api/v1/vouchers/1001", "").Code)
}

func TestCreateVoucherReadsJSONHoweverItIsCalled(t *testing.T) {
	for _, contentType := range []string{"application/json", "application/json; charset=utf-8", "application/vnd.sale+json", "APPLICATION/JSON", ""} {
		var got seckill.Voucher
		var key string
		s := shop{create: creating(&got, &key, true)}
		w := s.open(t).do("POST", createPath, teaRequest, append(as(t, 1, auth.Admin), "Content-Type", contentType)...)
		require.Equal(t, http.StatusCreated, w.Code, contentType)
	}
}

func TestCreateVoucherRefuses(t *testing.T) {
	with := func(old, new string) string { return strings.Replace(teaRequest, old, new, 1) }
	admin := jsonFrom(as(t, 1, auth.Admin))
	for name, c := range map[string]struct {
		body   string
		header []string
		status int
		code   seckill.Code
		says   string
	}{
		"no body":                  {"", admin, 400, seckill.Invalid, "body is required"},
		"no JSON":                  {"{", admin, 400, seckill.Invalid, `"location":"body"`},
		"JSON and more":            {teaRequest + "{}", admin, 400, seckill.Invalid, `"location":"body"`},
		"a list":                   {"[]", admin, 400, seckill.Invalid, "expected object"},
		"an unknown field":         {with(`"total"`, `"sold":1,"total"`), admin, 400, seckill.Invalid, `"location":"body.sold"`},
		"a field in another case":  {with(`"total"`, `"Total":7,"total"`), admin, 400, seckill.Invalid, `"location":"body.Total"`},
		"no title":                 {with(`"title":"Tea & cake",`, ""), admin, 400, seckill.Invalid, "title"},
		"an empty title":           {with("Tea & cake", " "), admin, 400, seckill.Invalid, "title is empty"},
		"a title that is too long": {with("Tea & cake", strings.Repeat("茶", 201)), admin, 400, seckill.Invalid, "title is longer than 200"},
		"no total":                 {with(`"total":100,`, ""), admin, 400, seckill.Invalid, "total"},
		"a total of nothing":       {with("100", "0"), admin, 400, seckill.Invalid, "total 0 is not from 1 to 100000000"},
		"a total as text":          {with("100", `"100"`), admin, 400, seckill.Invalid, `"location":"body.total"`},
		"a total with a fraction":  {with("100", "1.5"), admin, 400, seckill.Invalid, `"location":"body.total"`},
		"a total past 63 bits":     {with("100", "9223372036854775808"), admin, 400, seckill.Invalid, `"location":"body"`},
		"a price below nothing":    {with("1990", "-1"), admin, 400, seckill.Invalid, "price -1"},
		"a currency of one's own":  {with(`"total"`, `"currency":"yuan","total"`), admin, 400, seckill.Invalid, "currency"},
		"a time without a zone":    {with("+08:00", ""), admin, 400, seckill.Invalid, `"location":"body.beginsAt"`},
		"a time as a number":       {with(`"2026-06-01T19:00:00+08:00"`, "1780311600000"), admin, 400, seckill.Invalid, `"location":"body.beginsAt"`},
		"an end before the begin":  {with("13:00", "10:00"), admin, 400, seckill.Invalid, "is not before endsAt"},
		"a key that is too long":   {teaRequest, slices.Concat(admin, []string{"Idempotency-Key", strings.Repeat("k", 256)}), 400, seckill.Invalid, `"location":"header.Idempotency-Key"`},
		"another content type":     {teaRequest, slices.Concat(admin, []string{"Content-Type", "text/plain"}), 415, "UNSUPPORTED_MEDIA_TYPE", "application/json"},
		"a form":                   {"title=x", slices.Concat(admin, []string{"Content-Type", "application/x-www-form-urlencoded"}), 415, "UNSUPPORTED_MEDIA_TYPE", "application/json"},
		"a huge body":              {with("Tea", strings.Repeat("x", 70_000)), admin, 413, "BODY_TOO_LARGE", "65536"},
		"nobody":                   {teaRequest, jsonFrom(nil), 401, seckill.Unauthenticated, "A bearer token is needed."},
		"a buyer":                  {teaRequest, jsonFrom(as(t, 1, auth.NoRole)), 403, seckill.Forbidden, "role"},
		"a service":                {teaRequest, jsonFrom(as(t, 1, auth.Service)), 403, seckill.Forbidden, "role"},
	} {
		t.Run(name, func(t *testing.T) {
			s := shop{create: func(seckill.Voucher, string) (seckill.Voucher, bool, error) {
				t.Error("stored it")
				return seckill.Voucher{}, false, nil
			}}
			w := s.open(t).do("POST", createPath, c.body, c.header...)
			requireCode(t, w, c.status, c.code)
			require.Contains(t, w.Body.String(), c.says)
			require.Less(t, w.Body.Len(), 1000, "the body is not echoed")
		})
	}
}

func TestCreateVoucherTellsWhatSQLRefused(t *testing.T) {
	for code, status := range map[seckill.Code]int{seckill.Conflict: 409, seckill.Unavailable: 503, seckill.Internal: 500} {
		s := shop{create: func(seckill.Voucher, string) (seckill.Voucher, bool, error) {
			return seckill.Voucher{}, false, &seckill.Error{Op: "sqlstore.CreateVoucher", Code: code, Err: errors.New("secret")}
		}}
		w := s.open(t).do("POST", createPath, teaRequest, jsonFrom(as(t, 1, auth.Admin))...)
		requireCode(t, w, status, code)
		require.NotContains(t, w.Body.String(), "secret")
	}
}

func TestSyncVoucher(t *testing.T) {
	var synced []seckill.VoucherID
	s := shop{voucher: found, sync: func(ctx context.Context, v seckill.VoucherID) error {
		synced = append(synced, v)
		return nil
	}}
	r := s.open(t)
	w := r.do("POST", syncPath, "", as(t, 1, auth.Admin)...)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Equal(t, teaBody+"\n", w.Body.String())
	require.Empty(t, w.Header().Get("Location"))
	require.Equal(t, []seckill.VoucherID{1001}, synced)

	requireCode(t, r.do("POST", syncPath, ""), 401, seckill.Unauthenticated)
	requireCode(t, r.do("POST", syncPath, "", as(t, 1, auth.NoRole)...), 403, seckill.Forbidden)
	requireCode(t, r.do("POST", createPath+"/01/sync", "", as(t, 1, auth.Admin)...), 400, seckill.Invalid)
	s.voucher = nil
	requireCode(t, r.do("POST", syncPath, "", as(t, 1, auth.Admin)...), 404, seckill.VoucherNotFound)
	s.voucher, s.sync = found, func(context.Context, seckill.VoucherID) error { return down }
	requireCode(t, r.do("POST", syncPath, "", as(t, 1, auth.Admin)...), 503, seckill.Unavailable)
}

// oneConn is a listener with one connection, in memory.
type oneConn struct{ conns chan net.Conn }

func (l oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l oneConn) Close() error   { return nil }
func (l oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "memory"} }

// A sync may take longer than an answer: its client is told so while the server still may
// write, and the sync goes on.
func TestSyncVoucherTakesItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, whole := time.Now(), make(chan struct{})
		s := shop{voucher: found, sync: func(ctx context.Context, _ seckill.VoucherID) error {
			select {
			case <-time.After(2 * time.Minute):
				close(whole)
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}}
		client, served := net.Pipe()
		listener := oneConn{make(chan net.Conn, 1)}
		listener.conns <- served
		server := &http.Server{Handler: s.open(t).api.Handler(), WriteTimeout: 30 * time.Second}
		go func() { _ = server.Serve(listener) }()

		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://api"+syncPath, nil)
		require.NoError(t, err)
		req.Header.Set("Authorization", as(t, 1, auth.Admin)[1])
		require.NoError(t, req.Write(client))
		answer, err := http.ReadResponse(bufio.NewReader(client), req)
		require.NoError(t, err)
		require.Equal(t, http.StatusServiceUnavailable, answer.StatusCode)
		require.Equal(t, "20", answer.Header.Get("Retry-After"))
		body, err := io.ReadAll(answer.Body)
		require.NoError(t, err)
		require.Contains(t, string(body), "It goes on")
		require.Equal(t, 20*time.Second, time.Since(began))
		<-whole
		require.NoError(t, client.Close())
		close(listener.conns)
		require.NoError(t, server.Close())
	})
}

// Cut short, a sync would leave the sale closed.
func TestSyncVoucherOutlivesItsClient(t *testing.T) {
	s := shop{voucher: found, sync: func(ctx context.Context, _ seckill.VoucherID) error { return ctx.Err() }}
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, syncPath, nil)
	req.Header.Set("Authorization", as(t, 1, auth.Admin)[1])
	w := httptest.NewRecorder()
	s.open(t).api.Handler().ServeHTTP(w, req)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
}
