package httpapi_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/api/internal/httpapi"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
)

const largest = 9223372036854775807

var (
	secret = []byte("0123456789abcdef0123456789abcdef")
	noon   = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	down   = &seckill.Error{Op: "fake", Code: seckill.Unavailable, Err: context.DeadlineExceeded}
)

// shop stands in for Redis, SQL and the books: what a test does not set is empty and works.
type shop struct {
	office
	admit    func(ctx context.Context, o seckill.Order) (seckill.Admission, error)
	tickets  func(u seckill.UserID, vs []seckill.VoucherID) (map[seckill.VoucherID]seckill.OrderID, error)
	left     func(vs []seckill.VoucherID) (map[seckill.VoucherID]int64, error)
	order    func(id seckill.OrderID) (seckill.Order, error)
	rows     []seckill.Order // of SQL, for what asks for more than one
	looked   func()          // after Rows has looked
	torn     bool            // tickets are missing
	voucher  func(id seckill.VoucherID) (seckill.Voucher, error)
	vouchers func(after seckill.VoucherID, limit int) ([]seckill.Voucher, error)
	create   func(v seckill.Voucher, key string) (seckill.Voucher, bool, error)
	sync     func(ctx context.Context, v seckill.VoucherID) error
	receipts []byte // secret of the receipts; empty: there are none
	tracer   trace.Tracer
	recover  func(o seckill.Order) (seckill.Order, error)
	life     lifeFake
}

func (s *shop) Admit(ctx context.Context, u seckill.UserID, v seckill.VoucherID) (seckill.Admission, error) {
	o := seckill.Order{ID: largest, User: u, Voucher: v}
	if s.admit == nil {
		return seckill.Admission{Order: o.ID}, nil
	}
	return s.admit(ctx, o)
}

func (s *shop) Tickets(_ context.Context, u seckill.UserID, vs []seckill.VoucherID) (map[seckill.VoucherID]seckill.OrderID, error) {
	if s.tickets == nil {
		return nil, nil
	}
	return s.tickets(u, vs)
}

func (s *shop) Intact(context.Context, []seckill.VoucherID) (bool, error) { return !s.torn, nil }

func (s *shop) Left(_ context.Context, vs []seckill.VoucherID) (map[seckill.VoucherID]int64, error) {
	if s.left == nil {
		return nil, nil
	}
	return s.left(vs)
}

func (s *shop) Order(_ context.Context, id seckill.OrderID) (seckill.Order, error) {
	if s.order == nil {
		return seckill.Order{}, seckill.OrderNotFound
	}
	return s.order(id)
}

func (s *shop) Rows(_ context.Context, ids []seckill.OrderID) (map[seckill.OrderID]seckill.Order, error) {
	found := map[seckill.OrderID]seckill.Order{}
	for _, o := range s.rows {
		if slices.Contains(ids, o.ID) {
			found[o.ID] = o
		}
	}
	if s.looked != nil {
		s.looked()
	}
	return found, nil
}

func (s *shop) LiveOrder(_ context.Context, u seckill.UserID, v seckill.VoucherID) (seckill.Order, error) {
	for _, o := range s.rows {
		if o.User == u && o.Voucher == v && o.Status.Live() {
			return o, nil
		}
	}
	return seckill.Order{}, seckill.OrderNotFound
}

func (s *shop) OrdersOf(_ context.Context, u seckill.UserID, before seckill.OrderID, limit int) (found []seckill.Order, err error) {
	for _, o := range s.rows { // the newest first
		if o.User == u && o.ID < before && len(found) < limit {
			found = append(found, o)
		}
	}
	return found, nil
}

func (s *shop) Voucher(_ context.Context, id seckill.VoucherID) (seckill.Voucher, error) {
	if s.voucher == nil {
		return seckill.Voucher{}, seckill.VoucherNotFound
	}
	return s.voucher(id)
}

func (s *shop) Vouchers(_ context.Context, after seckill.VoucherID, limit int) ([]seckill.Voucher, error) {
	if s.vouchers == nil {
		return nil, nil
	}
	return s.vouchers(after, limit)
}

func (s *shop) CreateVoucher(_ context.Context, v seckill.Voucher, key string, _ ...seckill.Deed) (seckill.Voucher, bool, error) {
	return s.create(v, key)
}

func (s *shop) Sync(ctx context.Context, v seckill.VoucherID) error {
	if s.sync == nil {
		return nil
	}
	return s.sync(ctx, v)
}

func (s *shop) Heal(ctx context.Context, v seckill.VoucherID) error { return s.Sync(ctx, v) }

func (s *shop) Recover(_ context.Context, o seckill.Order) (seckill.Order, error) {
	if s.recover == nil {
		panic("nobody showed a receipt")
	}
	return s.recover(o)
}

// clock is a time that a test moves.
type clock struct{ ms atomic.Int64 }

func (c *clock) now() time.Time        { return time.UnixMilli(c.ms.Load()).UTC() }
func (c *clock) move(d time.Duration)  { c.ms.Add(d.Milliseconds()) }
func newClock(t time.Time) (c *clock)  { c = new(clock); c.ms.Store(t.UnixMilli()); return c }
func (s *shop) open(t testing.TB) *rig { return s.openAt(t, newClock(noon)) }

// rig is an API on a shop, with its log and metrics.
type rig struct {
	t     testing.TB
	api   *httpapi.API
	clock *clock
	log   *bytes.Buffer // read it only when the API is quiet
	reg   *prometheus.Registry
	meter *obs.Admission
}

func (s *shop) openAt(t testing.TB, c *clock) *rig { return s.openWith(t, c, nil) }

// openTo opens to the pages of some origins.
func (s *shop) openTo(t testing.TB, origins []string) *rig {
	return s.openWith(t, newClock(noon), origins)
}

func (s *shop) openWith(t testing.TB, c *clock, origins []string) *rig {
	r := &rig{t: t, clock: c, log: new(bytes.Buffer), reg: prometheus.NewRegistry()}
	r.meter = obs.NewAdmission(r.reg)
	r.api = httpapi.New(httpapi.Deps{
		Auth: auth.NewVerifier(auth.Options{Secret: secret, Now: c.now}), Gate: s, Sale: s, Orders: s, Vouchers: s, Books: s, Deeds: s, IDs: s, Life: s, Giver: s, Live: s,
		Meter: r.meter, Log: slog.New(slog.NewTextHandler(r.log, nil)), Now: c.now,
		CORSOrigins: origins, ReceiptSecret: s.receipts, Tracer: s.tracer,
	})
	t.Cleanup(r.api.Close)
	return r
}

// do sends one request and holds the answer to the description; headers are name, value,
// name, value.
func (r *rig) do(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("X-Request-Id", "r-1")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	r.api.Handler().ServeHTTP(w, req)
	requireDescribed(r.t, r.api.OpenAPI(), req, w)
	return w
}

// as returns the header of a caller's token.
func as(t testing.TB, u seckill.UserID, role auth.Role) []string {
	t.Helper()
	token, err := auth.Sign(secret, auth.Caller{User: u, Role: role}, noon, time.Hour)
	require.NoError(t, err)
	return []string{"Authorization", "Bearer " + token}
}

// problemBody is what a refusal without more members looks like, to the byte.
func problemBody(title string, status string, code seckill.Code, detail string) string {
	return `{"type":"/problems#` + string(code) + `","title":"` + title + `","status":` + status +
		`,"code":"` + string(code) + `","detail":"` + detail + `","requestId":"r-1"}` + "\n"
}

// requireCode checks that w is a problem of this status and code.
func requireCode(t testing.TB, w *httptest.ResponseRecorder, status int, code seckill.Code) {
	t.Helper()
	require.Equal(t, status, w.Code, w.Body)
	require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
	require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	require.Equal(t, "r-1", w.Header().Get("X-Request-Id"))
	require.Contains(t, w.Body.String(), `"code":"`+string(code)+`"`)
	require.Contains(t, w.Body.String(), `"type":"/problems#`+string(code)+`"`)
	require.Contains(t, w.Body.String(), `"requestId":"r-1"`)
	if status == http.StatusServiceUnavailable {
		require.Equal(t, "1", w.Header().Get("Retry-After"))
	}
}

// voucher returns a voucher that is on sale at noon.
func onSale(id seckill.VoucherID) seckill.Voucher {
	return seckill.Voucher{
		ID: id, Title: "Tea & cake", Price: 1990, Currency: "CNY", Total: 100, Stock: 60,
		Begin: noon.Add(-time.Hour), End: noon.Add(time.Hour), Version: 1, Epoch: 1,
	}
}
