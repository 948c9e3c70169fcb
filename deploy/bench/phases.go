package main

import (
	"context"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// patience are the times that a run of the benchmark takes.
type patience struct {
	ask    time.Duration // for all answers of a load
	store  time.Duration // after the last answer: a row that is not there by then is late
	steady time.Duration // the length of a load at half of the most
	claim  time.Duration // until a worker takes over what a killed one had in hand
	quiet  time.Duration // without a new row, after which no more is expected; above claim and the life of a user's lock
}

// pace is what one round of a contender took.
type pace struct {
	Accepted        float64 `json:"acceptedPerSecond"`    // no worker running: one that stores little would look fast
	Together        float64 `json:"soldPerSecond"`        // accepted while a worker, if there is one, stores
	Refused         float64 `json:"refusedPerSecond"`     // after it was sold out
	APICPU          float64 `json:"apiCPUMicros"`         // for each accepted order
	RedisCPU        float64 `json:"redisCPUMicros"`       // for each accepted order, without what workers ask
	RefusedAPICPU   float64 `json:"refusedAPICPUMicros"`  // for each refusal
	RefusedCommands float64 `json:"refusedRedisCommands"` // for each refusal, those inside scripts too
	Stored          float64 `json:"storedPerSecond"`
	Last            float64 `json:"lastRowSeconds"` // from the first request
	Late            float64 `json:"lateRows"`       // not there when nobody waited any longer
	Depth           float64 `json:"requestsPerTrip,omitempty"`
}

// round is one sale: everything is sold with all programs running, then everyone is
// refused. What an acceptance costs is taken from a second sale without a worker, where
// there is one: Redis does not tell whose commands took its time.
func (b *admitting) round(ctx context.Context, c contender) (p pace, err error) {
	orders := b.orders(c)
	s, err := b.newScene(ctx, c, orders, b.set.Profile)
	if err != nil {
		return p, err
	}
	defer func() { err = joinClose(err, s) }()
	if err := s.startWorker(ctx); err != nil {
		return p, err
	}
	took, err := s.sell(ctx, &p)
	if err != nil {
		return p, err
	}
	s.endWorker()
	if err := s.refuse(ctx, &p); err != nil {
		return p, err
	}
	p.Accepted = p.Together
	if c.worker != "" {
		if took, err = b.queue(ctx, c, &p); err != nil {
			return p, err
		}
	}
	p.APICPU, p.RedisCPU = micros(took.api)/float64(orders), micros(took.redis)/float64(orders)
	return p, nil
}

// sell sells everything, and watches how the rows come meanwhile.
func (s *scene) sell(ctx context.Context, p *pace) (took spent, err error) {
	load, err := s.prepare(ctx, plan{Users: s.Orders, Asks: 1, Limit: s.wait.ask})
	if err != nil {
		return took, err
	}
	defer load.end()
	until, enough := context.WithCancel(ctx)
	defer enough()
	watched := s.watch(ctx, until)
	a, took, err := s.ask(ctx, load)
	time.AfterFunc(s.wait.store, enough)
	seen := <-watched
	if err == nil {
		err = seen.err
	}
	if err == nil {
		err = s.sold(a)
	}
	if err != nil {
		return took, err
	}
	n := float64(s.Orders)
	p.Together = n / a.Took.Seconds()
	switch {
	case s.floor:
	case s.contender.worker == "":
		p.Stored, p.Last = p.Together, a.Took.Seconds()
	default:
		p.Last = seen.at.Sub(a.Began).Seconds()
		p.Stored, p.Late = float64(seen.stored)/p.Last, n-float64(seen.stored)
	}
	return took, nil
}

// sighting is how many units the database had given away at an instant.
type sighting struct {
	stored int
	at     time.Time
	err    error
}

// watch sends one sighting: of the last row, or of what is there when until ends. Without a
// worker there is nothing to see, for every answer comes after its row.
func (s *scene) watch(ctx, until context.Context) <-chan sighting {
	seen := make(chan sighting, 1)
	go func() {
		var now sighting
		if s.contender.worker != "" {
			now.stored, now.err = s.storedUntil(ctx, until, s.Orders)
		}
		now.at = time.Now()
		seen <- now
	}()
	return seen
}

// refuse lets further users ask for what is gone, as many as there were orders in the
// largest sale. The first, one on each connection, are not measured: a way may learn from
// them what it then knows.
func (s *scene) refuse(ctx context.Context, p *pace) error {
	if _, _, err := s.once(ctx, plan{First: s.Orders, Users: loadConns, Asks: 1, Limit: s.wait.ask}); err != nil {
		return err
	}
	a, took, err := s.once(ctx, plan{First: s.Orders + loadConns, Users: s.Orders * s.divide, Asks: 1, Limit: s.wait.steady})
	if err != nil {
		return err
	}
	n := float64(a.Asked)
	p.Refused = n / a.Took.Seconds()
	p.RefusedAPICPU, p.RefusedCommands = micros(took.api)/n, float64(took.commands)/n
	return nil
}

// queue sells everything while no worker runs.
func (b *admitting) queue(ctx context.Context, c contender, p *pace) (took spent, err error) {
	orders := b.orders(c)
	s, err := b.newScene(ctx, c, orders, "")
	if err != nil {
		return took, err
	}
	defer func() { err = joinClose(err, s) }()
	a, took, err := s.once(ctx, plan{Users: orders, Asks: 1, Limit: b.wait.ask})
	if err != nil {
		return took, err
	}
	p.Accepted = float64(orders) / a.Took.Seconds()
	p.Depth = float64(orders) / float64(max(1, took.trips))
	return took, s.sold(a)
}

// calm is how a contender answers at half of the most that it can take.
type calm struct {
	Rate      float64 `json:"requestsPerSecond"`
	P50       float64 `json:"p50Millis"` // of the answer, from when its request was due
	P99       float64 `json:"p99Millis"`
	StoredP99 float64 `json:"acceptedToStoredP99Millis,omitempty"` // until its worker announced the row
}

// half asks on a fixed schedule, however long the answers take.
func (b *admitting) half(ctx context.Context, c contender, most float64) (found calm, err error) {
	found.Rate = most / 2
	users := max(1, int(found.Rate*b.wait.steady.Seconds()))
	s, err := b.newScene(ctx, c, users, "")
	if err != nil {
		return found, err
	}
	defer func() { err = joinClose(err, s) }()
	news, err := s.bare.listen(ctx)
	if err != nil {
		return found, err
	}
	defer func() { err = joinClose(err, news) }()
	if err := s.startWorker(ctx); err != nil {
		return found, err
	}
	a, _, err := s.once(ctx, plan{Users: users, Asks: 1, Rate: found.Rate, Limit: b.wait.ask})
	if err != nil {
		return found, err
	}
	if c.api == roleAPI {
		if _, err := s.storedWithin(ctx, users, b.wait.ask); err != nil {
			return found, err
		}
		stored, err := news.stored(ctx, a.Accepted)
		if err != nil {
			return found, err
		}
		_, found.StoredP99 = millis(percentiles(stored))
	}
	found.P50, found.P99 = millis(a.P50, a.P99)
	return found, nil
}

func millis(a, b time.Duration) (float64, float64) {
	return micros(a) / 1000, micros(b) / 1000
}

// law is what must hold of any sale, and by how much it did not.
type law struct {
	Oversold   int `json:"oversold"`   // accepted, or stored, beyond the units
	Duplicates int `json:"duplicates"` // further orders of a user
	Unsold     int `json:"unsold"`     // units that nobody got, though more asked
}

const (
	rushUnits = 100
	rushUsers = 2 * rushUnits
	rushAsks  = 2 // of each user at once
)

// rush lets more users ask than there are units, each twice at the same moment.
func (b *admitting) rush(ctx context.Context, c contender) (l law, err error) {
	s, err := b.newScene(ctx, c, rushUnits, "")
	if err != nil {
		return l, err
	}
	defer func() { err = joinClose(err, s) }()
	if err := s.startWorker(ctx); err != nil {
		return l, err
	}
	a, _, err := s.once(ctx, plan{Users: rushUsers, Asks: rushAsks, Limit: b.wait.ask})
	if err != nil {
		return l, err
	}
	if _, err := s.storedWithin(ctx, rushUnits, b.wait.store); err != nil {
		return l, err
	}
	ids, users, err := s.rows(ctx)
	if err != nil {
		return l, err
	}
	promised := make(map[int]int)
	for _, o := range a.Accepted {
		promised[o.User]++
	}
	l.Oversold = max(0, len(a.Accepted)-rushUnits, len(ids)-rushUnits)
	l.Unsold = max(0, rushUnits-len(a.Accepted))
	l.Duplicates = max(len(a.Accepted)-len(promised), len(ids)-len(users))
	return l, nil
}

// lost is how many accepted orders have no row after the worker was killed again and again
// on its way through the queue, each time followed by another one of a new name.
func (b *admitting) lost(ctx context.Context, c contender, orders int) (n int, err error) {
	s, err := b.newScene(ctx, c, orders, "")
	if err != nil {
		return 0, err
	}
	defer func() { err = joinClose(err, s) }()
	a, _, err := s.once(ctx, plan{Users: orders, Asks: 1, Limit: b.wait.ask})
	if err != nil {
		return 0, err
	}
	for i := range b.kills {
		if err := s.startWorker(ctx); err != nil {
			return 0, err
		}
		if _, err := s.storedWithin(ctx, orders*(i+1)/(b.kills+1), b.wait.ask); err != nil {
			return 0, err
		}
		if err := s.killWorker(); err != nil {
			return 0, err
		}
	}
	if err := s.startWorker(ctx); err != nil {
		return 0, err
	}
	if err := s.storedAll(ctx); err != nil {
		return 0, err
	}
	ids, _, err := s.rows(ctx)
	return missing(a.Accepted, ids), err
}

// storedAll waits for the last row, or until it has been quiet for long enough.
func (s *scene) storedAll(ctx context.Context) error {
	for stored := -1; ; {
		now, err := s.storedWithin(ctx, max(1, stored+1), s.wait.quiet)
		if err != nil || now <= stored || now == s.Orders {
			return err
		}
		stored = now
	}
}

func missing(promised []accepted, rows map[seckill.OrderID]bool) (n int) {
	for _, o := range promised {
		if !rows[o.ID] {
			n++
		}
	}
	return n
}
