package run

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// untilIntakeEnds is a part that stops at once.
func untilIntakeEnds(intake, _ context.Context) error {
	<-intake.Done()
	return nil
}

func TestAll(t *testing.T) {
	boom, bang := errors.New("boom"), errors.New("bang")
	failsAfter := func(d time.Duration, err error) Part {
		return func(intake, _ context.Context) error {
			_ = Wait(intake, d)
			return err
		}
	}
	tests := []struct {
		name  string
		parts []Part
		is    []error
		after time.Duration
	}{
		{"no parts", nil, nil, 0},
		{"a part that is done leaves the others alone", []Part{failsAfter(time.Second, nil), failsAfter(time.Minute, nil)}, nil, time.Minute},
		{"the first failure ends the intake of the others", []Part{failsAfter(time.Second, boom), untilIntakeEnds}, []error{boom}, time.Second},
		{"errors come joined", []Part{failsAfter(time.Second, boom), failsAfter(time.Hour, bang)}, []error{boom, bang}, time.Second},
		{"a part that drains for ever is cut", []Part{failsAfter(time.Second, boom), untilWorkEnds}, []error{boom}, time.Second + failLimit},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				err := All(t.Context(), t.Context(), tt.parts...)
				require.Equal(t, tt.after, time.Since(start))
				if len(tt.is) == 0 {
					require.NoError(t, err)
				}
				for _, want := range tt.is {
					require.ErrorIs(t, err, want)
				}
			})
		})
	}
}

func TestAllCatchesPanics(t *testing.T) {
	err := All(t.Context(), t.Context(), untilIntakeEnds, func(_, _ context.Context) error { return explode() })
	var p *Panic
	require.ErrorAs(t, err, &p)
	require.Equal(t, "user 666", p.Value)
	require.ErrorContains(t, err, "panic: user 666")
	require.ErrorContains(t, err, "run.explode", "the stack says where")
}

func explode() error { panic("user 666") }

func TestEvery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		intake, end := context.WithTimeout(t.Context(), time.Hour)
		defer end()
		var runs []time.Time
		part := Every(time.Minute, func(work context.Context) {
			require.NoError(t, work.Err())
			runs = append(runs, time.Now())
		})
		start := time.Now()
		require.NoError(t, part(intake, t.Context()))
		require.Equal(t, time.Hour, time.Since(start), "intake ends the pause")
		require.Equal(t, start, runs[0], "the first run comes at once")
		same := true
		for i, at := range runs[1:] {
			gap := at.Sub(runs[i])
			require.InDelta(t, time.Minute, gap, float64(6*time.Second))
			same = same && gap == time.Minute
		}
		require.False(t, same, "the pauses vary")
	})
}

func TestEveryFinishesTheRunInHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		intake, end := context.WithCancel(t.Context())
		runs := 0
		err := Every(time.Minute, func(work context.Context) {
			end()
			require.NoError(t, Wait(work, time.Hour))
			runs++
		})(intake, t.Context())
		require.NoError(t, err)
		require.Equal(t, 1, runs)
	})
}

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBackoff(100*time.Millisecond, 5*time.Second)
		pause := func() time.Duration {
			start := time.Now()
			require.NoError(t, b.Wait(t.Context()))
			return time.Since(start)
		}
		require.InDelta(t, 100*time.Millisecond, pause(), float64(51*time.Millisecond))
		for range 20 {
			pause()
		}
		for range 20 {
			require.InDelta(t, 5*time.Second, pause(), float64(2501*time.Millisecond), "never much longer than the most")
		}
		b.Reset()
		require.InDelta(t, 100*time.Millisecond, pause(), float64(51*time.Millisecond))
	})
}

func TestBackoffEndsWithItsContext(t *testing.T) {
	why := errors.New("shutdown")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	require.ErrorIs(t, NewBackoff(time.Hour, time.Hour).Wait(ctx), why)
}
