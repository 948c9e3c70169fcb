package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/seckill"
)

// roleLoad asks, in a process of its own, so that its CPU is nobody else's.
const roleLoad = "load"

const (
	loadConns  = 512
	answerMax  = 30 * time.Second // longer than any way may take for one answer
	tokenValid = time.Hour
)

// plan is what a load asks for: a unit for each of a row of users.
type plan struct {
	Addr  string        `json:"addr"`
	First int           `json:"first"` // number of the first user in the sale
	Users int           `json:"users"`
	Asks  int           `json:"asks"`           // of each user, on several connections at once
	Rate  float64       `json:"rate,omitempty"` // requests a second; 0: each connection asks when it was answered
	Limit time.Duration `json:"limit"`          // nothing more is asked for then

	Vouchers []seckill.VoucherID `json:"vouchers,omitempty"` // that users want in turn; none: the sale's
}

// voucher is what the i-th user wants.
func (p plan) voucher(i int, s sale) seckill.VoucherID {
	if len(p.Vouchers) == 0 {
		return s.Voucher
	}
	return p.Vouchers[i%len(p.Vouchers)]
}

// answers are what a load was told.
type answers struct {
	Began    time.Time     `json:"began"`
	Took     time.Duration `json:"took"` // from the first question to the last answer
	Asked    int           `json:"asked"`
	Accepted []accepted    `json:"accepted"`
	Refused  int           `json:"refused"` // also repeats
	Failed   int           `json:"failed"`
	Fault    string        `json:"fault,omitempty"` // the first that failed
	P50      time.Duration `json:"p50"`             // from when it was due to its answer
	P99      time.Duration `json:"p99"`
}

// accepted is an order that a buyer was promised.
type accepted struct {
	ID   seckill.OrderID `json:"id"`
	User int             `json:"user"` // number in the sale
	At   time.Time       `json:"at"`
}

// load has all requests written and all connections open before it begins.
type load struct {
	plan     plan
	requests [][]byte // one for each user
	clients  []*client
	told     []told // one for each question
	next     atomic.Int64
	began    time.Time
	took     time.Duration
}

// told is one answer. Its goroutine alone writes it.
type told struct {
	status int // 0: never asked
	id     seckill.OrderID
	fault  string
	at     time.Time
	took   time.Duration
}

func openLoad(ctx context.Context, t task) (role, error) {
	l := &load{plan: *t.Load, told: make([]told, t.Load.Users*t.Load.Asks)}
	now := time.Now()
	for i := range l.plan.Users {
		token, err := app.Token([]byte(jwtSecret), t.Sale.order(l.plan.First+i).User, "", now, tokenValid)
		if err != nil {
			return nil, err
		}
		l.requests = append(l.requests, fmt.Appendf(nil,
			"POST /api/v1/vouchers/%s/orders HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer %s\r\nContent-Length: 0\r\n\r\n",
			l.plan.voucher(i, t.Sale), token))
	}
	var d net.Dialer
	for range min(loadConns, len(l.told)) {
		conn, err := d.DialContext(ctx, "tcp", l.plan.Addr)
		if err != nil {
			return nil, joinClose(err, l)
		}
		l.clients = append(l.clients, newClient(conn))
	}
	return l, nil
}

func (l *load) Close() error {
	for _, c := range l.clients {
		c.conn.Close()
	}
	return nil
}

// Run asks everything; a connection that breaks is an error.
func (l *load) Run(_, work context.Context) error {
	l.began = time.Now()
	asking, ctx := errgroup.WithContext(work)
	for _, c := range l.clients {
		asking.Go(func() error {
			if err := c.conn.SetDeadline(l.began.Add(l.plan.Limit + answerMax)); err != nil {
				return err
			}
			return l.ask(ctx, c)
		})
	}
	err := asking.Wait()
	l.took = time.Since(l.began)
	return err
}

// ask takes one question after the other until there are no more, or the time is up.
func (l *load) ask(ctx context.Context, c *client) error {
	pause := time.NewTimer(0)
	defer pause.Stop()
	for {
		i := int(l.next.Add(1)) - 1
		if i >= len(l.told) || time.Since(l.began) > l.plan.Limit || ctx.Err() != nil {
			return nil
		}
		due := time.Now()
		if l.plan.Rate > 0 {
			due = l.began.Add(time.Duration(float64(i) / l.plan.Rate * float64(time.Second)))
			pause.Reset(time.Until(due))
			select {
			case <-pause.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err := l.told[i].ask(c, l.requests[i/l.plan.Asks], due); err != nil {
			return err
		}
	}
}

func (t *told) ask(c *client, request []byte, due time.Time) error {
	status, body, err := c.do(request)
	if err != nil {
		return err
	}
	t.at = time.Now()
	t.status, t.took = status, t.at.Sub(due)
	switch status {
	case http.StatusAccepted:
		t.id, err = orderIDOf(body)
	case http.StatusOK, http.StatusConflict:
	default:
		t.fault = fmt.Sprintf("%d: %s", status, body)
	}
	return err
}

// orderIDOf finds the id without reading the rest: a load must be cheap.
func orderIDOf(body []byte) (seckill.OrderID, error) {
	const name = `"orderId":"`
	_, after, found := bytes.Cut(body, []byte(name))
	id, _, closed := bytes.Cut(after, []byte(`"`))
	if !found || !closed {
		return 0, fmt.Errorf("an acceptance without an order: %s", body)
	}
	return seckill.ParseOrderID(string(id))
}

// answers sums up, once Run is over.
func (l *load) answers() *answers {
	a := &answers{Began: l.began, Took: l.took}
	var latencies []time.Duration
	for i, t := range l.told {
		if t.status == 0 {
			continue
		}
		a.Asked++
		latencies = append(latencies, t.took)
		switch {
		case t.fault != "":
			a.Failed++
			a.Fault = cmp.Or(a.Fault, t.fault)
		case t.status == http.StatusAccepted:
			a.Accepted = append(a.Accepted, accepted{ID: t.id, User: l.plan.First + i/l.plan.Asks, At: t.at})
		default:
			a.Refused++
		}
	}
	a.P50, a.P99 = percentiles(latencies)
	return a
}

// percentiles are the 50th and the 99th, as the smallest value that so many do not exceed.
func percentiles(all []time.Duration) (p50, p99 time.Duration) {
	if len(all) == 0 {
		return 0, 0
	}
	slices.Sort(all)
	at := func(percent int) time.Duration { return all[(len(all)*percent+99)/100-1] }
	return at(50), at(99)
}

// check fails where more than a stray answer was a failure: such a row measures nothing.
func (a *answers) check() error {
	if a.Failed*100 > a.Asked {
		return fmt.Errorf("%d of %d requests failed: %s", a.Failed, a.Asked, a.Fault)
	}
	if a.Asked == 0 {
		return errors.New("nothing was asked")
	}
	return nil
}
