package redisstore

import (
	"context"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

type setup func(t *testing.T, s *Store, c *redis.Client)

func left(n int64) setup {
	return func(t *testing.T, s *Store, c *redis.Client) { sell(t, s, voucher, n) }
}

func holds(user, id int64) setup {
	return func(t *testing.T, s *Store, c *redis.Client) { admit(t, s, order(user, id)) }
}

func raw(args ...any) setup {
	return func(t *testing.T, s *Store, c *redis.Client) { require.NoError(t, c.Do(t.Context(), args...).Err()) }
}

func all(steps ...setup) setup {
	return func(t *testing.T, s *Store, c *redis.Client) {
		for _, step := range steps {
			step(t, s, c)
		}
	}
}

func window(begin, end time.Duration) setup {
	return func(t *testing.T, s *Store, c *redis.Client) {
		now := serverTime(t, c)
		raw("HSET", "seckill:voucher:1001", "begin", now.Add(begin).UnixMilli(), "end", now.Add(end).UnixMilli())(t, s, c)
	}
}

func serverTime(t *testing.T, c *redis.Client) time.Time {
	now, err := c.Time(t.Context()).Result()
	require.NoError(t, err)
	return now
}

// The user is 42 and asks with order 900 each time. A12: where the entry cannot be written,
// the user is not marked and no unit is taken.
func TestAdmit(t *testing.T) {
	const changed, untouched = true, false
	for _, c := range []struct {
		name    string
		before  setup
		want    error
		changes bool
	}{
		{"the first of many", left(10), nil, changed},
		{"the last unit", left(1), nil, changed},
		{"the own lost reply", all(left(10), holds(42, 900)), nil, untouched},
		{"bought before", all(left(10), holds(42, 899)), seckill.AlreadyOrdered, untouched},
		{"bought the last one before", all(left(1), holds(42, 899)), seckill.AlreadyOrdered, untouched},
		{"bought before, and the window is over", all(left(10), holds(42, 899), window(-2*time.Hour, -time.Hour)), seckill.AlreadyOrdered, untouched},
		{"sold out", all(left(1), holds(7, 899)), seckill.SoldOut, untouched},
		{"before the window", all(left(10), window(time.Hour, 2*time.Hour)), seckill.NotStarted, untouched},
		{"after the window", all(left(10), window(-2*time.Hour, -time.Hour)), seckill.Ended, untouched},
		{"never loaded", all(), seckill.NotReady, untouched},
		{"closed for a sync", all(left(10), raw("HSET", "seckill:voucher:1001", "state", "loading")), seckill.NotReady, untouched},
		{"voucher lost", all(left(10), raw("DEL", "seckill:voucher:1001")), seckill.NotReady, untouched},
		{"stock lost", all(left(10), raw("DEL", "seckill:stock:1001")), seckill.NotReady, untouched},
		{"buyers lost", all(left(10), holds(7, 899), raw("DEL", "seckill:order:1001")), seckill.NotReady, untouched},
		{"tickets lost", all(left(10), holds(7, 899), raw("DEL", "seckill:ticket:1001")), seckill.NotReady, untouched},
		{"tickets lost of a buyer", all(left(10), holds(42, 899), raw("DEL", "seckill:ticket:1001")), seckill.NotReady, untouched},
		{"buyers and tickets lost", all(left(10), holds(7, 899), raw("DEL", "seckill:order:1001", "seckill:ticket:1001")), seckill.NotReady, untouched},
		{"stock with a leading zero", all(left(10), raw("SET", "seckill:stock:1001", "010")), seckill.NotReady, untouched},
		{"stock in quotes", all(left(10), raw("SET", "seckill:stock:1001", `"10"`)), seckill.NotReady, untouched},
		{"stock with an exponent", all(left(100), raw("SET", "seckill:stock:1001", "1e2")), seckill.NotReady, untouched},
		{"stock in hexadecimal", all(left(16), raw("SET", "seckill:stock:1001", "0x10")), seckill.NotReady, untouched},
		{"stock between blanks", all(left(5), raw("SET", "seckill:stock:1001", " 5 ")), seckill.NotReady, untouched},
		{"stock with a fraction", all(left(10), raw("SET", "seckill:stock:1001", "5.5")), seckill.NotReady, untouched},
		{"stock below zero", all(left(10), raw("SET", "seckill:stock:1001", "-1")), seckill.NotReady, untouched},
		{"stock above total - buyers", all(left(10), raw("SET", "seckill:stock:1001", "11")), seckill.NotReady, untouched},
		{"stock below total - buyers", all(left(10), raw("SET", "seckill:stock:1001", "9")), seckill.NotReady, untouched},
		{"stock that is empty", all(left(10), raw("SET", "seckill:stock:1001", "")), seckill.NotReady, untouched},
		{"stock of another type", all(left(10), raw("DEL", "seckill:stock:1001"), raw("LPUSH", "seckill:stock:1001", "10")), seckill.NotReady, untouched},
		{"buyers of another type", all(left(10), raw("SET", "seckill:order:1001", "x")), seckill.NotReady, untouched},
		{"tickets of another type", all(left(10), raw("SET", "seckill:ticket:1001", "x")), seckill.NotReady, untouched},
		{"voucher of another type", all(raw("SET", "seckill:voucher:1001", "x")), seckill.NotReady, untouched},
		{"a total that is no number", all(left(10), raw("HSET", "seckill:voucher:1001", "total", "many")), seckill.NotReady, untouched},
		{"a window that is no number", all(left(10), raw("HSET", "seckill:voucher:1001", "begin", "soon")), seckill.NotReady, untouched},
		{"a stream key of another type", all(left(10), raw("SET", "seckill:stream", "x")), seckill.Internal, untouched},
		{"a stream that is full", all(left(10), raw("XADD", "seckill:stream", "18446744073709551615-18446744073709551615", "a", "b")), seckill.Internal, untouched},
		{"a Redis out of memory", all(left(10), raw("CONFIG", "SET", "maxmemory", "1")), seckill.Unavailable, untouched},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s, client := open(t)
			c.before(t, s, client)
			before := redistest.Dump(t, client)
			_, err := s.Admit(t.Context(), order(42, 900))
			if c.want == nil {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, c.want)
			}
			if c.changes {
				require.NotEqual(t, before, redistest.Dump(t, client))
			} else {
				require.Equal(t, before, redistest.Dump(t, client))
			}
		})
	}
}

func TestAdmitAnswers(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 3)
	a, err := s.Admit(t.Context(), order(42, 900))
	require.NoError(t, err)
	require.Equal(t, seckill.Admission{Order: 900, Left: 2}, a)
	a, err = s.Admit(t.Context(), order(42, 901))
	require.ErrorIs(t, err, seckill.AlreadyOrdered)
	require.Equal(t, seckill.OrderID(900), a.Order)

	entries, err := c.XRange(t.Context(), "seckill:stream", "-", "+").Result()
	require.NoError(t, err)
	require.Len(t, entries, 1)
	require.Equal(t, map[string]any{"id": "900", "userId": "42", "voucherId": "1001"}, entries[0].Values)
	require.Equal(t, []string{"42"}, c.SMembers(t.Context(), "seckill:order:1001").Val())
	require.Equal(t, map[string]string{"42": "900"}, c.HGetAll(t.Context(), "seckill:ticket:1001").Val())
	requireBooks(t, s, 2, 1)

	begin := serverTime(t, c).Add(time.Hour)
	require.NoError(t, c.HSet(t.Context(), "seckill:voucher:1001", "begin", begin.UnixMilli()).Err())
	a, err = s.Admit(t.Context(), order(43, 902))
	require.ErrorIs(t, err, seckill.NotStarted)
	require.Equal(t, begin.UnixMilli(), a.Begin.UnixMilli())
}

// B3, B4, B5, B6, B8: ids beyond 2^53 that are one apart stay two.
func TestAdmitLargeIDs(t *testing.T) {
	s, c := open(t)
	users := []int64{9007199254740992, 9007199254740993, 1234567890123456, 1234567890123457, 616581622363398142, math.MaxInt64 - 1, math.MaxInt64}
	sell(t, s, voucher, int64(len(users)))
	for i, user := range users {
		id := math.MaxInt64 - int64(i)
		a, err := s.Admit(t.Context(), order(user, id))
		require.NoError(t, err)
		require.Equal(t, seckill.OrderID(id), a.Order)
		held, err := s.Tickets(t.Context(), seckill.UserID(user), []seckill.VoucherID{voucher, 9})
		require.NoError(t, err)
		require.Equal(t, map[seckill.VoucherID]seckill.OrderID{voucher: seckill.OrderID(id)}, held)
		require.True(t, c.SIsMember(t.Context(), "seckill:order:1001", strconv.FormatInt(user, 10)).Val())
	}
	waiting, err := s.Waiting(t.Context(), voucher)
	require.NoError(t, err)
	for i, user := range users {
		require.Equal(t, seckill.Holder{User: seckill.UserID(user), Order: seckill.OrderID(math.MaxInt64 - int64(i))}, waiting[i])
	}
	requireBooks(t, s, 0, int64(len(users)))
	require.Empty(t, c.Keys(t.Context(), "*e+*").Val())
}

// A5, A6, A7: a rush sells what there is, once to each, and never goes below zero.
func TestAdmitRush(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 10)
	var g errgroup.Group
	g.SetLimit(50)
	for i := range int64(1000) {
		g.Go(func() error {
			user := i%200 + 1
			_, err := s.Admit(context.WithoutCancel(t.Context()), order(user, i+1))
			if code := seckill.CodeOf(err); code != "" && code != seckill.SoldOut && code != seckill.AlreadyOrdered {
				return err
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	requireBooks(t, s, 0, 10)
	require.EqualValues(t, 10, c.XLen(t.Context(), "seckill:stream").Val())
}

func TestAdmitWindowByRedisTime(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 1000)
	// Each edge is met from both sides by the server's own clock, which judges it.
	for id := int64(1); id < 100; id++ {
		begin := serverTime(t, c).Add(2 * time.Millisecond).Truncate(time.Millisecond)
		require.NoError(t, c.HSet(t.Context(), "seckill:voucher:1001", "begin", begin.UnixMilli()).Err())
		for user := int64(1); ; user++ {
			before := serverTime(t, c)
			_, err := s.Admit(t.Context(), order(1000*id+user, 1000*id+user))
			after := serverTime(t, c)
			if err == nil {
				require.False(t, after.Before(begin), "opened early")
				break
			}
			require.ErrorIs(t, err, seckill.NotStarted)
			require.True(t, before.Before(begin), "opened late")
		}
	}
}

// D6: scripts that the server forgot are loaded again.
func TestAdmitAfterScriptFlush(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 10)
	for i := range int64(10) {
		require.NoError(t, c.ScriptFlush(t.Context()).Err())
		admit(t, s, order(i+1, i+1))
	}
}

func TestAdmitForeignReply(t *testing.T) {
	for _, reply := range [][]string{nil, {}, {"ACCEPTED"}, {"ACCEPTED", "1", "5"}, {"ACCEPTED", "900", "many"}, {"ORDERED"}, {"ORDERED", "x"}, {"NOT_STARTED", "x"}, {"OK"}} {
		_, err := admission("op", 900, reply)
		require.ErrorIs(t, err, seckill.Internal, reply)
	}
}

// Whoever has to find the key that is in the way is told its name.
func TestAdmitNamesTheStream(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 1)
	require.NoError(t, c.Set(t.Context(), "seckill:stream", "x", 0).Err())
	_, err := s.Admit(t.Context(), order(1, 11))
	require.ErrorIs(t, err, seckill.Internal)
	require.ErrorContains(t, err, "adding to seckill:stream: WRONGTYPE")
}
