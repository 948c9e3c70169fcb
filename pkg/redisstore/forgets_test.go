package redisstore

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

func TestForgets(t *testing.T) {
	for name, c := range map[string]struct {
		options redistest.Options
		want    string
	}{
		"it keeps nothing":            {redistest.Options{}, "appendonly is no"},
		"it writes once a second":     {redistest.Options{AOF: "everysec"}, "everysec"},
		"it writes when it happens":   {redistest.Options{AOF: "no"}, "appendfsync is no"},
		"it writes before it answers": {redistest.Options{AOF: "always"}, ""},
		"it tells no settings":        {redistest.Options{AOF: "everysec", Args: []string{"--rename-command", "CONFIG", ""}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := openAt(t, Options{Addrs: []string{redistest.NewWith(t, c.options).Addr()}}).Forgets()
			if c.want == "" {
				require.Empty(t, got)
			}
			require.Contains(t, got, c.want)
		})
	}
}

// A Redis that takes no writes answers, and is not there for a sale.
func TestPingOfOneThatTakesNoWrites(t *testing.T) {
	s, c := open(t)
	require.NoError(t, s.Ping(t.Context()))
	before := redistest.Dump(t, c)
	for name, set := range map[string][2]string{
		"it is full":                 {"maxmemory", "1"},
		"too few replicas follow it": {"min-replicas-to-write", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			old := c.ConfigGet(t.Context(), set[0]).Val()[set[0]]
			require.NoError(t, c.ConfigSet(t.Context(), set[0], set[1]).Err())
			require.ErrorIs(t, s.Ping(t.Context()), seckill.Unavailable)
			require.NoError(t, c.ConfigSet(t.Context(), set[0], old).Err())
			require.NoError(t, s.Ping(t.Context()))
		})
	}
	require.Equal(t, before, redistest.Dump(t, c))
	require.NoError(t, c.FlushAll(t.Context()).Err())
	require.NoError(t, s.Ping(t.Context()))
	require.Empty(t, redistest.Dump(t, c), "it makes no key")
	require.NoError(t, c.ReplicaOf(t.Context(), "127.0.0.1", "1").Err())
	require.ErrorIs(t, s.Ping(t.Context()), seckill.Unavailable)
}
