package gate

import (
	"sync"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	shards = 64
	window = time.Second // in which a user may use up the whole rate at once
)

// limiter lets each user ask so often a second. It keeps one number for each user who
// asked in the last two seconds: when that user's past requests are paid off (the generic
// cell rate algorithm). One who is silent for a window has paid all, and is forgotten.
type limiter struct {
	interval time.Duration // that pays for one request; 0: no limit
	now      func() time.Time
	born     time.Time
	shards   [shards]shard
}

// shard holds a part of the users: those seen since the last turn, and those seen before.
type shard struct {
	mu            sync.Mutex
	turned        time.Duration
	recent, older map[seckill.UserID]time.Duration
}

func newLimiter(perSecond int, now func() time.Time) *limiter {
	l := &limiter{now: now, born: now()}
	if perSecond > 0 {
		l.interval = window / time.Duration(perSecond)
	}
	for i := range l.shards {
		l.shards[i].recent = make(map[seckill.UserID]time.Duration)
	}
	return l
}

// allow takes one request of u, or refuses it; refused ones cost nothing.
func (l *limiter) allow(u seckill.UserID) bool {
	if l.interval == 0 {
		return true
	}
	now := l.now().Sub(l.born)
	s := &l.shards[uint64(u)%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn(now)
	paid, ok := s.recent[u]
	if !ok {
		paid = s.older[u]
	}
	paid = max(paid, now)
	if paid-now > window-l.interval {
		return false
	}
	s.recent[u] = paid + l.interval
	return true
}

// turn forgets those who were not seen for a window.
func (s *shard) turn(now time.Duration) {
	if now-s.turned < window {
		return
	}
	s.older, s.turned = s.recent, now
	s.recent = make(map[seckill.UserID]time.Duration, len(s.older)/2)
}
