package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	rehearsalPath = "/demo/rehearsal"
	crowdMax      = 20_000          // buyers, and units
	rehearsalMax  = 5 * time.Minute // for all of it
	pausedFor     = 3 * time.Second // Redis, when it is paused: long enough for a console to see it
	insistEvery   = 100 * time.Millisecond
)

// plan is what a rehearsal is asked to be.
type plan struct {
	Buyers int     `json:"buyers"`
	Units  int     `json:"units"`
	Faults []fault `json:"faults"`
}

// fault is what befalls the sale while the buyers click.
type fault string

const (
	killWorker fault = "worker"
	pauseRedis fault = "redis"
)

func (p plan) check() error {
	within := func(n int) bool { return n >= 1 && n <= crowdMax }
	known := func(f fault) bool { return f == killWorker || f == pauseRedis }
	switch {
	case !within(p.Buyers), !within(p.Units):
		return fmt.Errorf("buyers and units are from 1 to %d", crowdMax)
	case slices.ContainsFunc(p.Faults, func(f fault) bool { return !known(f) }):
		return errors.New("faults are worker and redis")
	}
	return nil
}

// scene is where a rehearsal is, as its page is told.
type scene struct {
	State   string            `json:"state"` // idle, running, done, failed
	Step    string            `json:"step,omitempty"`
	Voucher seckill.VoucherID `json:"voucherId,omitempty"`
	Rows    []reportRow       `json:"rows,omitempty"`
	Broken  []string          `json:"broken"` // what breaks the law
	Error   string            `json:"error,omitempty"`
}

// rehearsal lets an admin send buyers, one crowd at a time. It is of a stack that serves.
type rehearsal struct {
	stack *stack
	plans chan plan

	mu  sync.Mutex
	now scene
}

func newRehearsal(s *stack) *rehearsal {
	return &rehearsal{stack: s, plans: make(chan plan, 1), now: scene{State: "idle", Broken: []string{}}}
}

// ServeHTTP tells where the rehearsal is, and with POST begins one.
func (r *rehearsal) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	refuse := func(status int, code seckill.Code, title string) {
		tellJSON(w, status, map[string]any{"code": code, "title": title})
	}
	switch admin, err := r.stack.isAdmin(req); {
	case err != nil:
		refuse(http.StatusBadGateway, seckill.Unavailable, "The api does not answer")
		return
	case !admin:
		refuse(http.StatusForbidden, seckill.Forbidden, "Only an admin may rehearse")
		return
	}
	if req.Method == http.MethodGet {
		tellJSON(w, http.StatusOK, r.scene())
		return
	}
	var p plan
	if err := readJSON(w, req, &p); err != nil {
		refuse(http.StatusBadRequest, seckill.Invalid, "This is no plan of a rehearsal")
		return
	}
	if err := p.check(); err != nil {
		refuse(http.StatusBadRequest, seckill.Invalid, err.Error())
		return
	}
	if !r.begin(p) {
		refuse(http.StatusConflict, seckill.Conflict, "A rehearsal is under way")
		return
	}
	tellJSON(w, http.StatusAccepted, r.scene())
}

func (r *rehearsal) begin(p plan) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now.State == "running" {
		return false
	}
	r.now = scene{State: "running", Step: "rush", Broken: []string{}}
	r.plans <- p // there is room: nothing runs
	return true
}

func (r *rehearsal) scene() scene {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

func (r *rehearsal) note(change func(*scene)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change(&r.now)
}

func (r *rehearsal) step(name string) { r.note(func(s *scene) { s.Step = name }) }

// Run plays what is asked for until intake ends, which ends a rehearsal, too.
func (r *rehearsal) Run(intake, _ context.Context) error {
	for {
		select {
		case p := <-r.plans:
			err := r.play(intake, p)
			r.note(func(s *scene) {
				s.State, s.Step = "done", ""
				if err != nil {
					s.State, s.Error = "failed", err.Error()
				}
			})
		case <-intake.Done():
			return nil
		}
	}
}

func (r *rehearsal) play(ctx context.Context, p plan) error {
	ctx, cancel := context.WithTimeout(ctx, rehearsalMax)
	defer cancel()
	s := r.stack
	shop := newShop("http://"+local(s.httpAddr), s.token)
	v, err := shop.create(ctx, s.token(1, "admin"), "Rehearsal", int64(p.Units), time.Now().Add(-time.Second), time.Hour)
	if err != nil {
		return err
	}
	r.note(func(now *scene) { now.Voucher = v })
	t, start := newTally(), time.Now()
	var took time.Duration
	buyers := func(ctx, _ context.Context) error {
		defer func() { took = time.Since(start) }()
		return shop.rush(ctx, v, p.Buyers, t)
	}
	faults := func(ctx, _ context.Context) error { return r.befall(ctx, p.Faults, t) }
	if err := run.All(ctx, ctx, buyers, faults); err != nil {
		return err
	}
	r.step("insist")
	if err := shop.insist(ctx, v, t); err != nil {
		return err
	}
	r.step("store")
	if err := shop.followAll(ctx, t); err != nil {
		return err
	}
	r.step("check")
	l, err := s.check(ctx, v, int64(p.Units), t)
	if err != nil {
		return err
	}
	r.note(func(now *scene) { now.Rows, now.Broken = l.table(t, took), append(now.Broken, l.verdict(t)...) })
	return nil
}

// befall lets the faults happen one after the other, once orders have been accepted.
func (r *rehearsal) befall(ctx context.Context, faults []fault, t *tally) error {
	for t.accepted.Load() == 0 && t.soldOut.Load() == 0 && len(faults) > 0 {
		if err := run.Wait(ctx, time.Millisecond); err != nil {
			return err
		}
	}
	for _, f := range faults {
		r.step(string(f))
		switch f {
		case killWorker:
			r.stack.workers[0].Kill()
		case pauseRedis:
			if err := r.stack.pauseRedis(ctx, pausedFor); err != nil {
				return err
			}
		}
	}
	r.step("rush")
	return nil
}

// insist lets each buyer who was put off, and holds nothing, ask until they are told.
func (s *shop) insist(ctx context.Context, v seckill.VoucherID, t *tally) error {
	for {
		var unsure []seckill.UserID
		t.mu.Lock()
		for user := range t.unsure {
			if _, holds := t.held[user]; !holds {
				unsure = append(unsure, user)
			}
		}
		clear(t.unsure)
		t.mu.Unlock()
		if len(unsure) == 0 {
			return nil
		}
		for _, user := range unsure {
			s.click(ctx, v, user, s.token(user, ""), t)
		}
		if err := run.Wait(ctx, insistEvery); err != nil {
			return err
		}
	}
}
