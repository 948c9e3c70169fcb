package app_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

// ghost lets a consumer that then dies take all that waits, and deliver it so many times.
func (s *stage) ghost(times int) (ds []seckill.Delivery) {
	s.t.Helper()
	ds, err := s.redis.Read(s.t.Context(), 0, "ghost", 1000, time.Second)
	require.NoError(s.t, err)
	for range times - 1 {
		_, _, _, err := s.redis.ReadOwn(s.t.Context(), 0, "ghost", "0", 1000)
		require.NoError(s.t, err)
	}
	return ds
}

// TestOutcomes is C26: it brings about every outcome once, on real servers: what the row says, what is
// buried, and that the books balance to the unit with nothing left in the stream.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		make   func(s *stage) seckill.Order
		status seckill.Status
		reason seckill.Reason
		buried []string
		live   int64
	}{
		{"stored", func(s *stage) seckill.Order { return s.buy(1)[0] }, seckill.Created, "", nil, 1},
		{"already stored", func(s *stage) seckill.Order {
			o := s.buy(1)[0]
			s.store(o)
			return o
		}, seckill.Created, "", nil, 1},
		{"already stored and dead", func(s *stage) seckill.Order {
			o := s.buy(1)[0]
			_, err := s.sql.Reject(s.t.Context(), o, seckill.ReasonWornOut)
			require.NoError(s.t, err)
			return o
		}, seckill.Rejected, seckill.ReasonWornOut, []string{"worn_out"}, 0},
		{"duplicate, while the ticket is the second one's", func(s *stage) seckill.Order {
			o := s.buy(1)[0]
			first := o
			first.ID = s.order().ID
			s.store(first)
			return o
		}, seckill.Rejected, seckill.ReasonDuplicate, nil, 1},
		{"short", func(s *stage) seckill.Order {
			o := s.buy(1)[0]
			for range 10 { // past Redis, all that the database has
				s.store(s.order())
			}
			return o
		}, seckill.Rejected, seckill.ReasonShort, nil, 10},
		{"id clash", func(s *stage) seckill.Order {
			first := s.buy(1)[0]
			second := s.order()
			second.ID = first.ID
			s.queueOrder(second)
			return first
		}, seckill.Created, "", []string{"id_clash"}, 1},
		{"malformed", func(s *stage) seckill.Order {
			s.queue("userId", "abc", "voucherId", s.voucher.String())
			return s.buy(1)[0]
		}, seckill.Created, "", []string{"malformed"}, 1},
		{"malformed, of a voucher that does not exist", func(s *stage) seckill.Order {
			o := s.order()
			o.Voucher = 999_999
			s.queueOrder(o)
			return o
		}, seckill.Rejected, seckill.ReasonMalformed, []string{"malformed"}, 0},
		{"worn out", func(s *stage) seckill.Order {
			o := s.buy(1)[0]
			entry := s.ghost(6)[0].Entry
			for range 5 {
				_, err := s.redis.CountTry(s.t.Context(), 0, entry)
				require.NoError(s.t, err)
			}
			return o
		}, seckill.Rejected, seckill.ReasonWornOut, []string{"worn_out"}, 0},
		{"delivered often, but it came back each time", func(s *stage) seckill.Order {
			o := s.buy(1)[0]
			s.ghost(20)
			return o
		}, seckill.Created, "", nil, 1},
		{"lost, and queued again by a sync", func(s *stage) seckill.Order {
			o := s.buy(1)[0]
			_, err := s.do("XDEL", stream, s.ghost(1)[0].Entry)
			require.NoError(s.t, err)
			s.sync()
			return o
		}, seckill.Created, "", nil, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 10)
			o := row.make(s)
			s.work("w1")
			s.awaitStatus(o, row.status, row.reason)
			s.awaitRest(row.live)
			require.Equal(t, row.buried, s.buried())
		})
	}
}

// TestBusy is E4: a lock that is held elsewhere leaves the order pending, and nothing else.
func TestBusy(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	o := s.buy(1)[0]
	err := s.redis.WithLocks(t.Context(), 0, []seckill.UserID{o.User}, func(_ context.Context, held map[seckill.UserID]bool) error {
		require.True(t, held[o.User])
		s.work("w1")
		other := s.buy(1)[0]
		s.awaitStatus(other, seckill.Created, "") // by now the first one has been tried
		status, _ := s.status(o)
		require.Equal(t, seckill.Queued, status)
		require.True(t, waitFor(func() bool { return s.pending() == 1 }), "the other one is settled once it is stored")
		return nil
	})
	require.NoError(t, err)
	s.awaitRest(2)
	require.Empty(t, s.buried())
}

// A8: an order that can never be stored ends as rejected, and its unit goes to the next buyer.
func TestLastUnitIsSoldAgain(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	first := s.buy(1)[0]
	entry := s.ghost(6)[0].Entry
	for range 5 {
		_, err := s.redis.CountTry(t.Context(), 0, entry)
		require.NoError(t, err)
	}
	_, err := s.redis.Admit(t.Context(), s.order())
	require.ErrorIs(t, err, seckill.SoldOut)
	s.work("w1")
	s.awaitStatus(first, seckill.Rejected, seckill.ReasonWornOut)
	s.awaitRest(0)
	second := s.buy(1)[0]
	s.awaitStatus(second, seckill.Created, "")
	s.awaitRest(1)
}

// A10: the row is rejected and Redis was not there to take its unit back: whoever comes later does.
func TestRejectedWhileRedisWasDown(t *testing.T) {
	t.Parallel()
	s := newStage(t, 1)
	first := s.buy(1)[0]
	row, err := s.sql.Reject(t.Context(), first, seckill.ReasonWornOut)
	require.NoError(t, err)
	require.True(t, row.ReleaseDue, "the task outlives whoever noted it")
	s.work("w1")
	s.awaitRest(0)
	s.buy(1)
	s.awaitRest(1)
}

// TestGiveBack covers orders that die after they were stored: the sweep finds them.
func TestGiveBack(t *testing.T) {
	t.Parallel()
	s := newStage(t, 3)
	bought := s.buy(3)
	s.work("w1")
	s.awaitRest(3)
	tx, err := s.raw.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	for _, query := range []string{
		"UPDATE voucher_order SET status = 'cancelled', release_due = 1 WHERE id = ?",
		"UPDATE seckill_voucher SET stock = stock + 1 WHERE id = (SELECT voucher_id FROM voucher_order WHERE id = ?)",
	} {
		_, err = tx.ExecContext(t.Context(), query, bought[0].ID)
		require.NoError(t, err)
	}
	require.NoError(t, tx.Commit())
	s.awaitRest(2)
	s.buy(1)
	s.awaitRest(3)
}
