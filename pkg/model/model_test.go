package model

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
)

func TestModel(t *testing.T) {
	taken := make(chan map[string]bool, len(rows()))
	t.Run("sales", func(t *testing.T) {
		for _, r := range rows() {
			t.Run(r.name, func(t *testing.T) {
				t.Parallel()
				taken <- r.explore(t)
			})
		}
	})
	close(taken)
	for _, r := range faultnet.Pick(nil, large()) { // one after the other, for the sake of memory
		t.Run(r.name, func(t *testing.T) { r.explore(t) })
	}
	if whole {
		requireDeeds(t, taken)
	}
}

// explore returns what was done in some state.
func (r row) explore(t *testing.T) map[string]bool {
	f := explore(r.config, min(r.most, firstMost))
	t.Logf("%d states", f.states)
	require.Empty(t, f.broken, "%s", f)
	require.False(t, f.cut && whole, "there are more than the %d states that it should have", r.most)
	return f.deeds
}

// requireDeeds holds that each step of a worker, each of a release and each loss is part of
// some sale: what is never done is never checked.
func requireDeeds(t *testing.T, taken <-chan map[string]bool) {
	seen := map[string]bool{}
	for deeds := range taken {
		for d := range deeds {
			seen[d] = true
		}
	}
	for _, does := range workerDoes {
		require.Contains(t, seen, does)
	}
	for _, does := range losses {
		require.Contains(t, seen, does)
	}
	for _, does := range giverDoes {
		require.Contains(t, seen, does)
	}
}
