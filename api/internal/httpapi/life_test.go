package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

// lifeFake is what a shop does with orders after they were stored.
type lifeFake struct {
	cancel func(id seckill.OrderID) (seckill.Order, error)
	pay    func(id seckill.OrderID, p seckill.Payment) (seckill.Order, error)
	queued func(id seckill.OrderID) (seckill.Order, error)
	back   error // of GiveBack
	calls  []string
}

func (s *shop) Cancel(_ context.Context, id seckill.OrderID) (seckill.Order, error) {
	s.life.calls = append(s.life.calls, fmt.Sprint("cancel ", id))
	return s.life.cancel(id)
}

func (s *shop) Pay(_ context.Context, id seckill.OrderID, p seckill.Payment) (seckill.Order, error) {
	s.life.calls = append(s.life.calls, fmt.Sprint("pay ", id, " ", p.Reference, " ", p.Amount))
	return s.life.pay(id, p)
}

func (s *shop) QueuedOrder(_ context.Context, id seckill.OrderID) (seckill.Order, error) {
	if s.life.queued == nil {
		return seckill.Order{}, seckill.OrderNotFound
	}
	return s.life.queued(id)
}

func (s *shop) GiveBack(_ context.Context, o seckill.Order) error {
	s.life.calls = append(s.life.calls, fmt.Sprint("give back ", o.ID))
	return s.life.back
}

func (s *shop) Announce(_ context.Context, ids []seckill.OrderID) error {
	s.life.calls = append(s.life.calls, fmt.Sprint("announce ", ids))
	return nil
}

// mine is user 42's order 7, in a status.
func mine(status seckill.Status) seckill.Order {
	return seckill.Order{ID: 7, User: 42, Voucher: 1001, Status: status, CreatedAt: noon}
}

func waits(id seckill.OrderID) (seckill.Order, error) {
	if id != 7 {
		return seckill.Order{}, seckill.OrderNotFound
	}
	return seckill.Order{ID: 7, User: 42, Voucher: 1001, Status: seckill.Queued}, nil
}

func TestCancelOrder(t *testing.T) {
	const path = "/api/v1/orders/7/cancel"
	dead := mine(seckill.Cancelled)
	dead.ReleaseDue = true
	cancels := func(o seckill.Order) func(seckill.OrderID) (seckill.Order, error) {
		return func(seckill.OrderID) (seckill.Order, error) { return o, nil }
	}
	paid := func(seckill.OrderID) (seckill.Order, error) {
		return seckill.Order{}, &seckill.Error{Op: "sqlstore.Cancel", Code: seckill.CodePaid}
	}
	row := stored(mine(seckill.Created))
	sale := listed(onSale(1001))
	done := []string{"cancel 7", "give back 7", "announce [7]"}
	for name, c := range map[string]struct {
		shop  shop
		user  seckill.UserID
		role  auth.Role
		code  seckill.Code
		calls []string
	}{
		"its owner cancels it":                {shop{order: row, life: lifeFake{cancel: cancels(dead)}}, 42, "", "", done},
		"an admin cancels it":                 {shop{order: row, life: lifeFake{cancel: cancels(dead)}}, 7, auth.Admin, "", done},
		"a repeat, which is swept":            {shop{order: row, life: lifeFake{cancel: cancels(mine(seckill.Cancelled))}}, 42, "", "", []string{"cancel 7", "announce [7]"}},
		"one that was rejected holds nothing": {shop{order: row, life: lifeFake{cancel: cancels(mine(seckill.Rejected))}}, 42, "", "", []string{"cancel 7", "announce [7]"}},
		"Redis does not hear of it":           {shop{order: row, life: lifeFake{cancel: cancels(dead), back: down}}, 42, "", "", done},
		"it is paid":                          {shop{order: row, life: lifeFake{cancel: paid}}, 42, "", seckill.CodePaid, []string{"cancel 7"}},
		"it waits to be stored":               {shop{vouchers: sale, tickets: holding(42, 1001, 7)}, 42, "", seckill.CodeQueued, nil},
		"an admin, while it waits":            {shop{vouchers: sale, life: lifeFake{queued: waits}}, 9, auth.Admin, seckill.CodeQueued, nil},
		"another user":                        {shop{order: row}, 9, "", seckill.OrderNotFound, nil},
		"a service is no owner":               {shop{order: row}, 9, auth.Service, seckill.OrderNotFound, nil},
		"there is none":                       {shop{}, 9, auth.Admin, seckill.OrderNotFound, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.shop.open(t).do("POST", path, "", as(t, c.user, c.role)...)
			require.Equal(t, c.calls, c.shop.life.calls)
			switch c.code {
			case "":
				require.Equal(t, http.StatusOK, w.Code, w.Body)
				require.Contains(t, w.Body.String(), `"orderId":"7","voucherId":"1001","userId":"42","status":"`)
			case seckill.OrderNotFound:
				requireCode(t, w, http.StatusNotFound, c.code)
			default:
				requireCode(t, w, http.StatusConflict, c.code)
				require.Equal(t, c.code == seckill.CodeQueued, w.Header().Get("Retry-After") != "")
			}
		})
	}
	s := shop{}
	requireCode(t, s.open(t).do("POST", path, ""), http.StatusUnauthorized, seckill.Unauthenticated)
	requireCode(t, s.open(t).do("POST", "/api/v1/orders/07/cancel", "", as(t, 42, "")...), http.StatusBadRequest, seckill.Invalid)
}

// Redis hears of no order while it is out. The log tells so once a second.
func TestCancelWhileRedisIsOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dead := mine(seckill.Cancelled)
		dead.ReleaseDue = true
		s := shop{order: stored(mine(seckill.Created)), life: lifeFake{cancel: stored(dead), back: down}}
		r := s.open(t)
		for range 15 {
			require.Equal(t, http.StatusOK, r.do("POST", "/api/v1/orders/7/cancel", "", as(t, 42, "")...).Code)
			<-time.After(100 * time.Millisecond)
		}
		require.Equal(t, 2, strings.Count(r.log.String(), "Redis did not hear"))
		require.Contains(t, r.log.String(), "leftOut=9")
	})
}

func TestPayOrder(t *testing.T) {
	const path, body = "/api/v1/orders/7/pay", `{"reference":"r 1","amount":1990}`
	answers := func(codes ...seckill.Code) func(seckill.OrderID, seckill.Payment) (seckill.Order, error) {
		return func(seckill.OrderID, seckill.Payment) (seckill.Order, error) {
			code := codes[0]
			codes = codes[1:]
			if code == "" {
				return mine(seckill.Paid), nil
			}
			return seckill.Order{}, &seckill.Error{Op: "sqlstore.Pay", Code: code}
		}
	}
	const once = "pay 7 r 1 1990"
	tooMany := func(seckill.OrderID) (seckill.Order, error) { return seckill.Order{}, down }
	for name, c := range map[string]struct {
		life  lifeFake
		code  seckill.Code
		calls []string
	}{
		"paid":                        {lifeFake{pay: answers("")}, "", []string{once, "announce [7]"}},
		"cancelled before":            {lifeFake{pay: answers(seckill.CodeCancelled)}, seckill.CodeCancelled, []string{once}},
		"rejected before":             {lifeFake{pay: answers(seckill.CodeRejected)}, seckill.CodeRejected, []string{once}},
		"paid by another":             {lifeFake{pay: answers(seckill.AlreadyPaid)}, seckill.AlreadyPaid, []string{once}},
		"another amount":              {lifeFake{pay: answers(seckill.AmountMismatch)}, seckill.AmountMismatch, []string{once}},
		"another order's reference":   {lifeFake{pay: answers(seckill.Conflict)}, seckill.Conflict, []string{once}},
		"it waits to be stored":       {lifeFake{pay: answers(seckill.OrderNotFound), queued: waits}, seckill.CodeQueued, []string{once}},
		"stored between the looks":    {lifeFake{pay: answers(seckill.OrderNotFound, "")}, "", []string{once, once, "announce [7]"}},
		"there is none":               {lifeFake{pay: answers(seckill.OrderNotFound, seckill.OrderNotFound)}, seckill.OrderNotFound, []string{once, once}},
		"too many wait to be certain": {lifeFake{pay: answers(seckill.OrderNotFound), queued: tooMany}, seckill.Unavailable, []string{once}},
	} {
		t.Run(name, func(t *testing.T) {
			s := shop{life: c.life}
			w := s.open(t).do("POST", path, body, append(as(t, 9, auth.Service), "Content-Type", "application/json")...)
			require.Equal(t, c.calls, s.life.calls)
			switch c.code {
			case "":
				require.Equal(t, http.StatusOK, w.Code, w.Body)
				require.Contains(t, w.Body.String(), `"status":"paid"`)
			case seckill.OrderNotFound:
				requireCode(t, w, http.StatusNotFound, c.code)
			case seckill.Unavailable:
				requireCode(t, w, http.StatusServiceUnavailable, c.code)
			default:
				requireCode(t, w, http.StatusConflict, c.code)
				require.Equal(t, c.code == seckill.CodeQueued, w.Header().Get("Retry-After") != "")
			}
		})
	}
}

func TestPayOrderRefuses(t *testing.T) {
	const path, body = "/api/v1/orders/7/pay", `{"reference":"r1","amount":1990}`
	s := shop{}
	r := s.open(t)
	send := func(role auth.Role, body string) []string {
		return append(as(t, 42, role), "Content-Type", "application/json")
	}
	for _, role := range []auth.Role{auth.NoRole, auth.Admin} {
		requireCode(t, r.do("POST", path, body, send(role, body)...), http.StatusForbidden, seckill.Forbidden)
	}
	for name, body := range map[string]string{
		"no reference":         `{"amount":1}`,
		"an empty reference":   `{"reference":"","amount":1}`,
		"only blanks":          `{"reference":"  ","amount":1}`,
		"a long reference":     `{"reference":"` + strings.Repeat("x", 129) + `","amount":1}`,
		"a control character":  `{"reference":"a\u0007b","amount":1}`,
		"no amount":            `{"reference":"r1"}`,
		"a negative amount":    `{"reference":"r1","amount":-1}`,
		"a fraction":           `{"reference":"r1","amount":1.5}`,
		"an amount as text":    `{"reference":"r1","amount":"1"}`,
		"an amount past int64": `{"reference":"r1","amount":9223372036854775808}`,
		"a field too many":     `{"reference":"r1","amount":1,"note":"x"}`,
		"no object":            `[]`,
	} {
		t.Run(name, func(t *testing.T) {
			requireCode(t, r.do("POST", path, body, send(auth.Service, body)...), http.StatusBadRequest, seckill.Invalid)
		})
	}
	require.Empty(t, s.life.calls)
}

func TestGetOrderOfSomeoneWhoWaits(t *testing.T) {
	s := shop{life: lifeFake{queued: waits}}
	r := s.open(t)
	w := r.do("GET", "/api/v1/orders/7", "", as(t, 9, auth.Admin)...)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.JSONEq(t, `{"orderId":"7","voucherId":"1001","userId":"42","status":"queued"}`, w.Body.String()[:strings.Index(w.Body.String(), "\n")])
	requireCode(t, r.do("GET", "/api/v1/orders/8", "", as(t, 9, auth.Admin)...), http.StatusNotFound, seckill.OrderNotFound)
	requireCode(t, r.do("GET", "/api/v1/orders/7", "", as(t, 9, auth.NoRole)...), http.StatusNotFound, seckill.OrderNotFound)
}
