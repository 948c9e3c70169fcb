package books

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

// dying is what GiveBack sees of Redis and SQL; dies lets a live row die before it is held.
type dying struct {
	calls []string
	live  seckill.OrderID
	dies  bool
}

func (d *dying) LiveOrder(_ context.Context, u seckill.UserID, _ seckill.VoucherID) (seckill.Order, error) {
	if d.live != 0 {
		return seckill.Order{ID: d.live, User: u}, nil
	}
	return seckill.Order{}, &seckill.Error{Op: "dying.LiveOrder", Code: seckill.OrderNotFound}
}

func (d *dying) HoldLive(ctx context.Context, id seckill.OrderID, fn func(context.Context) error) (bool, error) {
	d.calls = append(d.calls, fmt.Sprint("hold ", id))
	if d.dies {
		return false, nil
	}
	return true, fn(ctx)
}

func (d *dying) Release(_ context.Context, o seckill.Order) (bool, error) {
	d.calls = append(d.calls, fmt.Sprint("release ", o.ID))
	return true, nil
}

func (d *dying) Adopt(_ context.Context, _ seckill.Order, existing seckill.OrderID) (bool, error) {
	d.calls = append(d.calls, fmt.Sprint("adopt ", existing))
	return true, nil
}

func TestGiveBack(t *testing.T) {
	for _, row := range []struct {
		name  string
		d     dying
		calls []string
	}{
		{"without another live order the unit is free", dying{}, []string{"release 1"}},
		{"with another live order the ticket becomes that one's", dying{live: 9}, []string{"hold 9", "adopt 9"}},
		{"a live order that dies meanwhile is none", dying{live: 9, dies: true}, []string{"hold 9", "release 1"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.NoError(t, NewGiver(&row.d, &row.d).GiveBack(t.Context(), seckill.Order{ID: 1, User: 100, Voucher: 1001}))
			require.Equal(t, row.calls, row.d.calls)
		})
	}
}

// A11: given back over and over, by several at once, a unit comes back once; and an order
// that the user bought since keeps its ticket.
func TestGiveBackOnce(t *testing.T) {
	f := newFixture(t, 5)
	f.admit(1)
	f.store(1)
	f.settle()
	f.cancel(1)
	giver, done := NewGiver(f.redis, f.sql), make(chan error)
	for range 20 {
		go func() { done <- giver.GiveBack(t.Context(), f.order(1)) }()
	}
	for range 20 {
		require.NoError(t, <-done)
	}
	require.Empty(t, f.tickets())

	again := f.order(1)
	again.ID = 7777
	_, err := f.redis.Admit(t.Context(), again)
	require.NoError(t, err)
	require.NoError(t, giver.GiveBack(t.Context(), f.order(1)))
	require.Equal(t, map[string]string{"1": "7777"}, f.tickets())
	b, err := f.redis.Books(t.Context(), f.v.ID)
	require.NoError(t, err)
	require.True(t, b.Balanced())
	require.EqualValues(t, 4, b.Stock)
}
