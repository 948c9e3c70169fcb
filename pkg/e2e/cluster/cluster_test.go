package cluster

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
)

// TestCluster sells on three masters with a replica each while slots move and masters die, by
// a SEED if one is set.
func TestCluster(t *testing.T) {
	for _, m := range []struct {
		name string
		wait bool
	}{{"a replica holds what is accepted", true}, {"nobody waits for replicas", false}} {
		t.Run(m.name, func(t *testing.T) {
			if !m.wait && !faultnet.Pick(false, true) {
				return
			}
			n, p := newNodes(t)
			faults := []fault{
				{name: "a slot moves", keeps: everything, strike: n.reshard},
				{name: "a master is killed", keeps: replicated, harms: true, strike: n.kill},
				{name: "a master stands still and wakes", keeps: replicated, harms: true, strike: n.freeze},
				{name: "a master is emptied", keeps: nothing, strike: n.empty},
			}
			run(t, newSale(t, p, seed(t), m.wait), faults[:faultnet.Pick(2, len(faults))])
		})
	}
}

// TestSentinel kills the master that Sentinels watch while all is sold.
func TestSentinel(t *testing.T) {
	if !faultnet.Pick(false, true) {
		return
	}
	for _, m := range []struct {
		name string
		wait bool
	}{{"a replica holds what is accepted", true}, {"nobody waits for replicas", false}} {
		t.Run(m.name, func(t *testing.T) {
			w, p := newWatched(t)
			kill := fault{name: "the master is killed", keeps: replicated, strike: failOver(w)}
			run(t, newSale(t, p, seed(t), m.wait), []fault{kill, kill})
		})
	}
}

func run(t *testing.T, s *sale, faults []fault) {
	r := rand.New(rand.NewPCG(s.seed, 0))
	for _, f := range faults {
		partition := r.IntN(max(1, s.ledger.Partitions))
		ok := t.Run(f.name, func(t *testing.T) {
			s.survive(t, f, partition, f.keeps == everything || s.waits && f.keeps == replicated)
		})
		if !ok {
			return
		}
	}
}

// seed is that of the environment, or one by chance; it is told.
func seed(t *testing.T) uint64 {
	t.Helper()
	n := rand.Uint64()
	if text := os.Getenv("SEED"); text != "" {
		var err error
		n, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "SEED")
	}
	t.Logf("SEED=%d", n)
	return n
}
