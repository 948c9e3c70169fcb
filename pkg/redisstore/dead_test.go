package redisstore

import (
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

func entryAt(at time.Time) string { return strconv.FormatInt(at.UnixMilli(), 10) + "-0" }

// bury puts a message into the stream, lets a worker read it and buries it.
func bury(t *testing.T, s *Store, c *redis.Client, reason seckill.Reason, fields ...string) seckill.Dead {
	t.Helper()
	require.NoError(t, c.XAdd(t.Context(), &redis.XAddArgs{Stream: "seckill:stream", Values: fields}).Err())
	ds := read(t, s, "a", 1)
	require.Len(t, ds, 1)
	buried, err := s.Bury(t.Context(), ds[0], reason)
	require.NoError(t, err)
	require.True(t, buried)
	all := deads(t, s)
	return all[len(all)-1]
}

// buryOrder buries what user 42 wanted under order id 7.
func buryOrder(t *testing.T, s *Store, c *redis.Client) seckill.DeadID {
	t.Helper()
	return bury(t, s, c, seckill.ReasonWornOut, "id", "7", "userId", "42", "voucherId", voucher.String()).ID
}

func deads(t *testing.T, s *Store) []seckill.Dead {
	t.Helper()
	all, err := s.Dead(t.Context(), 0, "", 100)
	require.NoError(t, err)
	return all
}

func TestDead(t *testing.T) {
	s, c := open(t)
	require.Empty(t, deads(t, s))
	first := bury(t, s, c, seckill.ReasonMalformed, "reason", "mine", "userId", "42", "userId", "43", "odd", "")
	require.Equal(t, []string{"reason", "mine", "userId", "42", "userId", "43", "odd", ""}, first.Fields, "in their order, with all of a name")
	require.Equal(t, seckill.ReasonMalformed, first.Reason)
	require.EqualValues(t, 1, first.Attempts)
	require.NotEmpty(t, first.Original)
	require.Equal(t, seckill.Order{User: 43}, first.Order, "what was readable")
	require.WithinDuration(t, c.Time(t.Context()).Val(), first.BuriedAt, time.Minute)

	second := bury(t, s, c, seckill.ReasonIDClash, "id", "7", "userId", "42", "voucherId", "1001")
	require.Equal(t, order(42, 7), second.Order)

	page, err := s.Dead(t.Context(), 0, "", 1)
	require.NoError(t, err)
	require.Equal(t, []seckill.Dead{first}, page)
	page, err = s.Dead(t.Context(), 0, first.ID.Entry, 10)
	require.NoError(t, err)
	require.Equal(t, []seckill.Dead{second}, page)

	require.NoError(t, c.XAdd(t.Context(), &redis.XAddArgs{Stream: "seckill:dead", Values: []string{"by", "hand"}}).Err())
	foreign := deads(t, s)[2]
	require.Equal(t, []string{"by", "hand"}, foreign.Fields)
	require.Empty(t, foreign.Reason)
}

func TestBuried(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s, c := openAt(t, Options{Addrs: []string{server.Addr()}, Partitions: 3}), server.ClientOf(t)
	var all []seckill.DeadID
	for _, p := range []int{0, 2, 2, 2} {
		entry, err := c.XAdd(t.Context(), &redis.XAddArgs{Stream: s.keys.dead(p), Values: []string{"by", "hand"}}).Result()
		require.NoError(t, err)
		all = append(all, seckill.DeadID{Partition: p, Entry: entry})
	}
	for limit := 1; limit <= 5; limit++ {
		var found []seckill.DeadID
		for after := (seckill.DeadID{}); ; after = found[len(found)-1] {
			page, err := s.Buried(t.Context(), after, limit)
			require.NoError(t, err)
			if len(page) == 0 {
				break
			}
			for _, d := range page {
				found = append(found, d.ID)
			}
		}
		require.Equal(t, all, found)
	}
	one, err := s.DeadMessage(t.Context(), all[3])
	require.NoError(t, err)
	require.Equal(t, all[3], one.ID)
	none, err := s.Buried(t.Context(), seckill.DeadID{Partition: 7, Entry: "1-1"}, 5)
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestDropDead(t *testing.T) {
	s, c := open(t)
	id := buryOrder(t, s, c)
	_, err := s.replayID(t.Context(), id, 8)
	require.NoError(t, err)
	for _, want := range []bool{true, false} {
		dropped, err := s.DropDead(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, want, dropped)
	}
	require.Empty(t, deads(t, s))
	require.Zero(t, c.Exists(t.Context(), "seckill:replays").Val())
}

func TestReplay(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 10)
	id := buryOrder(t, s, c)
	o, err := s.Replay(t.Context(), id, 8)
	require.NoError(t, err)
	require.Equal(t, order(42, 8), o, "under the new id: the old one is rejected for ever")
	require.Empty(t, deads(t, s))
	require.Zero(t, c.Exists(t.Context(), "seckill:replays").Val())
	require.Equal(t, order(42, 8), read(t, s, "a", 10)[0].Order)
	requireBooks(t, s, 9, 1)

	_, err = s.Replay(t.Context(), id, 9)
	require.ErrorIs(t, err, seckill.DeadNotFound)
	requireBooks(t, s, 9, 1)
}

// A replay may be cut short after each of its steps; the next one goes on from there, and
// never with another id.
func TestReplayAfterCrash(t *testing.T) {
	wrote := func(t *testing.T, s *Store, id seckill.DeadID) {
		stands, err := s.replayID(t.Context(), id, 8)
		require.NoError(t, err)
		require.EqualValues(t, 8, stands)
	}
	for name, crashed := range map[string]func(*testing.T, *Store, seckill.DeadID){
		"after the id was written": wrote,
		"after the admission": func(t *testing.T, s *Store, id seckill.DeadID) {
			wrote(t, s, id)
			admit(t, s, order(42, 8))
		},
		"after the admission of the last unit": func(t *testing.T, s *Store, id seckill.DeadID) {
			wrote(t, s, id)
			admit(t, s, order(42, 8))
			for i := range int64(9) {
				admit(t, s, order(100+i, 100+i))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, c := open(t)
			sell(t, s, voucher, 10)
			id := buryOrder(t, s, c)
			crashed(t, s, id)
			o, err := s.Replay(t.Context(), id, 9)
			require.NoError(t, err)
			require.EqualValues(t, 8, o.ID)
			require.Empty(t, deads(t, s))
			held, err := s.TicketsOf(t.Context(), voucher, []seckill.UserID{42})
			require.NoError(t, err)
			require.Equal(t, "8", held[0].Order)
		})
	}
}

func TestReplayRefused(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 1)
	id := buryOrder(t, s, c)
	nobody := bury(t, s, c, seckill.ReasonMalformed, "id", "7", "userId", "x", "voucherId", voucher.String()).ID
	refused := func(id seckill.DeadID, want seckill.Code) {
		t.Helper()
		before := len(deads(t, s))
		_, err := s.Replay(t.Context(), id, 8)
		require.ErrorIs(t, err, want)
		require.Len(t, deads(t, s), before, "it stays buried")
	}
	refused(nobody, seckill.Invalid)
	admit(t, s, order(42, 6))
	refused(id, seckill.AlreadyOrdered)
	_, err := s.Release(t.Context(), order(42, 6))
	require.NoError(t, err)
	admit(t, s, order(43, 5))
	refused(id, seckill.SoldOut)
	require.NoError(t, s.Shut(t.Context(), voucher))
	refused(id, seckill.NotReady)
	refused(seckill.DeadID{Entry: "1-1"}, seckill.DeadNotFound)
	elsewhere := seckill.DeadID{Partition: 1, Entry: id.Entry}
	refused(elsewhere, seckill.DeadNotFound)
	dropped, err := s.DropDead(t.Context(), elsewhere)
	require.NoError(t, err)
	require.False(t, dropped)
}

func TestReplayTogether(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 10)
	id := buryOrder(t, s, c)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			o, err := s.Replay(t.Context(), id, seckill.OrderID(100+i))
			if seckill.CodeOf(err) != seckill.DeadNotFound && err != nil {
				t.Errorf("replay %d: %v of %v", i, err, o)
			}
		})
	}
	all.Wait()
	requireBooks(t, s, 9, 1)
	require.EqualValues(t, 1, c.XLen(t.Context(), "seckill:stream").Val())
	require.Empty(t, deads(t, s))
}
