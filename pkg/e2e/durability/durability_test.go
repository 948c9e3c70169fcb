package durability

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/seckill"
)

// found is what a mode has shown.
type found struct {
	accepted, forgotten int     // before Redis died
	kept, lost          int     // of the forgotten ones, by their receipts
	rate                float64 // acceptances a second; 0: not measured
}

// TestDurability lets Redis die in the middle of a sale, while workers stand still and orders
// wait, in each mode. Whatever Redis forgot, nothing is oversold, and every promise ends as one
// row. With BENCH=1, or at full length, it measures what each mode costs; OUT names a file
// for the table.
func TestDurability(t *testing.T) {
	var mu sync.Mutex
	shown := map[string]found{}
	t.Run("mode", func(t *testing.T) {
		for _, m := range modes {
			t.Run(m.name, func(t *testing.T) {
				if !measured() {
					t.Parallel()
				}
				s := newSale(t, m.open(t))
				var f found
				if measured() {
					f.rate = s.rate()
				}
				s.crash(m, &f)
				mu.Lock()
				defer mu.Unlock()
				shown[m.name] = f
			})
		}
	})
	if len(shown) < len(modes) {
		return // some failed, or were not asked for
	}
	text := table(shown)
	t.Log("\n" + text)
	if out := os.Getenv("OUT"); out != "" {
		require.NoError(t, os.WriteFile(out, []byte(text), 0o644))
	}
}

// crash sells, lets Redis die, and follows every promise to its end.
func (s *sale) crash(m mode, f *found) {
	s.t.Helper()
	units := faultnet.Pick[int64](120, 2000)
	users, stored := units*5/4, units/4
	s.open(units)
	require.NoError(s.t, s.each(1, stored, s.insist))
	s.rest()
	s.signal(syscall.SIGSTOP)
	var wave sync.WaitGroup
	wave.Go(func() {
		_ = s.each(stored+1, users, func(user int64) error { _, _ = s.buy(user); return nil }) // many fail
	})
	s.eventually(s.accepted(least(units/2)), "too few orders")
	if s.place.mark != nil {
		require.NoError(s.t, s.place.mark())
	}
	s.eventually(s.accepted(least(units*3/4)), "too few orders")
	before := s.promises()
	require.NoError(s.t, s.place.crash(s.t.Context()))
	wave.Wait()

	told := s.promises()
	f.accepted, f.forgotten = len(told), s.forgotten(told)
	s.t.Logf("%d accepted, %d of them when Redis was told to die; %d forgotten", len(told), len(before), f.forgotten)
	if m.lossless {
		require.Zero(s.t, f.forgotten)
	}
	s.signal(syscall.SIGCONT)
	s.ends(users, told, f)
	s.rest()
	s.law()
}

// ends lets all users come at once: those who hold a promise ask what became of it, with its
// receipt, and the others go on buying.
func (s *sale) ends(users int64, told map[int64]promise, f *found) {
	s.t.Helper()
	var mu sync.Mutex
	require.NoError(s.t, s.each(1, users, func(user int64) error {
		p, promised := told[user]
		if !promised {
			return s.insist(user)
		}
		a, err := s.caller.Follow(s.t.Context(), user, p.order, p.receipt)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err != nil:
		case a.Is(seckill.Created):
			f.kept++
		case a.Is(seckill.Rejected) && a.Reason == string(seckill.ReasonLost):
			f.lost++
		default:
			err = fmt.Errorf("order %s ended as %s", p.order, a.Body)
		}
		return err
	}))
	if f.forgotten == 0 {
		require.Zero(s.t, f.lost)
	}
	require.Equal(s.t, f.accepted, f.kept+f.lost)
	require.LessOrEqual(s.t, f.lost, f.forgotten)
}

func measured() bool { return os.Getenv("BENCH") == "1" || faultnet.Pick(false, true) }

// rate is the median of acceptances a second, of three sales.
func (s *sale) rate() float64 {
	s.t.Helper()
	const orders = 3000
	var rates []float64
	for range 3 {
		s.open(orders)
		began := time.Now()
		require.NoError(s.t, s.each(1, orders, s.insist))
		rates = append(rates, orders/time.Since(began).Seconds())
		s.rest()
	}
	slices.Sort(rates)
	return rates[1]
}

// table is what was shown, in Markdown.
func table(shown map[string]found) string {
	var b strings.Builder
	b.WriteString("| Redis | what a `202` promises | shown: accepted, forgotten, of these `lost` | accepted/s |\n|---|---|---|---|\n")
	first := shown[modes[0].name].rate
	for _, m := range modes {
		f := shown[m.name]
		cost := "–"
		if first > 0 {
			cost = fmt.Sprintf("%.0f %%", 100*f.rate/first)
		}
		fmt.Fprintf(&b, "| %s | %s | %d, %d, %d | %s |\n", m.name, m.promise, f.accepted, f.forgotten, f.lost, cost)
	}
	b.WriteString("| `WAITAOF` | nothing: it needs Redis 7.2, and no program of ours sends it | – | – |\n")
	return b.String()
}
