package redisstore

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

func users(ids ...seckill.UserID) []seckill.UserID { return ids }

func lock(t *testing.T, s *Store, o LockOptions, ids ...seckill.UserID) *Lease {
	t.Helper()
	l, err := s.Lock(t.Context(), 0, ids, o)
	require.NoError(t, err)
	return l
}

func TestLock(t *testing.T) {
	s, c := open(t)
	a := lock(t, s, LockOptions{}, 1, 2, 2)
	require.Equal(t, map[seckill.UserID]bool{1: true, 2: true}, a.Held())
	require.InDelta(t, 10_000, c.PTTL(t.Context(), "lock:order:1").Val().Milliseconds(), 2_000) // E10

	b := lock(t, s, LockOptions{}, 2, 3)
	require.Equal(t, map[seckill.UserID]bool{3: true}, b.Held(), "what is held elsewhere is left out, at once")
	require.NoError(t, b.Release())
	require.ErrorIs(t, b.Context().Err(), context.Canceled)
	require.EqualValues(t, 2, c.Exists(t.Context(), "lock:order:1", "lock:order:2").Val(), "a busy taker removes nothing")

	again := lock(t, s, LockOptions{Token: a.token}, 1, 2)
	require.Len(t, again.Held(), 2, "its owner takes it again")
	require.NoError(t, again.Release())
	require.NoError(t, a.Release())
	require.Empty(t, c.Keys(t.Context(), "lock:*").Val())
	none := lock(t, s, LockOptions{})
	require.Empty(t, none.Held())
	require.NoError(t, none.Release())
}

func TestLockWaits(t *testing.T) {
	s, c := open(t)
	a := lock(t, s, LockOptions{}, 1)
	got := make(chan *Lease)
	go func() {
		b, _ := s.Lock(t.Context(), 0, users(1, 2), LockOptions{TTL: time.Second, Wait: time.Minute})
		got <- b
	}()
	require.Eventually(t, func() bool { return c.Exists(t.Context(), "lock:order:2").Val() == 1 }, time.Minute, time.Millisecond)
	require.NoError(t, a.Release())
	b := <-got
	require.Len(t, b.Held(), 2)
	require.NoError(t, b.Release())
}

// E2: a lock that ran out and was taken by another is not taken from it.
func TestUnlockComparesToken(t *testing.T) {
	s, c := open(t)
	a := lock(t, s, LockOptions{}, 1)
	require.NoError(t, c.Set(t.Context(), "lock:order:1", "another", time.Minute).Err())
	require.NoError(t, a.Release())
	require.Equal(t, "another", c.Get(t.Context(), "lock:order:1").Val())
}

func TestLockIsRenewed(t *testing.T) {
	s, c := open(t)
	l := lock(t, s, LockOptions{TTL: 300 * time.Millisecond}, 1, 2)
	for range 4 { // each a renewal, seen as the time going up again
		low := c.PTTL(t.Context(), "lock:order:1").Val()
		require.Eventually(t, func() bool {
			now := c.PTTL(t.Context(), "lock:order:1").Val()
			up := now > low
			low = now
			return up
		}, time.Minute, time.Millisecond)
		require.NoError(t, l.Context().Err())
	}
	require.NoError(t, l.Release())
}

// E6: who lost a lock is told, whether the key went or Redis is silent.
func TestLockLost(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s, c := openAt(t, Options{Addrs: []string{server.Addr()}}), server.ClientOf(t)
	for name, lose := range map[string]func() error{
		"the key was deleted":     func() error { return c.Del(t.Context(), "lock:order:2").Err() },
		"another took it":         func() error { return c.Set(t.Context(), "lock:order:2", "x", time.Minute).Err() },
		"Redis does not answer":   func() error { return c.Do(t.Context(), "CLIENT", "PAUSE", "1500", "ALL").Err() },
		"the server was shut off": server.Kill,
	} {
		t.Run(name, func(t *testing.T) {
			if name == "the server was shut off" {
				t.Cleanup(func() { require.NoError(t, server.Restart()) })
			}
			l := lock(t, s, LockOptions{TTL: 600 * time.Millisecond}, 1, 2)
			require.NoError(t, lose())
			select {
			case <-l.Context().Done():
				require.ErrorIs(t, context.Cause(l.Context()), ErrLockLost)
			case <-time.After(10 * time.Second):
				t.Fatal("nobody was told")
			}
			_ = l.Release()
			require.Eventually(t, func() bool { return name == "the server was shut off" || c.Ping(t.Context()).Err() == nil }, time.Minute, 10*time.Millisecond)
			if name != "the server was shut off" {
				require.NoError(t, c.Del(t.Context(), "lock:order:1", "lock:order:2").Err())
			}
		})
	}
}

// E7: no renewal outlives its release, wherever the holder is cancelled.
func TestReleaseStopsRenewal(t *testing.T) {
	s, c := open(t)
	require.NoError(t, s.Ping(t.Context()))
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	for i := range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		stop := time.AfterFunc(rand.N(time.Millisecond), cancel)
		l, err := s.Lock(ctx, 0, users(seckill.UserID(i%7+1)), LockOptions{TTL: 30 * time.Millisecond})
		if err == nil {
			require.NoError(t, l.Release())
		}
		stop.Stop()
		cancel()
	}
	require.Eventually(t, func() bool { return len(c.Keys(t.Context(), "lock:*").Val()) == 0 }, time.Minute, time.Millisecond)
}

func TestWithLocks(t *testing.T) {
	s, c := open(t)
	err := s.WithLocks(t.Context(), 0, users(1, 2), func(ctx context.Context, held map[seckill.UserID]bool) error {
		require.Len(t, held, 2)
		require.NoError(t, ctx.Err())
		require.EqualValues(t, 2, c.Exists(t.Context(), "lock:order:1", "lock:order:2").Val())
		return s.WithLocks(ctx, 0, users(2, 3), func(_ context.Context, held map[seckill.UserID]bool) error {
			require.Equal(t, map[seckill.UserID]bool{3: true}, held)
			return seckill.SoldOut
		})
	})
	require.ErrorIs(t, err, seckill.SoldOut)
	require.Empty(t, c.Keys(t.Context(), "lock:*").Val())
	require.NoError(t, c.Set(t.Context(), "lock:order:{x}", "", 0).Err())
	require.ErrorIs(t, brokenScript(s, t.Context()), seckill.Unavailable)
}

// brokenScript asks a store whose server is out of reach.
func brokenScript(s *Store, ctx context.Context) error {
	away := &Store{keys: s.keys, lockTTL: time.Second, db: redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:1"}, MaxRetries: -1, DialTimeout: 100 * time.Millisecond})}
	defer away.db.Close()
	return away.WithLocks(ctx, 0, users(1), func(context.Context, map[seckill.UserID]bool) error { return nil })
}
