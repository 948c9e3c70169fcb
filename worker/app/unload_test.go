package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/app"
)

// endedAgo puts the end of the stage's sale into the past, in SQL and in Redis.
func (s *stage) endedAgo(d time.Duration) {
	s.t.Helper()
	end := time.Now().Add(-d)
	_, err := s.raw.ExecContext(s.t.Context(), "UPDATE seckill_voucher SET begin_at = ?, end_at = ?, version = version + 1 WHERE id = ?",
		end.Add(-time.Hour).UnixMilli(), end.UnixMilli(), s.voucher)
	require.NoError(s.t, err)
	require.NoError(s.t, s.books.Apply(s.t.Context(), s.voucher))
}

// The keys of a sale go seven days after its end, and not while an order of it waits. A
// release does no harm then, and a window that is moved loads them again.
func TestUnload(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	stored := s.buy(1)[0]
	s.store(stored)
	waiting := s.buy(1)[0]
	s.endedAgo(8 * 24 * time.Hour)
	keys := func() any {
		v := s.voucher.String()
		n, err := s.do("EXISTS", "seckill:voucher:"+v, "seckill:stock:"+v, "seckill:order:"+v, "seckill:ticket:"+v)
		require.NoError(t, err)
		return n
	}
	s.workFar("a", app.Options{MendEvery: 100 * time.Millisecond})
	s.awaitStatus(waiting, seckill.Created, "")
	require.Eventually(t, func() bool { return keys() == int64(0) }, soon, poll)

	_, err := s.redis.Release(t.Context(), stored)
	require.NoError(t, err)
	require.Equal(t, int64(0), keys())

	s.endedAgo(-time.Hour)
	b, err := s.redis.Books(t.Context(), s.voucher)
	require.NoError(t, err)
	require.Equal(t, int64(2), b.Buyers)
	require.Equal(t, "open", b.State)
}
