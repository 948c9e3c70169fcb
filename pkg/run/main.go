package run

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Why intake or work ended; context.Cause tells.
var (
	ErrSignal = errors.New("told to stop by a signal")
	ErrAgain  = errors.New("told to stop a second time")
	ErrLate   = errors.New("work did not end within its limit")
)

// Main runs fn until it returns. SIGINT, SIGTERM or the end of ctx end its intake; a
// second signal, or limit after the first, ends its work too, and a third one kills the
// process. The error is fn's, joined by ErrAgain or ErrLate where work was cut short.
func Main(ctx context.Context, limit time.Duration, log *slog.Logger, fn Part) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	s := &stopper{signals: signals, limit: limit, log: log}
	return s.run(ctx, fn)
}

// stopper turns signals into the end of intake and of work.
type stopper struct {
	signals chan os.Signal
	limit   time.Duration
	log     *slog.Logger
}

func (s *stopper) run(ctx context.Context, fn Part) error {
	work, cut := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cut(nil)
	intake, end := context.WithCancelCause(ctx)
	defer end(nil)

	done, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		s.watch(intake, done, end, cut)
	}()
	err := Safely(func() error { return fn(intake, work) })
	close(done)
	<-watched
	if intake.Err() != nil && work.Err() == nil && errors.Is(err, context.Canceled) {
		err = nil // it was told to stop while it was starting
	}
	return errors.Join(err, context.Cause(work))
}

// watch ends intake, and then work, unless fn is done before.
func (s *stopper) watch(intake context.Context, done <-chan struct{}, end, cut context.CancelCauseFunc) {
	select {
	case <-done:
		return
	case sig := <-s.signals:
		end(fmt.Errorf("%w: %v", ErrSignal, sig))
	case <-intake.Done():
	}
	s.log.Info("stopping: nothing new is taken", "why", context.Cause(intake), "limit", s.limit)
	limit := time.NewTimer(s.limit)
	defer limit.Stop()
	select {
	case <-done:
		return
	case <-s.signals:
		cut(ErrAgain)
	case <-limit.C:
		cut(fmt.Errorf("%w of %v", ErrLate, s.limit))
	}
	s.log.Warn("stopping: work in hand is cut short")
	signal.Stop(s.signals) // whoever sends another one means it
}
