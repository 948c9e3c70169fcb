package app_test

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqltest"
	"github.com/openseckill/seckill/worker/app"
)

// TestLostGroup is C1: whatever is taken away under a blocked reader, the next order is
// stored without a restart.
func TestLostGroup(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		take func(s *stage)
	}{
		{"the stream is deleted", func(s *stage) { _, err := s.do("DEL", stream); require.NoError(s.t, err) }},
		{"the group is destroyed", func(s *stage) { _, err := s.do("XGROUP", "DESTROY", stream, group); require.NoError(s.t, err) }},
		{"everything is deleted", func(s *stage) {
			_, err := s.do("FLUSHALL")
			require.NoError(s.t, err)
			s.sync()
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, 10)
			s.work("w1")
			s.buy(1)
			s.awaitRest(1)
			row.take(s)
			s.buy(1)
			s.awaitRest(2)
		})
	}
}

// TestBacklog is C2 and C12: what was accepted before the first worker ran is stored, however
// much it is; nothing trims the stream.
func TestBacklog(t *testing.T) {
	t.Parallel()
	const many = 2000
	s := newStage(t, many)
	s.buyAtOnce(many)
	require.EqualValues(t, many, s.number("XLEN", stream))
	s.work("w1")
	s.awaitRest(many)
}

// TestReplay is C4: copies of settled messages change nothing.
func TestReplay(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	bought := s.buy(5)
	s.work("w1")
	s.awaitRest(5)
	for _, o := range bought {
		s.queueOrder(o)
		s.queueOrder(o)
	}
	s.awaitRest(5)
	require.Empty(t, s.buried())
}

// TestTakeOver is C5: a worker that died after three of ten rows is succeeded by another.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	bought := s.buy(10)
	s.ghost(1)
	for _, o := range bought[:3] {
		s.store(o)
	}
	s.work("w1")
	s.awaitRest(10)
	require.Empty(t, s.buried())
}

// TestPoison is C7: bad messages are buried and hold up no good one.
func TestPoison(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	s.queue("id", "1", "userId", "abc", "voucherId", s.voucher.String())
	s.queue("nothing", "we know")
	s.queue("userId", strings.Repeat("9", 1<<20))
	s.buy(5)
	s.work("w1")
	s.awaitRest(5)
	require.Equal(t, []string{"malformed", "malformed", "malformed"}, s.buried())
}

// TestRestart is C24: a worker that comes back under its name takes all that it had, page
// by page, and not only the first one.
func TestRestart(t *testing.T) {
	t.Parallel()
	s := newStage(t, 300)
	s.buy(250)
	s.ghost(1)
	s.work("ghost")
	s.awaitRest(250)
}

// TestManyWorkers lets three workers share a sale, while one of them comes and goes.
func TestManyWorkers(t *testing.T) {
	t.Parallel()
	s := newStage(t, 500)
	s.work("w1")
	s.work("w2")
	for range 5 {
		stop := s.work("w3")
		s.buy(60)
		stop()
	}
	s.awaitRest(300)
	require.Empty(t, s.buried())
	consumers, err := s.do("XINFO", "CONSUMERS", stream, group)
	require.NoError(t, err)
	require.LessOrEqual(t, len(consumers.([]any)), 2, "who stops gives its name up")
}

// TestPartitions lets one worker serve the streams of several vouchers.
func TestPartitions(t *testing.T) {
	t.Parallel()
	s := newStageOn(t, redistest.New(t), sqltest.New(t), 3, 20)
	s.work("w1")
	for range 4 {
		s.create(20)
		s.buy(10)
		require.True(t, waitFor(func() bool {
			r, err := s.books.Audit(t.Context(), s.voucher)
			return err == nil && r.AtRest() && r.SQL.Live() == 10
		}))
	}
}

// TestFloodInOnePartition lets an order of another partition pass by a crowd that came first.
func TestFloodInOnePartition(t *testing.T) {
	t.Parallel()
	const crowd, partitions = 2000, 16
	s := newStageOn(t, redistest.New(t), sqltest.New(t), partitions, crowd)
	s.buyAtOnce(crowd)
	flooded := int(int64(s.voucher) % partitions)
	s.create(1)
	lone := s.buy(1)[0]
	s.run(app.Deps{Redis: s.redis, SQL: s.sql, Log: slog.New(slog.DiscardHandler), Options: app.Options{Consumer: "w1", BatchMax: 5}})
	s.awaitStatus(lone, seckill.Created, "")
	info, err := s.redis.StreamInfo(t.Context(), flooded)
	require.NoError(t, err)
	require.Greater(t, info.Length, int64(crowd/2))
}

// TestIDs is B3 from the stream to the row: ids beyond 2^53 come through digit for digit.
func TestIDs(t *testing.T) {
	t.Parallel()
	s := newStage(t, 10)
	var bought []seckill.Order
	for i, user := range []seckill.UserID{9007199254740992, 9007199254740993, 9223372036854775807} {
		o := seckill.Order{ID: seckill.OrderID(9223372036854775807 - int64(i)), User: user, Voucher: s.voucher}
		_, err := s.redis.Admit(t.Context(), o)
		require.NoError(t, err)
		bought = append(bought, o)
	}
	s.work("w1")
	s.awaitRest(3)
	for _, o := range bought {
		row, err := s.sql.Order(t.Context(), o.ID)
		require.NoError(t, err)
		require.True(t, row.Same(o))
	}
}
