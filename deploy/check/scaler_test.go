package check

import (
	"fmt"
	"math"
	"strconv"
	"testing"
	"time"

	"github.com/expr-lang/expr"
	kedav1alpha1 "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	stream = "seckill:stream"
	group  = "seckillGroup"
)

// streamsOf are the order streams of so many partitions.
func streamsOf(partitions string) []string {
	n, _ := strconv.Atoi(partitions)
	if n == 0 {
		return []string{stream}
	}
	var all []string
	for p := range n {
		all = append(all, fmt.Sprintf("%s:{%d}", stream, p))
	}
	return all
}

// scaler is the one that an overlay makes.
func scaler(t *testing.T, overlay string) *kedav1alpha1.ScaledObject {
	t.Helper()
	c, err := build(t, overlay)
	require.NoError(t, err)
	require.Len(t, c.scalers, 1)
	return c.scalers[0]
}

// wanted is how many workers a scaler makes of what Redis says, reckoned as KEDA and the
// autoscaler do: by XLEN where a trigger names no group, by the lag where it asks for that.
func wanted(t *testing.T, s *kedav1alpha1.ScaledObject, db *redis.Client) int {
	t.Helper()
	values := make(map[string]any)
	var value, target float64
	for _, trigger := range s.Spec.Triggers {
		n, per := ask(t, db, trigger.Metadata)
		values[trigger.Name], value, target = n, n, per
	}
	if f := s.Spec.Advanced.ScalingModifiers.Formula; f != "" {
		sum, err := expr.Eval(f, values)
		require.NoError(t, err)
		value = sum.(float64)
		target, err = strconv.ParseFloat(s.Spec.Advanced.ScalingModifiers.Target, 64)
		require.NoError(t, err)
	}
	n := int(math.Ceil(value / target))
	return min(max(n, int(*s.GetHPAMinReplicas())), int(s.GetHPAMaxReplicas()))
}

func ask(t *testing.T, db *redis.Client, metadata map[string]string) (value, target float64) {
	t.Helper()
	key, per := metadata["stream"], metadata["streamLength"]
	length, err := db.XLen(t.Context(), key).Result()
	require.NoError(t, err)
	value = float64(length)
	if lag := metadata["lagCount"]; lag != "" {
		groups, err := db.XInfoGroups(t.Context(), key).Result()
		require.NoError(t, err)
		value, per = float64(groups[0].Lag), lag
	}
	target, err = strconv.ParseFloat(per, 64)
	require.NoError(t, err)
	return value, target
}

// The scaler may be there before the first program: no stream, no group.
func TestScaleBeforeTheSystem(t *testing.T) {
	db := redistest.Client(t)
	for _, overlay := range []string{"production", "cluster"} {
		s := scaler(t, overlay)
		require.EqualValues(t, *s.Spec.MinReplicaCount, wanted(t, s, db), overlay)
	}
}

// The streams that the scalers name are those that the programs make.
func TestScaleByTheStreamsOfTheSystem(t *testing.T) {
	for overlay, partitions := range map[string]int{"production": 0, "cluster": 8} {
		t.Run(overlay, func(t *testing.T) {
			server := redistest.New(t)
			store, err := redisstore.Open(t.Context(), redisstore.Options{Addrs: []string{server.Addr()}, Partitions: partitions})
			require.NoError(t, err)
			defer store.Close()
			for p := range store.Partitions() {
				_, err := store.Read(t.Context(), p, "worker", 1, time.Millisecond)
				require.NoError(t, err)
			}
			db := server.ClientOf(t)
			for _, trigger := range scaler(t, overlay).Spec.Triggers {
				groups, err := db.XInfoGroups(t.Context(), trigger.Metadata["stream"]).Result()
				require.NoError(t, err)
				require.Equal(t, group, groups[0].Name)
			}
		})
	}
}

// Batches settle in any order, and then Redis cannot tell the lag: whoever scales by it
// takes away workers while thousands of orders wait.
func TestScaleWhileBatchesSettleOutOfOrder(t *testing.T) {
	server := redistest.New(t)
	db := server.ClientOf(t)
	store, err := redisstore.Open(t.Context(), redisstore.Options{Addrs: []string{server.Addr()}})
	require.NoError(t, err)
	defer store.Close()
	require.NoError(t, db.XGroupCreateMkStream(t.Context(), stream, group, "0").Err())
	fill(t, db, 60_000)
	first, err := store.Read(t.Context(), 0, "a", 100, time.Millisecond)
	require.NoError(t, err)
	second, err := store.Read(t.Context(), 0, "b", 100, time.Millisecond)
	require.NoError(t, err)
	require.Len(t, first, 100)
	settle(t, store, second)

	info, err := store.StreamInfo(t.Context(), 0)
	require.NoError(t, err)
	require.EqualValues(t, seckill.LagUnknown, info.Lag)
	s := scaler(t, "production")
	require.Equal(t, 3, wanted(t, s, db), "59,900 orders wait, 20,000 to a worker")

	byLag := s.DeepCopy()
	byLag.Spec.Triggers[0].Metadata["lagCount"] = "20000"
	require.EqualValues(t, *s.Spec.MinReplicaCount, wanted(t, byLag, db), "by the lag nobody would come to help")
}

// A backlog brings workers up to the limit, an empty stream takes them back.
func TestScaleWithTheBacklog(t *testing.T) {
	db := redistest.Client(t)
	s := scaler(t, "production")
	for _, c := range []struct{ waiting, workers int }{{1, 2}, {40_000, 2}, {40_001, 3}, {200_000, 8}, {0, 2}} {
		require.NoError(t, db.XTrimMaxLen(t.Context(), stream, 0).Err())
		fill(t, db, c.waiting)
		require.Equal(t, c.workers, wanted(t, s, db), "%d orders wait", c.waiting)
	}
	all := scaler(t, "cluster")
	for _, trigger := range all.Spec.Triggers {
		fillStream(t, db, trigger.Metadata["stream"], 10_000)
	}
	require.Equal(t, 4, wanted(t, all, db), "80,000 orders wait in eight streams")
}

func fill(t *testing.T, db *redis.Client, n int) {
	t.Helper()
	fillStream(t, db, stream, n)
}

func fillStream(t *testing.T, db *redis.Client, key string, n int) {
	t.Helper()
	pipe := db.Pipeline()
	for i := range n {
		pipe.XAdd(t.Context(), &redis.XAddArgs{Stream: key, Values: []any{"id", i + 1, "userId", i + 1, "voucherId", 1}})
	}
	_, err := pipe.Exec(t.Context())
	require.NoError(t, err)
}

func settle(t *testing.T, store *redisstore.Store, ds []seckill.Delivery) {
	t.Helper()
	var entries []string
	for _, d := range ds {
		entries = append(entries, d.Entry)
	}
	n, err := store.Settle(t.Context(), 0, entries)
	require.NoError(t, err)
	require.Equal(t, len(entries), n)
}
