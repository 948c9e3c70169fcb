package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
)

// contenders are the rows of `bench admit`, from the floor to ours.
var contenders = []contender{
	{name: "floor: gin answers a constant", api: roleFloor, divide: 1, floor: true},
	{name: "one global lock, then SQL", api: roleGlobalLock, divide: 20},
	{name: "a lock per voucher, then SQL", api: roleVoucherLock, divide: 20},
	{name: "a lock per user, then SQL", api: roleUserLock, divide: 20},
	{name: "SQL alone, conditional UPDATE", api: roleDatabase, divide: 20},
	{name: "Lua, then a list, BRPOP", api: roleList, worker: roleListWorker, divide: 1},
	{name: "Lua, then a stream, one by one", api: roleStream, worker: roleStreamWorker, divide: 1},
	{name: "ours", api: roleAPI, worker: roleWorker, divide: 1},
}

// killOrders is how long the queue is through which a worker is killed on its way.
const killOrders = 4000

// usualKills is how often the worker of one sale is killed: once might hit it between two messages.
const usualKills = 5

// usualPatience keeps the whole run, at its usual size, within some minutes.
var usualPatience = patience{ask: time.Minute, store: 5 * time.Second, steady: 3 * time.Second, claim: 2 * time.Second, quiet: 15 * time.Second}

func benchAdmit(ctx context.Context, g *ground, set settings, progress io.Writer) (report, error) {
	set.N = cmp.Or(set.N, 20_000)
	rows := slices.DeleteFunc(slices.Clone(contenders), func(c contender) bool {
		return !regexp.MustCompile(set.Only).MatchString(c.name) // settings.check compiled it
	})
	if len(rows) == 0 {
		return report{}, fmt.Errorf("no row matches ONLY=%q", set.Only)
	}
	b := &admitting{g, rows, set, usualPatience, usualKills, progress}
	found, err := b.run(ctx)
	if err != nil {
		return found, err
	}
	return found, writeChart(cmp.Or(set.Chart, filepath.Join(set.Out, "bench-admit.svg")), found)
}

// admitting is one run of `bench admit`.
type admitting struct {
	*ground
	contenders []contender
	set        settings
	wait       patience
	kills      int // of one worker after the other, in one sale
	progress   io.Writer
}

func (b *admitting) run(ctx context.Context) (found report, err error) {
	paces, raw := make([][]pace, len(b.contenders)), []pace(nil)
	for r := range b.set.Rounds {
		for i, c := range b.contenders {
			fmt.Fprintf(b.progress, "round %d of %d: %s, %d orders\n", r+1, b.set.Rounds, c.name, b.orders(c))
			p, err := b.round(ctx, c)
			if err != nil {
				return found, fmt.Errorf("%s: %w", c.name, err)
			}
			fmt.Fprintf(b.progress, "  %.0f accepted/s, %.0f with a worker, %.0f refused/s, %.0f stored/s\n", p.Accepted, p.Together, p.Refused, p.Stored)
			paces[i] = append(paces[i], p)
		}
		last := paces[len(paces)-1]
		p, err := b.rawFloor(ctx, b.set.N, max(1, int(last[r].Depth+0.5)))
		if err != nil {
			return found, fmt.Errorf("raw commands: %w", err)
		}
		raw = append(raw, p)
	}
	found.Ways = []line{rawLine(b.set.N, medianPace(raw))}
	for i, c := range b.contenders {
		l, err := b.rest(ctx, c, medianPace(paces[i]))
		if err != nil {
			return found, fmt.Errorf("%s: %w", c.name, err)
		}
		found.Ways = append(found.Ways, l)
	}
	found.Title = fmt.Sprintf("Selling: medians of %d rounds, %d connections", b.set.Rounds, loadConns)
	if len(b.contenders) == len(contenders) {
		found.Goals = admitGoals(found.Ways)
	}
	return found, nil
}

func (b *admitting) orders(c contender) int { return max(1, b.set.N/c.divide) }

func rawLine(orders int, p pace) line {
	return line{
		Name: fmt.Sprintf("floor: raw Redis, %.0f orders in a pipeline", p.Depth), Orders: orders, pace: p,
		Checked: "stock 0, as many buyers, tickets and entries as orders",
	}
}

// rest measures what needs no rounds: latency, the law, and what a killed worker loses.
func (b *admitting) rest(ctx context.Context, c contender, p pace) (l line, err error) {
	l = line{Name: c.name, Orders: b.orders(c), pace: p, Checked: "every request answered"}
	fmt.Fprintf(b.progress, "%s: %.0f requests/s on a schedule\n", c.name, p.Together/2)
	if l.calm, err = b.half(ctx, c, p.Together); err != nil || c.floor {
		return l, err
	}
	fmt.Fprintf(b.progress, "  99 of 100 answers within %.1f ms; now a rush\n", l.P99)
	if l.law, err = b.rush(ctx, c); err != nil {
		return l, err
	}
	l.Checked = fmt.Sprintf("every unit sold; %d of %d sold to %d users asking %d times at once", rushUnits-l.Unsold, rushUnits, rushUsers, rushAsks)
	if c.worker == "" {
		return l, nil
	}
	orders := min(b.set.N, killOrders)
	fmt.Fprintf(b.progress, "  %d kills of its worker\n", b.kills)
	n, err := b.lost(ctx, c, orders)
	l.Lost = &n
	l.Checked += fmt.Sprintf("; a row for each of %d accepted, its worker killed %d times", orders, b.kills)
	return l, err
}

// rawFloor is what Redis takes for the commands of acceptances by themselves, so many
// orders in a pipeline as ours have in a trip. Each command is one of its own, as theirs.
func (g *ground) rawFloor(ctx context.Context, orders, depth int) (p pace, err error) {
	s, err := g.newStage(ctx, orders)
	if err != nil {
		return p, err
	}
	defer func() { err = joinClose(err, s) }()
	before, err := g.bare.cpu(ctx)
	if err != nil {
		return p, err
	}
	began := time.Now()
	for from := 0; from < orders; from += depth {
		batch := make([]seckill.Order, min(depth, orders-from))
		for i := range batch {
			batch[i] = s.order(from + i)
		}
		if err := g.bare.accept(ctx, batch); err != nil {
			return p, err
		}
	}
	took := time.Since(began)
	after, err := g.bare.cpu(ctx)
	if err != nil {
		return p, err
	}
	p = pace{Accepted: float64(orders) / took.Seconds(), RedisCPU: micros(after-before) / float64(orders), Depth: float64(depth)}
	return p, s.checkRaw(ctx)
}

func (s *stage) checkRaw(ctx context.Context) error {
	b, err := s.redis.Books(ctx, s.Voucher)
	if err != nil {
		return err
	}
	waiting, err := s.bare.waiting(ctx)
	if err == nil && (b.Buyers != int64(s.Orders) || waiting != b.Buyers || !b.Balanced()) {
		err = fmt.Errorf("%d orders, %d wait, and Redis has %+v", s.Orders, waiting, b)
	}
	return err
}

func number(n *int) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(*n)
}
