package redisstore

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/orderid"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

// noRows is a database that stored nothing yet.
type noRows struct{}

func (noRows) MaxSequence(context.Context, seckill.OrderID, seckill.OrderID, int, int) (int64, error) {
	return 0, nil
}

// The numbers of a partition's orders lie with its keys: a master that is away for good stops
// its own partitions, and the others sell on, far beyond the numbers that this process holds.
func TestSequenceWhileAMasterIsAway(t *testing.T) {
	t.Parallel()
	const partitions, block, orders = 12, 10, 50
	cluster := redistest.NewCluster(t, 0, redistest.Options{})
	s := openAt(t, Options{Addrs: cluster.Addrs(), Partitions: partitions})
	ids := orderid.New(s, noRows{}, orderid.Options{Block: block})
	buy := func(v seckill.VoucherID, user int) error {
		id, err := ids.Next(t.Context(), v)
		if err == nil {
			_, err = s.Admit(t.Context(), seckill.Order{ID: id, User: seckill.UserID(user), Voucher: v})
		}
		return err
	}
	dead, err := cluster.Owner(t.Context(), s.keys.stream(0))
	require.NoError(t, err)
	var gone, stay []seckill.VoucherID
	for v := seckill.VoucherID(partitions); v < 2*partitions; v++ {
		sell(t, s, v, orders)
		require.NoError(t, buy(v, 1))
		owner, err := cluster.Owner(t.Context(), s.keys.stream(s.Partition(v)))
		require.NoError(t, err)
		if owner == dead {
			gone = append(gone, v)
		} else {
			stay = append(stay, v)
		}
	}
	require.NotEmpty(t, gone)
	require.NotEmpty(t, stay)

	require.NoError(t, dead.Kill())
	for _, v := range stay {
		for user := 2; user <= orders; user++ {
			require.NoError(t, buy(v, user), "voucher %s, user %d", v, user)
		}
	}
	for _, v := range gone {
		require.ErrorIs(t, buy(v, 2), seckill.Unavailable)
	}
}
