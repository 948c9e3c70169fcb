package auth

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPutStaysWithinItsBound(t *testing.T) {
	c := newCache(3)
	now := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	for i := range 10 {
		key := sha256.Sum256([]byte{byte(i)})
		c.put(key, Caller{User: 1}, time.Time{})
		require.LessOrEqual(t, len(c.entries), 3)
		_, ok := c.get(key, now)
		require.True(t, ok, "the newest is never the victim")
	}
}
