package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"
)

// drainedEvery is how often the length of the stream is asked for: a per mille of a run.
const drainedEvery = 2 * time.Millisecond

// measure runs a row on a fresh stage, each of its processes apart from this one, and fails
// unless every order was stored once.
func (g *ground) measure(ctx context.Context, r row, profiles string) (f figures, err error) {
	s, err := g.newStage(ctx, r.Orders)
	if err != nil {
		return f, err
	}
	defer func() { err = joinClose(err, s) }()
	queued := r.role != roleLimit
	if queued {
		if err := g.bare.fill(ctx, s.sale); err != nil {
			return f, err
		}
	}
	children, err := s.startAll(ctx, r, profiles)
	if err != nil {
		return f, err
	}
	defer func() {
		for _, c := range children {
			c.end()
		}
	}()
	if f, err = s.race(ctx, r, children); err != nil {
		return f, err
	}
	return f, s.check(ctx, queued)
}

func (s *stage) startAll(ctx context.Context, r row, profiles string) (children []*child, err error) {
	for i := range r.processes {
		t := task{Role: r.role, Number: i + 1, DSN: s.dsn, Redis: s.ground.redis.Addr(), Sale: s.sale}
		if profiles != "" {
			t.Profile = filepath.Join(profiles, fmt.Sprintf("%s-%d-of-%d.pprof", r.role, i+1, r.processes))
		}
		c, err := startChild(ctx, t)
		if err != nil {
			for _, c := range children {
				c.end()
			}
			return nil, err
		}
		children = append(children, c)
	}
	return children, nil
}

// race lets all children go at once and stops the clock when the last order is done. A
// worker never ends by itself: its work is done when the stream is empty.
func (s *stage) race(ctx context.Context, r row, children []*child) (f figures, err error) {
	before, err := s.bare.cpu(ctx)
	if err != nil {
		return f, err
	}
	began := time.Now()
	for _, c := range children {
		if err := c.begin(); err != nil {
			return f, err
		}
	}
	if r.role == roleWorker {
		err = s.drained(ctx, children)
	} else {
		err = children[0].wait(ctx)
	}
	took := time.Since(began)
	if err != nil {
		return f, err
	}
	after, err := s.bare.cpu(ctx)
	if err != nil {
		return f, err
	}
	n := float64(s.Orders)
	f = figures{PerSecond: n / took.Seconds(), RedisCPU: micros(after-before) / n}
	for _, c := range children {
		u, err := c.usage(ctx)
		if err != nil {
			return f, err
		}
		f.CPU += micros(u.CPU) / n
		f.PeakMB = max(f.PeakMB, float64(u.Peak)/1e6)
	}
	return f, nil
}

func (s *stage) drained(ctx context.Context, children []*child) error {
	tick := time.NewTicker(drainedEvery)
	defer tick.Stop()
	for {
		waiting, err := s.bare.waiting(ctx)
		if err != nil || waiting == 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-children[0].done:
			return fmt.Errorf("a worker ended with %d orders still waiting", waiting)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// bareCost is the CPU that Redis takes for the commands of a worker, by themselves, in µs
// for each order.
func (g *ground) bareCost(ctx context.Context, orders int) (float64, error) {
	s, err := g.newStage(ctx, orders)
	if err != nil {
		return 0, err
	}
	defer func() { err = joinClose(err, s) }()
	if err := g.bare.fill(ctx, s.sale); err != nil {
		return 0, err
	}
	if err := g.bare.group(ctx); err != nil {
		return 0, err
	}
	before, err := g.bare.cpu(ctx)
	if err != nil {
		return 0, err
	}
	if err := g.bare.consume(ctx); err != nil {
		return 0, err
	}
	after, err := g.bare.cpu(ctx)
	return micros(after-before) / float64(orders), err
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
