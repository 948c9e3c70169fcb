package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/openseckill/seckill/pkg/books"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/redistest"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqlstore"
)

const (
	clusterPartitions = 12
	clusterVouchers   = 24 // on sale at once, two in each partition
)

// ofOneMaster is what an order may cost the busiest of three masters, of what it costs one:
// partitions are not spread evenly, and smaller batches cost more.
const ofOneMaster = 0.65

// spread is a way of running Redis, and what an acceptance takes in it.
type spread struct {
	Name       string `json:"name"`
	Masters    int    `json:"masters"` // of a cluster; 0: one server by itself
	Partitions int    `json:"partitions"`

	Accepted float64 `json:"acceptedPerSecond"`
	APICPU   float64 `json:"apiCPUMicros"`     // for each order
	RedisCPU float64 `json:"redisCPUMicros"`   // for each order, of all servers
	Busiest  float64 `json:"busiestCPUMicros"` // for each order, of the server that took most
	Depth    float64 `json:"requestsPerTrip"`
}

var spreads = []spread{
	{Name: "one server"},
	{Name: "one server, partitions", Partitions: clusterPartitions},
	{Name: "cluster, one master", Masters: 1, Partitions: clusterPartitions},
	{Name: "cluster, three masters", Masters: 3, Partitions: clusterPartitions},
}

// benchCluster sells the same orders in each way, in every round, with no worker beside.
func benchCluster(ctx context.Context, g *ground, set settings, progress io.Writer) (found report, err error) {
	orders := cmp.Or(set.N, 30_000)
	runs := make([][]spread, len(spreads))
	for round := range set.Rounds {
		for i, s := range spreads {
			fmt.Fprintf(progress, "round %d of %d: %s, %d orders\n", round+1, set.Rounds, s.Name, orders)
			if err := g.sellSpread(ctx, &s, orders); err != nil {
				return found, fmt.Errorf("%s: %w", s.Name, err)
			}
			fmt.Fprintf(progress, "  %.0f accepted/s; every order once, the books of each voucher right\n", s.Accepted)
			runs[i] = append(runs[i], s)
		}
	}
	for i := range spreads {
		found.Layouts = append(found.Layouts, medianSpread(runs[i]))
	}
	found.Title = fmt.Sprintf("Selling %d vouchers at once: medians of %d rounds, %d connections", clusterVouchers, set.Rounds, loadConns)
	one, three := found.Layouts[len(spreads)-2], found.Layouts[len(spreads)-1]
	found.Goals = []goal{atMost("Redis CPU of an order on the busiest of three masters, of what it takes one", three.Busiest/one.Busiest, ofOneMaster)}
	return found, nil
}

// servers are those of one way, fresh, and what ends them.
type servers struct {
	addrs []string
	bare  []bare
	close func() error
}

func openServers(ctx context.Context, s spread) (*servers, error) {
	f := &servers{}
	if s.Masters == 0 {
		one, err := redistest.Start(redistest.Options{TCP: true}) // as the nodes of a cluster listen
		if err != nil {
			return nil, err
		}
		f.addrs, f.close = []string{one.Addr()}, one.Close
	} else {
		c, err := redistest.StartCluster(ctx, s.Masters, 0, redistest.Options{})
		if err != nil {
			return nil, err
		}
		f.addrs, f.close = c.Addrs(), c.Close
	}
	for _, addr := range f.addrs {
		f.bare = append(f.bare, openBare(addr))
	}
	return f, nil
}

func (f *servers) Close() error {
	var errs []error
	for _, b := range f.bare {
		errs = append(errs, b.db.Close())
	}
	return errors.Join(append(errs, f.close())...)
}

// spent is what each server took so far.
func (f *servers) spent(ctx context.Context) (all []spent, err error) {
	for _, b := range f.bare {
		var s spent
		if s.redis, err = b.cpu(ctx); err != nil {
			return nil, err
		}
		stats, err := b.info(ctx, "stats")
		if err != nil {
			return nil, err
		}
		if s.trips, err = strconv.ParseInt(stats["total_reads_processed"], 10, 64); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// sellSpread sells everything on fresh servers, and checks what they then have.
func (g *ground) sellSpread(ctx context.Context, s *spread, orders int) (err error) {
	f, err := openServers(ctx, *s)
	if err != nil {
		return err
	}
	defer func() { err = joinClose(err, f) }()
	dsn, err := g.sql.NewDatabase(ctx)
	if err != nil {
		return err
	}
	rs, err := redisstore.Open(ctx, redisstore.Options{Addrs: f.addrs, Partitions: s.Partitions})
	if err != nil {
		return err
	}
	defer func() { err = joinClose(err, rs) }()
	ss, err := sqlstore.OpenMySQL(dsn, sqlstore.Options{PayTimeout: payTimeout})
	if err != nil {
		return err
	}
	defer func() { err = joinClose(err, ss) }()
	each := max(1, orders/clusterVouchers)
	vouchers, err := openVouchers(ctx, rs, ss, each+loadConns)
	if err != nil {
		return err
	}
	t := task{Role: roleAPI, DSN: dsn, Redis: strings.Join(f.addrs, ","), Partitions: s.Partitions, Sale: sale{vouchers[0], each * len(vouchers)}}
	if err := s.measure(ctx, f, t, vouchers); err != nil {
		return err
	}
	for _, v := range vouchers {
		b, err := rs.Books(ctx, v)
		if err != nil {
			return err
		}
		if b.Buyers < int64(each) || !b.Balanced() {
			return fmt.Errorf("%d orders of voucher %s, and Redis has %+v", each, v, b)
		}
	}
	return nil
}

func openVouchers(ctx context.Context, rs *redisstore.Store, ss *sqlstore.Store, units int) (ids []seckill.VoucherID, err error) {
	if err := ss.Migrate(ctx); err != nil {
		return nil, err
	}
	now := time.Now().UTC().Truncate(time.Millisecond)
	b := books.New(rs, ss, slog.New(slog.DiscardHandler))
	for range clusterVouchers {
		v, _, err := ss.CreateVoucher(ctx, seckill.Voucher{
			Title: "benchmark", Price: 100, Currency: "CNY", Total: int64(units), Begin: now.Add(-time.Hour), End: now.Add(time.Hour),
		}, "")
		if err == nil {
			err = b.Sync(ctx, v.ID)
		}
		if err != nil {
			return nil, err
		}
		ids = append(ids, v.ID)
	}
	return ids, nil
}

// measure lets a load ask an api for all units, both in processes of their own.
func (s *spread) measure(ctx context.Context, f *servers, t task, vouchers []seckill.VoucherID) error {
	api, err := startChild(ctx, t)
	if err != nil {
		return err
	}
	defer api.end()
	if err := api.begin(); err != nil {
		return err
	}
	// As many as there are connections ask first: opening them is not what is measured.
	warm, err := ready(ctx, t, plan{Addr: api.Addr, First: t.Sale.Orders, Users: loadConns, Vouchers: vouchers})
	if err != nil {
		return err
	}
	defer warm.end()
	if err := errors.Join(warm.begin(), warm.wait(ctx)); err != nil {
		return err
	}
	load, err := ready(ctx, t, plan{Addr: api.Addr, Users: t.Sale.Orders, Vouchers: vouchers})
	if err != nil {
		return err
	}
	defer load.end()
	idle, err := api.soFar()
	if err != nil {
		return err
	}
	before, err := f.spent(ctx)
	if err != nil {
		return err
	}
	if err := errors.Join(load.begin(), load.wait(ctx)); err != nil {
		return err
	}
	after, err := f.spent(ctx)
	if err != nil {
		return err
	}
	used, err := api.soFar()
	if err != nil {
		return err
	}
	used.CPU -= idle.CPU
	a := load.last.Answers
	if len(a.Accepted) != t.Sale.Orders {
		return fmt.Errorf("%d of %d orders were accepted, %d failed: %s", len(a.Accepted), t.Sale.Orders, a.Failed, a.Fault)
	}
	s.fill(a, used, before, after)
	return nil
}

// ready is a load in a process of its own, which asks once for each user.
func ready(ctx context.Context, t task, p plan) (*child, error) {
	p.Asks, p.Limit = 1, usualPatience.ask
	t.Role, t.Load = roleLoad, &p
	return startChild(ctx, t)
}

func (s *spread) fill(a *answers, used usage, before, after []spent) {
	n, trips := float64(len(a.Accepted)), int64(0)
	s.Accepted, s.APICPU = n/a.Took.Seconds(), micros(used.CPU)/n
	for i := range after {
		took := after[i].since(before[i])
		cost := micros(took.redis) / n
		s.RedisCPU += cost
		s.Busiest = max(s.Busiest, cost)
		trips += took.trips
	}
	s.Depth = n / float64(max(1, trips))
}

func medianSpread(runs []spread) spread {
	middle := runs[0]
	for _, figure := range []func(*spread) *float64{
		func(s *spread) *float64 { return &s.Accepted },
		func(s *spread) *float64 { return &s.APICPU },
		func(s *spread) *float64 { return &s.RedisCPU },
		func(s *spread) *float64 { return &s.Busiest },
		func(s *spread) *float64 { return &s.Depth },
	} {
		all := make([]float64, 0, len(runs))
		for i := range runs {
			all = append(all, *figure(&runs[i]))
		}
		*figure(&middle) = median(all)
	}
	return middle
}

func printLayouts(tab io.Writer, layouts []spread) {
	fmt.Fprint(tab, "\taccepted/s\tapi CPU µs\tRedis CPU µs\ton the busiest server\trequests a trip\n")
	for _, s := range layouts {
		fmt.Fprintf(tab, "%s\t%.0f\t%.1f\t%.1f\t%.1f\t%.1f\n", s.Name, s.Accepted, s.APICPU, s.RedisCPU, s.Busiest, s.Depth)
	}
}
