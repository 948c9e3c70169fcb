package redisstore

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

// sold puts 5 units of version 3 on sale, of which 2 are held.
func sold(t *testing.T, s *Store) seckill.Voucher {
	t.Helper()
	v := sell(t, s, voucher, 5)
	v.Version = 3
	require.NoError(t, s.Change(t.Context(), v))
	admit(t, s, order(1, 11))
	admit(t, s, order(2, 12))
	return v
}

func TestChange(t *testing.T) {
	s, c := open(t)
	v := sold(t, s)
	v.Total, v.Version = 9, 4
	for range 2 { // a lost reply may be asked for again
		require.NoError(t, s.Change(t.Context(), v))
		requireBooks(t, s, 7, 2)
	}
	v.Total, v.Version = 1, 5
	require.NoError(t, s.Change(t.Context(), v))
	requireBooks(t, s, 0, 2)

	now := serverTime(t, c)
	v.Total, v.Version, v.Begin, v.End = 9, 6, now.Add(time.Hour), now.Add(2*time.Hour)
	require.NoError(t, s.Change(t.Context(), v))
	_, err := s.Admit(t.Context(), order(3, 13))
	require.ErrorIs(t, err, seckill.NotStarted)
	v.Version, v.Begin, v.End = 7, now.Add(-2*time.Hour), now.Add(-time.Hour)
	require.NoError(t, s.Change(t.Context(), v))
	_, err = s.Admit(t.Context(), order(3, 13))
	require.ErrorIs(t, err, seckill.Ended)
	v.Version, v.End = 8, now.Add(time.Hour)
	require.NoError(t, s.Change(t.Context(), v))
	admit(t, s, order(3, 13))
	requireBooks(t, s, 6, 3)
}

// A cut that SQL never got, and a change that came first there, have the same version.
func TestChangeOverridesACutOfItsVersion(t *testing.T) {
	s, _ := open(t)
	v := sold(t, s)
	require.NoError(t, s.Cut(t.Context(), voucher, 2, 3))
	v.Version, v.Total = 4, 20
	require.NoError(t, s.Change(t.Context(), v))
	requireBooks(t, s, 18, 2)
}

func TestCut(t *testing.T) {
	s, _ := open(t)
	sold(t, s)
	require.NoError(t, s.Cut(t.Context(), voucher, 3, 3))
	requireBooks(t, s, 1, 2)
	require.ErrorIs(t, s.Cut(t.Context(), voucher, 3, 3), seckill.Outdated, "asked for again")
	require.NoError(t, s.Cut(t.Context(), voucher, 2, 4))
	requireBooks(t, s, 0, 2)
	_, err := s.Admit(t.Context(), order(3, 13))
	require.ErrorIs(t, err, seckill.SoldOut)
}

func TestChangeAndCutRefuse(t *testing.T) {
	for _, c := range []struct {
		name        string
		before      setup
		version     int64 // in SQL; the one that a cut is made from
		total       int64
		change, cut seckill.Code
	}{
		{"an older version", all(), 2, 9, seckill.Outdated, seckill.Outdated},
		{"fewer than are held, queued orders included", all(), 3, 1, "", seckill.BelowSold},
		{"not loaded", raw("DEL", "seckill:voucher:1001"), 3, 9, seckill.NotReady, seckill.NotReady},
		{"closed for a sync", raw("HSET", "seckill:voucher:1001", "state", "loading"), 3, 9, seckill.NotReady, seckill.NotReady},
		{"stock lost", raw("DEL", "seckill:stock:1001"), 3, 9, seckill.NotReady, seckill.NotReady},
		{"tickets lost", raw("DEL", "seckill:ticket:1001"), 3, 9, seckill.NotReady, seckill.NotReady},
		{"a voucher of another type", all(raw("DEL", "seckill:voucher:1001"), raw("SET", "seckill:voucher:1001", "x")), 3, 9, seckill.NotReady, seckill.NotReady},
		{"no version in Redis", raw("HDEL", "seckill:voucher:1001", "version"), 3, 9, "", seckill.Outdated},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, client := open(t)
			v := sold(t, s)
			c.before(t, s, client)
			before := redistest.Dump(t, client)
			refused := func(err error, want seckill.Code) {
				t.Helper()
				if want == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorIs(t, err, want)
				require.Equal(t, before, redistest.Dump(t, client), "a refusal leaves no trace")
			}
			refused(s.Cut(t.Context(), voucher, c.total, c.version), c.cut)
			v.Version, v.Total = c.version, c.total
			refused(s.Change(t.Context(), v), c.change)
		})
	}
}

// Both tell every node, whose memory would be wrong otherwise.
func TestChangeAndCutArePublished(t *testing.T) {
	s, c := open(t)
	v := sold(t, s)
	sub := c.Subscribe(t.Context(), "seckill:changed")
	t.Cleanup(func() { require.NoError(t, sub.Close()) })
	_, err := sub.Receive(t.Context())
	require.NoError(t, err)
	heard := func() {
		t.Helper()
		message, err := sub.ReceiveMessage(t.Context())
		require.NoError(t, err)
		require.Equal(t, "1001", message.Payload)
	}
	require.NoError(t, s.Cut(t.Context(), voucher, 4, 3))
	heard()
	v.Version = 5
	require.NoError(t, s.Change(t.Context(), v))
	heard()
}

func TestChangeOfASilentRedis(t *testing.T) {
	t.Parallel()
	server := redistest.New(t)
	s := openAt(t, Options{Addrs: []string{server.Addr()}})
	v := sell(t, s, voucher, 5)
	require.NoError(t, server.Kill())
	require.ErrorIs(t, s.Change(t.Context(), v), seckill.Unavailable)
	require.ErrorIs(t, s.Cut(t.Context(), voucher, 1, 1), seckill.Unavailable)
	_, err := s.Clock(t.Context(), voucher)
	require.ErrorIs(t, err, seckill.Unavailable)
}

func TestClock(t *testing.T) {
	s, c := open(t)
	now, err := s.Clock(t.Context(), voucher)
	require.NoError(t, err)
	require.WithinDuration(t, serverTime(t, c), now, time.Minute)
	require.Equal(t, time.UTC, now.Location())
}
