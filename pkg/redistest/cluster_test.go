package redistest_test

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redistest"
)

func TestCluster(t *testing.T) {
	t.Parallel()
	const key = "{a}:1"
	c := redistest.NewCluster(t, 1, redistest.Options{})
	all := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Addrs()})
	t.Cleanup(func() { require.NoError(t, all.Close()) })
	for _, name := range []string{key, "{a}:2", "{a}:3"} {
		require.NoError(t, all.Set(t.Context(), name, "x", 0).Err())
	}
	from, err := c.Owner(t.Context(), key)
	require.NoError(t, err)
	to := c.Nodes[0]
	if to == from {
		to = c.Nodes[1]
	}

	move, err := c.BeginMove(t.Context(), key, to)
	require.NoError(t, err)
	moved, err := move.Take(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, 1, moved)
	err = from.ClientOf(t).MGet(t.Context(), key, "{a}:2", "{a}:3").Err()
	require.True(t, redis.IsTryAgainError(err), "%v", err)
	require.NoError(t, move.End(t.Context()))
	owner, err := c.Owner(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, to.Addr(), owner.Addr())
	require.Equal(t, "x", all.Get(t.Context(), key).Val())

	dead, err := c.Failover(t.Context(), key)
	require.NoError(t, err)
	require.Equal(t, to.Addr(), dead.Addr())
	require.NoError(t, dead.Restart())
	require.NoError(t, all.Set(t.Context(), key, "y", 0).Err())
	owner, err = c.Owner(t.Context(), key)
	require.NoError(t, err)
	require.NotEqual(t, to.Addr(), owner.Addr())
	require.Eventually(t, func() bool {
		return strings.Contains(dead.ClientOf(t).Info(t.Context(), "replication").Val(), "role:slave")
	}, time.Minute, 10*time.Millisecond)
}
