package run

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

const limit = 20 * time.Second

var quiet = slog.New(slog.DiscardHandler)

// untilWorkEnds is a part that drains for ever.
func untilWorkEnds(intake, work context.Context) error {
	<-intake.Done()
	<-work.Done()
	return nil
}

func TestStop(t *testing.T) {
	boom := errors.New("boom")
	tests := []struct {
		name  string
		send  []time.Duration // when the signals come
		fn    Part
		is    error // nil: no error
		after time.Duration
	}{
		{"done by itself", nil, func(_, _ context.Context) error { return nil }, nil, 0},
		{"failed by itself", nil, func(_, _ context.Context) error { return boom }, boom, 0},
		{"a signal ends intake alone", []time.Duration{time.Second}, func(intake, work context.Context) error {
			<-intake.Done()
			return errors.Join(Wait(work, limit/2), work.Err())
		}, nil, time.Second + limit/2},
		{"a signal while it starts is no failure", []time.Duration{time.Second}, func(intake, _ context.Context) error {
			<-intake.Done()
			return fmt.Errorf("migrate: %w", intake.Err())
		}, nil, time.Second},
		{"a failure while it stops is one", []time.Duration{time.Second}, func(intake, _ context.Context) error {
			<-intake.Done()
			return boom
		}, boom, time.Second},
		{"work ends at the limit", []time.Duration{time.Second}, untilWorkEnds, ErrLate, time.Second + limit},
		{"work ends at a second signal", []time.Duration{time.Second, 3 * time.Second}, untilWorkEnds, ErrAgain, 3 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				s := &stopper{signals: make(chan os.Signal, 2), limit: limit, log: quiet}
				for _, d := range tt.send {
					time.AfterFunc(d, func() { s.signals <- syscall.SIGTERM })
				}
				err := s.run(t.Context(), tt.fn)
				require.Equal(t, tt.after, time.Since(start))
				require.ErrorIs(t, err, tt.is)
			})
		})
	}
}

func TestStopByContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := &stopper{signals: make(chan os.Signal, 2), limit: limit, log: quiet}
		err := s.run(ctx, func(intake, work context.Context) error {
			cancel()
			<-intake.Done()
			return work.Err()
		})
		require.NoError(t, err, "work goes on after the end of ctx")
	})
}

func TestStopTellsTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &stopper{signals: make(chan os.Signal, 2), limit: limit, log: quiet}
		s.signals <- syscall.SIGTERM
		_ = s.run(t.Context(), func(intake, work context.Context) error {
			<-intake.Done()
			require.ErrorIs(t, context.Cause(intake), ErrSignal)
			<-work.Done()
			require.ErrorIs(t, context.Cause(work), ErrLate)
			return nil
		})
	})
}

// TestStopBySignals runs this test again as a child and sends it real signals.
func TestStopBySignals(t *testing.T) {
	if os.Getenv("RUN_TEST_CHILD") != "" {
		childOfSignals(t.Context())
	}
	for _, sig := range []os.Signal{syscall.SIGTERM, os.Interrupt} {
		t.Run(sig.String(), func(t *testing.T) {
			cmd := exec.Command(os.Args[0], "-test.run=^TestStopBySignals$")
			cmd.Env = append(os.Environ(), "RUN_TEST_CHILD=1")
			out, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewReader(out)
			for _, want := range []string{"running\n", "draining\n"} {
				line, err := lines.ReadString('\n')
				require.NoError(t, err)
				require.Equal(t, want, line)
				require.NoError(t, cmd.Process.Signal(sig))
			}
			rest, err := io.ReadAll(lines)
			require.NoError(t, err)
			require.Equal(t, "cut: told to stop a second time\n", string(rest))
			require.NoError(t, cmd.Wait())
		})
	}
}

func childOfSignals(ctx context.Context) {
	err := Main(ctx, time.Hour, quiet, func(intake, work context.Context) error {
		fmt.Println("running")
		<-intake.Done()
		fmt.Println("draining")
		<-work.Done()
		return nil
	})
	fmt.Println("cut:", err)
	os.Exit(0)
}
