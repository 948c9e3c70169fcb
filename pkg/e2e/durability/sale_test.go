package durability

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/api/app"
	"github.com/openseckill/seckill/pkg/e2e/process"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqltest"
)

const (
	secret  = "a secret for durability, of 32 bytes or more"
	patient = time.Minute // for what takes moments on a machine that is not busy
	retry   = 50 * time.Millisecond
	abreast = 32 // buyers at the same time
)

// sale is two apis and two workers on one place.
type sale struct {
	t       *testing.T
	place   *place
	db      *sql.DB
	client  *http.Client
	apis    []*process.Process
	workers []*process.Process
	asked   atomic.Int64 // requests, which take turns between the apis

	voucher string
	units   int64
	mu      sync.Mutex
	told    map[int64]promise // by user
}

// promise is what a buyer was answered.
type promise struct{ order, receipt string }

func newSale(t *testing.T, p *place) *sale {
	t.Helper()
	dsn := sqltest.New(t)
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	transport := &http.Transport{MaxIdleConnsPerHost: abreast}
	t.Cleanup(transport.CloseIdleConnections)
	s := &sale{t: t, place: p, db: db, client: &http.Client{Transport: transport, Timeout: patient}}
	env := slices.Concat(p.env, []string{
		"SECKILL_MYSQL_DSN=" + dsn, "SECKILL_JWT_SECRET=" + secret, "SECKILL_RATE_PER_USER=0", "SECKILL_LOG_LEVEL=warn",
		"SECKILL_LOG_FORMAT=text", "SECKILL_CLAIM_IDLE=1s", "SECKILL_LOCK_TTL=500ms", "SECKILL_BATCH_MAX=16",
	})
	for range 2 {
		s.apis = append(s.apis, s.start("api", env))
		s.workers = append(s.workers, s.start("worker", env))
	}
	return s
}

func (s *sale) start(program string, env []string) *process.Process {
	s.t.Helper()
	p := process.New(s.t.Context(), bin, []string{program}, env)
	require.NoError(s.t, p.Start())
	s.t.Cleanup(func() {
		p.Kill()
		if s.t.Failed() {
			s.t.Logf("%s: %s", program, p.Output())
		}
	})
	ctx, cancel := context.WithTimeout(s.t.Context(), patient)
	defer cancel()
	require.NoError(s.t, p.Ready(ctx))
	return p
}

// open puts a voucher on sale, which is the sale's from now on.
func (s *sale) open(units int64) {
	s.t.Helper()
	now := time.Now().UTC()
	body := fmt.Sprintf(`{"title":"a cup","total":%d,"beginsAt":%q,"endsAt":%q}`,
		units, now.Add(-time.Minute).Format(time.RFC3339), now.Add(time.Hour).Format(time.RFC3339))
	a, err := s.ask(http.MethodPost, "/admin/vouchers", 1, "admin", "", body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusCreated, a.code, a.body)
	s.voucher, s.units, s.told = a.VoucherID, units, map[int64]promise{}
}

// answer is an answer of an api.
type answer struct {
	code      int
	body      string
	OrderID   string `json:"orderId"`
	VoucherID string `json:"voucherId"`
	Receipt   string `json:"receipt"`
	Status    any    `json:"status"` // text of an order, the number of a problem
	Reason    string `json:"reason"`
	Code      string `json:"code"`
}

// ask makes a request of one of the apis; an error means that no answer came.
func (s *sale) ask(method, path string, user int64, role, receipt, body string) (a answer, err error) {
	token, err := app.Token([]byte(secret), seckill.UserID(user), role, time.Now(), time.Hour)
	if err != nil {
		return a, err
	}
	api := s.apis[s.asked.Add(1)%int64(len(s.apis))]
	r, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+api.HTTP+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		return a, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	if receipt != "" {
		r.Header.Set("Seckill-Receipt", receipt)
	}
	resp, err := s.client.Do(r)
	if err != nil {
		return a, err
	}
	defer resp.Body.Close()
	var text json.RawMessage
	if err := json.NewDecoder(resp.Body).Decode(&text); err != nil {
		return a, err
	}
	a.code, a.body = resp.StatusCode, string(text)
	return a, json.Unmarshal(text, &a)
}

// buy asks for a unit once, and keeps what was promised.
func (s *sale) buy(user int64) (a answer, err error) {
	a, err = s.ask(http.MethodPost, "/vouchers/"+s.voucher+"/orders", user, "", "", "")
	if err == nil && (a.code == http.StatusAccepted || a.code == http.StatusOK) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told[user] = promise{a.OrderID, a.Receipt}
	}
	return a, err
}

// each does something for every user, several at the same time.
func (s *sale) each(from, to int64, do func(user int64) error) error {
	var g errgroup.Group
	g.SetLimit(abreast)
	for user := from; user <= to; user++ {
		g.Go(func() error { return do(user) })
	}
	return g.Wait()
}

// promises is a copy of what was promised so far.
func (s *sale) promises() map[int64]promise {
	s.mu.Lock()
	defer s.mu.Unlock()
	told := make(map[int64]promise, len(s.told))
	for user, p := range s.told {
		told[user] = p
	}
	return told
}

func (s *sale) accepted(at least) func() bool {
	return func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.told) >= int(at) }
}

type least int64

// eventually waits until it is so.
func (s *sale) eventually(is func() bool, what string) {
	s.t.Helper()
	require.Eventually(s.t, is, patient, 2*time.Millisecond, what)
}

// follow asks for an order until it has its end: its row, or why there is none.
func (s *sale) follow(user int64, p promise) (a answer, err error) {
	err = s.until(func() (done bool, err error) {
		a, err = s.ask(http.MethodGet, "/orders/"+p.order+"?wait=1s", user, "", p.receipt, "")
		return err == nil && a.code == http.StatusOK && a.Status != "queued", err
	})
	if err != nil {
		err = fmt.Errorf("order %s of user %d has no end: %w: %s", p.order, user, err, a.body)
	}
	return a, err
}

// insist asks for a unit until the answer is final.
func (s *sale) insist(user int64) error {
	return s.until(func() (bool, error) {
		a, err := s.buy(user)
		return err == nil && (a.code < http.StatusBadRequest || a.Code == "SOLD_OUT"), err
	})
}

// until tries again and again, and returns why it gave up.
func (s *sale) until(try func() (done bool, err error)) error {
	late := time.After(patient)
	pause := time.NewTicker(retry)
	defer pause.Stop()
	for {
		done, err := try()
		if done {
			return nil
		}
		select {
		case <-pause.C:
		case <-late:
			return errors.Join(errors.New("given up"), err)
		}
	}
}

func (s *sale) signal(sig syscall.Signal) {
	s.t.Helper()
	for _, w := range s.workers {
		require.NoError(s.t, w.Signal(sig))
	}
}

func (s *sale) count(query string, args ...any) (n int64) {
	s.t.Helper()
	require.NoError(s.t, s.db.QueryRowContext(s.t.Context(), query, args...).Scan(&n))
	return n
}

// forgotten counts the promises of which there is neither a ticket nor a row.
func (s *sale) forgotten(told map[int64]promise) (n int) {
	s.t.Helper()
	for user, p := range told {
		ticket, err := s.place.rdb.HGet(s.t.Context(), "seckill:ticket:"+s.voucher, fmt.Sprint(user)).Result()
		if !errors.Is(err, redis.Nil) {
			require.NoError(s.t, err)
		}
		if ticket != p.order && s.count("SELECT COUNT(*) FROM voucher_order WHERE id = ?", p.order) == 0 {
			n++
		}
	}
	return n
}

// rest waits until nothing is under way.
func (s *sale) rest() {
	s.t.Helper()
	s.eventually(func() bool {
		ctx := s.t.Context()
		pending, err := s.place.rdb.XPending(ctx, "seckill:stream", "seckillGroup").Result()
		return err == nil && pending.Count == 0 && s.place.rdb.XLen(ctx, "seckill:stream").Val() == 0 &&
			s.place.rdb.HGet(ctx, "seckill:voucher:"+s.voucher, "state").Val() == "open" &&
			s.count("SELECT COUNT(*) FROM voucher_order WHERE release_due = 1") == 0
	}, "not at rest")
}

// law holds the books to the contract, at rest, and each promise to exactly one row.
func (s *sale) law() {
	s.t.Helper()
	ctx := s.t.Context()
	live := s.count("SELECT COUNT(*) FROM voucher_order WHERE voucher_id = ? AND live = 1", s.voucher)
	require.LessOrEqual(s.t, live, s.units, "oversold")
	require.Equal(s.t, live, s.count("SELECT COUNT(DISTINCT user_id) FROM voucher_order WHERE voucher_id = ? AND live = 1", s.voucher))
	require.Equal(s.t, s.units-live, s.count("SELECT stock FROM seckill_voucher WHERE id = ?", s.voucher))
	require.Equal(s.t, fmt.Sprint(s.units-live), s.place.rdb.Get(ctx, "seckill:stock:"+s.voucher).Val())
	require.Equal(s.t, live, s.place.rdb.SCard(ctx, "seckill:order:"+s.voucher).Val())
	tickets := s.place.rdb.HGetAll(ctx, "seckill:ticket:"+s.voucher).Val()
	require.Len(s.t, tickets, int(live))
	for user, order := range tickets {
		require.EqualValues(s.t, 1, s.count("SELECT COUNT(*) FROM voucher_order WHERE id = ? AND user_id = ? AND live = 1", order, user))
	}
	for user, p := range s.promises() {
		require.EqualValues(s.t, 1, s.count("SELECT COUNT(*) FROM voucher_order WHERE id = ? AND user_id = ?", p.order, user), "promised order %s", p.order)
	}
}
