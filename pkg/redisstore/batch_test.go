package redisstore

import (
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

// tollgate stands before every batch of admissions of a store: it tells how many orders come, and
// lets them pass one batch at a time.
type tollgate struct {
	sizes chan int
	pass  chan struct{}
	lose  func() bool // whether the replies get lost on the way back
}

func newTollgate(s *Store) *tollgate {
	g := &tollgate{sizes: make(chan int, 1000), pass: make(chan struct{}), lose: func() bool { return false }}
	s.db.AddHook(g)
	return g
}

func (g *tollgate) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (g *tollgate) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (g *tollgate) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		if name := cmds[0].Name(); name != "evalsha" && name != "eval" {
			return next(ctx, cmds) // how a connection begins
		}
		g.sizes <- buyers(cmds)
		select {
		case <-g.pass:
		case <-ctx.Done():
		}
		err := next(ctx, cmds)
		if g.lose() {
			err = io.EOF
			for _, cmd := range cmds {
				cmd.SetErr(err)
			}
		}
		return err
	}
}

// buyers is how many the scripts of a trip are asked for: a pair for each follows the name,
// the hash, the number of keys, the keys, the voucher and the width.
func buyers(cmds []redis.Cmder) (n int) {
	for _, cmd := range cmds {
		n += (len(cmd.Args()) - 3 - len(keys{}.admission(1)) - 2) / 2
	}
	return n
}

// waiting is how many admissions stand in the queue of partition 0.
func (s *Store) waiting() int {
	b := s.batches[0]
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue)
}

// crowd sends n admissions of users from first on, and waits until they are under way or queue.
func crowd(t *testing.T, s *Store, g *errgroup.Group, first, n, queued int64) {
	t.Helper()
	for i := range n {
		g.Go(func() error {
			_, err := s.Admit(t.Context(), order(first+i, first+i))
			return err
		})
	}
	require.Eventually(t, func() bool { return s.waiting() == int(queued) }, time.Minute, time.Millisecond)
}

func TestAdmitSharesTrips(t *testing.T) {
	server := redistest.New(t)
	s := openAt(t, Options{Addrs: []string{server.Addr()}, BatchMax: 100})
	sell(t, s, voucher, 1000)
	admit(t, s, order(1000, 1000)) // from now on the server knows the script
	toll := newTollgate(s)
	var g errgroup.Group
	for first := range int64(flightsMax) { // one trip each: there is nobody to wait for
		crowd(t, s, &g, first+1, 1, 0)
		require.Equal(t, 1, <-toll.sizes)
	}
	crowd(t, s, &g, 10, 250, 250)
	var sizes []int
	for range 3 {
		toll.pass <- struct{}{}
		sizes = append(sizes, <-toll.sizes)
	}
	require.Equal(t, []int{100, 100, 50}, sizes, "all that wait go with the next trip, as far as it holds them")
	close(toll.pass)
	require.NoError(t, g.Wait())
	requireBooks(t, s, 1000-251-flightsMax, 251+flightsMax)
}

// One batch may hold whoever asks: the same user twice, more than there are units, buyers
// of several vouchers. Each gets the answer that a trip of their own would have brought.
func TestAdmitMixedBatch(t *testing.T) {
	const other, third = voucher + 1, voucher + 2
	s, c := open(t)
	sell(t, s, voucher, 3)
	sell(t, s, other, 1)
	sell(t, s, third, flightsMax)
	admit(t, s, order(7, 700))
	toll := newTollgate(s)
	var flights, batch errgroup.Group
	for first := range int64(flightsMax) {
		flights.Go(func() error {
			_, err := s.Admit(t.Context(), seckill.Order{ID: seckill.OrderID(first + 1), User: 1 + seckill.UserID(first), Voucher: third})
			return err
		})
		<-toll.sizes
	}
	asks := []struct {
		order seckill.Order
		want  seckill.Code
		holds seckill.OrderID
	}{
		{order(42, 900), "", 900},
		{seckill.Order{ID: 901, User: 42, Voucher: other}, "", 901},
		{order(42, 902), seckill.AlreadyOrdered, 900},
		{order(7, 903), seckill.AlreadyOrdered, 700},
		{seckill.Order{ID: 904, User: 43, Voucher: other}, seckill.SoldOut, 0},
		{order(43, 905), "", 905},
		{order(44, 906), seckill.SoldOut, 0},
		{seckill.Order{ID: 907, User: 45, Voucher: 9}, seckill.NotReady, 0},
		{order(43, 905), "", 905}, // the same order again
	}
	for i, ask := range asks { // one after the other: the queue keeps their order
		batch.Go(func() error {
			a, err := s.Admit(t.Context(), ask.order)
			if seckill.CodeOf(err) != ask.want || a.Order != ask.holds {
				return fmt.Errorf("order %d: %+v, %w", ask.order.ID, a, err)
			}
			return nil
		})
		require.Eventually(t, func() bool { return s.waiting() == i+1 }, time.Minute, time.Millisecond)
	}
	close(toll.pass)
	require.NoError(t, flights.Wait())
	require.NoError(t, batch.Wait())
	requireBooks(t, s, 0, 3)
	require.Equal(t, map[string]string{"7": "700", "42": "900", "43": "905"}, c.HGetAll(t.Context(), "seckill:ticket:1001").Val())
	require.Equal(t, map[string]string{"42": "901"}, c.HGetAll(t.Context(), "seckill:ticket:1002").Val())
	require.EqualValues(t, 4+flightsMax, c.XLen(t.Context(), "seckill:stream").Val())
}

// Past the bound nobody waits: the refusal comes at once, and nothing was done.
func TestAdmitQueueIsBounded(t *testing.T) {
	server := redistest.New(t)
	s := openAt(t, Options{Addrs: []string{server.Addr()}, QueueMax: 5})
	sell(t, s, voucher, 1000)
	toll := newTollgate(s)
	var g errgroup.Group
	for first := range int64(flightsMax) {
		crowd(t, s, &g, first+1, 1, 0)
		<-toll.sizes
	}
	crowd(t, s, &g, 10, 5, 5)
	_, err := s.Admit(t.Context(), order(99, 99))
	require.ErrorIs(t, err, seckill.Overloaded)
	close(toll.pass)
	require.NoError(t, g.Wait())
	requireBooks(t, s, 1000-5-flightsMax, 5+flightsMax)
}

// One who leaves gets an answer at once. If the order was not sent yet, it never is.
func TestAdmitLeaves(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 1000)
	toll := newTollgate(s)
	var g errgroup.Group
	for first := range int64(flightsMax) {
		crowd(t, s, &g, first+1, 1, 0)
		<-toll.sizes
	}
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := s.Admit(ctx, order(50, 50))
		left <- err
	}()
	require.Eventually(t, func() bool { return s.waiting() == 1 }, time.Minute, time.Millisecond)
	leave()
	require.ErrorIs(t, <-left, seckill.Unavailable)
	close(toll.pass)
	require.NoError(t, g.Wait())
	require.False(t, c.SIsMember(t.Context(), "seckill:order:1001", "50").Val())
}

// D1: the server ran the script and its reply got lost: the buyer still learns of the order.
func TestAdmitLostReply(t *testing.T) {
	s, c := open(t)
	sell(t, s, voucher, 10)
	toll := newTollgate(s)
	close(toll.pass)
	var once sync.Once
	toll.lose = func() (lost bool) {
		once.Do(func() { lost = true })
		return lost
	}
	a, err := s.Admit(t.Context(), order(42, 900))
	require.NoError(t, err)
	require.Equal(t, seckill.OrderID(900), a.Order)
	require.EqualValues(t, 1, c.XLen(t.Context(), "seckill:stream").Val())
	requireBooks(t, s, 9, 1)

	toll.lose = func() bool { return true } // the second one, too
	_, err = s.Admit(t.Context(), order(43, 901))
	require.ErrorIs(t, err, seckill.Unavailable)
	toll.lose = func() bool { return false }
	a, err = s.Admit(t.Context(), order(43, 902))
	require.ErrorIs(t, err, seckill.AlreadyOrdered)
	require.Equal(t, seckill.OrderID(901), a.Order, "the retry gets the order that was made")
	requireBooks(t, s, 8, 2)
}

func TestAdmitAfterClose(t *testing.T) {
	server := redistest.New(t)
	s, err := Open(t.Context(), Options{Addrs: []string{server.Addr()}})
	require.NoError(t, err)
	sell(t, s, voucher, 10)
	toll := newTollgate(s)
	var g errgroup.Group
	crowd(t, s, &g, 1, 1, 0)
	<-toll.sizes
	require.NoError(t, s.Close(), "it waits for the trip, which its end cuts short")
	require.ErrorIs(t, g.Wait(), seckill.Unavailable)
	_, err = s.Admit(t.Context(), order(2, 2))
	require.ErrorIs(t, err, seckill.Unavailable)
}

// A panic in a trip, which serves many, is the fault of a few requests, not the process' end.
func TestAdmitPanics(t *testing.T) {
	s, _ := open(t)
	sell(t, s, voucher, 10)
	toll := newTollgate(s)
	close(toll.pass)
	toll.lose = func() bool { panic("hook") }
	_, err := s.Admit(t.Context(), order(1, 1))
	require.ErrorContains(t, err, "panic: hook")
	toll.lose = func() bool { return false }
	_, err = s.Admit(t.Context(), order(2, 2))
	require.NoError(t, err)
}

// D6: the scripts are flushed again and again while many buy: nobody notices.
func TestAdmitRushWhileScriptsAreFlushed(t *testing.T) {
	s, c := open(t)
	const buyers = 2000
	sell(t, s, voucher, buyers)
	var g errgroup.Group
	for i := range int64(50) {
		g.Go(func() error {
			for user := i + 1; user <= buyers; user += 50 {
				if user%40 == 1 {
					if err := c.ScriptFlush(t.Context()).Err(); err != nil {
						return err
					}
				}
				if _, err := s.Admit(t.Context(), order(user, user)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, g.Wait())
	requireBooks(t, s, 0, buyers)
}

// followed is a master with a replica.
func followed(t *testing.T) (master, replica *redistest.Server) {
	t.Helper()
	master = leader(t)
	host, port, err := net.SplitHostPort(master.Addr())
	require.NoError(t, err)
	return master, redistest.NewWith(t, redistest.Options{Args: []string{"--replicaof", host + " " + port}})
}

// What a server says may be the last word while a replica follows it, and no longer.
func TestConfirm(t *testing.T) {
	t.Parallel()
	master, replica := followed(t)
	s := openAt(t, Options{Addrs: []string{master.Addr()}, WaitReplicas: 1, WaitTimeout: 100 * time.Millisecond})
	confirmed := func() bool { return s.Confirm(t.Context(), voucher) == nil }
	require.Eventually(t, confirmed, time.Minute, 10*time.Millisecond)
	require.True(t, confirmed(), "a second time")
	require.NoError(t, replica.ClientOf(t).ReplicaOf(t.Context(), "NO", "ONE").Err())
	err := s.Confirm(t.Context(), voucher)
	require.ErrorIs(t, err, seckill.Unavailable)
	require.ErrorIs(t, err, errReplicas)

	alone, c := open(t)
	require.NoError(t, alone.Confirm(t.Context(), voucher))
	require.Zero(t, c.Exists(t.Context(), alone.keys.confirmed(0)).Val(), "where acceptances need no replica nothing is asked")
}

// An order is admitted once a replica holds it. While none answers, the order stands, its
// buyer is told that nobody knows, and the retry gets it once it is held.
func TestAdmitWaitsForReplicas(t *testing.T) {
	t.Parallel()
	master, replica := followed(t)
	s := openAt(t, Options{Addrs: []string{master.Addr()}, WaitReplicas: 1, WaitTimeout: 100 * time.Millisecond})
	sell(t, s, voucher, 10)
	c := replica.ClientOf(t)
	require.Eventually(t, func() bool {
		_, err := s.Admit(t.Context(), order(1, 1))
		return err == nil || seckill.CodeOf(err) == seckill.AlreadyOrdered
	}, time.Minute, 10*time.Millisecond)
	require.Eventually(t, func() bool { return c.Exists(t.Context(), "seckill:order:1001").Val() == 1 }, time.Minute, 10*time.Millisecond)

	_, err := s.Admit(t.Context(), order(2, 2))
	require.NoError(t, err)
	require.True(t, c.SIsMember(t.Context(), "seckill:order:1001", "2").Val(), "the replica holds what was admitted")

	pid, err := strconv.Atoi(infoField(c.Info(t.Context(), "server").Val(), "process_id"))
	require.NoError(t, err)
	require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
	for id := range int64(2) { // the second finds the first, on whatever connection
		a, err := s.Admit(t.Context(), order(3, 3+id))
		require.ErrorIs(t, err, seckill.Unavailable)
		require.ErrorIs(t, err, errReplicas)
		require.Equal(t, seckill.OrderID(3*id), a.Order, "the one that was made before, if any")
	}
	requireBooks(t, s, 7, 3)
	require.NoError(t, syscall.Kill(pid, syscall.SIGCONT))

	a, err := s.Admit(t.Context(), order(3, 4))
	require.ErrorIs(t, err, seckill.AlreadyOrdered)
	require.Equal(t, seckill.OrderID(3), a.Order)
}
