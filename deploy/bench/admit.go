package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
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

// usualPatience keeps the whole run, at its usual size, within some minutes.
var usualPatience = patience{ask: time.Minute, store: 6 * time.Second, steady: 3 * time.Second, quiet: 6 * time.Second}

func benchAdmit(ctx context.Context, g *ground, set settings, progress io.Writer) (report, error) {
	set.N = cmp.Or(set.N, 20_000)
	b := &admitting{g, set, usualPatience, progress}
	found, err := b.run(ctx)
	if err != nil {
		return found, err
	}
	return found, writeChart(cmp.Or(set.Chart, filepath.Join(set.Out, "bench-admit.svg")), found)
}

// admitting is one run of `bench admit`.
type admitting struct {
	*ground
	set      settings
	wait     patience
	progress io.Writer
}

func (b *admitting) run(ctx context.Context) (found report, err error) {
	paces := make([][]pace, len(contenders))
	var raw []pace
	for r := range b.set.Rounds {
		for i, c := range contenders {
			p, err := b.round(ctx, r, c)
			if err != nil {
				return found, fmt.Errorf("%s: %w", c.name, err)
			}
			paces[i] = append(paces[i], p)
			if c.api != roleAPI {
				continue
			}
			depth := max(1, int(p.Depth+0.5))
			if p, err = b.ground.rawFloor(ctx, b.set.N, depth); err != nil {
				return found, fmt.Errorf("raw commands: %w", err)
			}
			raw = append(raw, p)
		}
	}
	rawPace := medianPace(raw)
	found.Ways = []line{{
		Name: fmt.Sprintf("floor: raw Redis, %.0f orders in a pipeline", rawPace.Depth), Orders: b.set.N, pace: rawPace,
		Checked: "stock 0, as many buyers, tickets and entries as orders",
	}}
	for i, c := range contenders {
		l, err := b.rest(ctx, c, medianPace(paces[i]))
		if err != nil {
			return found, fmt.Errorf("%s: %w", c.name, err)
		}
		found.Ways = append(found.Ways, l)
	}
	found.Title = fmt.Sprintf("Selling: medians of %d rounds, %d connections", b.set.Rounds, loadConns)
	found.Goals = admitGoals(found.Ways)
	return found, nil
}

func (b *admitting) orders(c contender) int { return max(1, b.set.N/c.divide) }

func (b *admitting) round(ctx context.Context, round int, c contender) (pace, error) {
	fmt.Fprintf(b.progress, "round %d of %d: %s, %d orders\n", round+1, b.set.Rounds, c.name, b.orders(c))
	p, err := b.ground.round(ctx, c, b.orders(c), b.wait, b.set.Profile)
	if err == nil {
		fmt.Fprintf(b.progress, "  %.0f accepted/s, %.0f refused/s, %.0f stored/s\n", p.Accepted, p.Refused, p.Stored)
	}
	return p, err
}

// rest measures what needs no rounds: latency, the law, and what a killed worker loses.
func (b *admitting) rest(ctx context.Context, c contender, p pace) (l line, err error) {
	fmt.Fprintf(b.progress, "%s: %.0f requests/s on a schedule", c.name, p.Accepted/2)
	l = line{Name: c.name, Orders: b.orders(c), pace: p, Checked: "every request answered", floor: c.floor, async: c.worker != ""}
	if l.calm, err = b.half(ctx, c, p.Accepted, b.wait); err != nil || c.floor {
		fmt.Fprintln(b.progress)
		return l, err
	}
	fmt.Fprintf(b.progress, ", p99 %.1f ms; a rush", l.P99)
	if l.law, err = b.rush(ctx, c, b.wait); err != nil {
		return l, err
	}
	l.Checked = fmt.Sprintf("every unit sold; %d users asking %d times at once for %d units", rushUsers, rushAsks, rushUnits)
	if c.worker != "" {
		fmt.Fprintf(b.progress, "; %d kills", kills)
		n, err := b.lost(ctx, c, min(b.set.N, killOrders), b.wait)
		if err != nil {
			return l, err
		}
		l.Lost = &n
		l.Checked += fmt.Sprintf("; a row for each of %d accepted, worker killed %d times", min(b.set.N, killOrders), kills)
	}
	fmt.Fprintln(b.progress)
	return l, nil
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
