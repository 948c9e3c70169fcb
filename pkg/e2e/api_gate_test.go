package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/openseckill/seckill/pkg/faultnet"
	"github.com/openseckill/seckill/pkg/redisstore"
	"github.com/openseckill/seckill/pkg/seckill"
)

// at is the same stack, asking another api.
func (s *stack) at(base string) *stack {
	other := *s
	other.api = base
	return &other
}

// calls is how often Redis ran a command, by name.
func (s *stack) calls(command string) int {
	s.t.Helper()
	text, err := s.redis.Info(s.t.Context(), "commandstats").Result()
	require.NoError(s.t, err)
	_, after, ok := strings.Cut(text, "cmdstat_"+command+":calls=")
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(after[:strings.IndexByte(after, ',')])
	require.NoError(s.t, err)
	return n
}

// remembers asks an api, as someone who gets nothing, until it answers without Redis.
func (s *stack) remembers(voucher string, stranger int64, code string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		before := s.calls("evalsha")
		for range 3 {
			a, err := s.buy(s.t.Context(), voucher, stranger)
			require.NoError(s.t, err)
			require.Equal(s.t, code, a.Code, a.body)
		}
		return s.calls("evalsha") == before
	}, patient, 10*time.Millisecond, "every request is asked of Redis")
}

func (s *stack) store() *redisstore.Store {
	s.t.Helper()
	store, err := redisstore.Open(s.t.Context(), redisstore.Options{Addrs: []string{s.server.Addr()}})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { require.NoError(s.t, store.Close()) })
	return store
}

// held is the order of a user as the store names it.
func held(t *testing.T, voucher string, user int64, order string) seckill.Order {
	v, err := seckill.ParseVoucherID(voucher)
	require.NoError(t, err)
	id, err := seckill.ParseOrderID(order)
	require.NoError(t, err)
	return seckill.Order{ID: id, User: seckill.UserID(user), Voucher: v}
}

// A14, A16: two apis sell out. From then on each answers from memory: winners with their own order,
// however often they ask, everybody else with the refusal. A unit that comes back is sold by
// either within a second, and its new holder is known to both.
func TestAPIsRememberWhatIsSoldOut(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI()
	first := s.at(s.api)
	s.startAPI()
	second := s.at(s.api)
	const units = 50
	voucher := s.createOpen(units)
	users := upTo(units)
	_, accepted := sort(t, users, first.each(voucher, users...))
	require.Len(t, accepted, units)
	first.remembers(voucher, 1000, "SOLD_OUT")
	second.remembers(voucher, 1000, "SOLD_OUT")

	retries := slices.Repeat(users, faultnet.Pick(10, 100))
	before, began := s.calls("evalsha"), time.Now()
	for _, node := range []*stack{first, second} {
		counts, again := sort(t, retries, node.each(voucher, retries...))
		require.Equal(t, map[string]int{"200": len(retries)}, counts)
		require.Equal(t, accepted, again)
		strangers := upTo(1000)[units:]
		counts, _ = sort(t, strangers, node.each(voucher, strangers...))
		require.Equal(t, map[string]int{"SOLD_OUT": len(strangers)}, counts)
	}
	seconds := int(time.Since(began)/time.Second) + 1
	require.LessOrEqual(t, s.calls("evalsha")-before, 2*seconds, "each asks once a second at most")

	store := s.store()
	for i, node := range []*stack{first, second} {
		leaver, comer := int64(i+1), int64(2000+i)
		released, err := store.Release(t.Context(), held(t, voucher, leaver, accepted[strconv.FormatInt(leaver, 10)]))
		require.NoError(t, err)
		require.True(t, released)
		began := time.Now()
		var a answer
		require.Eventually(t, func() bool {
			a, err = node.buy(t.Context(), voucher, comer)
			return err == nil && a.status == http.StatusAccepted
		}, patient, time.Millisecond)
		require.Less(t, time.Since(began), time.Second)
		for _, other := range []*stack{first, second} {
			other.remembers(voucher, 1000, "SOLD_OUT")
			again, err := other.buy(t.Context(), voucher, comer)
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, again.status, again.body)
			require.Equal(t, a.OrderID, again.OrderID)
		}
	}

	a, err := s.call(t.Context(), http.MethodGet, "/api/v1/vouchers/"+voucher, "", "")
	require.NoError(t, err)
	require.Equal(t, "soldOut", jsonOf(t, a.body)["state"])
	_, err = store.Release(t.Context(), held(t, voucher, 3, accepted["3"]))
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		a, err := s.call(t.Context(), http.MethodGet, "/api/v1/vouchers/"+voucher, "", "")
		return err == nil && jsonOf(t, a.body)["state"] == "open"
	}, patient, 10*time.Millisecond)
}

// A20, A21: everybody fires early and in bulk. Before the window that costs Redis next to
// nothing; none gets an order before it begins, and at most one after.
func TestAPIBeforeTheWindow(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI("SECKILL_RATE_PER_USER=10")
	begin := s.now().Add(time.Hour)
	voucher := s.create(1000, begin, begin.Add(time.Hour))
	s.remembers(voucher, 1000, "NOT_STARTED")
	before, began := s.calls("evalsha"), time.Now()
	users := slices.Repeat(upTo(20), 10)
	counts, _ := sort(t, users, s.each(voucher, users...))
	require.Equal(t, len(users), counts["NOT_STARTED"]+counts["RATE_LIMITED"])
	require.LessOrEqual(t, s.calls("evalsha")-before, 3+int(time.Since(began)/time.Second))

	begin = s.now().Add(time.Second)
	s.change(voucher, fmt.Sprintf(`{"beginsAt":%q}`, begin.Format(time.RFC3339Nano)))
	require.Eventually(t, func() bool {
		was := s.now()
		a, err := s.buy(t.Context(), voucher, 77)
		require.NoError(t, err)
		switch {
		case a.Code == "RATE_LIMITED":
			require.Equal(t, http.StatusTooManyRequests, a.status)
			require.Equal(t, "1", a.header.Get("Retry-After"))
		case a.status == http.StatusAccepted:
			require.False(t, s.now().Before(begin), "opened early")
			return true
		default:
			require.Equal(t, "NOT_STARTED", a.Code, a.body)
			if jsonOf(t, a.body)["beginsAt"] == begin.UTC().Format("2006-01-02T15:04:05.000Z") { // it has heard of the change
				require.True(t, was.Before(begin), "opened late")
			}
		}
		return false
	}, patient, 5*time.Millisecond)
	again, err := s.buy(t.Context(), voucher, 77)
	require.NoError(t, err)
	require.Contains(t, []string{"RATE_LIMITED", ""}, again.Code)
	require.EqualValues(t, 1, s.redis.XLen(t.Context(), "seckill:stream").Val())
}

// Who waits for an order's status learns of it when it is stored, or rejected, and when
// the api stops.
func TestAPIWaitsForAStatus(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	api := s.startAPI()
	look := func(order string, user int64) (answer, error) {
		return s.call(t.Context(), http.MethodGet, "/api/v1/orders/"+order+"?wait=20s", token(t, user, ""), "")
	}
	wait := func(order string, user int64) (answer, time.Duration) {
		began := time.Now()
		a, err := look(order, user)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, a.status, a.body)
		return a, time.Since(began)
	}
	worker := s.startWorkers(1)[0]
	voucher := s.createOpen(1000)
	var took []time.Duration
	for user := int64(1); user <= 50; user++ {
		a, err := s.buy(t.Context(), voucher, user)
		require.NoError(t, err)
		a, d := wait(a.OrderID, user)
		require.Equal(t, "created", a.Status)
		took = append(took, d)
	}
	slices.Sort(took)
	t.Log("from the 202 to the status: median", took[25], "slowest", took[49])
	require.Less(t, took[25], time.Second)

	short := s.createOpen(10)
	_, err := s.db.ExecContext(t.Context(), "UPDATE seckill_voucher SET stock = 0 WHERE id = ?", short)
	require.NoError(t, err)
	a, err := s.buy(t.Context(), short, 1)
	require.NoError(t, err)
	a, d := wait(a.OrderID, 1)
	require.Equal(t, "rejected", a.Status, a.body)
	require.Less(t, d, 10*time.Second)

	worker.stop()
	a, err = s.buy(t.Context(), voucher, 100)
	require.NoError(t, err)
	var waiting errgroup.Group
	told := make([]answer, 20)
	for i := range told {
		waiting.Go(func() (err error) {
			told[i], err = look(a.OrderID, 100)
			return err
		})
	}
	require.Eventually(t, func() bool { return api.metric("seckill_http_in_flight") >= 20 }, patient, 10*time.Millisecond)
	began := time.Now()
	api.signal(syscall.SIGTERM)
	require.NoError(t, waiting.Wait())
	require.NoError(t, api.ends())
	require.Less(t, time.Since(began), 10*time.Second, "nobody waits for the end of their time")
	for _, a := range told {
		require.Equal(t, "queued", a.Status, a.body)
	}
}
