package redistest

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// New starts a server of the test's own on a Unix socket and ends it with the test. Where
// no server can be started the test fails: it is never skipped.
func New(t testing.TB) *Server {
	t.Helper()
	return NewWith(t, Options{})
}

// NewWith is New with options.
func NewWith(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := Start(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// Client returns a client of a server of the test's own; both end with the test.
func Client(t testing.TB) *redis.Client {
	t.Helper()
	return New(t).ClientOf(t)
}

// ClientOf is Server.Client, closed with the test.
func (s *Server) ClientOf(t testing.TB) *redis.Client {
	c := s.Client()
	t.Cleanup(func() { _ = c.Close() }) // a test may have closed it already
	return c
}
