package httpapi_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

// listed makes SQL hold these vouchers, in pages.
func listed(vs ...seckill.Voucher) func(seckill.VoucherID, int) ([]seckill.Voucher, error) {
	return func(after seckill.VoucherID, limit int) ([]seckill.Voucher, error) {
		vs := slices.DeleteFunc(slices.Clone(vs), func(v seckill.Voucher) bool { return v.ID <= after })
		return vs[:min(limit, len(vs))], nil
	}
}

// holding makes a user hold one order in Redis.
func holding(u seckill.UserID, v seckill.VoucherID, id seckill.OrderID) func(seckill.UserID, []seckill.VoucherID) (map[seckill.VoucherID]seckill.OrderID, error) {
	return func(asked seckill.UserID, vs []seckill.VoucherID) (map[seckill.VoucherID]seckill.OrderID, error) {
		if asked != u || !slices.Contains(vs, v) {
			return nil, nil
		}
		return map[seckill.VoucherID]seckill.OrderID{v: id}, nil
	}
}

// stored makes SQL hold these orders.
func stored(rows ...seckill.Order) func(seckill.OrderID) (seckill.Order, error) {
	return func(id seckill.OrderID) (seckill.Order, error) {
		for _, o := range rows {
			if o.ID == id {
				return o, nil
			}
		}
		return seckill.Order{}, &seckill.Error{Op: "sqlstore.Order", Code: seckill.OrderNotFound}
	}
}

func TestGetOrder(t *testing.T) {
	const path = "/api/v1/orders/9223372036854775807"
	created := seckill.Order{
		ID: largest, User: 42, Voucher: 1001, Status: seckill.Created,
		CreatedAt: noon.Add(5 * time.Millisecond), ExpiresAt: noon.Add(15 * time.Minute),
	}
	const createdBody = `{"orderId":"9223372036854775807","voucherId":"1001","userId":"42","status":"created",` +
		`"createdAt":"2026-06-01T12:00:00.005Z","expiresAt":"2026-06-01T12:15:00.000Z"}` + "\n"
	const queuedBody = `{"orderId":"9223372036854775807","voucherId":"1001","userId":"42","status":"queued"}` + "\n"
	noTickets := func(seckill.UserID, []seckill.VoucherID) (map[seckill.VoucherID]seckill.OrderID, error) {
		return nil, down
	}
	noRows := func(seckill.OrderID) (seckill.Order, error) { return seckill.Order{}, down }
	sale := listed(onSale(1001))
	long := onSale(1001)
	long.End = noon.Add(-30 * 24 * time.Hour)

	for name, c := range map[string]struct {
		shop shop
		user seckill.UserID
		role auth.Role
		body string
		code seckill.Code
	}{
		"a ticket alone is queued":               {shop{vouchers: sale, tickets: holding(42, 1001, largest)}, 42, "", queuedBody, ""},
		"a row wins over its ticket":             {shop{vouchers: sale, tickets: holding(42, 1001, largest), order: stored(created)}, 42, "", createdBody, ""},
		"a row alone":                            {shop{vouchers: sale, order: stored(created)}, 42, "", createdBody, ""},
		"a row of a sale that ended long ago":    {shop{vouchers: listed(long), order: stored(created)}, 42, "", createdBody, ""},
		"a row, while Redis is down":             {shop{vouchers: sale, tickets: noTickets, order: stored(created)}, 42, "", createdBody, ""},
		"an admin sees the rows of others":       {shop{vouchers: sale, order: stored(created)}, 7, auth.Admin, createdBody, ""},
		"a row of another user under my id":      {shop{vouchers: sale, tickets: holding(42, 1001, largest), order: stored(seckill.Order{ID: largest, User: 7})}, 42, "", queuedBody, ""},
		"a rejected one tells why":               {shop{order: stored(seckill.Order{ID: largest, User: 42, Voucher: 1001, Status: seckill.Rejected, Reason: seckill.ReasonShort, CreatedAt: noon})}, 42, "", `{"orderId":"9223372036854775807","voucherId":"1001","userId":"42","status":"rejected","reason":"short","createdAt":"2026-06-01T12:00:00.000Z"}` + "\n", ""},
		"another user's row is not found":        {shop{vouchers: sale, order: stored(created)}, 7, "", "", seckill.OrderNotFound},
		"a service is no owner":                  {shop{vouchers: sale, order: stored(created)}, 7, auth.Service, "", seckill.OrderNotFound},
		"another user's ticket is not found":     {shop{vouchers: sale, tickets: holding(42, 1001, largest)}, 7, "", "", seckill.OrderNotFound},
		"a ticket of another order of mine":      {shop{vouchers: sale, tickets: holding(42, 1001, 5)}, 42, "", "", seckill.OrderNotFound},
		"nothing anywhere":                       {shop{}, 42, "", "", seckill.OrderNotFound},
		"no ticket, as tickets were lost":        {shop{vouchers: sale, torn: true, life: lifeFake{queued: waitsFor(42)}}, 42, "", queuedBody, ""},
		"another's, as tickets were lost":        {shop{vouchers: sale, torn: true, life: lifeFake{queued: waitsFor(7)}}, 42, "", "", seckill.OrderNotFound},
		"nothing, though tickets were lost":      {shop{vouchers: sale, torn: true}, 42, "", "", seckill.OrderNotFound},
		"no look at what waits, if none is lost": {shop{vouchers: sale, life: lifeFake{queued: waitsFor(42)}}, 42, "", "", seckill.OrderNotFound},
		"no row, while Redis is down":            {shop{vouchers: sale, tickets: noTickets}, 42, "", "", seckill.Unavailable},
		"a ticket, while SQL is down: not known": {shop{vouchers: sale, tickets: holding(42, 1001, largest), order: noRows}, 42, "", "", seckill.Unavailable},
		"the list of sales cannot be read":       {shop{vouchers: func(seckill.VoucherID, int) ([]seckill.Voucher, error) { return nil, down }}, 42, "", "", seckill.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.shop.open(t).do("GET", path, "", as(t, c.user, c.role)...)
			switch c.code {
			case "":
				require.Equal(t, http.StatusOK, w.Code, w.Body)
				require.Equal(t, "application/json", w.Header().Get("Content-Type"))
				require.Equal(t, c.body, w.Body.String())
			case seckill.OrderNotFound:
				requireCode(t, w, http.StatusNotFound, c.code)
			default:
				requireCode(t, w, http.StatusServiceUnavailable, c.code)
			}
		})
	}
}

func waitsFor(u seckill.UserID) func(seckill.OrderID) (seckill.Order, error) {
	return func(id seckill.OrderID) (seckill.Order, error) {
		return seckill.Order{ID: id, User: u, Voucher: 1001, Status: seckill.Queued}, nil
	}
}

// The worker stores an order between the two reads: its ticket may go, its row is there.
func TestGetOrderReadsTheTicketFirst(t *testing.T) {
	var calls []string
	s := shop{
		vouchers: listed(onSale(1001)),
		tickets: func(seckill.UserID, []seckill.VoucherID) (map[seckill.VoucherID]seckill.OrderID, error) {
			calls = append(calls, "ticket")
			return nil, nil
		},
		order: func(id seckill.OrderID) (seckill.Order, error) {
			calls = append(calls, "row")
			return seckill.Order{ID: id, User: 42, Voucher: 1001, Status: seckill.Created}, nil
		},
	}
	require.Equal(t, http.StatusOK, s.open(t).do("GET", "/api/v1/orders/7", "", as(t, 42, auth.NoRole)...).Code)
	require.Equal(t, []string{"ticket", "row"}, calls)
}

// A sale that opened after the list of sales was read hides no order.
func TestGetOrderFindsTheYoungestSale(t *testing.T) {
	s := shop{vouchers: listed(onSale(1001)), tickets: holding(42, 1002, 7)}
	r := s.open(t)
	header := as(t, 42, auth.NoRole)
	requireCode(t, r.do("GET", "/api/v1/orders/7", "", header...), 404, seckill.OrderNotFound)

	s.vouchers = listed(onSale(1001), onSale(1002)) // the clock stands still: the old list is remembered
	w := r.do("GET", "/api/v1/orders/7", "", header...)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"voucherId":"1002"`)
}

func TestGetOrderLooksThroughAllSales(t *testing.T) {
	var many []seckill.Voucher
	for id := seckill.VoucherID(1); id <= 1100; id++ {
		many = append(many, onSale(id))
	}
	s := shop{vouchers: listed(many...), tickets: holding(42, 1100, 7)}
	require.Equal(t, http.StatusOK, s.open(t).do("GET", "/api/v1/orders/7", "", as(t, 42, auth.NoRole)...).Code)
}

func TestGetOrderRefusesWrongIDs(t *testing.T) {
	s := shop{}
	r := s.open(t)
	for _, id := range []string{"0", "-1", "+7", "007", "abc", "9223372036854775808"} {
		requireCode(t, r.do("GET", "/api/v1/orders/"+id, "", as(t, 42, auth.NoRole)...), 400, seckill.Invalid)
	}
}
