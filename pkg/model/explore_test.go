package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExploreFindsShortestTrace(t *testing.T) {
	c := config{units: 1, buyer: users{0}, mistake: ackFirst}
	require.Equal(t, []string{"the buyer asks for order 0", "worker 0 takes order 0", "worker 0 settles order 0"}, explore(c, 1000).trace)
}

func TestExploreStopsAtItsLimit(t *testing.T) {
	f := explore(config{units: 1, buyer: users{0, 1}}, 10)
	require.True(t, f.cut)
	require.Less(t, f.states, 30)
	require.False(t, explore(config{units: 1, buyer: users{0}}, 1000).cut)
}

func TestTableKeepsEachStateOnce(t *testing.T) {
	table := newTable()
	for range 2 {
		for i := range 3 * tablePage {
			var s state
			s.admitted = [ordersMax]uint8{uint8(i), uint8(i >> 8)}
			table.add(&s, i)
		}
	}
	require.Equal(t, 3*tablePage, table.len())
	require.Equal(t, uint8(tablePage>>8), table.at(tablePage).admitted[1])
}
