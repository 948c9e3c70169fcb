package httpapi_test

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

const teaBody = `{"voucherId":"1001","title":"Tea & cake","price":1990,"currency":"CNY","total":100,"left":60,` +
	`"beginsAt":"2026-06-01T11:00:00.000Z","endsAt":"2026-06-01T13:00:00.000Z","state":"open","now":"2026-06-01T12:00:00.000Z"}`

func found(id seckill.VoucherID) (seckill.Voucher, error) { return onSale(id), nil }

func leaving(n int64) func([]seckill.VoucherID) (map[seckill.VoucherID]int64, error) {
	return func(vs []seckill.VoucherID) (map[seckill.VoucherID]int64, error) {
		left := map[seckill.VoucherID]int64{}
		for _, v := range vs {
			left[v] = n
		}
		return left, nil
	}
}

func TestGetVoucher(t *testing.T) {
	for name, c := range map[string]struct {
		shop  shop
		moved time.Duration
		left  int64
		state seckill.State
	}{
		"not loaded, so SQL tells":    {shop{voucher: found}, 0, 60, seckill.Open},
		"loaded, so Redis tells":      {shop{voucher: found, left: leaving(3)}, 0, 3, seckill.Open},
		"no unit left":                {shop{voucher: found, left: leaving(0)}, 0, 0, seckill.StateSoldOut},
		"Redis is down, so SQL tells": {shop{voucher: found, left: func([]seckill.VoucherID) (map[seckill.VoucherID]int64, error) { return nil, down }}, 0, 60, seckill.Open},
		"a millisecond before begin":  {shop{voucher: found}, -time.Hour - time.Millisecond, 60, seckill.Upcoming},
		"at begin":                    {shop{voucher: found}, -time.Hour, 60, seckill.Open},
		"a millisecond before end":    {shop{voucher: found}, time.Hour - time.Millisecond, 60, seckill.Open},
		"at end":                      {shop{voucher: found}, time.Hour, 60, seckill.StateEnded},
	} {
		t.Run(name, func(t *testing.T) {
			w := c.shop.openAt(t, newClock(noon.Add(c.moved))).do("GET", "/api/v1/vouchers/1001", "")
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			var got struct {
				Left  int64
				State seckill.State
			}
			require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
			require.Equal(t, c.left, got.Left)
			require.Equal(t, c.state, got.State)
		})
	}
}

func TestGetVoucherAnswersToTheByte(t *testing.T) {
	s := shop{voucher: found}
	w := s.open(t).do("GET", "/api/v1/vouchers/1001", "")
	require.Equal(t, teaBody+"\n", w.Body.String())
	require.Empty(t, w.Header().Get("Location"))
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
}

func TestGetVoucherRefuses(t *testing.T) {
	s := shop{}
	r := s.open(t)
	requireCode(t, r.do("GET", "/api/v1/vouchers/1001", ""), 404, seckill.VoucherNotFound)
	requireCode(t, r.do("GET", "/api/v1/vouchers/+7", ""), 400, seckill.Invalid)
	requireCode(t, r.do("GET", "/api/v1/vouchers/007", ""), 400, seckill.Invalid)
}

func TestListVouchersPages(t *testing.T) {
	s := shop{vouchers: listed(onSale(1001), onSale(1002), onSale(largest))}
	r := s.open(t)
	ids := func(path string) (ids []string, next string) {
		w := r.do("GET", path, "")
		require.Equal(t, http.StatusOK, w.Code, w.Body)
		var got struct {
			Items []struct{ VoucherID string }
			Next  string
		}
		require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
		for _, v := range got.Items {
			ids = append(ids, v.VoucherID)
		}
		return ids, got.Next
	}
	all, next := ids("/api/v1/vouchers")
	require.Equal(t, []string{"1001", "1002", "9223372036854775807"}, all)
	require.Empty(t, next)

	first, next := ids("/api/v1/vouchers?limit=2")
	require.Equal(t, []string{"1001", "1002"}, first)
	require.Equal(t, "1002", next)

	second, next := ids("/api/v1/vouchers?limit=2&cursor=" + next)
	require.Equal(t, []string{"9223372036854775807"}, second)
	require.Empty(t, next)
}

func TestListVouchersAnswersToTheByte(t *testing.T) {
	s := shop{vouchers: listed(onSale(1001), onSale(1002))}
	require.Equal(t, `{"items":[`+teaBody+`],"next":"1001"}`+"\n", s.open(t).do("GET", "/api/v1/vouchers?limit=1", "").Body.String())
	s = shop{}
	require.Equal(t, `{"items":[]}`+"\n", s.open(t).do("GET", "/api/v1/vouchers", "").Body.String())
}

func TestListVouchersRefuses(t *testing.T) {
	s := shop{}
	r := s.open(t)
	for _, query := range []string{"limit=0", "limit=101", "limit=abc", "limit=-1", "cursor=0", "cursor=abc", "cursor=%2B7"} {
		requireCode(t, r.do("GET", "/api/v1/vouchers?"+query, ""), 400, seckill.Invalid)
	}
}

// What anybody may ask for as often as they like costs SQL one question a second.
func TestListVouchersRemembersForASecond(t *testing.T) {
	asked := 0
	s := shop{vouchers: func(seckill.VoucherID, int) ([]seckill.Voucher, error) {
		asked++
		return []seckill.Voucher{onSale(1001)}, nil
	}}
	r := s.open(t)
	for range 50 {
		r.do("GET", "/api/v1/vouchers", "")
	}
	require.Equal(t, 1, asked)

	r.clock.move(999 * time.Millisecond)
	w := r.do("GET", "/api/v1/vouchers", "")
	require.Equal(t, 1, asked)
	require.Contains(t, w.Body.String(), `"now":"2026-06-01T12:00:00.999Z"`, "the clock is never remembered")

	r.clock.move(time.Millisecond)
	r.do("GET", "/api/v1/vouchers", "")
	require.Equal(t, 2, asked)
}

// An outage is not remembered: the first question after it is asked again.
func TestListVouchersForgetsAnOutage(t *testing.T) {
	s := shop{vouchers: func(seckill.VoucherID, int) ([]seckill.Voucher, error) { return nil, down }}
	r := s.open(t)
	requireCode(t, r.do("GET", "/api/v1/vouchers", ""), 503, seckill.Unavailable)
	s.vouchers = listed(onSale(1001))
	require.Equal(t, http.StatusOK, r.do("GET", "/api/v1/vouchers", "").Code)
}
