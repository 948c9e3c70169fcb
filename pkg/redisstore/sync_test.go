package redisstore

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

func TestSyncSteps(t *testing.T) {
	s, c := open(t)
	v := sell(t, s, voucher, 5)
	admit(t, s, order(1, 11))
	admit(t, s, order(2, 12))
	require.NoError(t, s.Load(t.Context(), voucher, "mine"))
	_, err := s.Admit(t.Context(), order(3, 13))
	require.ErrorIs(t, err, seckill.NotReady)

	require.NoError(t, s.Fill(t.Context(), voucher, "mine", []seckill.Holder{{User: 2, Order: 22}, {User: 4, Order: 14}}))
	require.NoError(t, s.Forget(t.Context(), voucher, "mine", []seckill.Ticket{{Buyer: "1", Order: "11"}, {Buyer: "2", Order: "12"}, {Buyer: "9"}}))
	require.Equal(t, map[string]string{"2": "22", "4": "14"}, c.HGetAll(t.Context(), "seckill:ticket:1001").Val())
	for range 2 { // a lost reply may be asked for again
		left, err := s.OpenSale(t.Context(), v, "mine")
		require.NoError(t, err)
		require.EqualValues(t, 3, left)
	}
	requireBooks(t, s, 3, 2)
	admit(t, s, order(3, 13))

	before := redistest.Dump(t, c)
	require.ErrorIs(t, s.Fill(t.Context(), voucher, "mine", []seckill.Holder{{User: 7, Order: 17}}), seckill.Outdated, "the sale is open")
	require.ErrorIs(t, s.Forget(t.Context(), voucher, "mine", []seckill.Ticket{{Buyer: "3", Order: "13"}}), seckill.Outdated)
	require.Equal(t, before, redistest.Dump(t, c))
}

func TestOpenSaleRefuses(t *testing.T) {
	s, c := open(t)
	v := sell(t, s, voucher, 5)
	v.Version = 7
	require.NoError(t, s.Load(t.Context(), voucher, "mine"))
	_, err := s.OpenSale(t.Context(), v, "mine")
	require.NoError(t, err)

	refused := func(want error, token string, version int64) {
		t.Helper()
		v.Version = version
		before := redistest.Dump(t, c)
		_, err := s.OpenSale(t.Context(), v, token)
		require.ErrorIs(t, err, want)
		require.Equal(t, before, redistest.Dump(t, c))
	}
	require.NoError(t, s.Load(t.Context(), voucher, "a"))
	require.NoError(t, s.Load(t.Context(), voucher, "b"))
	refused(seckill.Outdated, "a", 7)
	refused(seckill.Outdated, "b", 6)
	require.NoError(t, c.SAdd(t.Context(), "seckill:order:1001", "9").Err())
	refused(seckill.NotReady, "b", 7)
	require.NoError(t, s.Shut(t.Context(), voucher))
	refused(seckill.Outdated, "b", 7)
}

func TestLoadDropsForeignTypes(t *testing.T) {
	s, c := open(t)
	v := sell(t, s, voucher, 5)
	for _, key := range []string{"seckill:voucher:1001", "seckill:stock:1001", "seckill:order:1001", "seckill:ticket:1001"} {
		require.NoError(t, c.Del(t.Context(), key).Err())
		require.NoError(t, c.LPush(t.Context(), key, "x").Err())
	}
	b, err := s.Books(t.Context(), voucher)
	require.NoError(t, err)
	require.False(t, b.Balanced())
	require.NoError(t, s.Load(t.Context(), voucher, "mine"))
	_, err = s.OpenSale(t.Context(), v, "mine")
	require.NoError(t, err)
	requireBooks(t, s, 5, 0)
}

func TestBuyers(t *testing.T) {
	s, c := open(t)
	const n = 3000
	sell(t, s, voucher, n)
	want := map[string]string{"99999": "", "foreign": ""}
	for i := range n {
		admit(t, s, order(int64(i)+1, int64(i)+1))
		want[fmt.Sprint(i+1)] = fmt.Sprint(i + 1)
	}
	require.NoError(t, c.SAdd(t.Context(), "seckill:order:1001", "99999", "foreign").Err())
	require.NoError(t, c.HSet(t.Context(), "seckill:ticket:1001", "odd", "one").Err())
	want["odd"] = "one"
	got := map[string]string{}
	require.NoError(t, s.Buyers(t.Context(), voucher, func(ts []seckill.Ticket) error {
		for _, ticket := range ts {
			got[ticket.Buyer] = ticket.Order
		}
		return nil
	}))
	require.Equal(t, want, got)
	require.ErrorIs(t, s.Buyers(t.Context(), voucher, func([]seckill.Ticket) error { return seckill.Outdated }), seckill.Outdated)
	waiting, err := s.Waiting(t.Context(), voucher)
	require.NoError(t, err)
	require.Len(t, waiting, n)
	waiting, err = s.Waiting(t.Context(), 7)
	require.NoError(t, err)
	require.Empty(t, waiting)
	tickets, err := s.TicketsOf(t.Context(), voucher, []seckill.UserID{7, 99999, 88888})
	require.NoError(t, err)
	require.Equal(t, []seckill.Ticket{{Buyer: "7", Order: "7"}, {Buyer: "99999", Odd: true}, {Buyer: "88888"}}, tickets)
}

func TestLeft(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 5)
	require.NoError(t, c.LPush(t.Context(), "seckill:stock:7", "x").Err())
	require.NoError(t, c.Set(t.Context(), "seckill:stock:8", "many", 0).Err())
	left, err := s.Left(t.Context(), []seckill.VoucherID{voucher, 7, 8, 9})
	require.NoError(t, err)
	require.Equal(t, map[seckill.VoucherID]int64{voucher: 5}, left)
}
