package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/run"
	worker "github.com/openseckill/seckill/worker/app"
)

const (
	deadFor   = 3 * time.Second // until somebody starts a worker that was killed anew
	claimIdle = 5 * time.Second // until others take over what it held: people watch
)

// mortal is a worker that can be killed. Each of its lives has a name of its own.
type mortal struct {
	stack *stack
	place int
	kill  chan struct{} // of one element: to kill it twice is to kill it once
}

func newMortal(s *stack, place int) *mortal {
	return &mortal{stack: s, place: place, kill: make(chan struct{}, 1)}
}

// Kill ends the life as a crash does: what is in hand is finished by nobody.
func (m *mortal) Kill() {
	select {
	case m.kill <- struct{}{}:
	default:
	}
}

// Run lives until intake ends.
func (m *mortal) Run(intake, work context.Context) error {
	for life := 1; intake.Err() == nil; life++ {
		if err := m.live(intake, work, life); err != nil {
			return err
		}
	}
	return nil
}

// live is one life. That a worker was killed is no error; its next life begins after a while.
func (m *mortal) live(intake, work context.Context, life int) error {
	w := worker.New(worker.Deps{
		Redis: m.stack.redis, SQL: m.stack.sql, Log: m.stack.log, Registry: obs.NewRegistry("worker", "standalone"),
		Options: worker.Options{Consumer: fmt.Sprintf("standalone-%d-%d.%d", os.Getpid(), m.place, life), ClaimIdle: claimIdle},
	})
	reading, stop := context.WithCancel(intake)
	defer stop()
	working, cut := context.WithCancel(work)
	defer cut()
	var ended error
	done := make(chan struct{})
	go func() {
		ended = run.Safely(func() error { return w.Run(reading, working) })
		close(done)
	}()
	select {
	case <-done:
		return ended
	case <-m.kill:
		cut()
		stop()
		<-done                        // the dead say nothing
		_ = run.Wait(intake, deadFor) // the end of intake is what Run looks at
		return nil
	}
}
