package steps

import (
	"net/http"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

// deal is what a scene is about: a voucher, the orders of it that were accepted, and what has
// to become of each.
type deal struct {
	voucher seckill.VoucherID
	total   int64
	orders  []fate
}

type fate struct {
	seckill.Order // with the status and the reason that it has to end with
	buried        bool
}

func (d *deal) expect(o seckill.Order, status seckill.Status, why seckill.Reason) {
	o.Status, o.Reason = status, why
	d.orders = append(d.orders, fate{Order: o, buried: why == seckill.ReasonWornOut})
}

// law holds the books of a deal to the contract, at rest.
func (s *stage) law(d *deal) {
	s.t.Helper()
	holders := map[string]string{} // user -> order
	for _, f := range d.orders {
		require.EqualValues(s.t, 1, s.count("SELECT COUNT(*) FROM voucher_order WHERE id = ? AND user_id = ? AND voucher_id = ? AND status = ? AND reason = ?",
			f.ID, f.User, d.voucher, f.Status, f.Reason), "order %s is not %s %s", f.ID, f.Status, f.Reason)
		if f.Status.Live() {
			holders[f.User.String()] = f.ID.String()
		}
		require.Equal(s.t, f.buried, s.buried(f.Order) == 1, "buried once, or never")
	}
	live := int64(len(holders))
	require.EqualValues(s.t, len(d.orders), s.count("SELECT COUNT(*) FROM voucher_order WHERE voucher_id = ?", d.voucher), "no order from nowhere")
	require.Equal(s.t, d.total-live, s.count("SELECT stock FROM seckill_voucher WHERE id = ?", d.voucher), "stock in SQL")
	ctx, v := s.t.Context(), d.voucher.String()
	require.Equal(s.t, number64(d.total-live), s.rdb.Get(ctx, "seckill:stock:"+v).Val(), "stock in Redis")
	require.Equal(s.t, live, s.rdb.SCard(ctx, "seckill:order:"+v).Val(), "buyers")
	require.Equal(s.t, holders, s.rdb.HGetAll(ctx, "seckill:ticket:"+v).Val(), "tickets")
}

// buried counts the entries of an order in the dead stream.
func (s *stage) buried(o seckill.Order) (n int) {
	for _, m := range s.rdb.XRange(s.t.Context(), "seckill:dead", "-", "+").Val() {
		if m.Values["id"] == o.ID.String() {
			n++
		}
	}
	return n
}

// view holds what the api tells the buyers to what has become of their orders.
func (s *stage) view(d *deal) {
	s.t.Helper()
	for _, f := range d.orders {
		a, err := s.ask(http.MethodGet, "/orders/"+f.ID.String(), f.User, "", "")
		require.NoError(s.t, err)
		require.Equal(s.t, http.StatusOK, a.HTTP, a.Body)
		require.EqualValues(s.t, f.Status, a.Status, a.Body)
		if f.Status == seckill.Rejected {
			require.EqualValues(s.t, f.Reason, a.Reason, a.Body)
		}
		s.holds(f)
	}
}

// holds checks which order a buyer is told to hold.
func (s *stage) holds(f fate) {
	s.t.Helper()
	a, err := s.ask(http.MethodGet, "/vouchers/"+f.Voucher.String()+"/order", f.User, "", "")
	require.NoError(s.t, err)
	if f.Status.Live() {
		require.Equal(s.t, f.ID.String(), a.OrderID, a.Body)
		return
	}
	require.False(s.t, strings.Contains(a.Body, f.ID.String()), a.Body)
}
