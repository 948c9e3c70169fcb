package redisstore

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

// A whole round on a real cluster: a key outside its partition's slot would be refused.
func TestCluster(t *testing.T) {
	t.Parallel()
	s := openAt(t, Options{Addrs: redistest.NewCluster(t, 0, redistest.Options{}).Addrs()[:1], Partitions: 4})
	require.Equal(t, 4, s.Partitions())
	for v := seckill.VoucherID(1001); v <= 1008; v++ {
		p := s.keys.partition(v)
		sell(t, s, v, 3)
		for user := seckill.UserID(1); user <= 3; user++ {
			_, err := s.Admit(t.Context(), seckill.Order{ID: seckill.OrderID(100*int64(v) + int64(user)), User: user, Voucher: v})
			require.NoError(t, err)
		}
		_, err := s.Admit(t.Context(), seckill.Order{ID: 7, User: 9, Voucher: v})
		require.ErrorIs(t, err, seckill.SoldOut)

		ds, err := s.Read(t.Context(), p, "a", 10, short)
		require.NoError(t, err)
		require.Len(t, ds, 3)
		require.NoError(t, s.WithLocks(t.Context(), p, users(1, 2, 3), func(_ context.Context, held map[seckill.UserID]bool) error {
			require.Len(t, held, 3)
			return nil
		}))
		n, err := s.Settle(t.Context(), p, entriesOf(ds[:1]))
		require.NoError(t, err)
		require.Equal(t, 1, n)
		released, err := s.Release(t.Context(), ds[1].Order)
		require.NoError(t, err)
		require.True(t, released)
		buried, err := s.Bury(t.Context(), ds[1], seckill.ReasonWornOut)
		require.NoError(t, err)
		require.True(t, buried)
		claimed, _, _, err := s.Claim(t.Context(), p, "b", 0, "0-0", 10)
		require.NoError(t, err)
		require.Len(t, claimed, 1)
		_, err = s.Settle(t.Context(), p, entriesOf(claimed))
		require.NoError(t, err)

		b, err := s.Books(t.Context(), v)
		require.NoError(t, err)
		require.True(t, b.Balanced())
		require.EqualValues(t, 1, b.Stock)
		replayOne(t, s, p, ds[1].Order)

		changed := seckill.Voucher{ID: v, Total: 5, Begin: time.Now().Add(-time.Hour), End: time.Now().Add(time.Hour), Version: 2}
		require.NoError(t, s.Change(t.Context(), changed))
		require.NoError(t, s.Cut(t.Context(), v, 3, 2))
		_, err = s.Clock(t.Context(), v)
		require.NoError(t, err)
	}
	all := []seckill.VoucherID{1001, 1002, 1003, 1004}
	left, err := s.Left(t.Context(), all)
	require.NoError(t, err)
	require.Equal(t, map[seckill.VoucherID]int64{1001: 1, 1002: 1, 1003: 1, 1004: 1}, left)
	held, err := s.Tickets(t.Context(), 3, all)
	require.NoError(t, err)
	require.Len(t, held, 4)
	for p := range s.Partitions() {
		last, err := s.TakeSequence(t.Context(), p, "20260101", 10, 0)
		require.NoError(t, err)
		require.EqualValues(t, 10, last, "each counts for itself")
	}
	require.NoError(t, s.Announce(t.Context(), []seckill.OrderID{1}))
}

// replayOne replays the one message that is buried in p, and lets everything end there.
func replayOne(t *testing.T, s *Store, p int, buried seckill.Order) {
	t.Helper()
	dead, err := s.Dead(t.Context(), p, "", 10)
	require.NoError(t, err)
	require.Len(t, dead, 1)
	require.Equal(t, p, dead[0].ID.Partition)
	require.Equal(t, buried, dead[0].Order)
	anew, err := s.Replay(t.Context(), dead[0].ID, buried.ID+50)
	require.NoError(t, err)
	require.Equal(t, buried.ID+50, anew.ID)

	ds, err := s.Read(t.Context(), p, "a", 10, short)
	require.NoError(t, err)
	require.Equal(t, anew, ds[0].Order)
	info, err := s.StreamInfo(t.Context(), p)
	require.NoError(t, err)
	require.EqualValues(t, 1, info.Length)
	require.EqualValues(t, 1, info.Pending)
	_, err = s.Settle(t.Context(), p, entriesOf(ds))
	require.NoError(t, err)
	_, err = s.Release(t.Context(), anew)
	require.NoError(t, err)
	names, err := s.Retire(t.Context(), p, 0)
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"a", "b"}, names)
}
