package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/pkg/run"
	"github.com/openseckill/seckill/pkg/seckill"
)

// clicks is how often each buyer asks, all at once.
const clicks = 3

// Of every fifth buyer one click comes after a pause of up to pauseMax, as of someone who
// is not sure whether the first ones were heard.
const (
	pauseOf  = 5
	pauseMax = time.Second
)

// shop is the api as its clients see it.
type shop struct {
	base   string
	client *http.Client
	token  func(user seckill.UserID, role string) string
}

func newShop(base string, token func(seckill.UserID, string) string) *shop {
	transport := &http.Transport{MaxIdleConnsPerHost: connections, MaxConnsPerHost: connections}
	return &shop{base: base, client: &http.Client{Transport: transport, Timeout: 30 * time.Second}, token: token}
}

// connections is how many the buyers share.
const connections = 128

// answer is what the demo reads of any answer of the api.
type answer struct {
	status int
	order  seckill.Status // of an order; a problem has a number in its place

	OrderID   seckill.OrderID   `json:"orderId"`
	VoucherID seckill.VoucherID `json:"voucherId"`
	Repeated  bool              `json:"repeated"`
	Code      seckill.Code      `json:"code"`
	Title     string            `json:"title"`
	Detail    string            `json:"detail"`
	Price     int64             `json:"price"`
}

// err is an answer that was not expected.
func (a answer) err() error { return fmt.Errorf("%d %s: %s", a.status, string(a.Code), a.Detail) }

func (s *shop) call(ctx context.Context, method, path, token string, body io.Reader) (a answer, err error) {
	r, err := http.NewRequestWithContext(ctx, method, s.base+path, body)
	if err != nil {
		return a, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	a.status = resp.StatusCode
	read := struct {
		*answer
		Status json.RawMessage `json:"status"`
	}{answer: &a}
	if err := json.NewDecoder(resp.Body).Decode(&read); err != nil {
		return a, fmt.Errorf("%s %s: %d with a body that is no JSON: %w", method, path, a.status, err)
	}
	a.order = seckill.Status(bytes.Trim(read.Status, `"`))
	return a, nil
}

// tally counts what the buyers were told.
type tally struct {
	accepted, repeated, soldOut, refused, failed atomic.Int64
	stored, rejected, wrong                      atomic.Int64

	mu     sync.Mutex
	held   map[seckill.UserID]seckill.OrderID // the order of each buyer who was accepted
	unsure map[seckill.UserID]bool            // who was told to try again: they may have an order
	times  []time.Duration                    // of each answer
	first  error                              // the first request that failed
}

func newTally() *tally {
	return &tally{held: map[seckill.UserID]seckill.OrderID{}, unsure: map[seckill.UserID]bool{}}
}

// rush lets all buyers click, and returns when every click is answered.
func (s *shop) rush(ctx context.Context, v seckill.VoucherID, buyers int, t *tally) error {
	g, ctx := errgroup.WithContext(ctx)
	for i := range buyers {
		user := seckill.UserID(i + 1)
		token := s.token(user, "")
		g.Go(func() error {
			var all sync.WaitGroup
			for click := range clicks {
				pause := time.Duration(0)
				if i%pauseOf == 0 && click == clicks-1 {
					pause = pauseMax * time.Duration(i+1) / time.Duration(buyers)
				}
				all.Go(func() {
					if run.Wait(ctx, pause) == nil {
						s.click(ctx, v, user, token, t)
					}
				})
			}
			all.Wait()
			return ctx.Err()
		})
	}
	return g.Wait()
}

func (s *shop) click(ctx context.Context, v seckill.VoucherID, user seckill.UserID, token string, t *tally) {
	start := time.Now()
	a, err := s.call(ctx, http.MethodPost, "/api/v1/vouchers/"+v.String()+"/orders", token, nil)
	took := time.Since(start)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.times = append(t.times, took)
	switch {
	case err != nil:
		t.fail(err)
	case a.status == http.StatusAccepted, a.status == http.StatusOK && a.Repeated:
		if a.Repeated {
			t.repeated.Add(1)
		} else {
			t.accepted.Add(1)
		}
		if held, ok := t.held[user]; ok && held != a.OrderID {
			t.wrong.Add(1) // one buyer, two orders
		}
		t.held[user] = a.OrderID
	case a.Code == seckill.SoldOut:
		t.soldOut.Add(1)
		if _, ok := t.held[user]; ok {
			t.wrong.Add(1) // a buyer who holds an order was told that there is none
		}
	case a.status == http.StatusServiceUnavailable:
		t.refused.Add(1)
		t.unsure[user] = true
	default:
		t.fail(a.err())
	}
}

func (t *tally) fail(err error) {
	t.failed.Add(1)
	if t.first == nil {
		t.first = err
	}
}

// follow asks for every order that was accepted until its status is no longer queued.
func (s *shop) follow(ctx context.Context, t *tally) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(connections / 4)
	for user, order := range t.held {
		token := s.token(user, "")
		g.Go(func() error {
			for {
				a, err := s.call(ctx, http.MethodGet, "/api/v1/orders/"+order.String(), token, nil)
				if err != nil {
					return err
				}
				if a.order == seckill.Rejected {
					t.rejected.Add(1)
					return nil
				}
				if a.order.Live() {
					t.stored.Add(1)
					return nil
				}
				if err := run.Wait(ctx, 50*time.Millisecond); err != nil {
					return fmt.Errorf("order %s of user %s: %d %s: %w", order, user, a.status, a.order, err)
				}
			}
		})
	}
	return g.Wait()
}
