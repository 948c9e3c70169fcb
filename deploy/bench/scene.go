package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// contender is one way of selling: the roles of its programs.
type contender struct {
	name   string
	api    string
	worker string // "": the row is there before the answer
	divide int    // its sale has N/divide orders: what is slow is also steady
	floor  bool   // sells nothing
}

// scene is a fresh sale, with the programs of one contender at it.
type scene struct {
	*stage
	contender
	wait     patience
	ledger   *sql.DB
	api      *child
	worker   *child // nil while none runs
	workers  int    // started so far
	profiles string
}

// newScene opens a sale of so many units and the api at it; profiles is "" or a directory.
func (b *admitting) newScene(ctx context.Context, c contender, units int, profiles string) (*scene, error) {
	st, err := b.newStage(ctx, units)
	if err != nil {
		return nil, err
	}
	s := &scene{stage: st, contender: c, wait: b.wait, profiles: profiles}
	if s.ledger, err = openDB(ctx, st.dsn); err != nil {
		return nil, joinClose(err, s)
	}
	if s.api, err = s.start(ctx, task{Role: c.api}); err != nil {
		return nil, joinClose(err, s)
	}
	if err := s.api.begin(); err != nil {
		return nil, joinClose(err, s)
	}
	return s, nil
}

func (s *scene) Close() error {
	for _, c := range []*child{s.api, s.worker} {
		if c != nil {
			c.end()
		}
	}
	var err error
	if s.ledger != nil {
		err = s.ledger.Close()
	}
	return errors.Join(err, s.stage.Close())
}

func (s *scene) start(ctx context.Context, t task) (*child, error) {
	t.DSN, t.Redis, t.Sale = s.dsn, s.ground.redis.Addr(), s.sale
	if s.profiles != "" && t.Load == nil {
		t.Profile = filepath.Join(s.profiles, "admit-"+t.Role+".pprof")
	}
	return startChild(ctx, t)
}

// startWorker starts a consumer under a name that none had before.
func (s *scene) startWorker(ctx context.Context) (err error) {
	if s.contender.worker == "" {
		return nil
	}
	s.workers++
	if s.worker, err = s.start(ctx, task{Role: s.contender.worker, Number: s.workers, ClaimIdle: s.wait.claim}); err != nil {
		return err
	}
	return s.worker.begin()
}

func (s *scene) endWorker() {
	if s.worker != nil {
		s.worker.end()
		s.worker = nil
	}
}

func (s *scene) killWorker() error {
	err := s.worker.kill()
	s.worker = nil
	return err
}

// spent is what a stretch of a sale took.
type spent struct {
	api, redis      time.Duration // CPU
	commands, trips int64         // that Redis ran, scripts as one; reads of a connection
}

func (a spent) since(b spent) spent {
	return spent{a.api - b.api, a.redis - b.redis, a.commands - b.commands, a.trips - b.trips}
}

// spentSoFar asks. Its own commands are INFO, which do not count.
func (s *scene) spentSoFar(ctx context.Context) (sp spent, err error) {
	u, err := s.api.soFar()
	if err != nil {
		return sp, err
	}
	sp.api = u.CPU
	if sp.redis, err = s.bare.cpu(ctx); err != nil {
		return sp, err
	}
	if sp.commands, err = s.bare.commands(ctx); err != nil {
		return sp, err
	}
	stats, err := s.bare.info(ctx, "stats")
	if err != nil {
		return sp, err
	}
	sp.trips, err = strconv.ParseInt(stats["total_reads_processed"], 10, 64)
	return sp, err
}

// commands are those that clients asked for so far, without INFO.
func (b bare) commands(ctx context.Context) (sum int64, err error) {
	stats, err := b.info(ctx, "commandstats")
	if err != nil {
		return 0, err
	}
	for name, text := range stats {
		if name == "cmdstat_info" {
			continue
		}
		calls, _, _ := strings.Cut(strings.TrimPrefix(text, "calls="), ",")
		n, err := strconv.ParseInt(calls, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// prepare readies a load, in a process that the caller ends.
func (s *scene) prepare(ctx context.Context, p plan) (*child, error) {
	p.Addr = s.api.Addr
	return s.start(ctx, task{Role: roleLoad, Load: &p})
}

// ask lets a load that is ready ask, and returns what it was told and what that took.
func (s *scene) ask(ctx context.Context, load *child) (a *answers, sp spent, err error) {
	before, err := s.spentSoFar(ctx)
	if err != nil {
		return nil, sp, err
	}
	if err := load.begin(); err != nil {
		return nil, sp, err
	}
	if err := load.wait(ctx); err != nil {
		return nil, sp, err
	}
	after, err := s.spentSoFar(ctx)
	if err != nil {
		return nil, sp, err
	}
	a = load.last.Answers
	return a, after.since(before), a.check()
}

// once prepares a load and lets it ask.
func (s *scene) once(ctx context.Context, p plan) (a *answers, sp spent, err error) {
	load, err := s.prepare(ctx, p)
	if err != nil {
		return nil, sp, err
	}
	defer load.end()
	return s.ask(ctx, load)
}

// storedEvery is how often the database is asked how far it is.
const storedEvery = 4 * time.Millisecond

// storedUntil waits until n units of the sale are taken in the database, which every way
// does in the transaction of the row, or until ends. It returns how many are.
func (s *scene) storedUntil(ctx, until context.Context, n int) (stored int, err error) {
	tick := time.NewTicker(storedEvery)
	defer tick.Stop()
	for {
		left, err := stockOf(ctx, s.ledger, s.Voucher)
		if stored = s.Orders - left; err != nil || stored >= n {
			return stored, err
		}
		select {
		case <-tick.C:
		case <-until.Done():
			return stored, ctx.Err()
		}
	}
}

// storedWithin is storedUntil with a limit of time.
func (s *scene) storedWithin(ctx context.Context, n int, limit time.Duration) (stored int, err error) {
	until, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return s.storedUntil(ctx, until, n)
}

// rows are the orders of the sale in the database: how many of each user.
func (s *scene) rows(ctx context.Context) (ids map[seckill.OrderID]bool, users map[seckill.UserID]int, err error) {
	rows, err := s.ledger.QueryContext(ctx, "SELECT id, user_id FROM voucher_order WHERE voucher_id = ? AND live = 1", int64(s.Voucher))
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = joinClose(err, rows) }()
	ids, users = make(map[seckill.OrderID]bool), make(map[seckill.UserID]int)
	for rows.Next() {
		var id seckill.OrderID
		var user seckill.UserID
		if err := rows.Scan(&id, &user); err != nil {
			return nil, nil, err
		}
		ids[id] = true
		users[user]++
	}
	return ids, users, rows.Err()
}

// sold checks that a load got all the units there were.
func (s *scene) sold(a *answers) error {
	if len(a.Accepted) < s.Orders && !s.floor {
		return fmt.Errorf("%d of %d units were sold in %v; %d refused, %d failed %s",
			len(a.Accepted), s.Orders, a.Took, a.Refused, a.Failed, a.Fault)
	}
	return nil
}
