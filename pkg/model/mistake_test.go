package model

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// mistakes are rules that somebody might think can be left out, each with a sale in which it
// is missed.
var mistakes = []struct {
	name    string
	mistake mistake
	broken  string
	config  config
}{
	{"a release that does not compare the order", releaseAnyOrder, "a re-bought order is released by an older order's release",
		config{units: 1, buyer: users{0, 0}, cancels: true, sweeps: true, wears: true}},
	{"a release that is due of a buyer", releaseByBuyer, "a re-bought order is released by an older order's release",
		config{units: 1, buyer: users{0, 0}, cancels: true, sweeps: true}},
	{"a cancellation that begins in Redis", cancelRedisFirst, "Redis offers more than SQL has",
		config{units: 1, buyer: users{0}, cancels: true}},
	{"a worn-out order that is released before its row is there", releaseFirst, "a queued order is without its ticket or entry",
		config{units: 1, buyer: users{0}, wears: true}},
	{"an entry that is settled before the commit", ackFirst, "a queued order is without its ticket or entry", config{units: 1, buyer: users{0}}},
	{"a sync that does not close the sale", syncStaysOpen, "a status query misses an accepted order",
		config{units: 1, buyer: users{0, 0}, syncers: 1, syncs: true, cancels: true, sweeps: true, asks: true}},
	{"a sync without a token", syncWithoutToken, "a status query misses an accepted order",
		config{units: 1, buyer: users{0, 0}, syncers: 2, syncs: true, cancels: true, sweeps: true, asks: true}},
	{"a sync that reads SQL before the stream", syncSQLFirst, "an accepted order is rejected as short",
		config{units: 1, buyer: users{0, 1}, syncers: 1, losses: 1, kinds: "t"}},
	{"a sync that drops tickets with neither row nor entry", syncDropsTickets, "at rest Redis has another stock than SQL: a unit is lost or doubled",
		config{units: 1, buyer: users{0}, syncers: 1, syncs: true, losses: 1, kinds: "x"}},
	{"a deduction without the epoch", noEpoch, "an accepted order is rejected as short",
		config{units: 1, buyer: users{0, 1}, workers: 2, syncers: 1, losses: 1, kinds: "F"}},
	{"a repair that marks a row which it does not hold", markUnlocked, "a dead order holds a unit that nobody will free",
		config{units: 1, buyer: users{0, 0}, cancels: true, sweeps: true, repairs: true}},
	{"a repair that marks where the books do not balance", markUnbalanced, "an accepted order is rejected as short",
		config{units: 2, buyer: users{0, 1, 2}, syncers: 1, repairs: true, losses: 1, kinds: "2"}},
	{"a total that is cut in SQL first", cutSQLFirst, "an accepted order is rejected as short",
		config{units: 1, buyer: users{0}, cuts: 1, syncers: 1}},
	{"a total that is cut in SQL after a sync", cutAnyEpoch, "an accepted order is rejected as short",
		config{units: 1, buyer: users{0}, cuts: 1, syncers: 1, losses: 1, kinds: "v"}},
	{"a time-out that writes on no condition", blindExpiry, "an order leaves a final status",
		config{units: 1, buyer: users{0}, pays: true, expires: true}},
	{"a late payment that returns the unit as well", lateReturnsUnit, "SQL: stock + live rows is not the total",
		config{units: 1, buyer: users{0}, pays: true, expires: true}},
	{"a publisher that remembers the last number", skippingCursor, "at rest a change is not published",
		config{units: 2, buyer: users{0, 1}, slow: true, publishers: 1}},
	{"a status query that reads SQL first", statusSQLFirst, "a status query misses an accepted order",
		config{units: 1, buyer: users{0}, cancels: true, sweeps: true, asks: true}},
}

// TestMistakes shows that the model can fail: -v prints a shortest way to each failure.
func TestMistakes(t *testing.T) {
	const most = 150_000
	for _, c := range mistakes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			wrong := c.config
			wrong.mistake = c.mistake
			f := explore(wrong, most)
			t.Log(f)
			require.Equal(t, c.broken, f.broken)
			sound := explore(c.config, min(f.states, firstMost))
			require.Empty(t, sound.broken, "without the mistake: %s", sound)
		})
	}
}

// TestLimits shows what the protocol does not promise, though one might wish it did.
func TestLimits(t *testing.T) {
	const most = 50_000
	for _, c := range []struct {
		name, broken string
		config       config
	}{
		{"an older Redis sells a unit again until SQL refuses it", "an accepted order is rejected as short",
			config{units: 1, buyer: users{0, 1}, syncers: 1, losses: 1, kinds: "R"}},
		{"an older Redis may tell a holder that all is sold", "a holder is told SOLD_OUT",
			config{units: 1, buyer: users{0, 0, 1}, syncers: 1, losses: 1, kinds: "R", mayBeShort: true, mayBeDouble: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := explore(c.config, most)
			t.Log(f)
			require.Equal(t, c.broken, f.broken)
		})
	}
}
