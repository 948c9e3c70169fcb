package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

// listing is one page of orders as "id status", with its cursor.
func listing(t *testing.T, r *rig, query string) (orders []string, next string) {
	t.Helper()
	w := r.do("GET", "/api/v1/orders"+query, "", as(t, 42, auth.NoRole)...)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	var page struct {
		Orders     []struct{ OrderID, VoucherID, UserID, Status string }
		NextCursor string
	}
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &page))
	require.Contains(t, w.Body.String(), `"orders":[`)
	for _, o := range page.Orders {
		require.Equal(t, "42", o.UserID)
		orders = append(orders, o.OrderID+" "+o.Status)
	}
	return orders, page.NextCursor
}

func row(id seckill.OrderID, u seckill.UserID, v seckill.VoucherID, status seckill.Status) seckill.Order {
	return seckill.Order{ID: id, User: u, Voucher: v, Status: status, CreatedAt: noon}
}

// tickets makes user 42 hold these orders in Redis.
func tickets(held map[seckill.VoucherID]seckill.OrderID) func(seckill.UserID, []seckill.VoucherID) (map[seckill.VoucherID]seckill.OrderID, error) {
	return func(u seckill.UserID, vs []seckill.VoucherID) (map[seckill.VoucherID]seckill.OrderID, error) {
		found := map[seckill.VoucherID]seckill.OrderID{}
		for _, v := range vs {
			if id, ok := held[v]; ok && u == 42 {
				found[v] = id
			}
		}
		return found, nil
	}
}

func TestListOrders(t *testing.T) {
	s := shop{
		vouchers: listed(onSale(1001), onSale(1002), onSale(1003)),
		tickets:  tickets(map[seckill.VoucherID]seckill.OrderID{1001: largest, 1002: 8, 1003: 3}),
		rows: []seckill.Order{
			row(9, 43, 1001, seckill.Created), row(8, 42, 1002, seckill.Created), row(6, 42, 1001, seckill.Cancelled),
			row(5, 42, 1001, seckill.Rejected), row(2, 42, 1000, seckill.Paid),
		},
	}
	r := s.open(t)
	all, next := listing(t, r, "")
	require.Equal(t, []string{"9223372036854775807 queued", "8 created", "6 cancelled", "5 rejected", "3 queued", "2 paid"}, all)
	require.Empty(t, next)

	first, next := listing(t, r, "?limit=2")
	require.Equal(t, []string{"9223372036854775807 queued", "8 created", "6 cancelled", "3 queued"}, first, "what waits is on the first page")
	require.Equal(t, "6", next)
	second, next := listing(t, r, "?limit=2&cursor="+next)
	require.Equal(t, []string{"5 rejected", "2 paid"}, second)
	require.Empty(t, next)
	none, next := listing(t, r, "?cursor=2")
	require.Empty(t, none)
	require.Empty(t, next)
}

// An order is stored between the looks: it is told once, as a row.
func TestListOrdersWhileOneIsStored(t *testing.T) {
	s := shop{vouchers: listed(onSale(1001)), tickets: holding(42, 1001, 7)}
	s.looked = func() { s.rows = []seckill.Order{row(7, 42, 1001, seckill.Created)} }
	all, _ := listing(t, s.open(t), "")
	require.Equal(t, []string{"7 created"}, all)
}

func TestListOrdersRefuses(t *testing.T) {
	s := shop{vouchers: listed(onSale(1001)), rows: []seckill.Order{row(8, 42, 1001, seckill.Paid)}}
	r := s.open(t)
	requireCode(t, r.do("GET", "/api/v1/orders", ""), 401, seckill.Unauthenticated)
	for _, query := range []string{"cursor=0", "cursor=x", "cursor=07", "limit=0", "limit=101", "limit=x", "limit=9223372036854775808"} {
		w := r.do("GET", "/api/v1/orders?"+query, "", as(t, 42, auth.NoRole)...)
		requireCode(t, w, 400, seckill.Invalid)
		requirePlain(t, w.Body.String(), query)
	}
	s.tickets = func(seckill.UserID, []seckill.VoucherID) (map[seckill.VoucherID]seckill.OrderID, error) {
		return nil, down
	}
	requireCode(t, r.do("GET", "/api/v1/orders", "", as(t, 42, auth.NoRole)...), 503, seckill.Unavailable)
	all, _ := listing(t, r, "?cursor=9")
	require.Equal(t, []string{"8 paid"}, all, "a later page needs no Redis")
}

func TestGetOrderOfVoucher(t *testing.T) {
	noTickets := func(seckill.UserID, []seckill.VoucherID) (map[seckill.VoucherID]seckill.OrderID, error) {
		return nil, down
	}
	holds := tickets(map[seckill.VoucherID]seckill.OrderID{1001: 7})
	over := onSale(1001)
	over.End = noon.Add(-8 * 24 * time.Hour)
	for name, c := range map[string]struct {
		shop shop
		want string // the status of order 7, or a code
	}{
		"a ticket alone is queued":              {shop{tickets: holds}, "queued"},
		"a live row":                            {shop{rows: []seckill.Order{row(7, 42, 1001, seckill.Paid)}}, "paid"},
		"a live row, while Redis is down":       {shop{tickets: noTickets, rows: []seckill.Order{row(7, 42, 1001, seckill.Created)}}, "created"},
		"a row that was stored between":         {shop{tickets: holds, order: stored(row(7, 42, 1001, seckill.Created))}, "created"},
		"a dead row whose ticket is still held": {shop{tickets: holds, order: stored(row(7, 42, 1001, seckill.Cancelled))}, "ORDER_NOT_FOUND"},
		"a live row beside an older ticket":     {shop{tickets: tickets(map[seckill.VoucherID]seckill.OrderID{1001: 5}), rows: []seckill.Order{row(7, 42, 1001, seckill.Created)}}, "created"},
		"a row of another user":                 {shop{rows: []seckill.Order{row(7, 43, 1001, seckill.Created)}}, "ORDER_NOT_FOUND"},
		"a row of another voucher":              {shop{rows: []seckill.Order{row(7, 42, 1002, seckill.Created)}}, "ORDER_NOT_FOUND"},
		"nothing":                               {shop{}, "ORDER_NOT_FOUND"},
		"no row, while Redis is down":           {shop{tickets: noTickets}, "UNAVAILABLE"},
		"no ticket, as tickets were lost":       {shop{torn: true, voucher: found}, "NOT_READY"},
		"keys that went after a sale":           {shop{torn: true, voucher: func(seckill.VoucherID) (seckill.Voucher, error) { return over, nil }}, "ORDER_NOT_FOUND"},
		"no such voucher":                       {shop{torn: true}, "ORDER_NOT_FOUND"},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.shop.open(t).do("GET", "/api/v1/vouchers/1001/order", "", as(t, 42, auth.NoRole)...)
			if strings.ToUpper(c.want) == c.want {
				require.Contains(t, w.Body.String(), `"code":"`+c.want+`"`)
				return
			}
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			require.Contains(t, w.Body.String(), fmt.Sprintf(`"orderId":"7","voucherId":"1001","userId":"42","status":%q`, c.want))
		})
	}
	s := shop{}
	requireCode(t, s.open(t).do("GET", "/api/v1/vouchers/01/order", "", as(t, 42, auth.NoRole)...), 400, seckill.Invalid)
}
