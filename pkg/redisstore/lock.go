package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	mrand "math/rand/v2"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/openseckill/seckill/lua"
	"github.com/openseckill/seckill/pkg/seckill"
)

// ErrLockLost is the cause of a lease's context when a lock could not be kept: it ran out,
// was deleted, or Redis did not answer for as long as it lasts.
var ErrLockLost = errors.New("the lock was lost")

// unlockTime bounds giving locks back; what is not given back in it runs out by itself.
const unlockTime = time.Second

// LockOptions say how to take locks. The zero value takes what is free without waiting.
type LockOptions struct {
	Token string        // owner; the same one re-enters. Empty: a new one
	TTL   time.Duration // of the locks; the store's where it is 0
	Wait  time.Duration // how long to go on trying for what is held elsewhere
}

// Lease is a set of user locks that is renewed until Release. The locks are advice: they
// keep workers from doing the same work twice, while the database decides what is true.
type Lease struct {
	store *Store
	token string
	ttl   time.Duration
	keys  []string                // of those held
	held  map[seckill.UserID]bool // those held
	ctx   context.Context
	lose  context.CancelCauseFunc
	done  chan struct{} // closed when the renewal has stopped
}

// Lock takes the users' locks of partition p, many in one call. It returns a lease of
// those that it got, which may be none; what another owner holds is no error. The lease's
// context ends with ctx, with Release, or with ErrLockLost as cause.
func (s *Store) Lock(ctx context.Context, p int, users []seckill.UserID, o LockOptions) (*Lease, error) {
	users = slices.Compact(slices.Sorted(slices.Values(users)))
	l := &Lease{store: s, token: o.Token, ttl: o.TTL, held: make(map[seckill.UserID]bool, len(users))}
	if l.token == "" {
		l.token = rand.Text()
	}
	if l.ttl == 0 {
		l.ttl = s.lockTTL
	}
	var since time.Time // before the request: the locks run out no earlier than ttl after it
	for deadline := time.Now().Add(o.Wait); ; {
		since = time.Now()
		if err := l.take(ctx, p, users); err != nil {
			return nil, errors.Join(err, l.unlock(ctx, s.lockKeys(p, users)))
		}
		if len(l.held) == len(users) || !pause(ctx, min(jitter(l.ttl/50), time.Until(deadline))) {
			break
		}
	}
	l.keep(ctx, since)
	return l, nil
}

// keep renews the locks from now on.
func (l *Lease) keep(ctx context.Context, since time.Time) {
	l.ctx, l.lose = context.WithCancelCause(ctx)
	l.done = make(chan struct{})
	go l.renew(since)
}

func (s *Store) lockKeys(p int, users []seckill.UserID) []string {
	keys := make([]string, len(users))
	for i, u := range users {
		keys[i] = s.keys.lock(p, u)
	}
	return keys
}

// take tries once for all of them, so that those taken by an earlier try last as long.
func (l *Lease) take(ctx context.Context, p int, users []seckill.UserID) error {
	keys := l.store.lockKeys(p, users)
	ours, err := l.run(ctx, "redisstore.Lock", lua.Lock, keys, l.token, max(1, l.ttl.Milliseconds()))
	if err != nil {
		return err
	}
	clear(l.held)
	l.keys = l.keys[:0]
	for i, u := range users {
		if ours[i] == 1 {
			l.held[u] = true
			l.keys = append(l.keys, keys[i])
		}
	}
	return nil
}

func (l *Lease) run(ctx context.Context, op string, script *redis.Script, keys []string, args ...any) ([]int64, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	ours, err := script.Run(ctx, l.store.db, keys, args...).Int64Slice()
	if err != nil {
		return nil, fault(op, err)
	}
	if len(ours) != len(keys) {
		return nil, foreign(op, ours)
	}
	return ours, nil
}

// Held returns the users whose locks the lease has. The caller must not change it.
func (l *Lease) Held() map[seckill.UserID]bool { return l.held }

// Context ends when the lease is released or a lock of it is lost.
func (l *Lease) Context() context.Context { return l.ctx }

// Release stops the renewal, waits until it has stopped, and deletes those locks that are
// still ours. It works within a second also when the context of Lock has ended.
func (l *Lease) Release() error {
	l.end()
	return l.unlock(l.ctx, l.keys)
}

func (l *Lease) end() {
	l.lose(context.Canceled)
	<-l.done
}

func (l *Lease) unlock(ctx context.Context, keys []string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockTime)
	defer cancel()
	_, err := l.run(ctx, "redisstore.Unlock", lua.Unlock, keys, l.token)
	return err
}

// renew extends the locks every third of their time, from the state of this lease alone: a
// later lease on the same keys has a renewal of its own.
func (l *Lease) renew(since time.Time) {
	defer close(l.done)
	tick := time.NewTicker(max(l.ttl/3, time.Millisecond))
	defer tick.Stop()
	for len(l.keys) > 0 {
		select {
		case <-l.ctx.Done():
			return
		case <-tick.C:
		}
		asked := time.Now()
		ctx, cancel := context.WithDeadline(l.ctx, since.Add(l.ttl))
		ours, err := l.run(ctx, "redisstore.Extend", lua.Extend, l.keys, l.token, max(1, l.ttl.Milliseconds()))
		cancel()
		switch {
		case err == nil && !slices.Contains(ours, 0):
			since = asked
		case err == nil, time.Since(since) >= l.ttl:
			l.store.locksLost.Add(1)
			l.lose(ErrLockLost)
			return
		}
	}
}

// WithLocks takes the users' locks without waiting, and runs fn with those that it got.
// The context of fn ends when a lock is lost: what fn has not committed by then it must
// roll back. The locks are given back after fn has returned.
func (s *Store) WithLocks(ctx context.Context, p int, users []seckill.UserID, fn func(ctx context.Context, held map[seckill.UserID]bool) error) error {
	l, err := s.Lock(ctx, p, users, LockOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = l.Release() }() // what is not given back runs out
	return fn(l.Context(), l.Held())
}

func jitter(d time.Duration) time.Duration { return d/2 + mrand.N(d+1) }

// pause waits for d and reports whether there is a point in going on.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
