package app_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/app"
)

// Nobody asks for it: a lost entry, a ticket of a dead order and a stock that is wrong are
// put right by the workers themselves.
func TestMend(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	lost := s.buy(1)[0]
	_, err := s.do("DEL", stream)
	require.NoError(t, err)
	dead := s.buy(1)[0]
	s.store(dead)
	_, err = s.raw.ExecContext(t.Context(), "UPDATE voucher_order SET status = 'cancelled' WHERE id = ?", dead.ID)
	require.NoError(t, err)
	_, err = s.raw.ExecContext(t.Context(), "UPDATE seckill_voucher SET stock = stock + 1")
	require.NoError(t, err)

	s.workFar("a", app.Options{MendEvery: 200 * time.Millisecond})
	s.awaitStatus(lost, seckill.Created, "")
	s.awaitRest(1)

	_, err = s.do("SET", "seckill:stock:"+s.voucher.String(), "3")
	require.NoError(t, err)
	s.awaitRest(1)
}

// A stream that goes while its workers run takes waiting orders with it; whoever makes the
// group again looks for them at once, not at its usual pace.
func TestMendAfterTheStreamWent(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	waiting := s.buy(3)
	for _, o := range waiting {
		_, err := s.do("SET", s.lockKey(o), "someone")
		require.NoError(t, err)
	}
	s.workFar("a", app.Options{MendEvery: time.Hour})
	require.Eventually(t, func() bool { return s.pending() == 3 }, soon, poll)
	_, err := s.do("DEL", stream)
	require.NoError(t, err)
	for _, o := range waiting {
		_, err := s.do("DEL", s.lockKey(o))
		require.NoError(t, err)
	}
	for _, o := range waiting {
		s.awaitStatus(o, seckill.Created, "")
	}
	s.awaitRest(3)
}

// SQL is away when the worker looks for the orders that went with the stream: it looks until it
// has seen to them.
func TestMendInsists(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	_, err := s.do("SET", "seckill:stock:"+s.voucher.String(), "3")
	require.NoError(t, err)
	w := s.workFar("a", app.Options{MendEvery: time.Hour})
	s.awaitRest(0) // it has looked for the first time
	w.sql.Refuse()
	w.redis.Refuse()
	waiting := s.buy(3)
	_, err = s.do("DEL", stream)
	require.NoError(t, err)
	w.redis.Accept()
	require.Eventually(t, func() bool { return strings.Contains(w.log.String(), "what=mend") }, soon, poll)
	w.sql.Accept()
	for _, o := range waiting {
		s.awaitStatus(o, seckill.Created, "")
	}
	s.awaitRest(3)
}

// All keys go: the voucher is loaded again before a buyer has to run into it.
func TestMendAfterAFlush(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	s.workFar("a", app.Options{MendEvery: time.Hour})
	require.Eventually(t, func() bool { return s.number("EXISTS", stream) == 1 }, soon, poll)
	_, err := s.do("FLUSHALL")
	require.NoError(t, err)
	s.awaitRest(0)
}

// Whoever changes a voucher can die between the stores. A worker completes it, whatever the
// window is, and one that starts does so at once.
func TestMendAfterAHalfChange(t *testing.T) {
	t.Parallel()
	for name, half := range map[string]func(s *stage, v seckill.Voucher) seckill.Voucher{
		"raised in SQL only": func(s *stage, v seckill.Voucher) seckill.Voucher {
			v.Total += 5
			return s.change(v)
		},
		"cut in Redis only": func(s *stage, v seckill.Voucher) seckill.Voucher {
			require.NoError(s.t, s.redis.Cut(s.t.Context(), v.ID, v.Total-5, v.Version))
			v.Version += 2 // SQL overtakes
			return v
		},
		"cut in both, and its window in SQL only": func(s *stage, v seckill.Voucher) seckill.Voucher {
			v.Total, v.End = v.Total-5, v.End.Add(time.Hour)
			require.NoError(s.t, s.redis.Cut(s.t.Context(), v.ID, v.Total, v.Version))
			return s.change(v)
		},
		"closed in SQL only": func(s *stage, v seckill.Voucher) seckill.Voucher {
			v.End = v.Begin.Add(time.Minute)
			return s.change(v)
		},
		"put off in SQL only": func(s *stage, v seckill.Voucher) seckill.Voucher {
			v.Begin, v.End = v.End.Add(time.Hour), v.End.Add(2*time.Hour)
			return s.change(v)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 10)
			v, err := s.sql.Voucher(t.Context(), s.voucher)
			require.NoError(t, err)
			want := half(s, v)
			s.workFar("a", app.Options{MendEvery: 100 * time.Hour})
			require.Eventually(t, func() bool {
				b, err := s.redis.Books(t.Context(), s.voucher)
				return err == nil && b.State == "open" && b.Version == want.Version && b.Total == want.Total && b.End == want.End.UnixMilli()
			}, soon, poll)
			window, err := s.do("HMGET", "seckill:voucher:"+s.voucher.String(), "begin", "end")
			require.NoError(t, err)
			require.Equal(t, []any{strconv.FormatInt(want.Begin.UnixMilli(), 10), strconv.FormatInt(want.End.UnixMilli(), 10)}, window)
		})
	}
}

// change changes a voucher in SQL and dies.
func (s *stage) change(v seckill.Voucher) seckill.Voucher {
	s.t.Helper()
	v, err := s.sql.ChangeVoucher(s.t.Context(), v, seckill.Deed{Actor: 1, Action: seckill.VoucherChanged})
	require.NoError(s.t, err)
	return v
}

// A2: a voucher that was created and never loaded is loaded before its begin.
func TestMendAfterACreationWithoutALoad(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	begin := time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	v, _, err := s.sql.CreateVoucher(t.Context(), seckill.Voucher{Title: "later", Currency: "CNY", Total: 7, Begin: begin, End: begin.Add(time.Hour)}, "")
	require.NoError(t, err)
	s.workFar("a", app.Options{MendEvery: 100 * time.Hour})
	require.Eventually(t, func() bool {
		b, err := s.redis.Books(t.Context(), v.ID)
		return err == nil && b.State == "open" && b.Balanced() && b.Total == 7
	}, soon, poll)
}
