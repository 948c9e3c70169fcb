package redisstore

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

const short = 20 * time.Millisecond

func buy(t *testing.T, s *Store, n int) {
	t.Helper()
	for i := range n {
		admit(t, s, order(int64(i)+1, int64(i)+1))
	}
}

func read(t *testing.T, s *Store, consumer string, count int) []seckill.Delivery {
	t.Helper()
	ds, err := s.Read(t.Context(), 0, consumer, count, short)
	require.NoError(t, err)
	return ds
}

func entriesOf(ds []seckill.Delivery) (ids []string) {
	for _, d := range ds {
		ids = append(ids, d.Entry)
	}
	return ids
}

func pending(t *testing.T, c *redis.Client) int64 {
	t.Helper()
	p, err := c.XPending(t.Context(), "seckill:stream", "seckillGroup").Result()
	require.NoError(t, err)
	return p.Count
}

// C2: what was accepted before the first worker started is read.
func TestReadBacklog(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 20)
	buy(t, s, 20)
	ds := read(t, s, "a", 100)
	require.Len(t, ds, 20)
	require.Equal(t, order(1, 1), ds[0].Order)
	require.EqualValues(t, 1, ds[0].Attempts)
	require.EqualValues(t, 20, pending(t, c))
	require.Empty(t, read(t, s, "a", 100), "an empty poll is no error")
	n, err := s.Settle(t.Context(), 0, entriesOf(ds))
	require.NoError(t, err)
	require.Equal(t, 20, n)
	require.Zero(t, pending(t, c))
	require.Zero(t, c.XLen(t.Context(), "seckill:stream").Val())
	require.Zero(t, c.XInfoGroups(t.Context(), "seckill:stream").Val()[0].Lag)
}

// C1: a reader that is blocked when the stream or group goes finds both again.
func TestReadHeals(t *testing.T) {
	for name, lose := range map[string]func(c *redis.Client) error{
		"the stream is deleted": func(c *redis.Client) error { return c.Del(t.Context(), "seckill:stream").Err() },
		"all keys are deleted":  func(c *redis.Client) error { return c.FlushAll(t.Context()).Err() },
		"the group is destroyed": func(c *redis.Client) error {
			return c.XGroupDestroy(t.Context(), "seckill:stream", "seckillGroup").Err()
		},
		"the key changes to text": func(c *redis.Client) error { return c.Set(t.Context(), "seckill:stream", "x", 0).Err() },
	} {
		t.Run(name, func(t *testing.T) {
			s, c := open(t)
			require.Empty(t, read(t, s, "a", 1)) // makes the group
			type result struct {
				ds  []seckill.Delivery
				err error
			}
			got := make(chan result)
			go func() {
				ds, err := s.Read(t.Context(), 0, "a", 1, 5*time.Second)
				got <- result{ds, err}
			}()
			blocked(t, c)
			require.NoError(t, lose(c))
			if strings.Contains(name, "text") {
				require.ErrorIs(t, (<-got).err, seckill.Internal)
				return
			}
			blocked(t, c) // healed, and waiting again
			sell(t, s, voucher, 1)
			buy(t, s, 1)
			r := <-got
			require.NoError(t, r.err)
			require.Len(t, r.ds, 1)
		})
	}
}

// blocked waits until a reader is blocked in the server.
func blocked(t *testing.T, c *redis.Client) {
	t.Helper()
	require.Eventually(t, func() bool {
		return infoField(c.Info(t.Context(), "clients").Val(), "blocked_clients") == "1"
	}, time.Minute, 2*time.Millisecond)
}

// C20: a block that is no whole millisecond would wait for ever.
func TestReadRefusesTinyBlock(t *testing.T) {
	s, _ := open(t)
	_, err := s.Read(t.Context(), 0, "a", 1, 5000)
	require.ErrorIs(t, err, seckill.Invalid)
}

// C5, C24: the pending entries of a dead consumer are taken over to the last page.
func TestClaim(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 250)
	buy(t, s, 250)
	require.Len(t, read(t, s, "dead", 250), 250)
	var all []seckill.Delivery
	for cursor := "0-0"; ; {
		ds, next, lost, err := s.Claim(t.Context(), 0, "heir", 0, cursor, 100)
		require.NoError(t, err)
		require.Empty(t, lost)
		all = append(all, ds...)
		if cursor = next; next == "0-0" {
			break
		}
	}
	require.Len(t, all, 250)
	for _, d := range all {
		require.EqualValues(t, 2, d.Attempts)
	}
	ds, _, _, err := s.Claim(t.Context(), 0, "thief", time.Hour, "0-0", 100)
	require.NoError(t, err)
	require.Empty(t, ds, "none has been idle for an hour")

	require.NoError(t, s.DropConsumer(t.Context(), 0, "heir"))
	require.NoError(t, s.DropConsumer(t.Context(), 0, "dead"))
	consumers := c.XInfoConsumers(t.Context(), "seckill:stream", "seckillGroup").Val()
	require.Len(t, consumers, 1, "one that holds something stays, one that does not goes")
	require.Equal(t, "heir", consumers[0].Name)
}

func TestReadOwn(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 250)
	buy(t, s, 250)
	first := read(t, s, "a", 250)
	require.NoError(t, c.XDel(t.Context(), "seckill:stream", first[3].Entry, first[120].Entry).Err())
	var all []seckill.Delivery
	var gone []string
	for after := "0"; ; {
		ds, last, lost, err := s.ReadOwn(t.Context(), 0, "a", after, 100)
		require.NoError(t, err)
		all, gone = append(all, ds...), append(gone, lost...)
		if after = last; last == "" {
			break
		}
	}
	require.Len(t, all, 248)
	require.EqualValues(t, 2, all[0].Attempts)
	require.Equal(t, []string{first[3].Entry, first[120].Entry}, gone)

	_, _, lost, err := s.Claim(t.Context(), 0, "b", 0, "0-0", 250)
	require.NoError(t, err)
	require.Equal(t, gone, lost)
}

func TestReread(t *testing.T) {
	s, _ := open(t)
	sell(t, s, voucher, 3)
	buy(t, s, 3)
	ds := read(t, s, "a", 3)
	_, err := s.Settle(t.Context(), 0, entriesOf(ds[1:2]))
	require.NoError(t, err)
	again, err := s.Reread(t.Context(), 0, entriesOf(ds))
	require.NoError(t, err)
	require.Equal(t, []seckill.Delivery{ds[0], ds[2]}, again)
}

// C25: what is not pending is passed over, and a group that is gone is no fault.
func TestSettle(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 3)
	buy(t, s, 3)
	ds := read(t, s, "a", 2)
	for i, want := range []int{2, 0} {
		n, err := s.Settle(t.Context(), 0, entriesOf(ds))
		require.NoError(t, err)
		require.Equal(t, want, n, i)
	}
	unread := c.XRange(t.Context(), "seckill:stream", "-", "+").Val()
	require.Len(t, unread, 1)
	n, err := s.Settle(t.Context(), 0, []string{unread[0].ID})
	require.NoError(t, err)
	require.Zero(t, n)
	require.EqualValues(t, 1, c.XLen(t.Context(), "seckill:stream").Val(), "an entry that nobody read stays")
	require.NoError(t, c.XGroupDestroy(t.Context(), "seckill:stream", "seckillGroup").Err())
	_, err = s.Settle(t.Context(), 0, []string{unread[0].ID})
	require.NoError(t, err)
}

// C13: what is settled leaves the stream at once, and nothing else does, in whatever order
// batches end. 300 entries are three nodes of a stream: whole ones and parts of them go.
func TestSettleTakesWhatIsSettled(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 300)
	buy(t, s, 300)
	ids := entriesOf(read(t, s, "a", 250))
	for _, step := range []struct {
		name    string
		entries []string
		left    int
	}{
		{"a later batch before an earlier one", ids[130:140], 290},
		{"the first ones", ids[:40], 250},
		{"in no order", []string{ids[60], ids[40], ids[59], ids[41]}, 246},
		{"what stood between", ids[42:59], 229},
		{"all that are older, and one that is settled", ids[61:131], 160},
		{"beyond a hole", ids[140:200], 100},
		{"all that were read", ids[200:], 50},
	} {
		_, err := s.Settle(t.Context(), 0, step.entries)
		require.NoError(t, err)
		require.EqualValues(t, step.left, c.XLen(t.Context(), "seckill:stream").Val(), step.name)
		require.EqualValues(t, step.left-50, pending(t, c), step.name)
	}
	require.EqualValues(t, 50, c.XInfoGroups(t.Context(), "seckill:stream").Val()[0].Lag)
	require.Len(t, read(t, s, "a", 100), 50, "entries that nobody read stay")
}

// An operator moved the group past orders that nobody has read: they are not settled with
// those that came after them.
func TestSettleLeavesWhatWasPassedOver(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 400)
	buy(t, s, 150)
	require.NoError(t, c.XGroupCreate(t.Context(), "seckill:stream", "seckillGroup", "$").Err())
	for i := range int64(200) {
		admit(t, s, order(1000+i, 1000+i))
	}
	ds := read(t, s, "a", 200)
	require.Len(t, ds, 200)
	n, err := s.Settle(t.Context(), 0, entriesOf(ds))
	require.NoError(t, err)
	require.Equal(t, 200, n)
	require.EqualValues(t, 150, c.XLen(t.Context(), "seckill:stream").Val())
	waiting, err := s.Waiting(t.Context(), voucher)
	require.NoError(t, err)
	require.EqualValues(t, 1, waiting[0].User)
}

// C7: entries that can never be stored are read as such, with what is readable.
func TestReadMalformed(t *testing.T) {
	s, c := open(t)
	add := func(values ...any) {
		require.NoError(t, c.XAdd(t.Context(), &redis.XAddArgs{Stream: "seckill:stream", Values: values}).Err())
	}
	add("id", "900", "userId", "abc", "voucherId", "1001")
	add("what", "ever")
	add("id", "900", "userId", "42", "voucherId", strings.Repeat("9", 1<<20))
	add("id", "9223372036854775808", "userId", "42", "voucherId", "1001")
	add("id", "007", "userId", "42", "voucherId", "1001")
	add("id", "7", "userId", "9223372036854775807", "voucherId", "1001", "trace", "x")
	ds := read(t, s, "a", 10)
	require.Len(t, ds, 6)
	for _, d := range ds[:5] {
		require.Error(t, d.Malformed)
		require.Less(t, len(d.Malformed.Error()), 1000)
	}
	require.Equal(t, order(0, 900), ds[0].Order)
	require.Equal(t, order(42, 0), ds[3].Order)
	require.NoError(t, ds[5].Malformed)
	require.Equal(t, order(9223372036854775807, 7), ds[5].Order)
}

func TestBury(t *testing.T) {
	s, c := open(t)
	values := []any{"reason", "none of yours", "id", "900", "userId", "abc"}
	require.NoError(t, c.XAdd(t.Context(), &redis.XAddArgs{Stream: "seckill:stream", Values: values}).Err())
	d := read(t, s, "a", 1)[0]
	for i := range 3 {
		buried, err := s.Bury(t.Context(), d, seckill.ReasonMalformed)
		require.NoError(t, err)
		require.Equal(t, i == 0, buried)
	}
	require.Zero(t, pending(t, c))
	require.Zero(t, c.XLen(t.Context(), "seckill:stream").Val())
	reply, err := c.Do(t.Context(), "XRANGE", "seckill:dead", "-", "+").Slice()
	require.NoError(t, err)
	require.Len(t, reply, 1)
	require.Equal(t, append([]any{"entry", d.Entry, "reason", "malformed", "attempts", "1"}, values...), reply[0].([]any)[1])
}

func TestTries(t *testing.T) {
	s, c := open(t)
	for want := int64(1); want <= 3; want++ {
		n, err := s.CountTry(t.Context(), 0, "1-1")
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	require.NoError(t, s.SetTries(t.Context(), 0, "1-1", 1))
	require.Equal(t, "1", c.HGet(t.Context(), "seckill:tries", "1-1").Val())
	require.NoError(t, s.SetTries(t.Context(), 0, "1-1", 0))
	require.Empty(t, c.Keys(t.Context(), "seckill:tries*").Val())
	require.NoError(t, s.SetTries(t.Context(), 0, "1-1", 2))
	require.NoError(t, s.ForgetTries(t.Context(), 0, []string{"1-1", "2-2"}))
	require.NoError(t, s.ForgetTries(t.Context(), 0, nil))
	require.Empty(t, c.Keys(t.Context(), "seckill:tries*").Val())
}

func TestAnnounce(t *testing.T) {
	s, c := open(t)
	sub := c.Subscribe(t.Context(), "seckill:settled")
	defer sub.Close()
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	require.NoError(t, s.Announce(t.Context(), []seckill.OrderID{1, 9223372036854775807}))
	m, err := sub.ReceiveMessage(t.Context())
	require.NoError(t, err)
	require.Equal(t, "1 9223372036854775807", m.Payload)
}

// D2: readers that are blocked leave commands their connections.
func TestReadersLeaveThePool(t *testing.T) {
	s, c := open(t)
	require.Empty(t, read(t, s, "a", 1))
	done := make(chan error)
	go func() {
		_, err := s.Read(t.Context(), 0, "a", 1, 5*time.Second)
		done <- err
	}()
	blocked(t, c)
	before := s.db.PoolStats().TotalConns
	sell(t, s, voucher, 1)
	buy(t, s, 1)
	require.NoError(t, <-done)
	require.LessOrEqual(t, s.db.PoolStats().TotalConns, before+1)
}
