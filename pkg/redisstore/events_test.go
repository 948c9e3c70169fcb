package redisstore

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

const events = "seckill:events"

var noon = time.UnixMilli(1767268800123).UTC()

// happen are n events of as many orders.
func happen(n int) []seckill.Event {
	all := make([]seckill.Event, n)
	for i := range all {
		all[i] = seckill.Event{
			ID: fmt.Sprintf("7-%d", i), Order: seckill.OrderID(i + 1), User: 42, Voucher: voucher, Status: seckill.Created, At: noon,
		}
	}
	return all
}

func publish(t *testing.T, s *Store, n int) {
	t.Helper()
	require.NoError(t, s.PublishEvents(t.Context(), happen(n)))
}

func TestPublishEvents(t *testing.T) {
	s, c := open(t)
	require.NoError(t, s.PublishEvents(t.Context(), []seckill.Event{
		{ID: "7-0", Order: 9007199254740993, User: 42, Voucher: 1001, Status: seckill.Created, At: noon},
		{ID: "8-0", Order: 9007199254740993, User: 42, Voucher: 1001, Status: seckill.Cancelled, Reason: seckill.ReasonExpired, At: noon.Add(time.Second)},
	}))
	found := c.XRange(t.Context(), events, "-", "+").Val()
	require.Len(t, found, 2)
	require.Equal(t, map[string]any{
		"event": "7-0", "orderId": "9007199254740993", "userId": "42", "voucherId": "1001", "status": "created", "at": "1767268800123",
	}, found[0].Values)
	require.Equal(t, map[string]any{
		"event": "8-0", "orderId": "9007199254740993", "userId": "42", "voucherId": "1001", "status": "cancelled", "reason": "expired", "at": "1767268801123",
	}, found[1].Values)
	require.NoError(t, s.PublishEvents(t.Context(), nil))
}

func TestPublishEventsInOrder(t *testing.T) {
	s, c := open(t)
	const n = 3*eventsBatch + 1
	publish(t, s, n)
	for i, m := range c.XRange(t.Context(), events, "-", "+").Val() {
		require.Equal(t, strconv.Itoa(i+1), m.Values["orderId"])
	}
	require.EqualValues(t, n, c.XLen(t.Context(), events).Val())

	require.NoError(t, c.Del(t.Context(), events).Err())
	require.NoError(t, c.Set(t.Context(), events, "x", 0).Err())
	require.ErrorIs(t, s.PublishEvents(t.Context(), happen(1)), seckill.Internal)
}

func TestPublishEventsToPartitions(t *testing.T) {
	server := redistest.New(t)
	s, c := openAt(t, Options{Addrs: []string{server.Addr()}, Partitions: 2}), server.ClientOf(t)
	all := happen(2)
	all[1].Voucher++
	require.NoError(t, s.PublishEvents(t.Context(), all))
	for p := range 2 {
		require.EqualValues(t, 1, c.XLen(t.Context(), s.keys.events(p)).Val())
	}
}

// Nothing that a group has not read and acknowledged is dropped, and all else is: C14, by XLEN.
func TestTrimEvents(t *testing.T) {
	const n = 10
	group := func(t *testing.T, c *redis.Client, name, start string) {
		require.NoError(t, c.XGroupCreate(t.Context(), events, name, start).Err())
	}
	read := func(t *testing.T, c *redis.Client, name string, count int64) (ids []string) {
		got, err := c.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: name, Consumer: "c", Streams: []string{events, ">"}, Count: count, Block: -1}).Result()
		require.NoError(t, err)
		for _, m := range got[0].Messages {
			ids = append(ids, m.ID)
		}
		return ids
	}
	ack := func(t *testing.T, c *redis.Client, name string, ids ...string) {
		require.NoError(t, c.XAck(t.Context(), events, name, ids...).Err())
	}
	for _, row := range []struct {
		name string
		does func(t *testing.T, c *redis.Client)
		left int64
	}{
		{"no group keeps the newest", func(*testing.T, *redis.Client) {}, n},
		{"a group that has read nothing", func(t *testing.T, c *redis.Client) { group(t, c, "a", "0") }, n},
		{"a group that starts at the end needs nothing", func(t *testing.T, c *redis.Client) { group(t, c, "a", "$") }, 0},
		{"read and not acknowledged", func(t *testing.T, c *redis.Client) {
			group(t, c, "a", "0")
			read(t, c, "a", 4)
		}, n},
		{"read and acknowledged", func(t *testing.T, c *redis.Client) {
			group(t, c, "a", "0")
			ack(t, c, "a", read(t, c, "a", 4)...)
		}, n - 4},
		{"all read and acknowledged", func(t *testing.T, c *redis.Client) {
			group(t, c, "a", "0")
			ack(t, c, "a", read(t, c, "a", n)...)
		}, 0},
		{"one pending in between", func(t *testing.T, c *redis.Client) {
			group(t, c, "a", "0")
			ids := read(t, c, "a", 6)
			ack(t, c, "a", append(ids[:2:2], ids[3:]...)...)
		}, n - 2},
		{"the slowest group decides", func(t *testing.T, c *redis.Client) {
			group(t, c, "a", "0")
			group(t, c, "b", "0")
			ack(t, c, "a", read(t, c, "a", n)...)
			ack(t, c, "b", read(t, c, "b", 3)...)
		}, n - 3},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			s, c := open(t)
			publish(t, s, n)
			row.does(t, c)
			for range 2 {
				left, err := s.TrimEvents(t.Context())
				require.NoError(t, err)
				require.Equal(t, row.left, left)
				require.Equal(t, row.left, c.XLen(t.Context(), events).Val())
			}
		})
	}
}

func TestTrimEventsNobodyReads(t *testing.T) {
	s, c := open(t)
	left, err := s.TrimEvents(t.Context())
	require.NoError(t, err)
	require.Zero(t, left, "there is no stream yet")
	publish(t, s, eventsKept+7)
	left, err = s.TrimEvents(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, eventsKept, left)
	require.Equal(t, "8", c.XRangeN(t.Context(), events, "-", "+", 1).Val()[0].Values["orderId"], "the oldest went")
}

func TestQueuedOrder(t *testing.T) {
	t.Parallel()
	s, c := open(t)
	_, err := s.QueuedOrder(t.Context(), 7)
	require.ErrorIs(t, err, seckill.OrderNotFound)
	sell(t, s, voucher, 3000)
	buy(t, s, 2500)
	for _, id := range []int64{1, 1000, 1001, 2500} {
		o, err := s.QueuedOrder(t.Context(), seckill.OrderID(id))
		require.NoError(t, err)
		want := order(id, id)
		want.Status = seckill.Queued
		require.Equal(t, want, o)
	}
	_, err = s.QueuedOrder(t.Context(), 2501)
	require.ErrorIs(t, err, seckill.OrderNotFound)

	const fill = "for _ = 1, ARGV[1] do redis.call('XADD', KEYS[1], '*', 'id', '9', 'userId', '9', 'voucherId', '9') end return 1"
	require.NoError(t, c.Eval(t.Context(), fill, []string{"seckill:stream"}, queuedMax).Err())
	_, err = s.QueuedOrder(t.Context(), 2501)
	require.ErrorIs(t, err, seckill.Unavailable, "it may stand further back")
}

// FuzzDelivery holds that whatever stands in an entry is read as an order or called malformed.
func FuzzDelivery(f *testing.F) {
	f.Add("id", "1", "userId", "2", "voucherId", "3")
	f.Add("id", "9223372036854775808", "userId", "-1", "voucherId", "1e3")
	f.Add("", "", "id", "01", "id", "\x00\xff")
	f.Fuzz(func(t *testing.T, n1, v1, n2, v2, n3, v3 string) {
		d := delivery(0, redis.XMessage{ID: "1-0", Values: map[string]any{n1: v1, n2: v2, n3: v3}})
		if d.Malformed != nil {
			return
		}
		require.Positive(t, d.Order.ID)
		require.Positive(t, d.Order.User)
		require.Positive(t, d.Order.Voucher)
		again := delivery(0, redis.XMessage{ID: "1-0", Values: map[string]any{
			"id": d.Order.ID.String(), "userId": d.Order.User.String(), "voucherId": d.Order.Voucher.String(),
		}})
		require.Equal(t, d, again)
	})
}
