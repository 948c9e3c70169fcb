package obs

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

func TestAdmittedByVoucher(t *testing.T) {
	tally := NewTally()
	tally.Admitted(1, "", time.Millisecond)
	tally.Admitted(1, seckill.SoldOut, 3*time.Millisecond)
	tally.Admitted(2, seckill.NotStarted, time.Millisecond)
	tally.Admitted(3, seckill.VoucherNotFound, time.Millisecond)
	tally.Admitted(2, seckill.Outdated, time.Millisecond) // no code in which a purchase ends
	all, sales := tally.Counts()
	require.EqualValues(t, 5, all.Requests())
	require.Equal(t, map[seckill.Code]uint64{Accepted: 1, seckill.SoldOut: 1}, sales[1].Codes)
	require.Equal(t, map[seckill.Code]uint64{seckill.NotStarted: 1, seckill.Internal: 1}, sales[2].Codes)
	require.NotContains(t, sales, seckill.VoucherID(3), "anybody may ask for a voucher that is none")
}

func TestTallyIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tally := NewTally()
		for v := range seckill.VoucherID(tallyMax + 2) {
			tally.Admitted(v, "", 0)
		}
		_, sales := tally.Counts()
		require.Len(t, sales, tallyMax)
		require.NotContains(t, sales, seckill.VoucherID(0), "the first gives way")
		require.NotContains(t, sales, seckill.VoucherID(tallyMax+1), "only one gives way at a time")
		<-time.After(tallyTurn)
		tally.Admitted(tallyMax+1, "", 0)
		_, sales = tally.Counts()
		require.Contains(t, sales, seckill.VoucherID(tallyMax+1))
	})
}

func TestTallyAllocatesNothing(t *testing.T) {
	tally := NewTally()
	tally.Admitted(1, "", 0)
	require.Zero(t, testing.AllocsPerRun(100, func() { tally.Admitted(1, seckill.SoldOut, time.Millisecond) }))
}

func TestSlots(t *testing.T) {
	for d := time.Duration(0); d < 20*time.Second; d += d/50 + time.Microsecond {
		i := slot(d)
		require.Less(t, d, slotEnd(i), "slot %d", i)
		if i > 0 {
			require.GreaterOrEqual(t, d, slotEnd(i-1).Truncate(time.Microsecond), "slot %d", i)
		}
	}
	require.Equal(t, timesMax-1, slot(time.Hour))
	require.Zero(t, slot(-time.Second))
}

func TestQuantile(t *testing.T) {
	tally := NewTally()
	for range 98 {
		tally.Admitted(1, "", time.Millisecond)
	}
	tally.Admitted(1, "", time.Second)
	tally.Admitted(1, "", time.Second)
	all, _ := tally.Counts()
	require.InEpsilon(t, time.Millisecond, all.Quantile(0.5), 0.25)
	require.InEpsilon(t, time.Second, all.Quantile(0.99), 0.25)
	require.Zero(t, Counts{}.Quantile(0.5))
}

func TestSince(t *testing.T) {
	count := func(n uint64) Counts {
		return Counts{Codes: map[seckill.Code]uint64{Accepted: n}, Times: map[int]uint64{3: n}}
	}
	require.Equal(t, count(2), count(5).Since(count(3)))
	require.Equal(t, count(2), count(2).Since(count(3)), "it began anew")
	require.Equal(t, count(5), count(2).Plus(count(3)))
	require.Zero(t, count(2).Since(count(2)).Requests())
}

func TestRecent(t *testing.T) {
	recent, out := NewRecent(), new(bytes.Buffer)
	log := slog.New(slog.NewMultiHandler(NewLogger(out, slog.LevelError, FormatText).Handler(), recent))
	log.Info("fine")
	log.With("part", "a").WithGroup("store").Warn("it fails", "err", errors.New("EOF"))
	log.Error(strings.Repeat("x", 2*recentText))
	kept := recent.Newest(9)
	require.Len(t, kept, 2, "warnings and errors alone")
	require.Equal(t, "ERROR", kept[0].Level)
	require.Len(t, kept[0].Text, recentText)
	require.Equal(t, `msg="it fails" part=a store.err=EOF`, kept[1].Text)
	require.NotContains(t, out.String(), "it fails", "the other handler has its own level")

	for range 2 * recentMax {
		log.WarnContext(context.WithoutCancel(t.Context()), "again")
	}
	require.Len(t, recent.Newest(1000), recentMax)
	require.Len(t, recent.Newest(3), 3)
}
