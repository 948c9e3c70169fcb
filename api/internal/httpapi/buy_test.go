package httpapi_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

const buyPath = "/api/v1/vouchers/1001/orders"

// says makes every admission end in one answer.
func says(got seckill.Admission, err error) func(context.Context, seckill.Order) (seckill.Admission, error) {
	return func(context.Context, seckill.Order) (seckill.Admission, error) { return got, err }
}

func coded(c seckill.Code) error {
	return &seckill.Error{Op: "redisstore.Admit", Code: c, Err: errors.New("10.0.0.7:6379 secret")}
}

func TestBuyAnswers(t *testing.T) {
	row := func(s seckill.Status, err error) func(seckill.OrderID) (seckill.Order, error) {
		return func(id seckill.OrderID) (seckill.Order, error) { return seckill.Order{ID: id, Status: s}, err }
	}
	begin := noon.Add(90*time.Second + 250*time.Millisecond)
	tell := func(code seckill.Code, title, status, detail string) string {
		return problemBody(title, status, code, detail)
	}
	for name, c := range map[string]struct {
		shop     shop
		status   int
		location string
		retry    string
		body     string
	}{
		"a new order is queued": {
			shop: shop{}, status: 202, location: "/api/v1/orders/9223372036854775807",
			body: `{"orderId":"9223372036854775807","voucherId":"1001","status":"queued"}` + "\n",
		},
		"a repeat before the row is there is queued": {
			shop:   shop{admit: says(seckill.Admission{Order: 9007199254740993}, coded(seckill.AlreadyOrdered))},
			status: 200, location: "/api/v1/orders/9007199254740993",
			body: `{"orderId":"9007199254740993","voucherId":"1001","status":"queued","repeated":true}` + "\n",
		},
		"a repeat after that has the row's status": {
			shop:   shop{admit: says(seckill.Admission{Order: 7}, coded(seckill.AlreadyOrdered)), order: row(seckill.Paid, nil)},
			status: 200, location: "/api/v1/orders/7",
			body: `{"orderId":"7","voucherId":"1001","status":"paid","repeated":true}` + "\n",
		},
		"a repeat while SQL is down still has its order": {
			shop:   shop{admit: says(seckill.Admission{Order: 7}, coded(seckill.AlreadyOrdered)), order: row("", down)},
			status: 200, location: "/api/v1/orders/7",
			body: `{"orderId":"7","voucherId":"1001","status":"queued","repeated":true}` + "\n",
		},
		"sold out": {
			shop: shop{admit: says(seckill.Admission{}, coded(seckill.SoldOut))}, status: 409,
			body: tell(seckill.SoldOut, "Sold out", "409", "No unit of this voucher is left. One comes back if an order is cancelled."),
		},
		"ended": {
			shop: shop{admit: says(seckill.Admission{}, coded(seckill.Ended))}, status: 409,
			body: tell(seckill.Ended, "Ended", "409", "The sale is over. An order made in time can still be read."),
		},
		"not started says when, in whole seconds too": {
			shop: shop{admit: says(seckill.Admission{Begin: begin}, coded(seckill.NotStarted))}, status: 409, retry: "91",
			body: strings.Replace(tell(seckill.NotStarted, "Not started", "409", "The sale has not begun. Ask again at beginsAt."),
				`"r-1"`, `"r-1","beginsAt":"2026-06-01T12:01:30.250Z"`, 1),
		},
		"far from started asks to come back within the hour": {
			shop: shop{admit: says(seckill.Admission{Begin: noon.Add(48 * time.Hour)}, coded(seckill.NotStarted))}, status: 409, retry: "3600",
			body: strings.Replace(tell(seckill.NotStarted, "Not started", "409", "The sale has not begun. Ask again at beginsAt."),
				`"r-1"`, `"r-1","beginsAt":"2026-06-03T12:00:00.000Z"`, 1),
		},
		"begun by this clock and not by Redis waits a second": {
			shop: shop{admit: says(seckill.Admission{Begin: noon}, coded(seckill.NotStarted))}, status: 409, retry: "1",
			body: strings.Replace(tell(seckill.NotStarted, "Not started", "409", "The sale has not begun. Ask again at beginsAt."),
				`"r-1"`, `"r-1","beginsAt":"2026-06-01T12:00:00.000Z"`, 1),
		},
		"unavailable": {
			shop: shop{admit: says(seckill.Admission{}, coded(seckill.Unavailable))}, status: 503, retry: "1",
			body: tell(seckill.Unavailable, "Temporarily unavailable", "503", "Something behind this did not answer, so what became of the request is not known. Ask again after Retry-After: a repeat does it once."),
		},
		"a repeat that too few replicas hold is as good as its row": {
			shop:   shop{admit: says(seckill.Admission{Order: 7}, coded(seckill.Unavailable)), order: row(seckill.Created, nil)},
			status: 200, location: "/api/v1/orders/7",
			body: `{"orderId":"7","voucherId":"1001","status":"created","repeated":true}` + "\n",
		},
		"without a row it is not": {
			shop: shop{admit: says(seckill.Admission{Order: 7}, coded(seckill.Unavailable))}, status: 503, retry: "1",
			body: tell(seckill.Unavailable, "Temporarily unavailable", "503", "Something behind this did not answer, so what became of the request is not known. Ask again after Retry-After: a repeat does it once."),
		},
		"overloaded": {
			shop: shop{admit: says(seckill.Admission{}, coded(seckill.Overloaded))}, status: 503, retry: "1",
			body: tell(seckill.Overloaded, "Overloaded", "503", "Nothing was done. Ask again after Retry-After."),
		},
		"a fault of ours tells nothing of its cause": {
			shop: shop{admit: says(seckill.Admission{}, coded(seckill.Internal))}, status: 500,
			body: tell(seckill.Internal, "Internal error", "500", "The fault is on our side and has been recorded. Tell the operator the requestId."),
		},
		"an error without a code is a fault of ours": {
			shop: shop{admit: says(seckill.Admission{}, errors.New("10.0.0.7:6379 secret"))}, status: 500,
			body: tell(seckill.Internal, "Internal error", "500", "The fault is on our side and has been recorded. Tell the operator the requestId."),
		},
		"asked too often": {
			shop: shop{admit: says(seckill.Admission{}, coded(seckill.RateLimited))}, status: 429, retry: "1",
			body: tell(seckill.RateLimited, "Too many requests", "429", "You ask too often. Nothing was done. Ask again after Retry-After."),
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.shop.open(t).do("POST", buyPath, "", as(t, 42, auth.NoRole)...)
			require.Equal(t, c.status, w.Code)
			require.Equal(t, c.body, w.Body.String())
			require.Equal(t, c.location, w.Header().Get("Location"))
			require.Equal(t, c.retry, w.Header().Get("Retry-After"))
			require.Equal(t, "r-1", w.Header().Get("X-Request-Id"))
			require.Equal(t, "no-store", w.Header().Get("Cache-Control"))
			require.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
			if c.status < 300 {
				require.Equal(t, "application/json", w.Header().Get("Content-Type"))
			} else {
				require.Equal(t, "application/problem+json", w.Header().Get("Content-Type"))
			}
		})
	}
}

func TestBuyPassesOnWhoAndWhat(t *testing.T) {
	var got seckill.Order
	s := shop{admit: func(ctx context.Context, o seckill.Order) (seckill.Admission, error) {
		_, bounded := ctx.Deadline()
		require.True(t, bounded, "an admission waits for no more than its time")
		got = o
		return seckill.Admission{Order: o.ID}, nil
	}}
	w := s.open(t).do("POST", "/api/v1/vouchers/9223372036854775807/orders", `{"userId":"7"}`, as(t, largest, auth.Admin)...)
	require.Equal(t, http.StatusAccepted, w.Code)
	require.Equal(t, seckill.Order{ID: largest, User: largest, Voucher: largest}, got)
}

func TestBuyRefusesWrongIDs(t *testing.T) {
	s := shop{admit: func(context.Context, seckill.Order) (seckill.Admission, error) {
		t.Error("asked the sale")
		return seckill.Admission{}, nil
	}}
	r := s.open(t)
	for _, id := range []string{"0", "-1", "+7", "007", "abc", "1.5", "1e3", "0x10", "9223372036854775808", "%207", "7%20", strings.Repeat("9", 500)} {
		w := r.do("POST", "/api/v1/vouchers/"+id+"/orders", "", as(t, 42, auth.NoRole)...)
		requireCode(t, w, 400, seckill.Invalid)
		require.Less(t, w.Body.Len(), 400, "a long id is not echoed whole")
	}
}

func TestBuyNotReady(t *testing.T) {
	unready := says(seckill.Admission{}, coded(seckill.NotReady))
	synced := func(calls *atomic.Int32) func(context.Context, seckill.VoucherID) error {
		return func(context.Context, seckill.VoucherID) error { calls.Add(1); return nil }
	}
	for name, c := range map[string]struct {
		voucher func(seckill.VoucherID) (seckill.Voucher, error)
		ahead   time.Duration // of Redis' clock, by which the node's own is
		status  int
		code    seckill.Code
		syncs   int32
	}{
		"there is no such voucher": {
			voucher: nil, status: 404, code: seckill.VoucherNotFound,
		},
		"the sale is long over and its keys are gone": {
			voucher: func(id seckill.VoucherID) (seckill.Voucher, error) {
				v := onSale(id)
				v.End = noon
				return v, nil
			},
			status: 409, code: seckill.Ended,
		},
		"the sale is over by the clock of this node alone": {
			voucher: func(id seckill.VoucherID) (seckill.Voucher, error) {
				v := onSale(id)
				v.End = noon.Add(time.Millisecond)
				return v, nil
			},
			ahead: 30 * time.Minute, status: 503, code: seckill.NotReady, syncs: 1,
		},
		"the sale has yet to be loaded": {
			voucher: func(id seckill.VoucherID) (seckill.Voucher, error) { return onSale(id), nil },
			status:  503, code: seckill.NotReady, syncs: 1,
		},
		"SQL does not answer": {
			voucher: func(seckill.VoucherID) (seckill.Voucher, error) { return seckill.Voucher{}, down },
			status:  503, code: seckill.Unavailable,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var syncs atomic.Int32
			s := shop{admit: unready, voucher: c.voucher, sync: synced(&syncs)}
			r := s.openAt(t, newClock(noon.Add(c.ahead)))
			requireCode(t, r.do("POST", buyPath, "", as(t, 42, auth.NoRole)...), c.status, c.code)
			r.api.Close()
			require.Equal(t, c.syncs, syncs.Load())
		})
	}
}

func TestBuyStormAsksSQLOnce(t *testing.T) {
	var asked, syncs atomic.Int32
	release := make(chan struct{})
	s := shop{
		admit: says(seckill.Admission{}, coded(seckill.NotReady)),
		voucher: func(id seckill.VoucherID) (seckill.Voucher, error) {
			asked.Add(1)
			return onSale(id), nil
		},
		sync: func(context.Context, seckill.VoucherID) error { syncs.Add(1); <-release; return nil },
	}
	r := s.open(t)
	header := as(t, 42, auth.NoRole)
	var buyers sync.WaitGroup
	for range 200 {
		buyers.Go(func() {
			if w := r.do("POST", buyPath, "", header...); w.Code != http.StatusServiceUnavailable {
				t.Errorf("status %d", w.Code)
			}
		})
	}
	buyers.Wait()
	close(release)
	r.api.Close()
	require.Equal(t, int32(1), asked.Load())
	require.Equal(t, int32(1), syncs.Load())
}

// H6: the user of an order is the token's, whoever else buys at the same moment.
func TestBuyKeepsUsersApart(t *testing.T) {
	const users, each = 100, 20
	var last atomic.Int64
	var owners sync.Map // order id -> user
	s := shop{
		admit: func(_ context.Context, o seckill.Order) (seckill.Admission, error) {
			o.ID = seckill.OrderID(last.Add(1))
			owners.Store(o.ID.String(), o.User)
			return seckill.Admission{Order: o.ID}, nil
		},
	}
	r := s.open(t)
	var buyers sync.WaitGroup
	for u := seckill.UserID(1); u <= users; u++ {
		header := as(t, u, auth.NoRole)
		buyers.Go(func() {
			for range each {
				w := r.do("POST", buyPath, "", header...)
				id := strings.TrimPrefix(w.Header().Get("Location"), "/api/v1/orders/")
				owner, ok := owners.Load(id)
				if w.Code != http.StatusAccepted || !ok || owner != u || !strings.Contains(w.Body.String(), fmt.Sprintf(`"orderId":%q`, id)) {
					t.Errorf("user %d got %d %s, an order of %v", u, w.Code, w.Body, owner)
				}
			}
		})
	}
	buyers.Wait()
	require.Equal(t, int64(users*each), last.Load())
}

func BenchmarkBuy(b *testing.B) {
	for name, err := range map[string]error{"accepted": nil, "sold out": coded(seckill.SoldOut)} {
		b.Run(name, func(b *testing.B) {
			s := shop{admit: says(seckill.Admission{}, err)}
			r := s.open(b)
			header := as(b, 42, auth.NoRole)
			b.ReportAllocs()
			for b.Loop() {
				r.do("POST", buyPath, "", header...)
			}
		})
	}
}
