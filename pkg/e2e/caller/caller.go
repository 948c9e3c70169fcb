// Package caller asks the apis as those do who use them: buyers, admins, the service of
// payments. It is for tests alone.
package caller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/seckill"
)

const (
	// Patient is long enough for what takes moments on a machine that is not busy.
	Patient = time.Minute
	pause   = 50 * time.Millisecond // between two attempts
	valid   = time.Hour             // of a token
)

// Caller asks several apis in turn. It is safe for concurrent use.
type Caller struct {
	secret []byte
	apis   []string // "127.0.0.1:8080"
	client http.Client
	asked  atomic.Int64
}

// New makes a caller of these apis, who signs tokens by a secret and holds as many
// connections to each as there are callers abreast. It gives up on an answer after a time.
func New(secret string, abreast int, limit time.Duration, apis ...string) *Caller {
	return &Caller{
		secret: []byte(secret), apis: apis,
		client: http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: abreast}, Timeout: limit},
	}
}

// Close ends the connections that nobody uses.
func (c *Caller) Close() { c.client.CloseIdleConnections() }

// Question is a request and who makes it.
type Question struct {
	Method, Path string // "/orders/1", without "/api/v1"
	User         int64
	Role         string // "" of a buyer
	Receipt      string
	Body         string // JSON
}

// Answer is an answer of an api.
type Answer struct {
	HTTP      int    `json:"-"`
	Body      string `json:"-"`
	OrderID   string `json:"orderId"`
	VoucherID string `json:"voucherId"`
	Receipt   string `json:"receipt"`
	Status    any    `json:"status"` // text of an order, the number of a problem
	Reason    string `json:"reason"`
	Code      string `json:"code"`
	AtRest    bool   `json:"atRest"` // of an audit
}

// Is reports whether the answer is about an order in this state.
func (a Answer) Is(state seckill.Status) bool { return a.Status == string(state) }

// Later says that the answer is no more than: ask again.
func (a Answer) Later() bool { return a.HTTP == http.StatusServiceUnavailable }

// Ask makes a request of the next api; an error means that no answer came.
func (c *Caller) Ask(ctx context.Context, q Question) (a Answer, err error) {
	token, err := app.Token(c.secret, seckill.UserID(q.User), q.Role, time.Now(), valid)
	if err != nil {
		return a, err
	}
	api := c.apis[c.asked.Add(1)%int64(len(c.apis))]
	r, err := http.NewRequestWithContext(ctx, q.Method, "http://"+api+"/api/v1"+q.Path, strings.NewReader(q.Body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	if q.Receipt != "" {
		r.Header.Set("Seckill-Receipt", q.Receipt)
	}
	resp, err := c.client.Do(r)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	var text json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&text); err != nil {
		return a, err
	}
	a.HTTP, a.Body = resp.StatusCode, string(text)
	return a, json.Unmarshal(text, &a)
}

// Buy asks for a unit, once.
func (c *Caller) Buy(ctx context.Context, voucher string, user int64) (Answer, error) {
	return c.Ask(ctx, Question{Method: http.MethodPost, Path: "/vouchers/" + voucher + "/orders", User: user})
}

// Sell puts a voucher on sale for an hour, and returns its id.
func (c *Caller) Sell(ctx context.Context, units int64) (voucher string, err error) {
	now := time.Now().UTC()
	a, err := c.Ask(ctx, Question{Method: http.MethodPost, Path: "/admin/vouchers", User: 1, Role: "admin", Body: fmt.Sprintf(
		`{"title":"a cup","price":100,"total":%d,"beginsAt":%q,"endsAt":%q}`,
		units, now.Add(-time.Minute).Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339))})
	if err == nil && a.HTTP != http.StatusCreated {
		err = fmt.Errorf("%d: %s", a.HTTP, a.Body)
	}
	return a.VoucherID, err
}

// Follow asks for an order until it has its end: its row, or why there is none. The receipt
// may be "".
func (c *Caller) Follow(ctx context.Context, user int64, order, receipt string) (a Answer, err error) {
	err = Until(ctx, func() (done bool, err error) {
		a, err = c.Ask(ctx, Question{Method: http.MethodGet, Path: "/orders/" + order + "?wait=1s", User: user, Receipt: receipt})
		return err == nil && a.HTTP == http.StatusOK && !a.Is(seckill.Queued), err
	})
	if err != nil {
		err = fmt.Errorf("order %s of user %d has no end: %w: %s", order, user, err, a.Body)
	}
	return a, err
}

// Until tries again and again, for as long as callers are patient, and returns why it gave up.
func Until(ctx context.Context, try func() (done bool, err error)) error {
	ctx, cancel := context.WithTimeout(ctx, Patient)
	defer cancel()
	again := time.NewTicker(pause)
	defer again.Stop()
	for {
		done, err := try()
		if done {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return errors.Join(errors.New("given up"), err)
		}
	}
}
