package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

// cache remembers verified tokens, because a signature costs more than all the rest of a
// refused purchase. Only good tokens get in, so nobody without one can fill it.
type cache struct {
	max int

	mu      sync.RWMutex
	entries map[[sha256.Size]byte]entry
}

type entry struct {
	caller  Caller
	expires time.Time // zero: never
}

func newCache(size int) *cache {
	return &cache{max: size, entries: make(map[[sha256.Size]byte]entry, size)}
}

// get finds a token that has not expired by now.
func (c *cache) get(key [sha256.Size]byte, now time.Time) (Caller, bool) {
	c.mu.RLock()
	e, ok := c.entries[key]
	c.mu.RUnlock()
	if !ok || (!e.expires.IsZero() && !now.Before(e.expires)) {
		return Caller{}, false // an expired one is refused by the parser, and evicted in time
	}
	return e.caller, true
}

// put remembers a token; where there is no room, any other makes way.
func (c *cache) put(key [sha256.Size]byte, caller Caller, expires time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, there := c.entries[key]; !there && len(c.entries) >= c.max {
		for victim := range c.entries {
			delete(c.entries, victim)
			break
		}
	}
	c.entries[key] = entry{caller: caller, expires: expires}
}
