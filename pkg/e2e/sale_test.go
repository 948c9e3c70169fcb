package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/faultnet"
)

// A sale sells exactly what there is, once to each, however many ask at once.
func TestSale(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI("SECKILL_BATCH_MAX=512")
	s.startWorkers(2)
	for _, c := range []struct {
		name          string
		buyers, units int64
	}{
		{"200 buyers for 10 units", 200, 10},
		{"500 buyers for 100 units", 500, 100},
		{"as many buyers as units", 50, 50},
		{"fewer buyers than units", 20, 50},
	} {
		t.Run(c.name, func(t *testing.T) {
			voucher := s.createOpen(int(c.units))
			users := upTo(c.buyers)
			counts, accepted := sort(t, users, s.each(voucher, users...))
			sold := min(c.buyers, c.units)
			require.Equal(t, int(sold), counts["202"])
			require.Equal(t, int(c.buyers-sold), counts["SOLD_OUT"])
			s.drained()
			s.law(voucher, c.units, sold, accepted)
		})
	}
}

// A6: one who clicks fifty times holds one unit, and the nine others get theirs.
func TestSaleOneClicksManyTimes(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI()
	s.startWorkers(1)
	voucher := s.createOpen(10)
	users := slices.Repeat([]int64{1}, 50)
	answers := s.each(voucher, users...)
	others := []int64{2, 3, 4, 5, 6, 7, 8, 9, 10}
	answers, users = append(answers, s.each(voucher, others...)...), append(users, others...)
	counts, accepted := sort(t, users, answers)
	require.Equal(t, map[string]int{"202": 10, "200": 49}, counts)
	s.drained()
	s.law(voucher, 10, 10, accepted)
	// After the last unit is gone its holders are still told of their orders.
	counts, again := sort(t, users, s.each(voucher, users...))
	require.Equal(t, map[string]int{"200": len(users)}, counts)
	require.Equal(t, accepted, again)
}

// A5: one unit, two buyers, over and over.
func TestSaleLastUnit(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI()
	s.startWorkers(1)
	rounds := faultnet.Pick(200, 1000)
	vouchers, accepted := make([]string, rounds), make([]map[string]string, rounds)
	for i := range rounds {
		vouchers[i] = s.createOpen(1)
		users := []int64{int64(2*i + 1), int64(2*i + 2)}
		var counts map[string]int
		counts, accepted[i] = sort(t, users, s.each(vouchers[i], users...))
		require.Equal(t, map[string]int{"202": 1, "SOLD_OUT": 1}, counts)
	}
	s.drained()
	for i, voucher := range vouchers {
		s.law(voucher, 1, 1, accepted[i])
	}
}

// B3, B4, B6, B7: ids that a double cannot tell apart come back digit for digit, from the
// answer, the stream, the table and JSON.
func TestSaleLargeUserIDs(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI()
	users := []int64{9007199254740992, 9007199254740993, 1234567890123456, 1234567890123457, 9223372036854775807}
	voucher := s.createOpen(len(users))
	_, accepted := sort(t, users, s.each(voucher, users...))
	require.Len(t, accepted, len(users))

	queued := map[string]string{}
	for _, entry := range s.redis.XRange(t.Context(), "seckill:stream", "-", "+").Val() {
		require.Equal(t, voucher, entry.Values["voucherId"])
		queued[entry.Values["userId"].(string)] = entry.Values["id"].(string)
	}
	require.Equal(t, accepted, queued)
	status := func(want string) {
		for _, user := range users {
			id := accepted[strconv.FormatInt(user, 10)]
			a, err := s.call(t.Context(), http.MethodGet, "/api/v1/orders/"+id, token(t, user, ""), "")
			require.NoError(t, err)
			require.Equal(t, http.StatusOK, a.status, a.body)
			fields := jsonOf(t, a.body) // as a browser reads it
			require.Equal(t, id, fields["orderId"])
			require.Equal(t, voucher, fields["voucherId"])
			require.Equal(t, strconv.FormatInt(user, 10), fields["userId"])
			require.Equal(t, want, fields["status"])
		}
	}
	status("queued") // A17: found from the moment of the 202
	s.startWorkers(1)
	s.drained()
	status("created")
	s.law(voucher, int64(len(users)), int64(len(users)), accepted)
	require.Empty(t, s.redis.Keys(t.Context(), "*e+*").Val())
}

// A20: the window is judged by Redis, whatever the api's time zone says.
func TestSaleWindow(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI("TZ=Asia/Shanghai")
	begin := s.now().Add(time.Hour)
	end := begin.Add(time.Hour)
	voucher := s.create(1_000_000, begin.In(time.FixedZone("", 8*3600)), end)
	const soon = 500 * time.Millisecond
	seen := map[string]int{}
	for user := int64(1); seen["ENDED"] == 0; user++ {
		switch { // the begin comes once a buyer was early, the end once one was in time
		case seen["NOT_STARTED"] == 1 && begin.After(s.now().Add(soon)):
			begin = s.now().Add(soon)
			s.change(voucher, fmt.Sprintf(`{"beginsAt":%q}`, begin.In(time.FixedZone("", 8*3600)).Format(time.RFC3339Nano)))
		case seen["202"] == 1 && end.After(s.now().Add(soon)):
			end = s.now().Add(soon)
			s.change(voucher, fmt.Sprintf(`{"endsAt":%q}`, end.Format(time.RFC3339Nano)))
		}
		before := s.now()
		a, err := s.buy(t.Context(), voucher, user)
		require.NoError(t, err)
		after := s.now()
		// The script ran somewhere between the two readings of its clock.
		switch {
		case a.status == http.StatusAccepted:
			require.False(t, after.Before(begin), "opened early")
			require.True(t, before.Before(end), "closed late")
			seen["202"]++
		case a.Code == "NOT_STARTED":
			require.True(t, before.Before(begin), "opened late")
			require.NotEmpty(t, a.header.Get("Retry-After"))
			at, err := time.Parse(time.RFC3339Nano, jsonOf(t, a.body)["beginsAt"].(string))
			require.NoError(t, err)
			require.True(t, begin.Equal(at))
			seen[a.Code]++
		case a.Code == "ENDED":
			require.False(t, after.Before(end), "closed early")
			seen[a.Code]++
		default:
			t.Fatal(a.body)
		}
	}
	require.Positive(t, seen["NOT_STARTED"])
	require.Positive(t, seen["202"])
}

// XPENDING shows what is read and not stored, and nothing once all is stored.
func TestSalePending(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI()
	voucher := s.createOpen(40)
	users := upTo(40)
	counts, accepted := sort(t, users, s.each(voucher, users...))
	require.Equal(t, 40, counts["202"])
	require.EqualValues(t, 40, s.redis.XLen(t.Context(), "seckill:stream").Val())

	// Someone else holds a user's lock: that order is read, and stays pending.
	held := users[7]
	lock := "lock:order:" + strconv.FormatInt(held, 10)
	require.NoError(t, s.redis.Set(t.Context(), lock, "someone", time.Hour).Err())
	s.startWorkers(1)
	require.Eventually(t, func() bool {
		p := s.redis.XPending(t.Context(), "seckill:stream", "seckillGroup").Val()
		return p != nil && p.Count == 1 && s.redis.XLen(t.Context(), "seckill:stream").Val() == 1
	}, patient, 5*time.Millisecond)
	require.EqualValues(t, 39, s.count("SELECT COUNT(*) FROM voucher_order"))
	require.NoError(t, s.redis.Del(t.Context(), lock).Err())
	s.drained()
	s.law(voucher, 40, 40, accepted)
}

// C1, A2: all keys of Redis go, with orders in the table and buyers asking: the voucher
// comes back by itself with what is left, and everyone keeps their order.
func TestSaleAfterRedisForgot(t *testing.T) {
	t.Parallel()
	s := newStack(t)
	s.startAPI()
	s.startWorkers(2)
	voucher := s.createOpen(10)
	users := upTo(3)
	_, accepted := sort(t, users, s.each(voucher, users...))
	s.drained()
	require.NoError(t, s.redis.FlushAll(t.Context()).Err())
	all := upTo(20)
	require.Eventually(t, func() bool {
		a, err := s.buy(t.Context(), voucher, 1)
		return err == nil && a.status == http.StatusOK && a.OrderID == accepted["1"]
	}, patient, 10*time.Millisecond)
	counts, after := sort(t, all, s.each(voucher, all...))
	require.Equal(t, map[string]int{"200": 3, "202": 7, "SOLD_OUT": 10}, counts)
	for user, order := range accepted {
		require.Equal(t, order, after[user])
	}
	s.drained()
	s.law(voucher, 10, 10, after)
}
